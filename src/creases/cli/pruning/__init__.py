"""What ``creases prune`` needs: torch modules from files, and data to prune by."""
