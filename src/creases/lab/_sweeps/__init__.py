"""Running one function over many jobs, into a folder."""
