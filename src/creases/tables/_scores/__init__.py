"""Measures of a network and of simple models on the same rows."""
