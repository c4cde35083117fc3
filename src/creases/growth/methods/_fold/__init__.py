"""Growth by folding (XNG): a crease through the boundary beside a typical misprediction."""
