"""How alike networks are, by the linear coefficients that they use."""

from creases.compare.affine_map import affine_map, mapped_accuracies
from creases.compare.cka import cka, cka_matrix, coefficient_cka
from creases.compare.coefficients import Coefficients, coefficients
from creases.compare.compression import Compression, compress, distinct_regions
from creases.compare.distance import cross_entropies, distances
from creases.compare.hidden import hidden_cka, hidden_values
from creases.compare.sensitivity import ActiveSubspace, active_subspace, explained
from creases.compare.similarity import Similarity, similarity

__all__ = [
    "ActiveSubspace",
    "Coefficients",
    "Compression",
    "Similarity",
    "active_subspace",
    "affine_map",
    "cka",
    "cka_matrix",
    "coefficient_cka",
    "coefficients",
    "compress",
    "cross_entropies",
    "distances",
    "distinct_regions",
    "explained",
    "hidden_cka",
    "hidden_values",
    "mapped_accuracies",
    "similarity",
]
