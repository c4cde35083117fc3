"""How the experiments of the lecture on splines (source 003) are judged and drawn."""

from __future__ import annotations

from typing import Any

from scipy import stats

from creases_reproduction.claim import Curve, Judgement, Numbers, Picture, Row

#: Printed numbers, by target.
TABLE_1 = {"sine": {"torch": 4.096, "uniform": 2.280}, "quadratic": {"torch": 0.1032, "uniform": 1.1118}}
TABLE_2: dict[str, dict[str, float]] = {
    "1": {"sine": 40, "sawtooth": 40, "arctan": 40, "quadratic": 40},
    "2": {"sine": 55.5, "sawtooth": 50, "arctan": 49.25, "quadratic": 49.25},
    "4": {"sine": 68, "sawtooth": 48.5, "arctan": 42.5, "quadratic": 40.25},
    "5": {"sine": 62.25, "sawtooth": 44.5, "arctan": 38, "quadratic": 31.5},
}
CURVATURE: dict[str, dict[str, tuple[float, float]]] = {
    "sine": {"1": (-0.077, 0.324), "4": (-0.171, 0.494)},
    "cubic": {"1": (-0.904, -0.891), "4": (-0.900, 0.688)},
    "chirp": {"1": (-0.754, -0.592), "4": (-0.752, -0.212)},
}
SPIKY = {
    "quadratic": 150.6 / 3.559,
    "cubic": 136.7 / 3.608,
    "sine": 157.5 / 42.95,
    "arctan": 2.499 / 0.01252,
    "sawtooth": 150.1 / 156.9,
}
DEEP = {
    "sine": 31.48 / 42.95,
    "arctan": 0.9795 / 0.01252,
    "sawtooth": 148.1 / 156.9,
    "cubic": 56.77 / 3.608,
    "quadratic": 1.741 / 3.559,
}


def spread(one: Any) -> dict[str, Any]:
    """Mean, deviation and the mean's 95 % interval (Student's) of numbers of several seeds."""
    n = len(one.values)
    half = float(stats.t.ppf(0.975, n - 1)) * one.sd / n**0.5 if n > 1 else float("nan")
    return {"mean": one.mean, "sd": one.sd, "low": one.mean - half, "high": one.mean + half, "seeds": n}


def spread_row(what: str, printed: float | None, one: Numbers) -> Row:
    """A spread as a row of a picture."""
    return Row(what, printed, one["mean"], one["low"], one["high"])


def spoken(one: Numbers) -> str:
    """Mean and deviation."""
    return f"{one['mean']:.3g} ± {one['sd']:.2g}"


def _ratio(one: Numbers, other: Numbers) -> float:
    return float(one["mean"] / other["mean"])


def judge_table_1(numbers: Numbers) -> Judgement:
    """Whether uniform breakpoints have the lower loss on sine, as printed; the parabola's second number is doubtful."""
    told = "; ".join(
        f"{target}: standard {spoken(one['torch'])}, uniform {spoken(one['uniform'])}, ratio "
        f"{_ratio(one['uniform'], one['torch']):.2f} "
        f"(printed {TABLE_1[target]['uniform'] / TABLE_1[target]['torch']:.2f})"
        for target, one in numbers.items()
    )
    better = numbers["sine"]["uniform"]["mean"] < numbers["sine"]["torch"]["mean"]
    why = "The printed losses are in units that are not given; 1.1118 is probably .1118."
    return Judgement("agrees in kind" if better else "disagrees", f"{told}. {why}")


def table_1_rows(numbers: Numbers) -> Picture:
    """Losses by initialisation; the printed ones are in other units and are left out."""
    rows = [spread_row(f"{target}, {how}", None, one) for target, part in numbers.items() for how, one in part.items()]
    return Picture(rows=rows, x="test loss (mean squared error)", log=True)


def judge_table_2(numbers: Numbers) -> Judgement:
    """Whether one layer has exactly 40, and deeper networks are not far from it."""
    counts = {
        depth: {name: one["mean"] for name, one in part.items() if name != "initial"} for depth, part in numbers.items()
    }
    told = "; ".join(
        f"depth {depth}: {', '.join(f'{value:.1f}' for value in part.values())}" for depth, part in counts.items()
    )
    shallow = all(value == 40 for value in counts["1"].values())
    deep = [value for depth, part in counts.items() if depth != "1" for value in part.values()]
    near = max(deep) < 80 and min(deep) > 20
    inside = all(
        one["low"] <= TABLE_2[depth][name] <= one["high"]
        for depth, part in numbers.items()
        for name, one in part.items()
        if name != "initial" and one["low"] is not None
    )
    if not (shallow and near):
        return Judgement("disagrees", f"Breakpoints after training: {told}.")
    names = ", ".join(counts["1"])
    return Judgement(
        "agrees" if inside else "agrees in kind",
        f"Breakpoints after training ({names}): {told}. They are breakpoints, not pieces; the training is not given.",
    )


def table_2_rows(numbers: Numbers) -> Picture:
    """Breakpoints by depth and target."""
    rows = [
        spread_row(f"depth {depth}, {name}", TABLE_2[depth].get(name), one)
        for depth, part in numbers.items()
        for name, one in part.items()
        if name != "initial"
    ]
    return Picture(rows=rows, x="active breakpoints")


def judge_curvature(numbers: Numbers) -> Judgement:
    """Whether training raises the correlation, and depth raises it more."""
    told = "; ".join(
        (
            f"{target}: {one['1']['initial']:.2f} to {one['1']['final']:.2f} (depth 1), "
            f"{one['4']['initial']:.2f} to {one['4']['final']:.2f} (depth 4)"
        )
        for target, one in numbers.items()
    )
    rises = all(part["final"] > part["initial"] for one in numbers.values() for part in one.values())
    deeper = [
        target
        for target, one in numbers.items()
        if one["4"]["final"] - one["4"]["initial"] > one["1"]["final"] - one["1"]["initial"]
    ]
    if rises and deeper:
        rest = [target for target in numbers if target not in deeper]
        but = f", but not on {', '.join(rest)}" if rest else ""
        return Judgement(
            "agrees in kind",
            f"{told}. Training raises it everywhere; depth raises it more on {', '.join(deeper)}{but}.",
        )
    return Judgement("disagrees", f"{told}.")


def curvature_rows(numbers: Numbers) -> Picture:
    """Final correlations."""
    rows = [
        Row(
            f"{target}, depth {depth}, {when}",
            CURVATURE[target][depth][k],
            one[when],
            one[when] - 1.96 * one[f"{when}_sd"],
            one[when] + 1.96 * one[f"{when}_sd"],
        )
        for target, part in numbers.items()
        for depth, one in part.items()
        for k, when in enumerate(("initial", "final"))
    ]
    return Picture(rows=rows, x="correlation of breakpoints with curvature")


def judge_spiky(numbers: Numbers) -> Judgement:
    """Whether spiky first weights raise the test loss."""
    told = ", ".join(
        f"{target} {one['ratio']['mean']:.2g} (printed {SPIKY[target]:.2g})" for target, one in numbers.items()
    )
    worse = [target for target, one in numbers.items() if one["ratio"]["mean"] > 1.5]
    if len(worse) == len(numbers):
        return Judgement("agrees in kind", f"Test loss with spiky over plain first weights: {told}.")
    if worse:
        return Judgement(
            "agrees in kind",
            (
                f"Test loss with spiky over plain first weights: {told}. The effect is there on {', '.join(worse)} "
                "only; spikiness and training are not given."
            ),
        )
    return Judgement("disagrees", f"Test loss with spiky over plain first weights: {told}.")


def spiky_rows(numbers: Numbers) -> Picture:
    """Ratios of losses."""
    return Picture(
        rows=[spread_row(target, SPIKY[target], one["ratio"]) for target, one in numbers.items()],
        x="test loss, spiky over plain",
        log=True,
    )


def judge_depth(numbers: Numbers) -> Judgement:
    """Whether depth helps on some target and not on all."""
    ratios = {target: _ratio(one["4"], one["1"]) for target, one in numbers.items()}
    clear = {
        target: one["4"]["mean"] + one["4"]["sd"] < one["1"]["mean"] - one["1"]["sd"] for target, one in numbers.items()
    }
    told = ", ".join(f"{target} {ratio:.2g} (printed {DEEP[target]:.2g})" for target, ratio in ratios.items())
    helped = [target for target, one in clear.items() if one]
    if helped and len(helped) < len(numbers):
        return Judgement(
            "agrees in kind",
            (
                f"Test loss of depth 4 over depth 1: {told}; lower by more than a deviation on {', '.join(helped)}, "
                "not on the others."
            ),
        )
    return Judgement("disagrees", f"Test loss of depth 4 over depth 1: {told}.")


def depth_rows(numbers: Numbers) -> Picture:
    """Ratios of mean losses."""
    rows = [Row(target, DEEP[target], _ratio(one["4"], one["1"])) for target, one in numbers.items()]
    return Picture(rows=rows, x="test loss, depth 4 over depth 1", log=True)


def judge_smoothness(numbers: Numbers) -> Judgement:
    """Whether final roughness grows with the first one and falls with the width."""
    last = {width: {kappa: one["last"]["mean"] for kappa, one in part.items()} for width, part in numbers.items()}
    grows = all(list(part.values()) == sorted(part.values()) for part in last.values())
    plain = [part["1.0"] for part in last.values()]
    falls = plain == sorted(plain, reverse=True)
    told = "; ".join(
        f"width {width}: {', '.join(f'{value:.2g}' for value in part.values())}" for width, part in last.items()
    )
    kappas = ", ".join(next(iter(last.values())))
    return Judgement(
        "agrees" if grows and falls else "disagrees", f"Final roughness for outgoing weights times {kappas}: {told}."
    )


def smoothness_curves(numbers: Numbers) -> Picture:
    """Final roughness against the first one, for each width."""
    curves = [
        Curve(
            f"{width} units",
            [float(kappa) for kappa in part],
            [one["last"]["mean"] for one in part.values()],
            [max(one["last"]["low"] or 0, 1e-3) for one in part.values()],
            [one["last"]["high"] or one["last"]["mean"] for one in part.values()],
        )
        for width, part in numbers.items()
    ]
    return Picture(curves=curves, x="factor on the first outgoing weights", y="final roughness", log=True)
