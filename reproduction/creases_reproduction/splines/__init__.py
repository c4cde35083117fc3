"""Claims of the lecture on networks as splines."""

#: Modules with a list ``CLAIMS``, in the order of the catalogue.
MODULES = (
    "representation",
    "loss_surface",
    "lonely_data",
    "breakpoint_motion",
    "kernel_regime",
    "initialisation",
    "depth",
    "optimal_fits",
    "relocation",
    "initialisation_gap",
    "several_inputs",
    "data_gap",
    "gans",
    "outlook",
)
