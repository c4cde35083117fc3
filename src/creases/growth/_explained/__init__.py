"""Explained growth: one fold at a time, each with its reason, confirmed by held-out rows."""
