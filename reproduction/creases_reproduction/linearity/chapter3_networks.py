"""Chapter 3 of the dissertation, section 3.3.2 and appendices A.2 to A.4: networks built on a line."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from torch import nn

import creases
from creases import boolean
from creases._typing import Floats
from creases.boolean import intervals as interval_networks
from creases.boolean.intervals import BrokenLine
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import count_failures, judge_cases

#: Intervals of classes +, -, + at which the printed proof of Theorem 3.3.2 fails, for a leak of 1/2.
COUNTEREXAMPLE = ((0.0, 10.0), (16.0, 17.0), (18.0, 19.0))

#: Five intervals of alternating class: the four changes of Fig. 3.3.
FIVE = ((0.0, 1.0), (2.0, 2.5), (3.0, 4.0), (5.0, 6.0), (7.0, 8.0))


def values(model: nn.Module, x: Floats) -> Floats:
    """Return outputs (n,) of a network of one input."""
    with torch.no_grad():
        return np.asarray(model(torch.from_numpy(x)[:, None]).numpy()[:, 0])


def units(model: nn.Sequential) -> int:
    """Return the number of units of the first hidden layer."""
    first = model[0]
    assert isinstance(first, nn.Linear)
    return first.out_features


def intervals(count: int, draw: np.random.Generator) -> Floats:
    """Return random intervals (count, 2) from left to right."""
    return np.cumsum(draw.uniform(0.1, 3, 2 * count)).reshape(count, 2)


def measure_regression(scale: Scale) -> Numbers:
    """Measure Lemma A.2.1.

    K random values at k points by broken lines with k - 1 breakpoints, all active on the right.
    """
    draw, holds = np.random.default_rng(0), []
    for k, leak, _ in product(range(2, 9), (0.0, 0.1, 0.5), range(10)):
        x, f = np.cumsum(draw.uniform(0.1, 2, k)), draw.normal(size=k)
        line = BrokenLine.from_slopes(x[:-1], np.diff(f) / np.diff(x), through=(x[0], f[0]), leak=leak)
        holds.append(np.abs(line.values(x, leak=leak) - f).max() < 1e-9)
    return count_failures(holds)


def measure_slopes_matrix(scale: Scale) -> Numbers:
    """Measure the slopes that the matrix (A.14) gives, as printed and transposed.

    How far from those of (A.11) at most.
    """
    draw, leak, k = np.random.default_rng(0), 0.1, 6
    a = draw.normal(size=k - 1)
    x = np.arange(1.0, k + 1)
    printed = np.where(np.arange(k - 1)[:, None] <= np.arange(k - 1), 1.0, leak)
    line = np.where(x[:, None] > x[:-1], x[:, None] - x[:-1], leak * (x[:, None] - x[:-1])) @ a  # (A.8) at the points
    slopes = np.diff(line) / np.diff(x)
    return {
        "as printed": float(np.abs(printed @ a - slopes).max()),
        "transposed": float(np.abs(printed.T @ a - slopes).max()),
    }


def judge_slopes_matrix(numbers: Numbers) -> Judgement:
    """Judge eq. (A.14)."""
    if numbers["as printed"] < 1e-9:
        return Judgement("agrees", "the matrix gives the slopes of (A.11)")
    if numbers["transposed"] < 1e-9:
        return Judgement("disagrees", "it is transposed: M_ij must be 1 for j <= i and alpha for j > i")
    return Judgement(
        "disagrees", f"its slopes are {numbers['as printed']:.2g} off, transposed {numbers['transposed']:.2g}"
    )


def measure_wide_networks(scale: Scale) -> Numbers:
    """Measure Theorem 3.3.2: random intervals of alternating class, networks of at most as many units less one."""
    draw, holds = np.random.default_rng(0), []
    for count, leak, first, _ in product(range(2, 9), (0.0, 0.1, 0.5), (-1, 1), range(5)):
        ends = intervals(count, draw)
        model = interval_networks.wide_interval_network(ends, first=first, leak=leak)
        signs = first * (-1.0) ** np.arange(count)
        right = all(
            (values(model, np.linspace(part[0], part[1], 9)) * sign > 0).all()
            for part, sign in zip(ends, signs, strict=True)
        )
        holds.append(right and units(model) <= count - 1)
    return count_failures(holds)


def measure_proof(scale: Scale) -> Numbers:
    """Measure the construction of (A.17) to (A.20) at the counterexample.

    Its least value on the first interval, class +.
    """
    ends, leak = np.array(COUNTEREXAMPLE), 0.5
    y, f = ends.mean(axis=1), [1.0]
    for i in range(1, len(y)):
        a = (ends[i - 1, 1] + ends[i, 0]) / 2
        slope = -f[-1] / (a - y[i - 1])
        f.append(f[-1] + slope * (y[i] - y[i - 1]))
    line = BrokenLine.from_slopes(y[:-1], np.diff(f) / np.diff(y), through=(y[0], 1.0), leak=leak)
    repaired = interval_networks.wide_interval_network(ends, leak=leak)
    first = np.linspace(ends[0, 0], ends[0, 1], 101)
    return {"printed": float(line.values(first, leak=leak).min()), "repaired": float(values(repaired, first).min())}


def judge_proof(numbers: Numbers) -> Judgement:
    """Judge appendix A.2."""
    if numbers["printed"] > 0:
        return Judgement("agrees", "the construction is right on all three intervals")
    repaired = "; with the first breakpoint at the interval's end it is right" if numbers["repaired"] > 0 else ""
    return Judgement(
        "disagrees",
        f"intervals {', '.join(f'({a:g}, {b:g})' for a, b in COUNTEREXAMPLE)}, classes + - +, leak 1/2: left of the "
        f"first breakpoint the value falls to {numbers['printed']:.2g}{repaired}",
    )


def measure_necessary_units(scale: Scale) -> Numbers:
    """Measure units that s changes of class at given places need, with a leak and without."""
    changes = list(range(1, 10))
    return {
        "changes": changes,
        "leaky": [interval_networks.units_needed(s, leak=0.1) for s in changes],
        "ReLU": [interval_networks.units_needed(s) for s in changes],
    }


def judge_fewer(numbers: Numbers) -> Judgement:
    """Judge section 3.3.2."""
    changes, units = numbers["changes"], numbers["leaky"]
    off = [s for s, m in zip(changes, units, strict=True) if m > s - 1 and s > 1]  # no unit at all is linear: 1 change
    if not off:
        return Judgement("agrees", "s - 1 units suffice for every s")
    first = min(s for s in changes if s > max(off))
    relu = next(s for s, m in zip(changes, numbers["ReLU"], strict=True) if m == s - 1 and s > 1)
    return Judgement(
        "disagrees",
        f"not for s = {', '.join(map(str, off))} (one unit is monotone, XOR needs two); from s = {first} on s - 1 "
        f"suffice, with ReLU from {relu}",
    )


def measure_figure_3_3(scale: Scale) -> Numbers:
    """Measure Fig. 3.3: networks for five intervals, one wide and one narrow and deep, along the line."""
    x = np.linspace(-1, 9, 201)
    models = {
        "wide": interval_networks.wide_interval_network(FIVE, leak=0.1),
        "deep": interval_networks.deep_interval_network(FIVE, 2, leak=0.1),
    }
    inner = np.array([np.linspace(a, b, 5) for a, b in FIVE])
    signs = (-1.0) ** np.arange(len(FIVE))[:, None]
    right = {
        name: bool((values(item, inner.ravel()).reshape(inner.shape) * signs > 0).all())
        for name, item in models.items()
    }
    sizes = {
        name: [item.out_features for item in model if isinstance(item, nn.Linear)] for name, model in models.items()
    }
    return {
        "x": x.tolist(),
        **{name: values(item, x).tolist() for name, item in models.items()},
        "right": right,
        "sizes": sizes,
    }


def judge_figure_3_3(numbers: Numbers) -> Judgement:
    """Judge Figure 3.3, also A.1 and A.2."""
    words = "; ".join(f"{name}: layers of {', '.join(map(str, part[:-1]))}" for name, part in numbers["sizes"].items())
    return Judgement(
        "agrees" if all(numbers["right"].values()) else "disagrees", f"{words} units have all four changes"
    )


def picture_figure_3_3(numbers: Numbers) -> Picture:
    """Picture Figure 3.3, also A.1 and A.2."""
    return Picture(curves=[Curve(name, numbers["x"], numbers[name]) for name in ("wide", "deep")], x="x", y="output")


def measure_teeth(scale: Scale) -> Numbers:
    """Measure Theorem 3.3.3: changes of sign of networks of w units in l layers, on a segment, and where they are."""
    rows = []
    for width, depth, leak in product((2, 3, 4, 5), (1, 2, 3), (0.0, 0.1)):
        length = width**depth
        net = creases.read(interval_networks.sawtooth_network(width, depth, leak=leak), (1,))
        places = creases.line(net, [0.0], [float(length)]).boundary().t * length
        half = float(np.abs(places - (np.arange(length) + 0.5)).max()) if len(places) == length else np.inf
        whole = float(np.abs(places - places.round()).max(initial=0))
        rows.append([width, depth, leak, len(places), half, whole])
    regions = [changes + 1 >= width**depth for width, depth, _, changes, *_ in rows]
    return {
        **count_failures(regions),
        "furthest from (i + 1/2) / w^l": max(half for *_, half, _ in rows),
        "furthest from i / w^l": max(whole for *_, whole in rows),
    }


def judge_places(numbers: Numbers) -> Judgement:
    """Judge appendix A.3."""
    half, whole = (numbers[f"furthest from {place} / w^l"] for place in ("(i + 1/2)", "i"))
    if whole < 1e-6:
        return Judgement("agrees", f"changes are at i / w^l, up to {whole:.1g}")
    if half is None or half > 1e-6:
        return Judgement("disagrees", "changes are neither at i / w^l nor at (i + 1/2) / w^l")
    return Judgement(
        "disagrees", f"they are at (i + 1/2) / w^l, up to {half:.1g}, so that w^l changes make w^l + 1 intervals"
    )


def measure_second_layer(scale: Scale) -> Numbers:
    """Measure (A.21) for w = 2 to 5: the largest jump where its pieces meet, as printed and with odd pieces turned."""
    printed, turned = [], []
    for w in range(2, 6):
        x = np.arange(1, w) / w  # where pieces i - 1 and i meet
        part = [[_fold(i - 1, w, at, odd) - _fold(i, w, at, odd) for i, at in enumerate(x, start=1)] for odd in (0, 1)]
        printed.append(float(np.abs(part[0]).max()))
        turned.append(float(np.abs(part[1]).max()))
    return {"as printed": printed, "odd pieces 1 - w (x - i / w)": turned}


def _fold(i: int, w: int, x: float, odd: float) -> float:
    """Return piece i of (A.21) at a number, with so much added where i is odd."""
    return w * (-1.0) ** i * (x - i / w) + odd * (i % 2)


def judge_second_layer(numbers: Numbers) -> Judgement:
    """Judge eq. (A.21)."""
    if max(numbers["as printed"]) < 1e-9:
        return Judgement("agrees", "the pieces meet")
    worst = max(numbers["odd pieces 1 - w (x - i / w)"])
    return Judgement(
        "disagrees",
        f"the pieces do not meet (jumps of {max(numbers['as printed']):.0f}); with 1 - w (x - i / w) for odd i the "
        f"jumps are {worst:.1g}",
    )


def measure_parity_networks(scale: Scale) -> Numbers:
    """Measure Theorem 3.3.4: parity of n bits by networks of width w and depth l, all with n <= w^l, at every point."""
    bits = range(1, 17 if scale == "full" else 9)
    holds = []
    for n, width, leak in product(bits, range(2, 17 if scale == "full" else 6), (0.0, 0.1)):
        depth = next(depth for depth in range(1, 5) if width**depth >= n)
        model = boolean.parity_network(n, width, depth, leak=leak)
        holds.append(boolean.margin(model, boolean.parity(n), n) > 0)
    return count_failures(holds)


CLAIMS = [
    Claim(
        "linearity/lemma-A.2.1",
        "Lemma A.2.1",
        (
            "k values at k points are those of a leaky network of one layer of k - 1 units with breakpoints at the "
            "first k - 1 points."
        ),
        measure=measure_regression,
        judge=judge_cases("sets of points and leaks"),
    ),
    Claim(
        "linearity/equation-A.14",
        "eq. (A.14)",
        "The matrix from units to slopes has 1 for i <= j and alpha for i > j.",
        printed="M_ij = 1 for i <= j",
        measure=measure_slopes_matrix,
        judge=judge_slopes_matrix,
        misprints=("linearity/equation-A.14", "linearity/equation-A.15"),
    ),
    Claim(
        "linearity/theorem-3.3.2",
        "Theorem 3.3.2",
        "s intervals of alternating class have a leaky network of one layer of s - 1 units.",
        printed="s - 1",
        measure=measure_wide_networks,
        judge=judge_cases("sets of random intervals, by the repaired construction"),
    ),
    Claim(
        "linearity/section-A.2-proof",
        "appendix A.2",
        "The network with breakpoints at the middles of the intervals classifies each of them.",
        measure=measure_proof,
        judge=judge_proof,
        misprints=("linearity/section-A.2-proof",),
    ),
    Claim(
        "linearity/section-3.3.2-nodes",
        "section 3.3.2",
        (
            "Wide leaky networks can change class once more than they have units, anywhere: a problem with s swaps "
            "needs s - 1."
        ),
        printed="s - 1",
        measure=measure_necessary_units,
        judge=judge_fewer,
        misprints=("linearity/section-3.3.2-nodes",),
    ),
    Claim(
        "linearity/figure-3.3",
        "Figure 3.3, also A.1 and A.2",
        "Four changes of class by a wide network of one layer and by a narrow deep one.",
        measure=measure_figure_3_3,
        judge=judge_figure_3_3,
        picture=picture_figure_3_3,
    ),
    Claim(
        "linearity/theorem-3.3.3",
        "Theorem 3.3.3",
        "Some leaky network of l layers of width w makes w^l intervals of alternating sign.",
        printed="w^l",
        measure=measure_teeth,
        judge=judge_cases("widths, depths and leaks: there are even w^l + 1"),
    ),
    Claim(
        "linearity/section-A.3-places",
        "appendix A.3",
        "With a last bias of -0.5 it changes class at a + i (b - a) / w^l and makes w^l intervals.",
        printed="i / w^l",
        measure=measure_teeth,
        judge=judge_places,
        misprints=("linearity/section-A.3-places",),
    ),
    Claim(
        "linearity/equation-A.21",
        "eq. (A.21)",
        "The second layer's function folds [0, 1] onto itself w times.",
        printed="w (-1)^i (x - i / w)",
        measure=measure_second_layer,
        judge=judge_second_layer,
        misprints=("linearity/equation-A.21",),
    ),
    Claim(
        "linearity/theorem-3.3.4",
        "Theorem 3.3.4",
        "Networks of width w and depth l solve parity of n bits if n <= w^l.",
        measure=measure_parity_networks,
        judge=judge_cases("numbers of bits, widths and leaks, at every point"),
        full="a minute",
    ),
]
