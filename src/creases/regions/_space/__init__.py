"""Every region in a box of n dimensions."""
