"""Claims of the lecture on networks as splines."""

#: Modules with a list ``CLAIMS``, in the order of the catalogue.
MODULES = ("claims", "training_claims", "gap")
