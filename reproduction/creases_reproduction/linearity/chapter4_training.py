"""Chapter 4 of the dissertation, section 4.2: balls against shells, trained."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency

from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture, Row
from creases_reproduction.experiment import ResultTable, Scale
from creases_reproduction.judges import describe_row, is_inside, numbers_from_table, row, rows, rows_picture
from creases_reproduction.linearity.shells_dimensions import shells_dimensions
from creases_reproduction.linearity.shells_hyperparameters import averages, shells_hyperparameters
from creases_reproduction.linearity.shells_kinds import shells_kinds
from creases_reproduction.linearity.shells_orthogonality import shells_orthogonality

#: Rates that differ by no more over the dimensions are called consistent.
CONSISTENT = 0.2


@cache
def settings(scale: Scale) -> ResultTable:
    """Return the trainings of Tables 4.2 and 4.3, once for all claims."""
    return shells_hyperparameters(scale)


@cache
def kinds(scale: Scale) -> ResultTable:
    """Return networks around balls and what each encloses, once for all claims."""
    return shells_kinds(scale)


def cells(table: pd.DataFrame) -> Numbers:
    """Return Table 4.2: rates of success of all settings beside those printed."""
    return {
        "rows": [
            row(
                f"{item.loss}, leak {item.leak:g}, batch {item.batch}{', normalised' if item.normalise else ''}",
                item.printed / 100,
                item.rate,
                item.low,
                item.high,
            )
            for item in table.itertuples()
        ]
    }


def judge_cells(numbers: Numbers) -> Judgement:
    """Judge Table 4.2."""
    all_rows = rows(numbers)
    near = sum(is_inside(row) for row in all_rows)
    apart = [(row.measured or 0) - (row.printed or 0) for row in all_rows]
    alike = float(np.corrcoef([row.measured or 0 for row in all_rows], [row.printed or 0 for row in all_rows])[0, 1])
    words = f"{near} of {len(all_rows)} printed rates are in our intervals; ours are "
    words += f"{np.mean(apart):+.2f} apart on average "
    words += f"({np.mean(np.abs(apart)):.2f} in size), correlation {alike:.2f}"
    if near >= 0.95 * len(all_rows):
        return Judgement("agrees", words)
    if np.mean([_beyond(row) for row in all_rows]) < 0.1 and alike > 0:
        return Judgement("agrees in kind", f"{words} (first weights and targets are not given)")
    return Judgement("disagrees", words)


def _beyond(one: Row) -> float:
    """Return how far a printed number is from the measured interval."""
    printed, low, high = one.printed or 0, one.low or 0, one.high or 0
    return max(low - printed, printed - high, 0.0)


def means(table: pd.DataFrame) -> Numbers:
    """Return Table 4.3: mean rates for each value of each parameter."""
    results = averages(ResultTable(table))
    best = [
        [f"{name} {value}", float(part["rate"].max())]
        for name in ("loss", "normalise", "leak", "batch")
        for value, part in table.groupby(name)
    ]
    return {
        "rows": [
            row(f"{item.parameter} {item.value}", item.printed, item.rate, item.low, item.high)
            for item in results.itertuples()
        ],
        "best": best,
    }


def judge_means(numbers: Numbers) -> Judgement:
    """Judge Table 4.3."""
    all_rows = rows(numbers)
    words = "; ".join(describe_row(item, ".2f") for item in all_rows)
    near = sum(is_inside(item) for item in all_rows)
    if near == len(all_rows):
        return Judgement("agrees", words)
    far = max(_beyond(item) for item in all_rows)
    return Judgement(
        "agrees in kind" if far < 0.15 else "disagrees", f"{near} of {len(all_rows)} in our intervals: {words}"
    )


def judge_trends(numbers: Numbers) -> Judgement:
    """Judge section 4.2.1."""
    mean = {row.what: row for row in rows(numbers)}
    pairs = {
        "leak 0.01 over ReLU": ("leak 0.01", "leak 0.0"),
        "leak 0.1 over ReLU": ("leak 0.1", "leak 0.0"),
        "BCE over MSE": ("loss bce", "loss mse"),
        "normalised": ("normalise True", "normalise False"),
        "batch 10 over 1000": ("batch 10", "batch 1000"),
    }
    gains = {name: (mean[a].measured or 0) - (mean[b].measured or 0) for name, (a, b) in pairs.items()}
    words = "gains in the mean rate: " + ", ".join(f"{name} {gain:+.2f}" for name, gain in gains.items())
    if any((mean[a].high or 0) < (mean[b].low or 0) for a, b in pairs.values()):
        return Judgement("disagrees", words)
    unsure = [name for name, (a, b) in pairs.items() if (mean[a].low or 0) <= (mean[b].high or 0)]
    if unsure:
        return Judgement("disagrees", f"{words}; no more than chance: {', '.join(unsure)}")
    return Judgement("agrees", words)


def judge_best(numbers: Numbers) -> Judgement:
    """Judge section 4.2.1."""
    best = sorted(numbers["best"], key=lambda item: item[1])
    words = "best rate with each value: " + ", ".join(f"{name} {rate:.2f}" for name, rate in best)
    names = [name for name, _ in best]
    last = max(names.index("leak 0.0"), names.index("batch 1000"))
    return Judgement("agrees" if last == 1 else "agrees in kind" if last <= 3 else "disagrees", words)


def overlaps(table: pd.DataFrame) -> Numbers:
    """Return outer over inner radius of the quadrilaterals that networks in the plane end with: medians, by leak."""
    part = table[(table["dimension"] == 2) & (table["kind"] == "hyperoctahedron") & (table["successes"] > 0)]
    return {
        "rows": [row(f"leak {item.leak:g}", item.regular, item.ratio) for item in part.itertuples()],
        "quadrilaterals": int(part["successes"].sum()),
    }


def judge_overlaps(numbers: Numbers) -> Judgement:
    """Judge Figure 4.6."""
    all_rows = rows(numbers)
    words = f"{numbers['quadrilaterals']} quadrilaterals: median outer over inner radius "
    words += (
        ", ".join(f"{row.measured:.2f} ({row.what})" for row in all_rows) + "; only a square, of 1.41, fits the gap"
    )
    right = bool(all_rows) and all((row.measured or 0) > (row.printed or 0) for row in all_rows)
    return Judgement("agrees" if right else "disagrees", words)


def orthogonality(table: pd.DataFrame) -> Numbers:
    """Return Fig. 4.7: mean and largest magnitude of the cosines between n random vectors in n dimensions."""
    return {name: table[name].tolist() for name in ("n", *_COSINES, "formula")}


_COSINES = ("mean", "mean_low", "mean_high", "largest", "largest_low", "largest_high")


def judge_orthogonality(numbers: Numbers) -> Judgement:
    """Judge Figure 4.7."""
    n, mean, largest = (np.array(numbers[name]) for name in ("n", "mean", "largest"))
    words = f"mean cosine {mean[0]:.2f} at n = {n[0]} to {mean[-1]:.2f} at {n[-1]}; largest "
    words += f"{largest[0]:.2f}, at most {largest.max():.2f} (n = {n[largest.argmax()]}), then to {largest[-1]:.2f}"
    falls = all(
        numbers[name][-1] < numbers[name][0]
        and all(low <= high for low, high in zip(numbers[f"{name}_low"][1:], numbers[f"{name}_high"], strict=False))
        for name in ("mean", "largest")
    )
    return Judgement("agrees" if falls else "disagrees", f"{words} (the figure's numbers are not in the text)")


def picture_orthogonality(numbers: Numbers) -> Picture:
    """Picture Figure 4.7."""
    curves = [
        Curve(name, numbers["n"], numbers[name], numbers[f"{name}_low"], numbers[f"{name}_high"])
        for name in ("mean", "largest")
    ]
    return Picture(curves=[*curves, Curve("expected mean", numbers["n"], numbers["formula"])], x="n", y="|cosine|")


def dimensions(table: pd.DataFrame) -> Numbers:
    """Return Fig. 4.8: rates of networks with at least each share right, by dimension, for both leaks."""
    numbers: dict[str, object] = {"dimensions": sorted(table["dimension"].unique().tolist())}
    for (leak, threshold), part in table.groupby(["leak", "threshold"]):
        values_of = part.sort_values("dimension")
        numbers[f"leak {leak:g}, {threshold:g}"] = {name: values_of[name].tolist() for name in ("rate", "low", "high")}
    return numbers


def judge_dimensions(numbers: Numbers) -> Judgement:
    """Judge Figure 4.8."""
    words, falls, consistent = [], True, True
    for leak in ("0", "0.01"):
        exact, *small = (numbers[f"leak {leak}, {share}"]["rate"] for share in ("0.9999", "0.95", "0.98", "0.99"))
        words.append(f"leak {leak}: 99.99 % right {_percent(exact)}, 95 % right {_percent(small[0])}")
        falls &= exact[-1] < exact[0]
        consistent &= any(max(rate) - min(rate) <= CONSISTENT for rate in small)
    why = f"percent of networks by dimension {numbers['dimensions']}: {'; '.join(words)}"
    if falls and not consistent:
        return Judgement(
            "disagrees",
            f"{why}: fewer have almost no error, but those with little error do not stay as many, whether 95, 98 or 99 "
            "% must be right",
        )
    return Judgement("agrees in kind" if falls else "disagrees", f"{why} (the figure's numbers are not in the text)")


def picture_dimensions(numbers: Numbers) -> Picture:
    """Picture Figure 4.8."""
    curves = [
        Curve(name, numbers["dimensions"], part["rate"], part["low"], part["high"])
        for name, part in numbers.items()
        if name != "dimensions"
    ]
    return Picture(curves=curves, x="dimension", y="rate of success")


def consistent(table: pd.DataFrame) -> Numbers:
    """Return shares of networks that end with a hyperoctahedron or an expanded simplex, and with others.

    By dimension.
    """
    numbers: dict[str, object] = {"dimensions": sorted(table["dimension"].unique().tolist())}
    for leak, part in table.groupby("leak"):
        rates = part.pivot(index="dimension", columns="kind", values="rate")
        numbers[f"leak {leak:g}"] = {
            "either": (rates["hyperoctahedron"] + rates["expanded simplex"]).tolist(),
            "others bounded": (rates["between"] + rates["other"]).tolist(),
            "trials": int(part["trials"].iloc[0]),
        }
    return numbers


def judge_consistent(numbers: Numbers) -> Judgement:
    """Judge section 4.2.2."""
    part = {name: item for name, item in numbers.items() if name != "dimensions"}
    words = "; ".join(f"{name} {_percent(item['either'])}" for name, item in part.items())
    others = max(max(item["others bounded"]) for item in part.values())
    words = f"percent that end with either, by dimension {numbers['dimensions']}: {words}; other bounded shapes "
    least = min(_same_rate(item["either"], item["trials"]) for item in part.values())
    words += f"{100 * others:.0f} at most (if the chance were the same in all dimensions, p = {least:.2g})"
    if others >= 0.05:
        return Judgement("disagrees", words)
    if least > 0.05 / len(part):
        return Judgement("agrees", words)
    near = all(max(item["either"]) - min(item["either"]) <= CONSISTENT for item in part.values())
    return Judgement("agrees in kind" if near else "disagrees", words)


def _same_rate(rates: list[float], trials: int) -> float:
    """Return the p-value of the hypothesis that all rates are draws of one chance."""
    successes = np.round(np.array(rates) * trials)
    if not 0 < successes.sum() < trials * len(rates):
        return 1.0
    return float(chi2_contingency([successes, trials - successes]).pvalue)


def picture_consistent(numbers: Numbers) -> Picture:
    """Picture section 4.2.2."""
    curves = [
        Curve(name, numbers["dimensions"], item["either"]) for name, item in numbers.items() if name != "dimensions"
    ]
    return Picture(curves=curves, x="dimension", y="share with either shape")


def _percent(rates: list[float]) -> str:
    return " ".join(f"{100 * rate:.0f}" for rate in rates)


Run = Callable[[Scale], ResultTable]
Of = Callable[[pd.DataFrame], Numbers]


def _claim(
    id: str,
    place: str,
    says: str,
    printed: str,
    run: Run,
    of: Of,
    judge: Callable[[Numbers], Judgement],
    picture: Callable[[Numbers], Picture],
    *,
    table: str,
    full: str,
    incomparable: str = "",
) -> Claim:
    return Claim(
        id,
        place,
        says,
        printed=printed,
        measure=lambda scale: of(run(scale).table),
        judge=judge,
        picture=picture,
        full=full,
        incomparable=incomparable,
        from_table=numbers_from_table(table, of),
    )


_RADII = (
    "The source prints neither the radii of ball and shell beyond two dimensions nor the number of epochs; its "
    "figure has no "
    "numbers in the text"
)
_SETTINGS = {"table": "shells_hyperparameters", "full": "minutes of 2 cores"}
_KINDS = {"table": "shells_kinds", "full": "minutes of 2 cores"}

CLAIMS = [
    _claim(
        "linearity/table-4.2",
        "Table 4.2",
        "Circle against annulus: networks of 100 with 95 % right, by loss, leak, batch size and normalising.",
        "from 29 (MSE, ReLU, batch 1000) to 94 (MSE, leak 0.1, batch 10, normalised)",
        settings,
        cells,
        judge_cells,
        rows_picture("rate of success"),
        **_SETTINGS,
    ),
    _claim(
        "linearity/table-4.3",
        "Table 4.3",
        "Mean successes of 100 for each value of each parameter.",
        "MSE 57, BCE 67; normalised 66, not 59; leak 0 49, 0.01 70, 0.1 68; batch 10 77, 100 62, 1000 48",
        settings,
        means,
        judge_means,
        rows_picture("mean rate of success"),
        **_SETTINGS,
    ),
    _claim(
        "linearity/section-4.2.1-trends",
        "sections 4.2.1 and 4.3",
        "Leaky ReLU improves success, so do cross-entropy, normalised inputs and small batches.",
        "",
        settings,
        means,
        judge_trends,
        rows_picture("mean rate of success"),
        **_SETTINGS,
    ),
    _claim(
        "linearity/section-4.2.1-best",
        "section 4.2.1",
        "Every value has high success in some setting, but for a leak of zero and batches of 1,000.",
        "69 and 63 of 100 at best",
        settings,
        means,
        judge_best,
        rows_picture("mean rate of success"),
        **_SETTINGS,
    ),
    _claim(
        "linearity/figure-4.6",
        "Figure 4.6",
        "Quadrilaterals that networks end with are no squares and overlap circle and annulus.",
        "",
        kinds,
        overlaps,
        judge_overlaps,
        rows_picture("outer over inner radius"),
        **_KINDS,
    ),
    _claim(
        "linearity/figure-4.7",
        "Figure 4.7",
        "n random vectors in n dimensions are more orthogonal the larger n, on average and at worst.",
        "",
        shells_orthogonality,
        orthogonality,
        judge_orthogonality,
        picture_orthogonality,
        table="shells_orthogonality",
        full="seconds",
    ),
    _claim(
        "linearity/figure-4.8",
        "Figure 4.8, also section 1.1.3",
        "With the dimension fewer networks have almost no error, but as many have little.",
        "",
        shells_dimensions,
        dimensions,
        judge_dimensions,
        picture_dimensions,
        table="shells_dimensions",
        full="two minutes of one core",
        incomparable=_RADII,
    ),
    _claim(
        "linearity/section-4.2.2-consistent",
        "section 4.2.2",
        "How often networks end with a hyperoctahedron or an expanded simplex does not depend on the dimension.",
        "",
        kinds,
        consistent,
        judge_consistent,
        picture_consistent,
        **_KINDS,
        incomparable=_RADII,
    ),
]
