"""Claims: linearity."""
