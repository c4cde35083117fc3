"""Breakpoints during training."""
