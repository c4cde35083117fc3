"""Measures of how similar networks are, one by one; :func:`creases.compare.similarity` computes them together.

Alignment  ``coefficient_cka`` of coefficients, ``hidden_cka`` of hidden activations
Maps       ``affine_map`` from one network's coefficients to another's, and the ``mapped_accuracies`` that remain
Distances  ``distances`` of coefficients, ``cross_entropies`` of outputs
Order      ``similarity_order`` puts similar networks next to each other
"""

from creases.compare.measures._affine_map import affine_map, mapped_accuracies
from creases.compare.measures._cka import coefficient_cka
from creases.compare.measures._distance import cross_entropies, distances, hidden_cka, similarity_order

__all__ = [
    "affine_map",
    "coefficient_cka",
    "cross_entropies",
    "distances",
    "hidden_cka",
    "mapped_accuracies",
    "similarity_order",
]
