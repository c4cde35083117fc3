"""Claims: splines."""
