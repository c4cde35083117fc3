"""Section 3.4.4 of the dissertation: how small networks for parity get by pruning (Tables 3.4 and 3.5).

ReLU networks are trained on all 2^n points of {-1, 1}^n as in
:mod:`creases_reproduction.linearity.boolean_training` (Adam, learning rate 0.025, 4000 epochs), until all points are
classified correctly. ``stored_table("pruning_wide")`` and ``stored_table("pruning_deep")`` are the results of::

    python -m creases_reproduction.linearity.pruning_parity wide --scale full --out pruning_wide.csv
    python -m creases_reproduction.linearity.pruning_parity deep --scale full --out pruning_deep.csv

Wide: of 62 cells with a width in both tables 58 agree, three are smaller here and one is wider (one of ten networks
had learned the problem); in five printed cells of the narrowest widths none of ten did, in two dashes some did. The
shares of sub-networks that succeed, means over the cells of the same width, medians of ours in each:

    digits          1     2     3     4     5     6
    printed, %     52    38    79   4.5   5.7   1.5
    here, %        70    28    25   3.6   4.9   0.8

One, three and six digits differ. A printed cell is of one network, and networks of one size differ much, but for three
digits it is too far off for that; neither training on after success, nor inputs of 0 and 1, nor other first weights,
nor leaky ReLU (which gets to two units) brings them together. Deep: every printed size is reached.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from creases import boolean, lab, prune
from creases_reproduction.experiment import (
    ResultTable,
    Scale,
    check_scale,
    derive_seed,
    describe_machine,
    result_versions,
    write_table,
)
from creases_reproduction.linearity.boolean_training import EPOCHS, LR

#: Networks that are trained at each size: those that succeed are pruned.
TRIALS = {"quick": 4, "full": 10}

#: Epochs of fine-tuning in the pruning of deep networks; the source says a fixed number, not which.
DEEP_EPOCHS = 500

#: Table 3.4: (pruned width, sub-networks of that width that succeed) by original width (rows 2 to 14) and digits 1 to
#: 6; None where no network of that width was found to have all points right.
PRINTED_WIDE: dict[int, tuple[tuple[int, int] | None, ...]] = {
    2: ((1, 1), None, None, None, None, None),
    3: ((1, 2), (2, 3), (3, 1), (3, 1), None, None),
    4: ((1, 2), (2, 3), (3, 3), (4, 1), None, None),
    5: ((1, 3), (2, 8), (3, 8), (4, 3), None, None),
    6: ((1, 3), (2, 4), (3, 18), (3, 1), (5, 1), (6, 1)),
    7: ((1, 4), (2, 8), (3, 26), (3, 3), (5, 3), (6, 1)),
    8: ((1, 5), (2, 5), (3, 41), (3, 5), (5, 4), (6, 2)),
    9: ((1, 7), (2, 8), (3, 66), (3, 3), (5, 4), (5, 1)),
    10: ((1, 5), (2, 8), (3, 95), (3, 4), (4, 1), (5, 2)),
    11: ((1, 6), (2, 13), (3, 143), (3, 4), (4, 1), (5, 1)),
    12: ((1, 5), (2, 24), (3, 166), (3, 9), (4, 2), (5, 2)),
    13: ((1, 3), (2, 12), (3, 245), (3, 5), (4, 5), (5, 4)),
    14: ((1, 5), (2, 25), (3, 278), (3, 10), (5, 22), (5, 3)),
}

#: Table 3.5: hidden widths of the best prunings, by digits.
PRINTED_DEEP: dict[int, tuple[tuple[int, ...], ...]] = {
    2: ((2,),),
    3: ((2, 2), (3,)),
    4: ((2, 2),),
    5: ((2, 2, 2), (2, 3)),
    6: ((2, 2, 2), (2, 3)),
}

Data = tuple[NDArray[np.int64], NDArray[np.int64]]


def parity(n: int) -> Data:
    """Return all points of {-1, 1}^n and whether an odd number of them are 1."""
    points = boolean.all_inputs(n)
    return 2 * points - 1, points.sum(axis=1) % 2


def originals(n: int, hidden: Sequence[int], trials: int, seed: int) -> lab.Batch:
    """Train so many networks and return those that learn parity."""
    start = lab.Batch.initial(trials, [n, *hidden, 1], seed=seed, init="he")
    done = lab.train(start, *parity(n), epochs=EPOCHS, loss="binary_cross_entropy", lr=LR, until_accuracy=1.0)
    return done.batch[np.flatnonzero(done.accuracy == 1)]


def pruned_wide(scale: Scale = "quick", *, seed: int = 0) -> ResultTable:
    """Return exhaustive pruning of networks with one hidden layer, beside Table 3.4.

    The source prunes one network of each size. Here all that learn the problem are pruned (of 10 in "full", of 4 in
    "quick", which has widths 4, 6, 8 and digits 2, 4): the outcome depends much on the network.

    Returns
    -------
    Measured
        A row for each width and number of digits: ``trials`` and ``learned``; the least ``width`` of all prunings, its
        ``choices``, the most ``successes`` among them and the median (``median_successes``) of the prunings that end
        there, which are a ``share`` of all; ``median_width`` of all; ``printed_width`` and ``printed_successes`` (a
        dash is empty), ``as_small``: the share of prunings that end at most as wide as printed.
    """
    check_scale(scale)
    widths, digits = (range(2, 15), range(1, 7)) if scale == "full" else ((4, 6, 8), (2, 4))
    rows, start = [], process_time()
    for n in digits:
        for width in widths:
            networks = originals(n, [width], TRIALS[scale], derive_seed(seed, n, width))
            results = [prune.exhaustive(networks[k], *parity(n), epochs=EPOCHS) for k in range(networks.count)]
            rows.append(_wide_row(n, width, TRIALS[scale], results))
    return ResultTable(
        pd.DataFrame(rows), {"scale": scale, "seed": str(seed), "cpu_seconds": f"{process_time() - start:.0f}"}
    )


def _wide_row(n: int, width: int, trials: int, found: list[prune.SubNetworks]) -> dict[str, Any]:
    printed = PRINTED_WIDE[width][n - 1]
    row: dict[str, Any] = {"digits": n, "original": width, "trials": trials, "learned": len(found)}
    if found:
        ends = np.array([item.units.shape[1] for item in found])
        least = [item for item in found if item.units.shape[1] == ends.min()]
        counts = [len(item.units) for item in least]
        row |= {"width": int(ends.min()), "choices": least[0].tried[int(ends.min())], "successes": max(counts)}
        row["median_successes"] = float(np.median(counts))
        row |= {"median_width": float(np.median(ends)), "share": float((ends == ends.min()).mean())}
        if printed is not None:
            row["as_small"] = float((ends <= printed[0]).mean())
    if printed is not None:
        row |= {"printed_width": printed[0], "printed_successes": printed[1]}
    columns = ["digits", "original", "trials", "learned", "width", "choices", "successes"]
    columns += ["median_successes", "median_width", "share"]
    return {name: row.get(name, np.nan) for name in [*columns, "printed_width", "printed_successes", "as_small"]}


def pruned_deep(scale: Scale = "quick", *, seed: int = 0) -> ResultTable:
    """Return iterative pruning of networks of width 5n and depth five, beside Table 3.5.

    Four networks and ten prunings of each for n = 2 to 6 digits, as printed; "quick" has two of each for n = 2, 3.

    Returns
    -------
    Measured
        A row for each different end of a pruning: ``hidden`` widths, its number of ``units``, how many of all
        ``prunings`` ended there (``count``), and whether it is among the ``printed``.
    """
    check_scale(scale)
    digits, networks, restarts = (range(2, 7), 4, 10) if scale == "full" else ((2, 3), 2, 2)
    rows, start = [], process_time()
    for n in digits:
        batch = originals(n, [5 * n] * 5, 3 * networks, derive_seed(seed, n))[:networks]
        done = prune.iterative(batch, *parity(n), restarts=restarts, epochs=DEEP_EPOCHS, seed=derive_seed(seed, n, 1))
        ends = pd.Series([item.network.widths[1:-1] for item in done]).value_counts()
        for hidden, count in ends.items():
            assert isinstance(hidden, tuple)
            rows.append(
                (n, " ".join(map(str, hidden)), sum(hidden), int(count), int(ends.sum()), hidden in PRINTED_DEEP[n])
            )
    table = pd.DataFrame(rows, columns=["digits", "hidden", "units", "count", "prunings", "printed"])
    table = table.sort_values(["digits", "units", "count"], ascending=[True, True, False], ignore_index=True)
    return ResultTable(table, {"scale": scale, "seed": str(seed), "cpu_seconds": f"{process_time() - start:.0f}"})


def loss_curves(*, width: int = 6, n: int = 4, seed: int = 0, every: int = 20) -> pd.DataFrame:
    """Return losses of all sub-networks of width 1.

    2 and 3 of a network on parity while they are fine-tuned (Fig. 3.10).

    The first of the networks that learns the problem and has a successful sub-network of at most three units.

    Returns
    -------
    DataFrame
        ``width``, ``sub_network``, ``epoch``, ``loss``, ``right``: a row for each recorded epoch.
    """
    X, y = parity(n)
    networks = originals(n, [width], 40, seed)
    results = (networks[k : k + 1] for k in range(networks.count))
    network = next(item for item in results if len(prune.exhaustive(item, X, y, epochs=EPOCHS, max_units=3).units))
    (W, V), (b, c) = network.weights, network.biases
    rows = []
    for k in (1, 2, 3):
        units = np.array(list(combinations(range(width), k)))
        biases = b[0, units], np.repeat(c, len(units), axis=0)
        batch, moments = lab.Batch((W[0, units], V[0][:, units].swapaxes(0, 1)), biases), None
        for epoch in range(0, EPOCHS + 1, every):
            done = lab.train(
                batch, X, y, epochs=every if epoch else 0, loss="binary_cross_entropy", lr=LR, moments=moments
            )
            batch, moments = done.batch, done.moments
            rows += [
                (k, i, epoch, loss, right)
                for i, (loss, right) in enumerate(zip(done.losses, done.accuracy, strict=True))
            ]
    return pd.DataFrame(rows, columns=["width", "sub_network", "epoch", "loss", "right"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one of the experiments and write its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=("wide", "deep"))
    parser.add_argument("--scale", choices=("quick", "full"), default="quick")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    result = (pruned_wide if options.which == "wide" else pruned_deep)(options.scale, seed=options.seed)
    out = options.out or Path(f"pruning_{options.which}.csv")
    flags = f"{options.which} --scale {options.scale} --seed {options.seed}"
    command = f"python -m creases_reproduction.linearity.pruning_parity {flags}"
    about = {"command": command, "device": describe_machine(), **result.about, **result_versions()}
    write_table(ResultTable(result.table, about), out)


if __name__ == "__main__":
    main()
