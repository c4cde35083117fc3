"""The function of ``creases sweep example``: which sizes of network learn a problem.

Each job trains many networks of one width and depth on a built-in problem, and counts those that learn it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases import lab, problems
from creases.errors import InputError

#: Default values of a job's parameters.
DEFAULTS = {"width": 4, "depth": 1, "leak": 0.0, "lr": 0.01, "epochs": 1000, "trials": 20, "min_accuracy": 0.98}


def estimate_cost(job: dict[str, Any]) -> float:
    """Return the approximate number of multiplications of a job."""
    job = DEFAULTS | job
    return float(job["trials"] * job["epochs"] * (10 + job["width"] * (4 + (job["depth"] - 1) * job["width"])))


@lab.job(
    batched=True,
    same=["problem", "width", "depth", "leak", "epochs", "min_accuracy"],
    parameters=["problem", *DEFAULTS],
    cost=estimate_cost,
)
def train_networks(jobs: list[dict[str, Any]]) -> list[dict[str, float]]:
    """Train networks of one size on a problem, and count those that learn it.

    Parameters
    ----------
    jobs
        Jobs with the parameters ``problem`` (a classification problem of :func:`creases.problems.get`, whose inputs are
        standardized), ``width``, ``depth`` (hidden layers), ``leak``, ``lr`` (Adam, full batch), ``epochs`` (the most),
        ``trials`` (networks), and ``min_accuracy``: a network has learned the problem, and is not trained further, once
        it reaches this accuracy.

    Returns
    -------
    For each job ``success``, the fraction of networks that learned it; ``loss``, the mean cross-entropy; and
    ``epochs_used``, the mean number of epochs.
    """
    jobs = [DEFAULTS | job for job in jobs]
    first = jobs[0]
    X, y = _load_problem(first["problem"])
    widths = [X.shape[1], *[first["width"]] * first["depth"], int(y.max()) + 1]
    batch = lab.Batch.join(
        [lab.Batch.initial(job["trials"], widths, seed=job["seed"], leak=job["leak"]) for job in jobs]
    )
    lr = np.repeat([job["lr"] for job in jobs], [job["trials"] for job in jobs])
    result = lab.train(batch, X, y, epochs=first["epochs"], lr=lr, until_accuracy=first["min_accuracy"])
    ends = np.cumsum([job["trials"] for job in jobs])[:-1]
    measured = zip(*(np.split(part, ends) for part in (result.accuracy, result.losses, result.epochs)), strict=True)
    return [
        {
            "success": float((accuracy >= first["min_accuracy"]).mean()),
            "loss": float(losses.mean()),
            "epochs_used": float(epochs.mean()),
        }
        for accuracy, losses, epochs in measured
    ]


@cache
def _load_problem(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    problem = problems.get(name)
    if problem.classes is None:
        raise InputError("problem", "be a classification problem", repr(name))
    spread = problem.X.std(0)
    return (problem.X - problem.X.mean(0)) / np.where(spread > 0, spread, 1.0), problem.y
