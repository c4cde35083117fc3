"""Claims: xng."""
