"""What ``creases spline`` is made of: the data, the training beside the best fit, the summary."""
