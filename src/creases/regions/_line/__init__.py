"""Every region on a line."""
