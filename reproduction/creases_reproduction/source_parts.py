"""What each source describes as a method or a system, where the library has it, and what differs there.

The first page of the reproduction shows :data:`PARTS` as a table. ``reproduction/tests/test_source_parts.py`` compares
it with the doors of the library: every name is public, and every public name whose docstring cites a source is here.
"""

from __future__ import annotations

from typing import NamedTuple

#: The title by which docstrings cite each source.
TITLES = {
    "xng": "Explainable Network Growth by Folding on Typical Mis-predictions",
    "tiny": "Spotting Expressivity Bottlenecks and Fixing Them Optimally",
    "linearity": "Local Linearity of ReLU Neural Networks",
    "splines": "Understanding Neural Nets as Splines",
}


class Part(NamedTuple):
    """A method or system of a source."""

    family: str
    what: str
    names: tuple[str, ...] = ()  #: public names of the library, without ``creases.``
    claims: tuple[str, ...] = ()  #: where the library has it not: the claims that compute it, without the family
    differs: str = ""  #: how the library's default differs from the source; "" if it does not


PARTS = (
    Part(
        "xng",
        "Units that fold the boundary at typical mispredictions (slides 27 to 31)",
        (
            "growth.methods.Fold",
            "growth.methods.fold",
            "growth.methods.folding.fold_point",
            "growth.methods.folding.typical_mispredictions",
        ),
        differs="of a cluster the nearest mispredicted row is taken, where the slides take the nearest row; the unit's "
        "direction maximizes the fall of the loss that a score predicts, and is not set to x_t - x_f",
    ),
    Part(
        "xng",
        "The rules of slides 27 to 29, as printed",
        ("growth.methods.folding.printed_unit",),
        differs="the option as_printed of fold; outgoing weights are small, as Lemma 5 asks for, and not 0",
    ),
    Part("xng", "Units by GradMax (slides 7 and 8)", ("growth.methods.GradMax", "growth.methods.gradmax")),
    Part(
        "xng",
        "The loop: train, grow, train (slide 33)",
        ("grow", "growth.Grower"),
        differs="held-out rows confirm each step, and undo it otherwise",
    ),
    Part("xng", "A layer inserted without changing the function (slide 26)", ("deepen", "network.deepen")),
    Part("xng", "Dead layers (slide 30)", ("growth.methods.folding.dead_layer_reason",)),
    Part(
        "xng",
        "A shallow network that equals a deep one (Theorem 2)",
        claims=("theorem-2",),
        differs="exists with one hidden layer for some networks only",
    ),
    Part(
        "tiny",
        "The desired update, its part beyond the tangent space, and statistics S and N (sections 3.1 and 3.2)",
        (
            "growth.methods.expressivity.bottleneck",
            "growth.methods.expressivity.statistics",
            "growth.methods.expressivity.projected_pairs",
        ),
    ),
    Part("tiny", "The best move of a layer (Proposition 3.1)", ("growth.methods.expressivity.best_moves",)),
    Part(
        "tiny",
        "The best new units, and their amplitude by a line search (Propositions 3.2 and 3.3, section 3.3)",
        (
            "growth.methods.Tiny",
            "growth.methods.tiny",
            "growth.methods.expressivity.optimal_units",
            "growth.methods.expressivity.line_search",
        ),
        differs="by default a ridge is added to S, and directions within the noise of the sample are left out",
    ),
    Part(
        "tiny",
        "How many samples an estimate takes (section 3.4)",
        ("growth.methods.expressivity.sample_size",),
        differs="by the measured variance, since it grows in another way than printed",
    ),
    Part(
        "tiny",
        "Growth of networks on MNIST (Figures 5 to 13)",
        claims=("figure-5", "figure-8", "figure-10", "figure-13"),
        differs="as experiments, for fewer seeds and in other seconds than the paper's",
    ),
    Part(
        "linearity",
        "Boolean functions: NPN classes, swaps, constructions (sections 3.2 and 3.3, A.2 to A.4)",
        (
            "boolean.npn_classes",
            "boolean.swaps",
            "boolean.class_swaps",
            "boolean.class_changes",
            "boolean.wide_network",
            "boolean.deep_network",
            "boolean.parity_network",
            "boolean.intervals.sawtooth_network",
        ),
        differs="five bits are computed, too, and all orderings, of which the text lists 6 of 14 at four bits",
    ),
    Part(
        "linearity",
        "Fourier degree, influence and entropy (section 3.4.2, A.5)",
        ("boolean.measures",),
        differs="with the factor 2^-n that (3.5) lacks",
    ),
    Part(
        "linearity",
        "Training of all small networks on all functions (section 3.4)",
        ("lab.train", "lab.sweep"),
    ),
    Part(
        "linearity",
        "Pruning with data (section 3.4.5)",
        ("prune.channels", "prune.magnitude"),
        differs="channels that depend on each other go together, and exact losses decide among candidates",
    ),
    Part(
        "linearity",
        "Pruning to the smallest network, exhaustively and unit by unit (section 3.4.4)",
        ("prune.exhaustive", "prune.iterative"),
        differs="a candidate stops training once it classifies all samples correctly",
    ),
    Part(
        "linearity",
        "Counts and bounds of linear regions (section 2.3)",
        ("regions.bounds", "regions.decision_polytopes"),
    ),
    Part(
        "linearity", "Minimal networks around a ball (chapter 4)", claims=("table-4.1", "table-4.2", "section-4-width")
    ),
    Part("linearity", "Regions and tropical form (chapter 5)", ("plane", "space", "line", "regions.tropical")),
    Part(
        "linearity",
        "Planes through three images, and sections (sections 6.1 to 6.3)",
        (
            "plane_through",
            "regions.geometry.slice_through",
            "compare.section",
            "show.plot_images",
            "problems.images.to_color_32",
        ),
    ),
    Part("linearity", "Films of training (Figures 6.4 to 6.6)", ("show.animate",)),
    Part(
        "linearity",
        "Active subspaces (section 6.4)",
        ("compare.active_subspace", "show.plot_gradients"),
    ),
    Part(
        "linearity",
        "Linear coefficients: maps, distances, CKA, compression (chapter 7)",
        (
            "compare.coefficients",
            "compare.compress",
            "compare.similarity",
            "compare.measures.affine_map",
            "compare.measures.distances",
            "show.plot_dual",
            "show.plot_similarity",
        ),
        differs="networks are scaled by the largest magnitude, where (7.6) takes the largest value",
    ),
    Part(
        "splines",
        "Networks of one input as splines, and back (Theorem 1)",
        ("splines.from_module", "splines.to_spline", "splines.to_shallow", "splines.to_module", "problems.curve"),
    ),
    Part("splines", "The best fit with free knots, relocation", ("splines.optimal_fit", "splines.relocate")),
    Part("splines", "Breakpoints through training", ("splines.Tracker", "splines.breakpoints")),
    Part(
        "splines",
        "Velocities of breakpoints, tangent kernel, Hessian, loss slices, degenerate units (Theorems 3 to 6)",
        (
            "splines.theory.velocities",
            "splines.theory.tangent_kernel",
            "splines.theory.hessian",
            "splines.theory.loss_slice",
            "splines.theory.degenerate_units",
        ),
        differs="with the formulas corrected; flows and critical points are claims only",
    ),
    Part(
        "splines",
        "Minimum-norm fits, densities of breakpoints, lonely partitions",
        ("splines.theory.minimum_norm_fit", "splines.theory.breakpoint_density", "splines.theory.lonely_samples"),
    ),
    Part("splines", "Generative networks", claims=("gan-combination", "gan-simgd", "gan-ridge")),
)
