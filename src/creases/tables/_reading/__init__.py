"""Reading tables: files and data frames as columns, the kind of each column, the problem they make."""
