"""Chapter 3 of the dissertation, sections 3.4.4 and 3.4.5: how small networks get by pruning."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pandas as pd

from creases import prune
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import ResultTable, Scale, derive_seed
from creases_reproduction.judges import describe_row, is_inside, numbers_from_table, row, rows, rows_picture
from creases_reproduction.linearity.boolean_success import parity_rates
from creases_reproduction.linearity.boolean_training import EPOCHS, RELU
from creases_reproduction.linearity.pruning_parity import (
    DEEP_EPOCHS,
    PRINTED_DEEP,
    loss_curves,
    originals,
    parity,
    pruned_deep,
    pruned_wide,
)
from creases_reproduction.statistics import mean_interval, wilson_interval


def wide_table(table: pd.DataFrame) -> Numbers:
    """Return Table 3.4.

    Pruned widths beside those printed, and shares of sub-networks that succeed, means by digits.
    """
    both = table.dropna(subset=["width", "printed_width"])
    same = both[both["width"] == both["printed_width"]]
    shares = []
    for digits, part in same.groupby("digits"):
        here, printed = part["median_successes"] / part["choices"], part["printed_successes"] / part["choices"]
        interval = mean_interval(here) if len(part) > 1 else (None, None)
        shares.append(row(f"{digits} digits", float(printed.mean()), float(here.mean()), *interval))
    only_printed = table[table["width"].isna() & table["printed_width"].notna()]
    only_here = table[table["width"].notna() & table["printed_width"].isna()]
    return {
        "cells": len(both),
        "same width": len(same),
        "smaller here": int((both["width"] < both["printed_width"]).sum()),
        "wider here": int((both["width"] > both["printed_width"]).sum()),
        "only printed": len(only_printed),
        "only here": len(only_here),
        "rows": shares,
    }


def judge_wide(numbers: Numbers) -> Judgement:
    """Judge Table 3.4."""
    cells, same = numbers["cells"], numbers["same width"]
    words = f"of {cells} cells {same} have the printed width, {numbers['smaller here']} are smaller here and "
    words += f"{numbers['wider here']} wider; {numbers['only printed']} printed ones were learned by none of ours, "
    words += f"{numbers['only here']} dashes were"
    if cells and same == cells and not numbers["only printed"] and not numbers["only here"]:
        return Judgement("agrees", words)
    if same >= 0.8 * cells > 0:
        return Judgement("agrees in kind", f"{words} (a printed cell is of one network, and networks differ much)")
    return Judgement("disagrees", words)


def judge_shares(numbers: Numbers) -> Judgement:
    """Judge Table 3.4."""
    all_rows = rows(numbers)
    off = [row for row in all_rows if not is_inside(row)]
    words = "; ".join(describe_row(row, ".3f") for row in all_rows)
    if all_rows and not off:
        return Judgement("agrees", words)
    ratios = [
        max(row.measured or 1e-9, row.printed or 1e-9) / min(row.measured or 1e-9, row.printed or 1e-9) for row in off
    ]
    if ratios and max(ratios) < 2:
        return Judgement("agrees in kind", words)
    return Judgement(
        "disagrees",
        f"{words}. Neither training on after success, nor inputs of 0 and 1, nor other first weights, nor a leak "
        "brings those of three digits together",
    )


def deep_table(table: pd.DataFrame) -> Numbers:
    """Return Table 3.5.

    For each number of digits the least units of all prunings, and whether the printed ends occur.
    """
    results = {}
    for digits, part in table.groupby("digits"):
        ends = {str(end): int(count) for end, count in zip(part["hidden"], part["count"], strict=True)}
        printed = [" ".join(map(str, end)) for end in PRINTED_DEEP[int(str(digits))]]
        results[str(digits)] = {
            "prunings": int(part["prunings"].iloc[0]),
            "least units": int(part["units"].min()),
            "printed units": min(map(sum, PRINTED_DEEP[int(str(digits))])),
            "printed ends": {end: ends.get(end, 0) for end in printed},
            "one layer": sum(count for end, count in ends.items() if " " not in end),
        }
    return results


def judge_deep(numbers: Numbers) -> Judgement:
    """Judge Table 3.5."""
    words = "; ".join(
        f"{digits} digits: "
        + ", ".join(f"{end.replace(' ', '-')} {count}x" for end, count in part["printed ends"].items())
        for digits, part in numbers.items()
    )
    words = f"printed ends in {max(part['prunings'] for part in numbers.values())} prunings each: {words}"
    reached = all(any(part["printed ends"].values()) for part in numbers.values())
    every = all(min(part["printed ends"].values()) > 0 for part in numbers.values())
    if reached and every:
        return Judgement("agrees", words)
    return Judgement("agrees in kind" if reached else "disagrees", words)


def judge_one_layer(numbers: Numbers) -> Judgement:
    """Judge section 3.4.4."""
    results = {digits: part["one layer"] for digits, part in numbers.items()}
    words = "prunings that end with one hidden layer, by digits: " + ", ".join(f"{d}: {n}" for d, n in results.items())
    if not results["2"]:
        return Judgement("disagrees", words)
    others = max((count for digits, count in results.items() if digits not in ("2", "3")), default=0)
    if others == 0:
        return Judgement("agrees" if results["3"] else "agrees in kind", words)
    return Judgement(
        "disagrees", f"{words} of 40 each (the source has none of 40 beyond 3, which {others} of 40 may be by chance)"
    )


def picture_deep(numbers: Numbers) -> Picture:
    """Picture Table 3.5 and section 3.4.4."""
    digits = [float(item) for item in numbers]
    curves = [
        Curve(name, digits, [part[key] for part in numbers.values()])
        for name, key in (("here", "least units"), ("printed", "printed units"))
    ]
    return Picture(curves=curves, x="digits", y="units of the smallest")


def measure_rates(scale: Scale) -> Numbers:
    """Measure how often 3x1, 6x1 and 2x2 networks learn 4-parity.

    With ReLU and leaky ReLU (the text does not say which).
    """
    printed = {(3, 1): 0.02, (6, 1): 0.65, (2, 2): 0.01}
    table = parity_rates(10_000 if scale == "full" else 400)
    return {
        "rows": [
            row(
                f"{item.width}x{item.depth} {'ReLU' if item.leak == RELU else 'leaky'}",
                printed[item.width, item.depth],
                item.rate,
                item.low,
                item.high,
            )
            for item in table.itertuples()
        ]
    }


def judge_rates(numbers: Numbers) -> Judgement:
    """Judge section 3.4.4."""
    all_rows = rows(numbers)
    words = "; ".join(describe_row(row, ".1%") for row in all_rows)
    sizes = {row.what.split()[0] for row in all_rows}
    good = {row.what.split()[0] for row in all_rows if is_inside(row)}
    if good == sizes:
        return Judgement("agrees", words)
    order = sorted((row for row in all_rows if "ReLU" in row.what), key=lambda row: row.printed or 0)
    near = all(abs((row.measured or 0) - (row.printed or 0)) < 0.1 for row in order)
    rising = [row.measured or 0 for row in order][-1] == max(row.measured or 0 for row in order)
    return Judgement("agrees in kind" if near and rising else "disagrees", words)


def measure_sub_networks(scale: Scale) -> Numbers:
    """Measure 6x1 ReLU networks on 4-parity.

    How many learn it, hold a 3x1 network that does, and how many such of 20.
    """
    trials = 1000 if scale == "full" else 60
    X, y = parity(4)
    networks = originals(4, [6], trials, derive_seed(0, 4, 6, 1))
    ends = [prune.exhaustive(networks[k], X, y, epochs=EPOCHS, max_units=3) for k in range(networks.count)]
    held = [len(end.units) for end in ends if len(end.units) and end.units.shape[1] == 3]
    learned, holding = wilson_interval(networks.count, trials), wilson_interval(len(held), networks.count)
    mean = mean_interval(held) if len(held) > 1 else (None, None)
    return {
        "trials": trials,
        "smaller": sum(end.units.shape[1] < 3 for end in ends),
        "rows": [
            row("learn 4-parity", 0.65, networks.count / trials, *learned),
            row("of these hold a 3x1 network", 0.15, len(held) / networks.count, *holding),
            row("both", 0.10, len(held) / trials, *wilson_interval(len(held), trials)),
            row("3x1 networks of 20, over 20", 1.5 / 20, float(np.mean(held)) / 20, *(m and m / 20 for m in mean)),
        ],
    }


def judge_sub_networks(numbers: Numbers) -> Judgement:
    """Judge section 3.4.4."""
    all_rows = rows(numbers)
    words = "; ".join(describe_row(item, ".2f") for item in all_rows)
    if all(is_inside(item, 0.005) for item in all_rows):
        return Judgement("agrees", words)
    few = (all_rows[1].measured or 0) < 0.6 and (all_rows[3].measured or 1) < 0.2
    return Judgement("agrees in kind" if few else "disagrees", f"{words}: more of our networks hold one")


def measure_deep_to_minimal(scale: Scale) -> Numbers:
    """Measure 15x4 ReLU networks on 4-parity: how many learn it, and are pruned iteratively to 2x2."""
    trials, restarts = (40, 4) if scale == "full" else (4, 2)
    networks = originals(4, [15] * 4, trials, derive_seed(0, 4, 15, 4))
    done = prune.iterative(networks, *parity(4), restarts=restarts, epochs=DEEP_EPOCHS, seed=derive_seed(0, 4, 15, 5))
    minimal = [item.network.widths[1:-1] == (2, 2) for item in done]
    learned, share = wilson_interval(networks.count, trials), wilson_interval(sum(minimal), len(minimal))
    return {
        "rows": [
            row("learn 4-parity", 1.0, networks.count / trials, *learned),
            row("prunings that end 2x2", 0.2, float(np.mean(minimal)), *share),
        ],
        "ends": dict(Counter(" ".join(map(str, item.network.widths[1:-1])) for item in done)),
    }


def judge_deep_to_minimal(numbers: Numbers) -> Judgement:
    """Judge section 3.4.4."""
    all_rows = rows(numbers)
    words = "; ".join(describe_row(item, ".2f") for item in all_rows)
    if all(is_inside(item, 0.01) for item in all_rows):
        return Judgement("agrees", words)
    learned, minimal = all_rows
    share = (minimal.measured or 0) / (minimal.printed or 1)
    right = (learned.measured or 0) > 0.95 and 0.5 <= share <= 2
    words += " (it depends on the fine-tuning, which the text does not give)"
    return Judgement("agrees in kind" if right else "disagrees", words)


def measure_curves(scale: Scale) -> Numbers:
    """Measure Fig. 3.10.

    Losses of the successful 3x1 sub-network, of the best other, and of the best of two units and one.
    """
    table = loss_curves(every=20)
    last = table[table["epoch"] == table["epoch"].max()]
    three = last[last["width"] == 3]
    winners = three.loc[three["right"] == 1, "sub_network"].tolist()
    results = {"epochs": sorted(table["epoch"].unique().tolist()), "successful of 20": len(winners)}
    for name, width, number in [
        ("three units, successful", 3, winners[0]),
        *(("best of two units", 2, _best(last, 2)), ("best of one unit", 1, _best(last, 1))),
    ]:
        part = table[(table["width"] == width) & (table["sub_network"] == number)]
        results[name] = part.sort_values("epoch")["loss"].tolist()
    winner = table[(table["width"] == 3) & (table["sub_network"] == winners[0])].sort_values("epoch")
    results["right at epoch"] = int(winner.loc[winner["right"] == 1, "epoch"].min())
    return results


def _best(last: pd.DataFrame, width: int) -> int:
    part = last[last["width"] == width]
    return int(part.loc[part["loss"].idxmin(), "sub_network"])


def judge_curves(numbers: Numbers) -> Judgement:
    """Judge Figure 3.10."""
    loss = np.array(numbers["three units, successful"])
    before = loss[: numbers["epochs"].index(numbers["right at epoch"]) + 1]
    level = int((np.abs(np.diff(before)) < 0.01).sum()) * 20
    words = f"{numbers['successful of 20']} of 20 succeed; the first starts at a loss of {loss[0]:.2f}, has all points "
    words += (
        f"right at epoch {numbers['right at epoch']}, {level} of these epochs almost level, and ends at {loss[-1]:.3f}"
    )
    fails = min(numbers["best of two units"][-1], numbers["best of one unit"][-1]) > 0.1
    right = numbers["successful of 20"] <= 5 and numbers["right at epoch"] > 100 and fails
    return Judgement("agrees in kind" if right else "disagrees", f"{words} (another network than the one drawn)")


def picture_curves(numbers: Numbers) -> Picture:
    """Picture Figure 3.10."""
    names = ("three units, successful", "best of two units", "best of one unit")
    return Picture(curves=[Curve(name, numbers["epochs"], numbers[name]) for name in names], x="epoch", y="loss")


@cache
def wide(scale: Scale) -> ResultTable:
    """Return the prunings of Table 3.4, once for all claims."""
    return pruned_wide(scale)


@cache
def deep(scale: Scale) -> ResultTable:
    """Return the prunings of Table 3.5, once for all claims."""
    return pruned_deep(scale)


CLAIMS = [
    Claim(
        "linearity/table-3.4",
        "Table 3.4",
        "Least widths of sub-networks of wide networks that still have parity.",
        printed="13 widths by 6 digits, from 1, 1/2 to 5, 3/2002",
        measure=lambda scale: wide_table(wide(scale).table),
        judge=judge_wide,
        picture=rows_picture("share of sub-networks that succeed", log=True),
        full="three minutes of one core",
        from_table=numbers_from_table("pruning_wide", wide_table),
        misprints=("linearity/table-3.4",),
    ),
    Claim(
        "linearity/table-3.4-shares",
        "Table 3.4",
        "Which share of all sub-networks of the least width has parity, means over the cells of equal width.",
        printed="52, 38, 79, 4.5, 5.7, 1.5 % for 1 to 6 digits",
        measure=lambda scale: wide_table(wide(scale).table),
        judge=judge_shares,
        incomparable=(
            'The source prints neither how long sub-networks are trained on ("a fixed number of epochs") nor which '
            "of its "
            "four networks a cell is of"
        ),
        picture=rows_picture("share of sub-networks that succeed", log=True),
        full="three minutes of one core",
        from_table=numbers_from_table("pruning_wide", wide_table),
    ),
    Claim(
        "linearity/table-3.5",
        "Table 3.5",
        "Smallest networks out of 5n x 5 networks on parity of n digits.",
        printed="2: 2; 3: 2-2 and 3; 4: 2-2; 5 and 6: 2-2-2 and 2-3",
        measure=lambda scale: deep_table(deep(scale).table),
        judge=judge_deep,
        picture=picture_deep,
        full="five minutes of one core",
        from_table=numbers_from_table("pruning_deep", deep_table),
    ),
    Claim(
        "linearity/section-3.4.4-one-layer",
        "section 3.4.4",
        "Pruning deep networks leaves one hidden layer only for two and three digits.",
        printed="2, 3",
        measure=lambda scale: deep_table(deep(scale).table),
        judge=judge_one_layer,
        picture=picture_deep,
        full="five minutes of one core",
        from_table=numbers_from_table("pruning_deep", deep_table),
    ),
    Claim(
        "linearity/section-3.4.4-rates",
        "section 3.4.4",
        "4-parity is learned by 3x1 networks about 2 % of the time, by 6x1 65 %, by 2x2 1 %.",
        printed="2 %, 65 %, 1 %",
        measure=measure_rates,
        judge=judge_rates,
        picture=rows_picture("rate of success"),
        full="half a minute",
    ),
    Claim(
        "linearity/section-3.4.4-sub-networks",
        "section 3.4.4",
        "Of 6x1 networks 65 % learn 4-parity, 15 % of these hold a 3x1 network that does (1.5 of 20 then): 10 %.",
        printed="65 %, 15 %, 10 %, 1.5 of 20",
        measure=measure_sub_networks,
        judge=judge_sub_networks,
        picture=rows_picture("share"),
        full="a minute",
    ),
    Claim(
        "linearity/section-3.4.4-15x4",
        "section 3.4.4",
        "15x4 networks almost always learn 4-parity, and hold a 2x2 network about 20 % of the time.",
        printed="100 %, 20 %",
        measure=measure_deep_to_minimal,
        judge=judge_deep_to_minimal,
        picture=rows_picture("share"),
        full="a minute",
    ),
    Claim(
        "linearity/figure-3.10",
        "Figure 3.10",
        (
            "The one successful 3x1 sub-network of a 6x1 network on 4-parity learns slowly, over saddle points; no "
            "smaller one succeeds."
        ),
        measure=measure_curves,
        judge=judge_curves,
        picture=picture_curves,
    ),
]
