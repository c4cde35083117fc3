"""Claims of the TINY paper."""

#: Modules with a list ``CLAIMS``, in the order of the catalogue.
MODULES = ("theorems", "output_bottleneck", "corollaries", "amplitude", "greedy", "mnist", "small_architectures")
