"""Claims: figures."""
