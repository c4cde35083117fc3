"""``creases report``: one HTML file of a result, with the viewer in it."""
