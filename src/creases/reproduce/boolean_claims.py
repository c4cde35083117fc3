"""What sections 3.4.2 to 3.4.4 of the dissertation (source 002) say of Boolean functions, beside what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from creases.reproduce.boolean_success import PARITY, Success
from creases.reproduce.boolean_ten_bits import KINDS, grid, means, predicted
from creases.reproduce.boolean_training import LEAKY, RELU


class Sentence(NamedTuple):
    """A sentence of the source, what was found, and whether it holds."""

    claim: str
    found: str
    holds: bool


def claims(result: Success) -> list[Sentence]:
    """The sentences of section 3.4.2 that a result at full scale can tell true or false."""
    lowest = {leak: result.sizes(leak, "min") for leak in (RELU, LEAKY)}
    shallow = lowest[RELU].loc[1]
    first = shallow[shallow > 0].index.min()
    narrow = {leak: lowest[leak][2] for leak in lowest}
    layers = (lowest[RELU].loc[2] > lowest[RELU].loc[1]).sum()
    leaky_better = (result.sizes(LEAKY, "mean") > result.sizes(RELU, "mean")).sum().sum()
    correlation = {leak: result.correlations(leak)["correlation"] for leak in lowest}
    return [
        Sentence(
            "ReLU: networks of one hidden layer succeed at least once on every problem only from width 5 on",
            f"from width {first}: {_least(result, first, 1, RELU)}; one less: {_least(result, first - 1, 1, RELU)}",
            bool(first == 5),
        ),
        Sentence(
            "ReLU: no network of width 2 solves every problem at least once",
            f"lowest successes by depth: {_percent(narrow[RELU])}",
            not (narrow[RELU] > 0).any(),
        ),
        Sentence(
            "ReLU: 3x2 networks solve every problem at least once",
            _least(result, 3, 2, RELU),
            bool(lowest[RELU].loc[2, 3] > 0),
        ),
        Sentence(
            "ReLU: a second hidden layer makes success on the hardest problems more frequent",
            f"at {layers} of {shallow.size} widths: {_percent(shallow)} -> {_percent(lowest[RELU].loc[2])}",
            bool(layers > shallow.size / 2),
        ),
        Sentence(
            "leaky ReLU has higher rates than ReLU",
            f"means over the classes are higher at {leaky_better} of {lowest[RELU].size} sizes",
            bool(leaky_better > lowest[RELU].size / 2),
        ),
        *(
            Sentence(
                f"leaky ReLU: {width}x{depth} networks solve every problem at least once",
                _least(result, width, depth, LEAKY),
                bool(lowest[LEAKY].loc[depth, width] > 0),
            )
            for width, depth in ((3, 1), (2, 2))
        ),
        *(
            Sentence(
                f"{name}: parity is the hardest at most sizes, {printed} of 45 (Table 3.3)",
                f"at {result.hardest(leak)['count'].get(PARITY, 0)}",
                bool(result.hardest(leak)["count"].idxmax() == PARITY),
            )
            for name, leak, printed in (("ReLU", RELU, 19), ("leaky ReLU", LEAKY, 12))
        ),
        Sentence(
            "influence explains success best of the metrics, entropy least",
            "; ".join(
                f"{name} {correlation[RELU][name]:.2f} ReLU, {correlation[LEAKY][name]:.2f} leaky"
                for name in correlation[RELU].index
            ),
            all(one.abs().idxmax() == "influence" and one.abs().idxmin() == "entropy" for one in correlation.values()),
        ),
    ]


def parity_claims(rates: pd.DataFrame) -> list[Sentence]:
    """Section 3.4.4 on how often 4-parity is learnt, beside what :func:`boolean_success.parity_rates` gives.

    The text does not say with which bends. A claim holds if the printed rate lies in the interval of either.
    """
    found = []
    for (width, depth), printed in {(3, 1): 0.02, (6, 1): 0.65, (2, 2): 0.01}.items():
        own = rates.query("width == @width and depth == @depth").set_index("leak")
        told = f"ReLU {_told(own.loc[RELU])}, leaky ReLU {_told(own.loc[LEAKY])}"
        holds = bool(((own["low"] <= printed) & (printed <= own["high"])).any())
        found.append(Sentence(f"{width}x{depth}: 4-parity is learnt about {printed:.0%} of the time", told, holds))
    return found


def ten_bits_claims(sizes: pd.DataFrame, metrics: pd.DataFrame) -> list[Sentence]:
    """The sentences of section 3.4.3, beside tables of :func:`boolean_ten_bits.by_size` and ``by_metrics`` (n = 5..10).

    Intervals are 95 % Wilson's, the functions taken as given.
    """
    parity, random = (grid(sizes, kind) for kind in ("parity", "random"))
    able = predicted(parity, 10).to_numpy()
    able_rate, other_rate = (parity.to_numpy()[which].mean() for which in (able, ~able))
    short = means(metrics).set_index(["kind", "n"])
    right = {kind: short.loc[kind]["right"][10] * 1024 for kind in KINDS}
    rates = {kind: " ".join(_told(short.loc[kind, n]) for n in (5, 7, 10)) for kind in KINDS}
    lost = {kind: short.loc[kind]["rate"][5] - short.loc[kind]["rate"][10] for kind in KINDS}
    entropy = {kind: short.loc[kind]["entropy"] for kind in KINDS}
    return [
        Sentence(
            "10-parity is learnt by the sizes that the analysis predicts (w^l >= 10), minimal ones seldom",
            f"mean rates {able_rate:.0%} and {other_rate:.0%}; {(parity.to_numpy()[able] > 0).sum()} of {able.sum()} "
            f"and {(parity.to_numpy()[~able] > 0).sum()} of {(~able).sum()} sizes ever succeed",
            bool(other_rate == 0 and (parity.to_numpy()[able] > 0).mean() > 0.5),
        ),
        Sentence(
            "random functions of ten bits have significantly lower rates than 10-parity",
            f"mean over the sizes {random.to_numpy().mean():.1%}, parity {parity.to_numpy().mean():.1%}",
            bool(random.to_numpy().mean() < parity.to_numpy().mean()),
        ),
        Sentence(
            "random functions of ten bits are harder than XORed ones and parity",
            "points right of 1024: " + ", ".join(f"{kind} {right[kind]:.0f}" for kind in KINDS),
            bool(right["random"] < min(right["xored"], right["parity"])),
        ),
        Sentence(
            "from 5 to 10 bits random functions grow difficult fastest",
            "rates at n = 5, 7, 10: " + "; ".join(f"{kind} {told}" for kind, told in rates.items()),
            bool(lost["random"] > max(lost["xored"], lost["parity"])),
        ),
        Sentence(
            "the entropy of random functions grows with the bits, XORed ones have less",
            "; ".join(f"{kind} {entropy[kind][5] * 5:.2f} to {entropy[kind][10] * 10:.2f}" for kind in KINDS),
            bool(entropy["random"].is_monotonic_increasing and (entropy["xored"] < entropy["random"]).all()),
        ),
    ]


def markdown(rows: Sequence[Sentence]) -> str:
    """Claims as a table."""
    lines = [["the dissertation", "found", "holds"], ["---"] * 3]
    lines += [[row.claim, row.found, "yes" if row.holds else "no"] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _least(result: Success, width: int, depth: int, leak: float) -> str:
    """The lowest rate of a size, its class and its interval."""
    rates = result.rates(leak)[width, depth]
    return f"lowest: class {rates.idxmin()}, {_told(result.rate(int(rates.idxmin()), width, depth, leak))}"


def _told(row: pd.Series) -> str:
    return f"{row['rate']:.1%} ({row['low']:.1%} to {row['high']:.1%})"


def _percent(rates: pd.Series) -> str:
    return " ".join(f"{100 * rate:.0f}" for rate in rates)
