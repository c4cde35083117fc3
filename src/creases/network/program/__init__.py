"""A network as a plain program: affine steps and bends, and what flows through them."""
