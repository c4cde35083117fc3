"""Section 5.3 of the dissertation: sine by few lines, and by networks of every size."""

from __future__ import annotations

from math import pi

import numpy as np
import pandas as pd

from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale, stored_table
from creases_reproduction.judges import judge_rows, row
from creases_reproduction.linearity.sine_sizes import failed_starts, interpolation_error, sine_networks, sine_sizes


def measure_zero_function(scale: Scale) -> Numbers:
    """Measure the mean square of sine on [-pi, pi]: that of the line through its ends, which is 0."""
    return {"rows": [row("mean squared error of 0", 0.5, interpolation_error(1))]}


def measure_lines(scale: Scale) -> Numbers:
    """Measure errors of 1, 3 and 9 lines between equally spaced points of sine."""
    count = [1, 3, 9]
    return {"lines": count, "mse": [interpolation_error(n) for n in count]}


def judge_lines(numbers: Numbers) -> Judgement:
    """Judge Figure 5.4."""
    mse = numbers["mse"]
    words = f"mean squared errors {', '.join(f'{item:.3g}' for item in mse)} of 1, 3 and 9 lines"
    return Judgement("agrees" if mse[0] > 4 * mse[1] > 16 * mse[2] else "disagrees", words)


def _table(table: pd.DataFrame) -> Numbers:
    names = ("width", "depth", "trials", "successes", "printed", "rate", "low", "high", "agrees")
    return {name: table[name].tolist() for name in names}


def measure_sizes(scale: Scale) -> Numbers:
    """Measure rates of success by size."""
    return _table(sine_sizes(scale).table)


def sizes_from_table() -> tuple[Numbers, dict[str, str]]:
    """Return the same from the table of the full run."""
    result = stored_table("sine_sizes")
    return _table(result.table), result.about


def judge_sizes(numbers: Numbers) -> Judgement:
    """Judge Table 5.1."""
    agrees = [bool(item) for item in numbers["agrees"]]
    off = [
        f"{w}x{d} (printed {p or 'over 1000'}, expected {1 / r if r else float('inf'):.3g})"
        for w, d, p, r, ok in zip(*(numbers[n] for n in ("width", "depth", "printed", "rate")), agrees, strict=True)
        if not ok
    ]
    words = f"{sum(agrees)} of {len(agrees)} printed numbers of starts lie in the central 95 % of what the rates give"
    if not off:
        return Judgement("agrees", words)
    if len(off) <= 0.2 * len(agrees):
        return Judgement("agrees in kind", f"{words}; not so: {', '.join(off[:6])}")
    return Judgement("disagrees", f"{words}; not so: {', '.join(off[:6])}")


def picture_sizes(numbers: Numbers) -> Picture:
    """Picture Figure 3.5, section 3.4.2, Table 5.1 and section 5.3."""
    names = [sorted({int(item) for item in numbers[which]}) for which in ("width", "depth")]
    rate = dict(zip(zip(numbers["width"], numbers["depth"], strict=True), numbers["rate"], strict=True))
    heat = [[rate[w, d] for d in names[1]] for w in names[0]]
    return Picture(
        heat=heat, x="depth", y="width", x_names=[str(d) for d in names[1]], y_names=[str(w) for w in names[0]]
    )


def judge_depth(numbers: Numbers) -> Judgement:
    """Judge the depth by the same rates: deeper networks fail more often, wider ones less."""
    table = pd.DataFrame({name: numbers[name] for name in ("width", "depth", "rate")})
    rates = table.pivot(index="width", columns="depth", values="rate")
    deep, wide = (rates.mean(axis=axis) for axis in ("index", "columns"))
    words = f"mean rate of success {deep.iloc[0]:.2f} at the least depth, {deep.iloc[-1]:.2f} at the largest"
    words += f"; {wide.iloc[0]:.2f} at the least width, {wide.iloc[-1]:.2f} at the largest"
    if deep.is_monotonic_decreasing and wide.iloc[-1] > wide.iloc[0]:
        return Judgement("agrees", words)
    return Judgement("disagrees", words)


def measure_dead_networks(scale: Scale) -> Numbers:
    """Count how many of the starts that fail are constant functions at the end of training."""
    return failed_starts(width=5, depth=7, starts=1000 if scale == "full" else 60)


def judge_dead(numbers: Numbers) -> Judgement:
    """Judge section 5.3 and slide 30."""
    share = numbers["constant"] / max(numbers["failed"], 1)
    words = f"{numbers['constant']} of {numbers['failed']} failed starts of {numbers['size']} are constant at the end"
    words += f", {numbers['dead']} had a hidden layer that was off for every sample at the start"
    return Judgement("agrees" if min(share, numbers["dead"] / max(numbers["failed"], 1)) > 0.5 else "disagrees", words)


def measure_networks(scale: Scale) -> Numbers:
    """Measure regions in [-pi, pi] and errors of one trained network of each size."""
    table = sine_networks(scale).table
    return {name: table[name].tolist() for name in ("width", "depth", "mse", "regions")}


def judge_networks(numbers: Numbers) -> Judgement:
    """Judge Figure 5.5."""
    table = pd.DataFrame(dict(numbers))
    table = table[table["regions"] > 0]
    logs = {name: np.log(table[name].to_numpy(float)) for name in ("width", "depth", "regions")}
    design = np.stack([logs["width"], logs["depth"], np.ones(len(table))], axis=1)
    slope = np.linalg.lstsq(design, logs["regions"], rcond=None)[0]
    correlation = float(np.corrcoef(logs["regions"], np.log(table["mse"].to_numpy(float)))[0, 1])
    words = (
        f"regions grow as width^{slope[0]:.2f} depth^{slope[1]:.2f}; with log error they correlate {correlation:.2f}"
    )
    return Judgement("agrees" if min(slope[:2]) > 0.2 else "disagrees", words)


def picture_networks(numbers: Numbers) -> Picture:
    """Picture Figure 5.5."""
    table = pd.DataFrame(dict(numbers))
    curves = [
        Curve(f"depth {depth}", part["width"].tolist(), part["regions"].tolist())
        for depth, part in table.groupby("depth")
    ]
    return Picture(curves=curves, x="width", y=f"regions in [-{pi:.2f}, {pi:.2f}]", log=True)


CLAIMS = [
    Claim(
        "linearity/equation-5.16",
        "(5.16)",
        "The zero function has mean squared error 0.5 to sine on [-pi, pi].",
        printed="0.5",
        measure=measure_zero_function,
        judge=judge_rows(1e-12),
        full="a second",
    ),
    Claim(
        "linearity/figure-5.4",
        "Figure 5.4",
        "1, 3 and 9 lines between equally spaced points approximate sine better and better.",
        measure=measure_lines,
        judge=judge_lines,
        full="a second",
        picture=lambda n: Picture(curves=[Curve("error", n["lines"], n["mse"])], x="lines", y="mse", log=True),
    ),
    Claim(
        "linearity/table-5.1",
        "Table 5.1",
        (
            "Starts until a network of each width and depth has learnt sine to a mean squared error below 0.45 (the "
            "caption has 0.5)."
        ),
        printed="1 to 599, four sizes over 1000",
        measure=measure_sizes,
        judge=judge_sizes,
        picture=picture_sizes,
        full="8 minutes of one core",
        from_table=sizes_from_table,
        misprints=("linearity/table-5.1",),
    ),
    Claim(
        "linearity/section-5.3-depth",
        "section 5.3",
        "Deeper networks fail more often; wider ones less.",
        measure=measure_sizes,
        judge=judge_depth,
        picture=picture_sizes,
        full="8 minutes of one core",
        from_table=sizes_from_table,
    ),
    Claim(
        "linearity/section-5.3-dead",
        "section 5.3",
        "Starts fail as all ReLUs of a layer are off: the network stays a constant function.",
        measure=measure_dead_networks,
        judge=judge_dead,
        full="20 s",
    ),
    Claim(
        "linearity/figure-5.5",
        "Figure 5.5",
        (
            "The number of regions grows in width and in depth, with multiplicative returns, and need not go with "
            "accuracy."
        ),
        measure=measure_networks,
        judge=judge_networks,
        picture=picture_networks,
        full="2 minutes of a core",
    ),
]
