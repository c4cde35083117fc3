"""Kinds of columns: one codec for each, with all that is known of it."""
