"""The Fourier-Walsh expansion of Boolean functions: coefficients, degree, influences and entropy."""

from creases.boolean.fourier._spectrum import coefficients, degree, entropy, influences, total_influence

__all__ = [
    "coefficients",
    "degree",
    "entropy",
    "influences",
    "total_influence",
]
