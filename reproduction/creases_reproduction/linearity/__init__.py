"""Claims of the dissertation on local linearity."""

#: Modules with a list ``CLAIMS``, in the order of the catalogue.
MODULES = (
    "chapter2_perceptrons",
    "chapter2_regions",
    "pruned_and_independent",
    "chapter3_quoted",
    "chapter3_functions",
    "chapter3_networks",
    "threshold_parity",
    "chapter3_optima",
    "chapter3_training",
    "chapter3_hardness",
    "chapter3_ten_bits",
    "chapter3_pruning",
    "chapter3_images",
    "chapter4_shapes",
    "chapter4_formulas",
    "chapter4_training",
    "chapter5_piecewise_linear",
    "chapter5_tropical",
    "chapter5_sine",
    "chapter6_planes",
    "chapter6_images",
    "chapter7_planes",
    "chapter7_compression",
    "chapter7_similarity",
)
