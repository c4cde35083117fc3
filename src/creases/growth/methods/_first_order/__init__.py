"""The first-order effect of small new units on the loss: what TINY, GradMax, splits and random units share."""
