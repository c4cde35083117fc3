"""The Fourier-Walsh expansion of Boolean functions."""
