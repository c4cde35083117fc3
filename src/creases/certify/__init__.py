"""Exact answers on a box: bounds of outputs and units."""
