"""What ``creases grow`` tells of a run: the report, the files."""
