"""Growth by folding (XNG): a crease through the boundary near a typical misprediction."""
