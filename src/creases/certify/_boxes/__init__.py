"""Branch and bound over boxes of inputs for plain dense networks, by one compiled kernel."""
