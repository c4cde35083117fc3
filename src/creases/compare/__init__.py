"""How alike networks are, by the linear coefficients that they use."""

from creases.compare.affine_map import affine_map, mapped_accuracies
from creases.compare.cka import cka, cka_matrix, coefficient_cka
from creases.compare.coefficients import Coefficients, coefficients
from creases.compare.compression import Compression, compress, distinct_regions
from creases.compare.difference import Difference, difference
from creases.compare.distance import cross_entropies, distances
from creases.compare.hidden import hidden_cka, hidden_values
from creases.compare.in_box import BoxDifference, difference_in_box
from creases.compare.joint import joined
from creases.compare.on_partition import (
    Part,
    PartitionDifference,
    difference_in_space,
    difference_on_line,
    difference_on_plane,
    difference_through,
)
from creases.compare.on_samples import SampleDifference, difference_at_samples
from creases.compare.sections import Section, section
from creases.compare.sensitivity import ActiveSubspace, active_subspace, explained
from creases.compare.similarity import Similarity, similarity

__all__ = [
    "ActiveSubspace",
    "BoxDifference",
    "Coefficients",
    "Compression",
    "Difference",
    "Part",
    "PartitionDifference",
    "SampleDifference",
    "Section",
    "Similarity",
    "active_subspace",
    "affine_map",
    "cka",
    "cka_matrix",
    "coefficient_cka",
    "coefficients",
    "compress",
    "cross_entropies",
    "difference",
    "difference_at_samples",
    "difference_in_box",
    "difference_in_space",
    "difference_on_line",
    "difference_on_plane",
    "difference_through",
    "distances",
    "distinct_regions",
    "explained",
    "hidden_cka",
    "hidden_values",
    "joined",
    "mapped_accuracies",
    "section",
    "similarity",
]
