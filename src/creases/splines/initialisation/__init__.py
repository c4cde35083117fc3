"""How the breakpoints of a new network are distributed."""
