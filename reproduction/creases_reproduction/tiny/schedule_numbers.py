"""Numbers of the TINY paper's experiments on MNIST: means over the seeds of the growth schedule.

Quick: scikit-learn's digits stand in for MNIST, one seed, a second or two for each run.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import torch

from creases import problems
from creases_reproduction.claim import Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.images import STAND_IN
from creases_reproduction.statistics import mean_interval
from creases_reproduction.tiny.bottlenecks import Data
from creases_reproduction.tiny.growth_schedule import BY_STEPS, FIFTEEN, GROWN, LARGE, Setup, Size, all_parts, runs


@cache
def digit_data() -> Data:
    """Return scikit-learn's digits, flat, from 0 to 1."""
    problem = problems.get("digits")
    x = torch.from_numpy(np.asarray(problem.X, np.float32) / 16)
    y = torch.from_numpy(np.asarray(problem.y, np.int64))
    return (x[:1300], y[:1300]), (x[1300:], y[1300:])


@cache
def quick_runs() -> list[dict[str, Any]]:
    """Return the runs of the growth schedule on scikit-learn's digits."""
    return [asdict(item) for item in runs(0, Setup(digit_data(), 1.2, 200))]


@cache
def full_runs() -> list[dict[str, Any]]:
    """Return the runs of the growth schedule at the source's scale."""
    return [asdict(item) for part in all_parts(Size()) for item in part.runs]


def _stored_runs() -> dict[str, Any]:
    """Return the stored runs, and how they were made."""
    text = (files("creases_reproduction") / "results" / "tiny_schedule.json").read_text()
    stored: dict[str, Any] = json.loads(text)
    return stored


def _describe(results: list[dict[str, Any]]) -> str:
    """Return how the runs at full scale differ from the source's: seeds, which it has 20 of, and cores."""
    seeds = Counter(item["name"] for item in results)
    return (
        f"Seeds (the source has 20): {seeds[GROWN]} grown and as many twins, {seeds[LARGE]} of the large network, "
        f"{seeds[LARGE + BY_STEPS]} by steps, {seeds[FIFTEEN]} grown 15 times, {seeds['optimal units']} of Figure 13. "
        "The seconds are of one core, the source's of 7"
    )


def _summary(results: list[dict[str, Any]]) -> Numbers:
    by_name: dict[str, list[dict[str, Any]]] = {}
    for item in results:
        by_name.setdefault(item["name"], []).append(item)
    return {name: _summarize(part) for name, part in by_name.items()}


def _summarize(part: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means over the seeds of one run, in percent and seconds."""
    right = [100 * item["accuracy"] for item in part]
    return {
        "seeds": len(part),
        "accuracy": float(np.mean(right)),
        "interval": mean_interval(right),
        "widths": np.mean([item["widths"] for item in part], axis=0).tolist(),
        "steps": float(np.mean([item["steps"] for item in part])),
        "run seconds": float(np.mean([item["seconds"] for item in part])),
        "growing": float(np.mean([item["growing"] for item in part])),
        **_curve(part, "seconds"),
        **_curve(part, "steps"),
    }


def _curve(part: list[dict[str, Any]], by: str) -> dict[str, Any]:
    """Return the mean test accuracy, and its interval, at the marks that all seeds reach."""
    points = [dict(item[f"by_{by}"]) for item in part]
    marks = sorted(set.intersection(*(set(item) for item in points)))
    at = [[100 * item[mark] for item in points] for mark in marks]
    means, intervals = [float(np.mean(values)) for values in at], [mean_interval(values) for values in at]
    return {f"{by} marks": marks, f"by {by}": means, f"intervals by {by}": intervals}


def measure_schedule(scale: Scale) -> Numbers:
    """Measure test accuracies of all runs of the schedule, in percent."""
    if scale == "quick":
        return {"data": STAND_IN, "runs": _summary(quick_runs())}
    return {"data": _describe(full_runs()), "runs": _summary(full_runs())}


def schedule_from_table() -> tuple[Numbers, dict[str, str]]:
    """Return the numbers of the stored schedule, and how it was made."""
    stored = _stored_runs()
    return {"data": _describe(stored["runs"]), "runs": _summary(stored["runs"])}, stored["about"]


def measure_strengths(scale: Scale) -> Numbers:
    """Measure means of lambda^2 and of the largest lambda by growth step, for both layers."""
    if scale == "quick":
        return {"data": STAND_IN, **_strengths(quick_runs())}
    return {"data": _describe(full_runs()), **_strengths(full_runs())}


def strengths_from_table() -> tuple[Numbers, dict[str, str]]:
    """Return the stored strengths of units, and how they were made."""
    stored = _stored_runs()
    return {"data": _describe(stored["runs"]), **_strengths(stored["runs"])}, stored["about"]


def _strengths(results: list[dict[str, Any]]) -> dict[str, Any]:
    own = [item for item in results if item["name"] == FIFTEEN]
    part = [item["spectra"] for item in own]
    steps = min(len(item) for item in part)
    values = np.array([item[:steps] for item in part])  # (seeds, steps, layers, 2)
    mean = values.mean(axis=0)
    return {
        "seeds": len(own),
        "widths": np.mean([item["widths"] for item in own], axis=0).tolist(),
        "steps": list(range(1, steps + 1)),
        "mean lambda^2": [mean[:, layer, 0].tolist() for layer in (0, 1)],
        "largest lambda": [mean[:, layer, 1].tolist() for layer in (0, 1)],
    }
