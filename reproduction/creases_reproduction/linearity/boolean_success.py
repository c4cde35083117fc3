"""Section 3.4.2 of the dissertation: which networks learn which Boolean functions of four bits.

Networks of widths 2 to 10 and depths 1 to 5, with ReLU and with leaky ReLU, are trained 100 times on each of the 222
NPN classes: 1,998,000 trainings (Fig. 3.5, 3.6 and Table 3.3), by the settings of
:mod:`creases_reproduction.linearity.boolean_training`. :func:`stored_success` gives the result of::

    python -m creases_reproduction.linearity.boolean_success --scale full --out boolean_success.parquet
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import as_file, files
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from creases import boolean, lab
from creases._files import write_atomically
from creases._validation import check_choice
from creases.errors import CreasesError, FileError, InputError
from creases_reproduction.experiment import ResultTable, derive_seed, result_versions
from creases_reproduction.linearity.boolean_training import LEAKY, RELU, Start, train_on
from creases_reproduction.statistics import add_rates

BITS = 4
PARITY = 27030  #: the class of 4-parity


class Scale(NamedTuple):
    """How much of the experiment to run."""

    widths: Sequence[int]
    depths: Sequence[int]
    trials: int
    classes: Sequence[int] | None = None  #: all unless given


#: Table 3.3: classes that are hardest at several sizes, and at how many, by leak.
PRINTED_HARDEST = {
    RELU: {27030: 19, 278: 14, 5737: 12, 406: 6, 5805: 5, 1641: 5, 6042: 4, 5804: 4, 1716: 4, 7140: 4},
    LEAKY: {27030: 12, 7128: 5, 6038: 2, 5737: 2, 7905: 2, 5774: 2, 1717: 2, 5786: 2, 1713: 2, 2022: 2},
}

#: Classes that are hard for small networks: those of Table 3.3 for ReLU, and two that were hardest at some size here.
HARD = tuple(sorted({*PRINTED_HARDEST[RELU], 5865, 7128}))

#: "hard" has what the full scale has of the hard classes at small sizes: the same networks.
SCALES = {
    "quick": Scale((2, 3, 4, 6), (1, 2), 5),
    "hard": Scale((2, 3, 4, 5), (1, 2), 100, HARD),
    "full": Scale(range(2, 11), range(1, 6), 100),
}

#: Where the result at full scale is kept.
FILE = "boolean_success.parquet"

METRICS = ("swaps", "degree", "influence", "entropy")


@dataclass(frozen=True, eq=False)
class Success(ResultTable):
    """Successes of every class and size, and what they say about which problems are hard.

    The table has a row for each class, width, depth and leak: trials, successes, and mean epochs (4000 of those that
    fail).
    """

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """Swaps, Fourier degree, influence and Fourier entropy of each class (index)."""
        classes = np.unique(self.table["class"])
        found = boolean.measures(classes, BITS)
        fourier = {name: getattr(found, name) for name in METRICS[1:]}
        swaps = [boolean.swaps(int(f), BITS).changes for f in classes]
        return pd.DataFrame({"swaps": swaps, **fourier}, index=pd.Index(classes, name="class"))

    def rates(self, leak: float) -> pd.DataFrame:
        """Return rates of success, a row for each class and a column for each (width, depth)."""
        rows = self.table[np.isclose(self.table["leak"], leak)]
        if rows.empty:
            known = ", ".join(f"{value:g}" for value in np.unique(self.table["leak"]))
            raise InputError("leak", f"be {known}, as in the table", f"{leak:g}")
        rate = rows["successes"] / rows["trials"]
        return rows.assign(rate=rate).pivot(index="class", columns=["width", "depth"], values="rate").sort_index(axis=1)

    def sizes(self, leak: float, how: Literal["mean", "min"]) -> pd.DataFrame:
        """Return mean or lowest rate over the classes (Fig. 3.5), a row for each depth and a column for each width."""
        return self.rates(leak).agg(how).unstack("width")

    def performance(self, leak: float) -> pd.DataFrame:
        """Return what Fig. 3.6 shows of each class (index), easiest first.

        The metrics; the rates of 2x2 and of 3x1 networks, and the mean over all sizes; the least width of one hidden
        layer that ever succeeded (``"width"``, NaN if none).
        """
        rates = self.rates(leak)
        shallow = rates.xs(1, axis=1, level="depth") > 0
        results = self.metrics.assign(
            **{"2x2": rates.get((2, 2)), "3x1": rates.get((3, 1))},
            mean=rates.mean(axis=1),
            width=shallow.idxmax(axis=1).where(shallow.any(axis=1)),
        )
        return results.sort_values("mean", ascending=False, kind="stable")

    def correlations(self, leak: float) -> pd.DataFrame:
        """Return correlation over the classes of each metric with the mean rate of success, and its 95 % interval.

        The classes are all there are, so that only the trainings are a sample: the interval is that of 200 tables
        with successes drawn anew, binomially with the rates found.
        """
        rates = self.rates(leak)
        trials = int(self.table["trials"].iloc[0])
        again = np.random.default_rng(0).binomial(trials, rates.to_numpy(), (200, *rates.shape)) / trials
        means = np.vstack([rates.mean(axis=1), again.mean(axis=2)])  # (201, classes)
        with np.errstate(invalid="ignore"):  # what is the same for all classes has no correlation: NaN
            results = {name: [np.corrcoef(self.metrics[name], mean)[0, 1] for mean in means] for name in METRICS}
        low, high = np.percentile([results[name][1:] for name in METRICS], [2.5, 97.5], axis=1)
        first = [results[name][0] for name in METRICS]
        return pd.DataFrame({"correlation": first, "low": low, "high": high}, index=pd.Index(METRICS, name="metric"))

    def hardest(self, leak: float) -> pd.DataFrame:
        """Return at how many sizes each class is among the hardest, beside Table 3.3; most often first.

        Hardest at a size: a rate within 0.01 of the lowest, and below 1.
        """
        rates = self.rates(leak)
        count = ((rates <= rates.min() + 0.01 + 1e-9) & (rates < 1)).sum(axis=1)
        printed = pd.Series(PRINTED_HARDEST.get(leak, {}), dtype="Int64")
        results = pd.DataFrame({"count": count, "printed": printed.reindex(count.index)})
        return results[(count > 0) | results["printed"].notna()].sort_values("count", ascending=False, kind="stable")

    def rate(self, function: int, width: int, depth: int, leak: float) -> pd.Series:
        """Return the row of one class and size, with ``rate`` and its 95 % Wilson interval ``low``, ``high``."""
        row = self.table.query("`class` == @function and width == @width and depth == @depth")
        row = row[np.isclose(row["leak"], leak)]
        if row.empty:
            raise InputError(
                "function, width, depth, leak", "be a row of the table", f"{function}, {width}, {depth}, {leak:g}"
            )
        return add_rates(row).iloc[0]


def success(
    scale: Literal["quick", "hard", "full"] = "quick",
    *,
    seed: int = 0,
    how: Start = "he",
    out: str | Path | None = None,
) -> Success:
    """Run the experiment.

    Parameters
    ----------
    scale
        "full" is the dissertation's; "quick" has 8 of the 45 sizes, and 5 trials instead of 100; "hard" has 8 sizes and
        only the hardest classes, with all 100 trials.
    how
        First weights: the text's "he", or PyTorch's default, "torch". With "torch" the hardest problems for ReLU are
        those of Table 3.3 (at depths 1 to 3: 278, 27030, 406, 1641, 5737), with "he" unbalanced ones as 278 are not.
    out
        A folder for the results as they come (by :func:`creases.lab.sweep`, on all cores): a run that was killed goes
        on where it was. Without, all is done in this process.
    """
    check_choice(scale, SCALES, "scale")
    widths, depths, trials, classes = SCALES[scale]
    sizes = product((RELU, LEAKY), depths, widths)
    jobs: list[dict[str, Any]] = [{"width": width, "depth": depth, "leak": leak} for leak, depth, width in sizes]
    shared: dict[str, Any] = {"trials": trials, "seed": seed, "how": how}
    if classes is not None:
        shared["classes"] = [int(f) for f in classes]
    if out is None:
        rows = pd.DataFrame([shared | job | row for job in jobs for row in train_size(**shared, **job)])
    else:
        rows = _run_sweep([shared | job for job in jobs], out)
    about = {"scale": scale, "seed": str(seed), "how": how, "cpu_seconds": f"{rows['cpu'].sum():.0f}"}
    return Success(_shrink_types(rows), about | result_versions())


def _run_sweep(jobs: list[dict[str, Any]], out: str | Path) -> pd.DataFrame:
    """Return rows of all jobs, done or found in the folder."""
    path = "creases_reproduction.linearity.boolean_success:train_size"  # of this module, also where it is run as one
    table = lab.sweep(path, jobs, out)
    failures = table[table["error"].notna()]
    if len(failures):
        raise CreasesError(f"{len(failures)} of {len(jobs)} jobs failed, the first with\n{failures['error'].iloc[0]}")
    return table.drop(columns="error")


def train_size(
    width: int,
    depth: int,
    leak: float,
    trials: int,
    seed: int = 0,
    how: Start = "he",
    classes: Sequence[int] | None = None,
) -> list[dict[str, float]]:
    """Train networks of one size on all 222 classes, or on those given, all in one call.

    Returns
    -------
    list of dict
        For each class: class, successes, mean epochs, and its share of the CPU seconds.
    """
    functions, begun = boolean.npn_classes(BITS).representatives if classes is None else classes, process_time()
    done = train_on(
        boolean.truth_table(functions, BITS),
        width,
        depth,
        leak=leak,
        trials=trials,
        seeds=[derive_seed(seed, int(f), width, depth, round(1000 * leak)) for f in functions],
        how=how,
    )
    cpu = (process_time() - begun) / len(functions)
    return [
        {"class": int(f), "successes": int(successes), "epochs": float(epochs), "cpu": cpu}
        for f, successes, epochs in zip(functions, done.successes, done.epochs, strict=True)
    ]


def parity_rates(trials: int = 10_000, *, seed: int = 0) -> pd.DataFrame:
    """Return how often the sizes that section 3.4.4 speaks of learn 4-parity, of many networks.

    Columns width, depth, leak, trials, successes, rate, and its 95 % Wilson interval low, high.
    """
    rows = []
    for (width, depth), leak in product(((3, 1), (6, 1), (2, 2)), (RELU, LEAKY)):
        key = derive_seed(seed, PARITY, width, depth, round(1000 * leak), trials)
        table = boolean.truth_table(PARITY, BITS)[None]
        done = train_on(table, width, depth, leak=leak, trials=trials, seeds=[key])
        rows.append((width, depth, leak, trials, int(done.successes[0])))
    return add_rates(pd.DataFrame(rows, columns=["width", "depth", "leak", "trials", "successes"]))


def write_success(result: Success, path: str | Path) -> Path:
    """Write a result as Parquet, with how it was made in the file's metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(result.table, preserve_index=False)
    with write_atomically(path) as temporary:
        pq.write_table(table.replace_schema_metadata(result.about), temporary, compression="zstd", compression_level=19)
    return Path(path)


def read_success(path: str | Path) -> Success:
    """Read what :func:`write_success` wrote."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise FileError(f"cannot read {path} as Parquet: {error}") from None
    about = {name.decode(): value.decode() for name, value in (table.schema.metadata or {}).items()}
    return Success(table.to_pandas(), about)


def stored_success() -> Success:
    """Return the result at full scale that comes with the package.

    >>> bool(stored_success().rate(PARITY, 3, 1, LEAKY)["rate"] < 0.1)
    True
    """
    with as_file(files("creases_reproduction") / "results" / FILE) as path:
        return read_success(path)


def _shrink_types(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows in order, in the smallest types that hold them."""
    types = {
        "class": "uint16",
        "width": "uint8",
        "depth": "uint8",
        "leak": "float32",
        "trials": "uint8",
        "successes": "uint8",
        "epochs": "float32",
    }
    return rows[list(types)].astype(types).sort_values(["leak", "depth", "width", "class"], ignore_index=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=SCALES, default="quick")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--how", choices=("he", "torch"), default="he", help="first weights")
    parser.add_argument(
        "--out", type=Path, default=Path(FILE), help="the file to write; parts go to a folder beside it"
    )
    given = parser.parse_args()
    parts = given.out.with_suffix(".sweep")
    found = success(given.scale, seed=given.seed, how=given.how, out=parts)
    command = f"python -m creases_reproduction.linearity.boolean_success --scale {given.scale} --seed {given.seed}"
    found.about["command"] = f"{command} --how {given.how} --out {given.out.name}"
    write_success(found, given.out)
    for given_leak in (RELU, LEAKY):
        print(f"lowest rates of success, leak {given_leak:g}", found.sizes(given_leak, "min"), sep="\n")
