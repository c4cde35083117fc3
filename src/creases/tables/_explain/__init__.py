"""What a network does with the columns of a table, in words and numbers."""
