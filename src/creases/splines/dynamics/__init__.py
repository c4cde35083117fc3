"""How breakpoints move while a network trains."""
