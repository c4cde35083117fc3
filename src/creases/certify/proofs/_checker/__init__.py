"""The checker of proofs: numpy and fractions only, and no code of the searches."""
