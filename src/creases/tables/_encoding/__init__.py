"""How the columns of a table become numbers, and rows of the same table after them."""
