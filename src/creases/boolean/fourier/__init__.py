"""The Fourier-Walsh expansion of Boolean functions."""

from creases.boolean.fourier._spectrum import coefficients, degree, entropy, influences, total_influence

__all__ = [
    "coefficients",
    "degree",
    "entropy",
    "influences",
    "total_influence",
]
