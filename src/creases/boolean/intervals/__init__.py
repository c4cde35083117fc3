"""Networks of one input that are positive on some intervals of a line and negative on others."""
