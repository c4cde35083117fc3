"""Models of tables, their predictions and their facts in words."""
