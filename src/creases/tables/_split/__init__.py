"""Rows of a table: repeated ones merged, split, scaled."""
