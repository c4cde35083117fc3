"""Lines: all regions on a segment or an infinite line."""
