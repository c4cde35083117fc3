"""Growth by what a small unit does to the loss: TINY, GradMax, random units, splits."""
