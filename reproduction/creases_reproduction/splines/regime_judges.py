"""How the lecture's experiments on optimal fits, relocation and regimes (source 003) are judged and drawn."""

from __future__ import annotations

import numpy as np

from creases_reproduction.claim import Curve, Judgement, Numbers, Picture, Row
from creases_reproduction.splines.training_judges import spoken, spread_row


def judge_figure_11(numbers: Numbers) -> Judgement:
    """Whether lonely data get more with width, and uniform breakpoints are ahead of standard ones."""
    shares: dict[str, list[float]] = {}
    for one in numbers["rows"]:
        shares.setdefault(one["how"], []).append(one["mean"])
    grows = all(values == sorted(values) for values in shares.values())
    ahead = all(a > b for a, b in zip(shares["uniform"], shares["cauchy"], strict=True))
    off = max(abs(one["mean"] - one["formula"]) for one in numbers["rows"] if one["formula"] is not None)
    told = "; ".join(f"{how} {', '.join(f'{value:.2f}' for value in values)}" for how, values in shares.items())
    ratios = sorted({one["ratio"] for one in numbers["rows"]})
    return Judgement(
        "agrees" if grows and ahead else "disagrees",
        (
            f"Lonely shares for {', '.join(map(str, ratios))} units a datum: {told}; off the exact "
            f"formulas by {off:.1g} at most."
        ),
    )


def figure_11_curves(numbers: Numbers) -> Picture:
    """Shares against units per datum."""
    curves = []
    for how in ("spaced", "uniform", "cauchy"):
        own = [one for one in numbers["rows"] if one["how"] == how]
        error = [1.96 * one["spread"] / one["trials"] ** 0.5 for one in own]
        low, high = ([one["mean"] + sign * half for one, half in zip(own, error, strict=True)] for sign in (-1, 1))
        curves.append(Curve(how, [one["ratio"] for one in own], [one["mean"] for one in own], low, high))
    return Picture(curves=curves, x="units for each datum", y="share of lonely data")


def judge_suboptimal(numbers: Numbers) -> Judgement:
    """Whether descent never beats the optimum, and usually stays above it."""
    best, median = (np.array([one[name] for one in numbers["curves"]]) for name in ("best", "median"))
    told = (
        f"Error over the optimum's on {len(best)} curves: a median restart {np.median(median):.2f} "
        f"times, the best of {numbers['restarts']} {np.median(best):.2f} times (least "
        f"{best.min():.4f})"
    )
    return Judgement("agrees" if best.min() > 1 - 1e-6 and np.median(median) > 1.01 else "disagrees", f"{told}.")


def suboptimal_rows(numbers: Numbers) -> Picture:
    """Median restart over optimum, by curve."""
    rows = [
        Row(f"{k + 1}, {one['kind']}", None, one["median"], one["best"], one["median"])
        for k, one in enumerate(numbers["curves"])
    ]
    return Picture(
        rows=rows, x="descent's squared error over the optimum's: median restart, and down to the best", log=True
    )


def judge_relocation(numbers: Numbers) -> Judgement:
    """Whether relocation ends far below descent and near the optimum."""
    told = "; ".join(
        (
            f"{width} units: descent {spoken(one['descent'])}, relocation {spoken(one['relocation'])}, "
            f"optimum {one['optimum']:.2g}"
        )
        for width, one in numbers.items()
    )
    rescued = all(one["relocation"]["mean"] < 0.5 * one["descent"]["mean"] for one in numbers.values())
    return Judgement("agrees" if rescued else "disagrees", f"Training losses on sine: {told}.")


def relocation_rows(numbers: Numbers) -> Picture:
    """Losses by method."""
    rows = []
    for width, part in numbers.items():
        rows += [
            spread_row(f"{width} units, {how}", None, part[how]) for how in ("descent", "spaced", "refit", "relocation")
        ]
        rows.append(Row(f"{width} units, optimum", None, part["optimum"]))
    return Picture(rows=rows, x="training loss on sine", log=True)


def judge_gap(numbers: Numbers) -> Judgement:
    """How much of the gap to the optimum relocation closes."""
    closed = {target: 1 - one["relocated gap"]["mean"] / one["plain gap"]["mean"] for target, one in numbers.items()}
    told = ", ".join(f"{target} {share:.0%}" for target, share in closed.items())
    return Judgement(
        "agrees" if min(closed.values()) > 0.5 else "disagrees", f"Share of the gap that is closed: {told}."
    )


def gap_rows(numbers: Numbers) -> Picture:
    """Test losses."""
    rows = []
    for target, one in numbers.items():
        rows += [spread_row(f"{target}, {how}", None, one[how]) for how in ("plain", "relocated")]
        rows.append(Row(f"{target}, optimal fit", None, one["optimum"]))
    return Picture(rows=rows, x="test loss", log=True)


def judge_mobility(numbers: Numbers) -> Judgement:
    """Whether deep networks make and lose breakpoints among the data, and a shallow one does not."""
    shallow, deep = numbers["rows"]
    told = (
        f"births among the data: shallow {shallow['births_inside']}, deep {deep['births_inside']}; "
        f"deaths: shallow {shallow['deaths']}, deep {deep['deaths']}"
    )
    right = not any(shallow["births_inside"]) and sum(deep["births_inside"]) > 0
    return Judgement("agrees" if right else "disagrees", f"For each seed, {told}.")


def mobility_rows(numbers: Numbers) -> Picture:
    """Mean births, deaths and crossings of data."""
    rows = [
        Row(
            f"{'-'.join(map(str, one['widths']))}, {what.replace('_', ' ')}",
            None,
            float(np.mean(one[what])),
            min(one[what]),
            max(one[what]),
        )
        for one in numbers["rows"]
        for what in ("births_inside", "deaths", "crossings")
    ]
    return Picture(rows=rows, x="in training, mean and range over seeds")


def judge_cubic(numbers: Numbers) -> Judgement:
    """Whether the distance to the cubic spline goes to 0 with the width."""
    spaced = [one["spaced"] for one in numbers.values()]
    told = ", ".join(
        f"{one['spaced']:.1e} at {width} units (drawn breakpoints: {one['drawn']['mean']:.1e})"
        for width, one in numbers.items()
    )
    falls = spaced == sorted(spaced, reverse=True) and spaced[-1] < 1e-4
    why = "An affine part must be free of the norm, which the source does not say."
    return Judgement("agrees" if falls else "disagrees", f"Largest distance: {told}. {why}")


def cubic_curves(numbers: Numbers) -> Picture:
    """Distances against the width."""
    widths = [float(width) for width in numbers]
    spaced = Curve("equally spaced", widths, [one["spaced"] for one in numbers.values()])
    drawn = Curve(
        "drawn uniformly",
        widths,
        *([one["drawn"][name] for one in numbers.values()] for name in ("mean", "low", "high")),
    )
    return Picture(curves=[spaced, drawn], x="units", y="largest distance to the natural cubic spline", log=True)


def judge_regimes(numbers: Numbers) -> Judgement:
    """Whether large alpha ends near the cubic, and small alpha nearer to lines than to it."""
    told = "; ".join(
        f"alpha {alpha}: {one['cubic']['mean']:.3f} to the cubic, {one['linear']['mean']:.3f} to straight lines"
        for alpha, one in numbers.items()
    )
    kernel, rich = (numbers[key] for key in (next(iter(numbers)), list(numbers)[-1]))
    kind = (
        kernel["cubic"]["mean"] < 0.5 * kernel["linear"]["mean"] and rich["cubic"]["mean"] > 2 * kernel["cubic"]["mean"]
    )
    return Judgement("agrees" if kind else "disagrees", f"RMS distances: {told}.")


def regime_curves(numbers: Numbers) -> Picture:
    """Distances by alpha."""
    alphas = [float(alpha) for alpha in numbers]
    curves = [
        Curve(
            f"to the {name} interpolant",
            alphas,
            *([one[name][part] for one in numbers.values()] for part in ("mean", "low", "high")),
        )
        for name in ("cubic", "linear")
    ]
    return Picture(curves=curves, x="alpha", y="RMS distance")


def judge_sticking(numbers: Numbers) -> Judgement:
    """Whether breakpoints end on data for small alpha and not for large alpha."""
    near = {one["alpha"]: float(np.mean(one["near"])) for one in numbers["rows"]}
    chance = numbers["rows"][0]["chance"]
    told = ", ".join(f"{share:.0%} for alpha = {alpha:g}" for alpha, share in near.items())
    right = near[min(near)] > 2 * chance and near[max(near)] < 2 * chance
    return Judgement(
        "agrees" if right else "disagrees",
        f"Breakpoints that end within 2 % of a datum (by chance {chance:.0%}): {told}.",
    )


def sticking_rows(numbers: Numbers) -> Picture:
    """Shares of breakpoints on data, before and after."""
    rows = [
        Row(
            f"alpha {one['alpha']:g}, {when}",
            None,
            100 * float(np.mean(one[name])),
            100 * min(one[name]),
            100 * max(one[name]),
        )
        for one in numbers["rows"]
        for name, when in (("before", "before"), ("near", "after"))
    ]
    return Picture(rows=rows, x="breakpoints near a datum, %: mean and range over seeds")
