"""The claims of source 003, the lecture on networks as splines, that are experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from creases_reproduction.claim import Claim
from creases_reproduction.experiment import Scale
from creases_reproduction.splines import fits, initialisation, landscape, optimum
from creases_reproduction.splines import regime_judges as regimes
from creases_reproduction.splines import training_judges as judges
from creases_reproduction.splines.training_judges import spread


def _scaled(
    experiment: Callable[..., Any], shape: Callable[[Any], Mapping[str, Any]], **quick: Any
) -> Callable[[Scale], Any]:
    """An experiment with its own set-up at full scale, with smaller numbers at the quick one; its result as numbers."""
    return lambda scale: shape(experiment(**(quick if scale == "quick" else {})))


def _spreads(found: Mapping[Any, Mapping[Any, Any]]) -> dict[str, Any]:
    return {str(name): {str(how): spread(one) for how, one in part.items()} for name, part in found.items()}


def _correlations(found: Any) -> dict[str, Any]:
    return {target: {str(depth): one._asdict() for depth, one in part.items()} for target, part in found.items()}


def _relocations(found: Any) -> dict[str, Any]:
    return {
        str(width): {
            **{how: spread(one) for how, one in losses.items()},
            "optimum": best.pieces,
            "one more": best.one_more,
        }
        for width, (losses, best) in found.items()
    }


def _gaps(found: Any) -> dict[str, Any]:
    return {
        target: {
            "plain": spread(one.plain),
            "relocated": spread(one.relocated),
            "optimum": one.optimum,
            "plain gap": spread(one.plain_gap),
            "relocated gap": spread(one.relocated_gap),
        }
        for target, one in found.items()
    }


def _comparisons(found: Any) -> dict[str, Any]:
    """Of each curve: the best and the median restart of descent over the optimal fit's error."""
    rows = [
        {
            "kind": one.curve.kind,
            "best": float(one.descent.min() / one.optimal.sse),
            "median": float(sorted(one.descent)[len(one.descent) // 2] / one.optimal.sse),
        }
        for one in found
    ]
    return {"curves": rows, "restarts": len(found[0].descent)}


def _against_descent(scale: Scale) -> dict[str, Any]:
    curves = optimum.random_curves(4 if scale == "quick" else 20)
    more: dict[str, Any] = {"restarts": 4, "steps": 300} if scale == "quick" else {}
    return _comparisons(optimum.against_descent(curves, **more))


def _limits(found: Any) -> dict[str, Any]:
    return {str(width): {"spaced": spaced, "drawn": spread(drawn)} for width, (spaced, drawn) in found.items()}


def _regimes(found: Any) -> dict[str, Any]:
    return {str(alpha): {"cubic": spread(cubic), "linear": spread(linear)} for alpha, (cubic, linear) in found.items()}


def _roughness(found: Any) -> dict[str, Any]:
    return {
        str(width): {
            str(kappa): {"first": spread(first), "last": spread(last)} for kappa, (first, last) in part.items()
        }
        for width, part in found.items()
    }


def _listed(found: Any) -> dict[str, Any]:
    return {"rows": [vars(one) for one in found]}


CLAIMS = [
    Claim(
        "splines/table-1",
        "Table 1",
        "Breakpoints spread uniformly over the data give lower test losses than the standard initialisation.",
        (
            "sine 4.096 ± 2.25 (standard), 2.280 ± .457 (uniform); quadratic .1032 ± .0404, 1.1118 ± "
            ".0248; in units that are not given"
        ),
        _scaled(initialisation.breakpoint_initialisation, _spreads, seeds=3),
        judges.judge_table_1,
        judges.table_1_rows,
        full="half a minute of a core",
        misprints=("splines/table-1",),
    ),
    Claim(
        "splines/table-2",
        "Table 2",
        "40 units have about as many breakpoints in one layer as in several: depth adds little expressivity.",
        (
            "depth 1: 40; 2: 55.5, 50, 49.25, 49.25; 4: 68, 48.5, 42.5, 40.25; 5: 62.25, 44.5, 38, 31.5 "
            "(sine, sawtooth, arctan, quadratic)"
        ),
        _scaled(initialisation.breakpoints_against_depth, _spreads, seeds=3, targets=("sine", "quadratic"), steps=2000),
        judges.judge_table_2,
        judges.table_2_rows,
        full="a minute of a core",
        misprints=("splines/table-2",),
    ),
    Claim(
        "splines/curvature",
        "slide 'Breakpoints in Deeper Nets are more Attracted to Curvature'",
        "After training, breakpoints lie where the target is curved, more so in deeper networks.",
        "final correlation at depth 1 / 4: sine .32 / .49, cubic -.89 / .69, sin(x^2 / 2) -.59 / -.21",
        _scaled(initialisation.curvature_correlation, _correlations, seeds=4, targets=("cubic", "sine"), steps=2000),
        judges.judge_curvature,
        judges.curvature_rows,
        full="two minutes of a core",
    ),
    Claim(
        "splines/spiky",
        "slide 'Spiky Inits are remembered'",
        "Spiky initialisations significantly increase the test loss.",
        "shallow -> spiky: sine 42.95 -> 157.5, arctan .01252 -> 2.499, sawtooth 156.9 -> 150.1, cubic 3.608 -> 136.7, "
        "quadratic 3.559 -> 150.6",
        _scaled(initialisation.spiky_initialisation, _spreads, seeds=2, targets=("quadratic", "sine"), steps=4000),
        judges.judge_spiky,
        judges.spiky_rows,
        full="two minutes of a core",
    ),
    Claim(
        "splines/depth-error",
        "slide 'Going Deeper can improve error but doesn't always help'",
        "Deep networks of as many units have lower test losses on some targets, not on all.",
        (
            "shallow / deep: sine 42.95 / 31.48, arctan .01252 / .9795, sawtooth 156.9 / 148.1, cubic "
            "3.608 / 56.77, quadratic 3.559 / 1.741"
        ),
        _scaled(initialisation.errors_by_depth, _spreads, seeds=2, targets=("sine", "arctan"), steps=4000),
        judges.judge_depth,
        judges.depth_rows,
        full="a minute of a core",
    ),
    Claim(
        "splines/smoothness",
        "slides 'Impact of Width', 'Impact of Init Smoothness', 'Quantifying Implicit Regularization'",
        "Networks end the smoother, the smoother they start and the wider they are.",
        "pictures",
        _scaled(initialisation.final_roughness, _roughness, seeds=2, steps=4000),
        judges.judge_smoothness,
        judges.smoothness_curves,
        full="a minute of a core",
    ),
    Claim(
        "splines/figure-11",
        "Figure 11",
        (
            "The share of data alone in their piece grows with overparametrisation, more for uniform "
            "than for standard breakpoints."
        ),
        "a picture",
        _scaled(landscape.lonely_table, _listed, trials=200),
        regimes.judge_figure_11,
        regimes.figure_11_curves,
    ),
    Claim(
        "splines/suboptimal",
        "slide 'How Suboptimal is Gradient Descent?'",
        "Gradient descent ends above the globally optimal piecewise-linear fit.",
        "a picture",
        _against_descent,
        regimes.judge_suboptimal,
        regimes.suboptimal_rows,
        full="half a minute of a core",
    ),
    Claim(
        "splines/relocation",
        "slide 'Relocating Bad Breakpoints During Training Rescues GD'",
        "Moving the worst breakpoints during training brings gradient descent near the optimum.",
        "a picture",
        _scaled(fits.relocation_table, _relocations, widths=(6,), seeds=3, steps=4000),
        regimes.judge_relocation,
        regimes.relocation_rows,
        full="half a minute of a core",
    ),
    Claim(
        "splines/relocation-gap",
        "slide 'Relocating Bad Breakpoints During Training Rescues GD'",
        "Relocation closes most of the gap to the optimal fit, on every target.",
        "a picture",
        _scaled(fits.relocation_gap, _gaps, targets=("sine",), seeds=3, steps=4000),
        regimes.judge_gap,
        regimes.gap_rows,
        full="a minute of a core",
    ),
    Claim(
        "splines/mobility",
        "slides 'Depth helps with Breakpoint Mobility', 'Speed, Birth & Death'",
        "In deep networks breakpoints are born and die and move; a shallow one keeps its own.",
        "pictures",
        _scaled(landscape.births_and_deaths, _listed, seeds=2, steps=1000),
        regimes.judge_mobility,
        regimes.mobility_rows,
        full="two minutes of a core",
    ),
    Claim(
        "splines/corollary-4",
        "Corollary 4",
        "With many uniformly spaced breakpoints the kernel regime's function is the natural cubic spline.",
        "",
        _scaled(fits.cubic_limit, _limits, widths=(100, 1000), seeds=3),
        regimes.judge_cubic,
        regimes.cubic_curves,
        misprints=("splines/corollary-4",),
    ),
    Claim(
        "splines/regimes",
        "slides 'Compare Predicted Spline to Trained NN', 'Rich Regime'",
        "Large alpha: the trained network is the cubic spline; small alpha: less smooth, nearer to straight lines.",
        "pictures for alpha = 100, 1, 0.1",
        _scaled(fits.rich_and_kernel, _regimes, alphas=(10.0, 0.1), seeds=2, steps=5000),
        regimes.judge_regimes,
        regimes.regime_curves,
        full="five minutes of a core",
    ),
    Claim(
        "splines/sticking",
        "Figures 2 and 9, breakpoint attractors",
        "In the rich regime breakpoints are attracted to data and stick there; in the kernel regime they hardly move.",
        "pictures",
        _scaled(landscape.sticking, _listed, alphas=(0.3, 10.0), seeds=3, steps=2000),
        regimes.judge_sticking,
        regimes.sticking_rows,
        full="two minutes of a core",
    ),
]
