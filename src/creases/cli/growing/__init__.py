"""What ``creases grow`` is made of: its settings, the data divided, the run in its folder, the report."""
