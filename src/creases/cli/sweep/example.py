"""Which sizes of network learn a problem: a function for sweeps.

``creases sweep example`` prints a sweep of it. Each job trains many networks of one width and depth on a built-in
problem, and tells how many of them learned it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases import lab, problems
from creases.errors import InputError

#: What a job need not say.
DEFAULTS = {"width": 4, "depth": 1, "leak": 0.0, "lr": 0.01, "epochs": 1000, "trials": 20, "right": 0.98}


def work(job: dict[str, Any]) -> float:
    """About what a job costs: multiplications."""
    job = DEFAULTS | job
    return float(job["trials"] * job["epochs"] * (10 + job["width"] * (4 + (job["depth"] - 1) * job["width"])))


@lab.job(
    batched=True,
    same=["problem", "width", "depth", "leak", "epochs", "right"],
    parameters=["problem", *DEFAULTS],
    cost=work,
)
def success(jobs: list[dict[str, Any]]) -> list[dict[str, float]]:
    """Train networks of one size on a problem, and tell how many learned it.

    Parameters of a job: ``problem`` (a name of :func:`creases.problems.get` with classes; its columns are
    standardised), ``width``, ``depth`` (hidden layers), ``leak``, ``lr`` (Adam, full batch), ``epochs`` at most,
    ``trials`` networks; a network has learned the problem, and is left alone, once a share ``right`` of the samples is
    classified right.

    Returns for each job the share of networks that learned it, ``success``; the mean cross-entropy, ``loss``; and the
    mean number of ``epochs_used``.
    """
    jobs = [DEFAULTS | job for job in jobs]
    first = jobs[0]
    X, y = _data(first["problem"])
    widths = [X.shape[1], *[first["width"]] * first["depth"], int(y.max()) + 1]
    batch = lab.Batch.join(
        [lab.Batch.initial(job["trials"], widths, seed=job["seed"], leak=job["leak"]) for job in jobs]
    )
    lr = np.repeat([job["lr"] for job in jobs], [job["trials"] for job in jobs])
    done = lab.train(batch, X, y, epochs=first["epochs"], lr=lr, until_accuracy=first["right"])
    ends = np.cumsum([job["trials"] for job in jobs])[:-1]
    measured = zip(*(np.split(part, ends) for part in (done.accuracy, done.losses, done.epochs)), strict=True)
    return [
        {
            "success": float((right >= first["right"]).mean()),
            "loss": float(losses.mean()),
            "epochs_used": float(epochs.mean()),
        }
        for right, losses, epochs in measured
    ]


@cache
def _data(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    problem = problems.get(name)
    if problem.classes is None:
        raise InputError(f"problem: {name} has no classes; give a classification problem")
    spread = problem.X.std(0)
    return (problem.X - problem.X.mean(0)) / np.where(spread > 0, spread, 1.0), problem.y
