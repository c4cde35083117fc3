"""File formats and torch modules that a program is written to."""
