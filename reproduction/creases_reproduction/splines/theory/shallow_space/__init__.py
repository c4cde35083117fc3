"""Deep networks of several inputs written with few hidden layers, exactly, inside a box."""
