"""Table 3.2 of the dissertation: where gradient descent on XOR ends, among all its steady states.

Networks v(x) = o_1 relu(w_1 x + b_1) + o_2 relu(w_2 x + b_2) + c on the points -1, 0, 0, 1 with targets -1, 1, 1, -1;
full gradient steps, learning rate 0.1, 500 epochs; weights from the He-Kaiming normal distribution, biases uniform.
The text defines the loss as a sum, (3.25), but torch's is a mean by default; both are run. The lab's loss is the mean
over the four points, so a rate of 0.1 on the sum is a rate of 0.4 there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from creases import lab
from creases_reproduction.experiment import ResultTable, Scale, check_scale, run_as_program
from creases_reproduction.linearity import xor
from creases_reproduction.linearity.xor.steady_states import ALL, DEAD, LEFT, RIGHT, RIGHT_TWO
from creases_reproduction.statistics import add_rates

if TYPE_CHECKING:
    import pandas as pd

Loss = Literal["mean", "sum"]

RUNS: dict[Scale, int] = {"quick": 2_000, "full": 100_000}

#: Learning rates on the mean over the four points.
RATES: dict[Loss, float] = {"mean": 0.1, "sum": 0.4}
EPOCHS = 500

#: Times found in 1,000 trials, by the sides of the two units. The first two rows, 23 and 25, are printed alike.
PRINTED = {
    (LEFT, RIGHT): 23 + 25,
    (LEFT, RIGHT_TWO): 26,
    (ALL, DEAD): 26,
    (RIGHT, RIGHT_TWO): 26,
    (DEAD, ALL): 26,
    (RIGHT, LEFT): 31,
    (ALL, ALL): 33,
    (DEAD, LEFT): 58,
    (LEFT, DEAD): 61,
    (RIGHT, RIGHT): 62,
    (DEAD, DEAD): 64,
    (LEFT, LEFT): 66,
    (DEAD, RIGHT): 67,
    (RIGHT, DEAD): 75,
}

#: A network has come to a family if its values at the points are within so much of the family's.
TOLERANCE = 0.05


@dataclass(frozen=True, eq=False)
class Run:
    """Trained networks and where they have ended."""

    networks: lab.Batch
    ends: xor.Outcomes


@dataclass(frozen=True, eq=False)
class Optima:
    """Where networks have ended, trained on the mean and on the sum of the squared errors."""

    runs: dict[Loss, Run]

    def solutions(self, loss: Loss = "mean") -> pd.DataFrame:
        """Return Table 3.2, for all 32 families of steady states.

        Loss, how many networks have come to it, the printed number.

        Most frequent first; one row is for networks in no family: in a region without one, or not settled. ``share``
        has its 95 % Wilson interval; ``printed`` is of 1,000 trials, NaN if not printed.
        """
        import pandas as pd

        ends = self.runs[loss].ends
        settled = ends.is_steady(TOLERANCE)
        counts = np.bincount(ends.region[settled], minlength=len(xor.REGIONS))
        rows = [
            (item.conditions, item.solution, float(item.loss), count, PRINTED.get(item.sides))
            for item, count in zip(xor.REGIONS, counts.tolist(), strict=True)
            if item.loss is not None
        ]
        rows.append(("any", "none of these", np.nan, int((~settled).sum()), None))
        frame = pd.DataFrame(rows, columns=["region", "solution", "loss", "count", "printed"])
        frame = frame.astype({"printed": np.float64})
        return _add_shares(frame, len(settled)).sort_values("count", ascending=False, ignore_index=True)

    def frequencies(self) -> pd.DataFrame:
        """Return how often each loss of a steady state is the nearest to where a network has ended.

        With 95 % intervals.
        """
        import pandas as pd

        frames = []
        for loss, run in self.runs.items():
            counts = np.bincount(run.ends.level, minlength=len(xor.LOSSES))
            frame = pd.DataFrame({"trained on": loss, "loss": [str(item) for item in xor.LOSSES], "count": counts})
            frames.append(_add_shares(frame, len(run.ends.level)))
        return pd.concat(frames, ignore_index=True)


def table_3_2(scale: Scale = "quick", *, seed: int = 0) -> Optima:
    """Train 2,000 (``quick``) or 100,000 (``full``) networks on the mean and on the sum, from the same starts."""
    check_scale(scale)
    start = lab.Batch.initial(RUNS[scale], [1, 2, 1], seed=seed, init="he")
    x, y = np.array([-1.0, 0.0, 0.0, 1.0]), np.array([-1.0, 1.0, 1.0, -1.0])
    runs: dict[Loss, Run] = {}
    for loss, rate in RATES.items():
        done = lab.train(start, x[:, None], y, epochs=EPOCHS, loss="squared_error", optimizer="sgd", lr=rate)
        runs[loss] = Run(done.batch, xor.classify(done.batch))
    return Optima(runs)


def frequencies(scale: Scale = "quick", *, seed: int = 0) -> ResultTable:
    """Return how often each loss of a steady state is where networks end, as :meth:`Optima.frequencies` tells it."""
    return ResultTable(table_3_2(scale, seed=seed).frequencies(), {"scale": scale, "seed": str(seed)})


def _add_shares(frame: pd.DataFrame, total: int) -> pd.DataFrame:
    """Return the table with each count's ``share`` of all, and its 95 % Wilson interval ``low``, ``high``."""
    rates = add_rates(frame.assign(trials=total), "count")
    return rates.rename(columns={"rate": "share"}).drop(columns="trials")


if __name__ == "__main__":
    run_as_program(frequencies, "linearity.boolean_optima", __doc__)
