"""Space: all regions in a box of n dimensions."""
