"""The claims of source 000, the XNG slides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from creases_reproduction.claim import Claim, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import judge_deviations
from creases_reproduction.xng import facts, judges, milestones
from creases_reproduction.xng.runs import PROBLEMS, xng

_FULL = ("random 2-3-2", "A random", "A gradmax", "A tiny", "A slides", "A fold", "A search", "B fold")
_QUICK = ("random 2-3-2", "A random", "A gradmax", "A slides", "A fold")


def _compared(
    problem: str, methods: tuple[str, ...] = _FULL, quick: tuple[str, ...] = _QUICK
) -> Callable[[Scale], Any]:
    """Rates of success and losses of the growth methods on one problem."""

    def measure(scale: Scale) -> dict[str, Any]:
        some = methods if scale == "full" else quick
        rows = xng(scale, networks=1000 if scale == "full" else 16, problems=[problem], methods=some)
        return {
            "networks": rows[0].networks,
            "methods": {row.method: {**asdict(row), "rate": row.rate} for row in rows},
        }

    return measure


def _with(problem: str, methods: tuple[str, ...], measure: Callable[[Scale], dict[str, Any]]) -> Callable[[Scale], Any]:
    """Numbers of a fact, and beside them networks grown in two ways."""
    return lambda scale: {**measure(scale), "grown": _compared(problem, methods, methods)(scale)}


def _grown_rates(numbers: Numbers) -> Picture:
    return judges.rates(numbers["grown"])


_NAMES = {
    "sine": "slide 34: Sine",
    "overlapping_quadratic": "slide 35: Overlap Quadratic",
    "quadratic": "slides 32 and 33: Example, of data that are not named",
    "circle": "slides 32 and 33: Example, of data that are not named",
}

CLAIMS = [
    Claim(
        "xng/slide-7",
        "slide 7 (GradMax)",
        (
            "Outgoing weights that maximise the gradient of the new incoming weights are given by the "
            "singular value decomposition."
        ),
        "",
        facts.gradmax_is_best,
        judges.judge_svd,
        misprints=("xng/slide-7", "xng/slide-8"),
    ),
    Claim(
        "xng/slide-8",
        "slide 8",
        "GradMax, which sets incoming weights to zero and looks at no direction, is not always stable in convergence.",
        "",
        _compared("quadratic", ("random 2-3-2", "A random", "A gradmax", "A slides", "A fold")),
        judges.judge_gradmax,
        judges.rates,
        full="2 minutes of a core",
    ),
    Claim(
        "xng/theorem-1",
        "Theorem 1, slide 10",
        "A network too small for its data tends to a best fit that predicts the majority of them right.",
        "",
        facts.majority_right,
        judges.judge_majority,
    ),
    Claim(
        "xng/theorem-2",
        "Theorem 2, slide 11",
        "Deep ReLU networks are equivalently replicable by shallow ones with a single hidden layer.",
        "",
        facts.deep_as_shallow,
        judges.judge_shallow,
        misprints=("xng/theorem-2",),
    ),
    Claim(
        "xng/proposition-1",
        "Proposition 1, slide 12",
        "What a ReLU network approximates is locally linear: one linear segment for each activation pattern.",
        "",
        facts.local_linearity,
        judge_deviations(1e-12, "deviation"),
    ),
    Claim(
        "xng/observation-1",
        "Observation 1, slide 13",
        "A new unit adds non-linearity: the network divides its input space into more pieces.",
        "",
        facts.more_regions,
        judges.judge_regions,
    ),
    Claim(
        "xng/theorem-3",
        "Theorem 3, slide 20",
        "A crease at the fold point x_f is made by a new unit of the first layer with w . x_f + b = 0.",
        "",
        facts.crease_through_point,
        judge_deviations(1e-10, "crease", "tie"),
        misprints=("xng/slide-29", "xng/slide-29-rows", "xng/slide-27"),
    ),
    Claim(
        "xng/lemma-1",
        "Lemma 1, slide 22",
        "If and only if w is a combination of w_ij and u, one b makes w . x + b = 0 on the whole crease.",
        "",
        facts.bias_on_crease,
        judges.judge_span,
    ),
    Claim(
        "xng/lemma-2",
        "Lemma 2, slide 23",
        "dL/dx of the grown network is (W_B s' W_A)' dL/dy + (w_B . dL/dy) w_A.",
        "",
        facts.gradient_at_input,
        judges.judge_lemma2,
        misprints=("xng/lemma-2",),
    ),
    Claim(
        "xng/theorem-4",
        "Theorem 4, slide 23",
        "Incoming weights give the direction of the gradient's new part, outgoing ones only its length.",
        "",
        facts.gradient_at_input,
        judge_deviations(1e-12, "turn"),
    ),
    Claim(
        "xng/lemma-3",
        "Lemma 3, slide 24",
        "The incoming weights determine which inputs activate the new unit.",
        "",
        milestones.where_units_act,
        judge_deviations(0, "wrong"),
    ),
    Claim(
        "xng/theorem-5",
        "Theorem 5, slide 24",
        "The incoming weights determine the location of the fold point.",
        "",
        milestones.where_units_act,
        judges.judge_location,
    ),
    Claim(
        "xng/slide-26",
        "slide 26, equivalent network deepening",
        "A layer can be inserted that leaves the function as it is.",
        "",
        milestones.equivalent_deepening,
        judge_deviations(1e-12, "change"),
    ),
    Claim(
        "xng/slide-28",
        "slide 28, Find Typical Mis-Predicted Instance",
        "The instance nearest to the centroid of the cluster with the highest mean loss is a mis-predicted one.",
        "",
        milestones.nearest_instances,
        judges.judge_nearest,
        misprints=("xng/slide-28",),
    ),
    Claim(
        "xng/lemma-4",
        "Lemma 4, slide 25",
        "Small outgoing weights keep the affine maps: the outputs' change goes to 0 with them.",
        "",
        facts.crease_through_point,
        judges.judge_lemma4,
    ),
    Claim(
        "xng/lemma-5",
        "Lemma 5, slide 25",
        "Outgoing weights must not be exactly zero, or no gradient reaches the new incoming weights and bias.",
        "",
        facts.gradient_of_new_unit,
        judges.judge_lemma5,
        misprints=("xng/slide-29-zero",),
    ),
    Claim(
        "xng/slide-31",
        "slide 31",
        "The nearest point of the boundary is x_t - (w . x_t + b) w / (w . w).",
        "",
        facts.nearest_point,
        judge_deviations(1e-12, "deviation"),
    ),
    Claim(
        "xng/slide-30",
        "slide 30",
        "There is a dead-layer problem: layers in which no unit is active.",
        "",
        facts.dead_layers,
        judges.judge_dead,
    ),
    *(
        Claim(
            f"xng/growth-{name}",
            _NAMES[name],
            (
                "Networks grown by folding from 2-2-2 to 2-3-2 end better than 2-3-2 networks from random "
                f"weights ({name.replace('_', ' ')})."
            ),
            "a picture without numbers",
            _compared(name),
            judges.judge_growth,
            judges.rates,
            full="10 minutes of a core",
        )
        for name in PROBLEMS
    ),
    Claim(
        "xng/slide-36",
        "slide 36: utilization of approximatability",
        "Networks that solve their problem: from random weights, and grown from 2-2-2 to 2-3-2.",
        "65 of 1000; 360 of 1000",
        _compared("sine", ("random 2-3-2", "A slides", "A fold"), ("random 2-3-2", "A slides", "A fold")),
        judges.judge_count,
        judges.beside,
        full="2 minutes of a core",
    ),
    Claim(
        "xng/milestone-1",
        "slide 38, next milestone 1",
        "The direction x_t - x_f is not the best one for the new unit.",
        "",
        _with("sine", ("A aligned", "A fold"), milestones.direction_against_instance),
        judges.judge_direction,
        _grown_rates,
        full="3 minutes of a core",
    ),
    Claim(
        "xng/milestone-2",
        "slide 38, next milestone 2",
        "The fold point need not lie on the effective activated linear segment.",
        "",
        _with("sine", ("A foot", "A fold"), facts.feet_off_the_boundary),
        judges.judge_foot,
        _grown_rates,
        full="3 minutes of a core",
    ),
    Claim(
        "xng/milestone-3",
        "slide 38, next milestone 3",
        "The constrained optimisation of the new unit is difficult.",
        "",
        milestones.closed_form_against_optimiser,
        judges.judge_closed_form,
    ),
]
