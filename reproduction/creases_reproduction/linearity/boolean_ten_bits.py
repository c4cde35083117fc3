r"""Section 3.4.3 of the dissertation: Boolean functions of up to ten bits.

Three kinds of function: random ones (each value a fair coin), parity, and the 222 classes of functions of the first
four bits XORed with the parity of all n. (XORed with the parity of the other n - 4 bits they would be the same
functions up to NPN: g -> g xor 4-parity takes classes to classes.) Leaky ReLU of leak 0.1, by the settings of
:mod:`creases_reproduction.linearity.boolean_training`.

- :func:`by_size`: 10-parity and random functions by width and depth (Fig. 3.7);
- :func:`by_metrics`: points right and rates of success against Fourier degree, entropy and influence, for n = 10
  (Fig. 3.8) and for n = 5..10 (Fig. 3.9). The dissertation does not give the size of these networks; here it is 10x2.

``stored_table`` has the results, "boolean_ten_bits_sizes" and "boolean_ten_bits_metrics", at full scale, of::

    python -m creases_reproduction.linearity.boolean_ten_bits sizes --scale full --out boolean_ten_bits_sizes.csv
    python -m creases_reproduction.linearity.boolean_ten_bits metrics --scale full --out boolean_ten_bits_metrics.csv

The stored numbers are of an earlier trainer on an H200, whose roundings differ. On one core they would take about 4200
and 1600 seconds, at reduced scale 178 and 136.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from creases import boolean
from creases._validation import check_choice, check_count
from creases_reproduction.experiment import ResultTable, derive_seed, describe_run, write_table
from creases_reproduction.linearity.boolean_training import EPOCHS, FOURIER_METRICS, LEAKY, train_on
from creases_reproduction.statistics import add_rates

KINDS = ("random", "xored", "parity")

#: Networks of Fig. 3.8 and 3.9.
WIDTH, DEPTH = 10, 2


class Scale(NamedTuple):
    """How much of an experiment to run."""

    trials: int
    counts: dict[str, int]  #: functions of each kind
    epochs: int = EPOCHS
    widths: Sequence[int] = (WIDTH,)
    depths: Sequence[int] = (DEPTH,)


#: Of Fig. 3.7.
SIZE_SCALES = {
    "quick": Scale(4, {"parity": 1, "random": 1}, EPOCHS, (2, 10), (1, 4)),
    "reduced": Scale(16, {"parity": 1, "random": 2}, EPOCHS, range(2, 11), range(1, 6)),
    "full": Scale(100, {"parity": 1, "random": 10}, EPOCHS, range(2, 11), range(1, 6)),
}

#: Of Fig. 3.8 and 3.9, with the former's trials.
METRIC_SCALES = {
    "quick": Scale(2, {"random": 4, "xored": 6, "parity": 1}),
    "reduced": Scale(4, {"random": 50, "xored": 222, "parity": 10}),
    "full": Scale(20, {"random": 100, "xored": 222, "parity": 1}),
}

ScaleName = Literal["quick", "reduced", "full"]


def by_size(scale: ScaleName = "quick", *, n: int = 10, seed: int = 0) -> ResultTable:
    """Train networks of several sizes on n-parity and on random functions of n bits (Fig. 3.7).

    Parameters
    ----------
    scale
        "full" is the dissertation's; "reduced" has 2 random functions instead of 10, and 16 trials instead of 100.

    Returns
    -------
    Measured
        A row for each function and size: kind, n, function (its number among its kind), width, depth, trials,
        successes, right (mean share of points right), epochs (mean).
    """
    chosen = _settings(SIZE_SCALES, scale)
    sizes = [(width, depth) for depth in chosen.depths for width in chosen.widths]
    tables = [_train_functions(chosen, n, width, depth, seed) for width, depth in sizes]
    return ResultTable(pd.concat(tables, ignore_index=True), {"scale": scale, "seed": str(seed)})


def by_metrics(
    scale: ScaleName = "quick",
    *,
    bits: Sequence[int] = (10,),
    width: int = WIDTH,
    depth: int = DEPTH,
    trials: int | None = None,
    seed: int = 0,
) -> ResultTable:
    """Train networks on random functions, on XORed ones and on parity (Fig. 3.8; Fig. 3.9 with ``bits=range(5, 11)``).

    Parameters
    ----------
    scale
        "full" is the dissertation's; "reduced" has 50 random functions instead of 100, and 4 trials (40 of parity).
    trials
        Networks of each function; the scale's unless given. Fig. 3.8 has 20, Fig. 3.9 has 40.

    Returns
    -------
    Measured
        As :func:`by_size` gives, and the degree, entropy and influence of each function.
    """
    chosen = _settings(METRIC_SCALES, scale)
    chosen = chosen if trials is None else chosen._replace(trials=trials)
    tables = []
    for n in bits:
        numbers = [boolean.from_truth_table(table) for table in _tables(chosen, n, seed)]
        found = boolean.measures(numbers, n)
        fourier = {name: getattr(found, name) for name in FOURIER_METRICS}
        tables.append(_train_functions(chosen, n, width, depth, seed).assign(**fourier))
    return ResultTable(pd.concat(tables, ignore_index=True), {"scale": scale, "seed": str(seed)})


def means(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over the functions of each kind and n in a table of :func:`by_metrics`.

    Metrics divided by n (Fig. 3.9).

    Columns kind, n, functions, trials (of all of them), rate, low, high, right, degree, entropy, influence; low to high
    is the 95 % Wilson interval of the rate, the functions taken as given.
    """
    scaled = table.assign(**{name: table[name] / table["n"] for name in FOURIER_METRICS}, functions=1)
    sums = scaled.groupby(["kind", "n"], as_index=False)[["functions", "trials", "successes"]].sum()
    others = scaled.groupby(["kind", "n"], as_index=False)[["right", *FOURIER_METRICS]].mean()
    return add_rates(sums).merge(others, on=["kind", "n"])


def grid(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return mean rates in a table of :func:`by_size`, of a kind: a row for each depth, a column for each width."""
    part = table[table["kind"] == kind]
    rates = part.assign(rate=part["successes"] / part["trials"])
    return rates.pivot_table(index="depth", columns="width", values="rate")


def has_parity_network(rates: pd.DataFrame, n: int) -> pd.DataFrame:
    """Whether n-parity has a network of each size by the constructions, n <= width^depth (Theorem 3.3.4)."""
    able = np.asarray(rates.columns)[None, :] ** np.asarray(rates.index)[:, None] >= n
    return pd.DataFrame(able, rates.index, rates.columns)


def functions(kind: str, n: int, count: int, *, seed: int = 0) -> NDArray[np.uint8]:
    """Return truth tables (count, 2^n) of functions of a kind.

    Of the 222 XORed ones, so many spread over the classes; of parity, which is but one, copies.
    """
    check_choice(kind, KINDS, "kind")
    check_count(n, "n", least=4)
    if kind == "random":
        draws = [np.random.default_rng(derive_seed(seed, n, k)) for k in range(count)]
        return np.array([draw.integers(0, 2, 2**n, np.uint8) for draw in draws])
    parity = boolean.truth_table(boolean.parity(n), n)
    if kind == "parity":
        return np.tile(parity, (count, 1))
    classes = boolean.npn_classes(4).representatives
    chosen = classes[np.linspace(0, len(classes) - 1, count).round().astype(int)]
    return np.tile(boolean.truth_table(chosen, 4), 2 ** (n - 4)) ^ parity  # bit x has the first four bits of x lowest


def _settings(scales: dict[str, Scale], scale: str) -> Scale:
    check_choice(scale, scales, "scale")
    return scales[scale]


def _tables(scale: Scale, n: int, seed: int) -> NDArray[np.uint8]:
    """Return truth tables (k, 2^n) of all functions of a scale."""
    return np.concatenate([functions(kind, n, count, seed=seed) for kind, count in scale.counts.items()])


def _train_functions(scale: Scale, n: int, width: int, depth: int, seed: int) -> pd.DataFrame:
    """Return outcomes of one size on all functions of a scale, trained in one call."""
    names = [(kind, k) for kind, count in scale.counts.items() for k in range(count)]
    seeds = [derive_seed(seed, n, KINDS.index(kind), k, width, depth) for kind, k in names]
    done = train_on(
        _tables(scale, n, seed),
        width,
        depth,
        leak=LEAKY,
        trials=scale.trials,
        seeds=seeds,
        epochs=scale.epochs,
    )
    return pd.DataFrame(
        {
            "kind": [kind for kind, _ in names],
            "n": n,
            "function": [k for _, k in names],
            "width": width,
            "depth": depth,
            "trials": scale.trials,
            "successes": done.successes,
            "right": done.right,
            "epochs": done.epochs,
        }
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("sizes", "metrics"))
    parser.add_argument("--scale", choices=SIZE_SCALES, default="quick")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    given = parser.parse_args()
    began = perf_counter()
    if given.what == "sizes":
        result = by_size(given.scale, seed=given.seed)
    else:
        trials = 40 if given.scale == "full" else None
        result = by_metrics(given.scale, bits=range(5, 11), trials=trials, seed=given.seed)
    flags = f"{given.what} --scale {given.scale} --seed {given.seed}"
    command = f"python -m creases_reproduction.linearity.boolean_ten_bits {flags} --out {given.out.name}"
    about = {**result.about, **describe_run(command, perf_counter() - began)}
    write_table(ResultTable(result.table, about), given.out)
