"""A network with the names of its table."""
