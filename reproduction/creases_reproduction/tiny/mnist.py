"""Experiments of the TINY paper on MNIST (abstract, section 4, appendix C).

The figures have no numbers in the text but widths; what is said of them is judged. Quick: scikit-learn's digits stand
in for MNIST, one seed, a second or two for each run.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import torch

from creases.problems import digits
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.images import STAND_IN, note_stand_in
from creases_reproduction.statistics import mean_interval
from creases_reproduction.tiny.bottlenecks import Data, mnist_curves
from creases_reproduction.tiny.growth_schedule import all_runs, runs

GROWN = "grown, 0.05 s apart"
FULL = "20 seeds of 290 s, each of one core: 6 minutes of 16 cores; needs the image files"
ABOUT = {
    "command": (
        "python -m creases_reproduction.tiny.growth_schedule --seeds 15 --jobs 15 --seconds 30 --out schedule.json"
    ),
    "device": "Intel Xeon, 16 cores, one for each run",
    "torch": "2.11",
}
GROWTH_ABOUT = {
    "command": "python -m creases_reproduction.tiny.bottlenecks mnist --device cuda --seeds 0 1 2 3 4 --out mnist.json",
    "device": "NVIDIA H200, 16 cores",
    "torch": "2.11",
}


@cache
def digit_data() -> Data:
    """Return scikit-learn's digits, flat, from 0 to 1."""
    problem = digits()
    x = torch.from_numpy(np.asarray(problem.X, np.float32) / 16)
    y = torch.from_numpy(np.asarray(problem.y, np.int64))
    return (x[:1300], y[:1300]), (x[1300:], y[1300:])


@cache
def quick_runs() -> list[dict[str, Any]]:
    """Return the runs of the growth schedule on scikit-learn's digits."""
    return [asdict(item) for item in runs(0, digit_data(), 1.2)]


def _read(name: str) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = json.loads((files("creases_reproduction") / "results" / name).read_text())
    return results


def _summary(found: list[dict[str, Any]]) -> Numbers:
    by: dict[str, list[dict[str, Any]]] = {}
    for item in found:
        by.setdefault(item["name"], []).append(item)
    out: dict[str, Any] = {}
    for name, part in by.items():
        right = [100 * item["accuracy"] for item in part]
        marks = sorted({mark for item in part for mark, _ in item["points"]})
        at = {mark: [100 * a for item in part for m, a in item["points"] if m == mark] for mark in marks}
        out[name] = {
            "seeds": len(part),
            "accuracy": float(np.mean(right)),
            "interval": mean_interval(right),
            "widths": np.mean([item["widths"] for item in part], axis=0).tolist(),
            "seconds": marks,
            "by seconds": [float(np.mean(at[mark])) for mark in marks],
            "steps": float(np.mean([item["steps"] for item in part])),
            "growing": float(np.mean([item.get("growing", 0.0) for item in part])),
        }
    return out


def measure_schedule(scale: Scale) -> Numbers:
    """Measure test accuracies of all runs of the schedule, in percent."""
    if scale == "quick":
        return {"data": STAND_IN, "runs": _summary(quick_runs())}
    return {"data": "mnist", "runs": _summary([asdict(item) for item in all_runs()])}


def schedule_from_table() -> tuple[Numbers, dict[str, str]]:
    """Return the numbers of the stored schedule, and how it was made."""
    return {"data": "mnist", "runs": _summary(_read("tiny_schedule.json"))}, ABOUT


def _told(numbers: Numbers, *names: str) -> str:
    part = numbers["runs"]
    return ", ".join(
        f"{name} {part[name]['accuracy']:.1f} % ({part[name]['interval'][0]:.1f} to {part[name]['interval'][1]:.1f})"
        for name in names
    )


WHY = (
    "each run had one core, three fifths of the source's seconds (50 s of 7 cores) and no dW*, which is huge where "
    "units barely vary"
)


def _beside(numbers: Numbers, other: str) -> Judgement:
    part = numbers["runs"]
    words = f"test accuracy at the end: {_told(numbers, GROWN, other)}"
    if part[GROWN]["interval"][1] >= part[other]["interval"][0]:
        return Judgement("agrees", words)
    gap = part[other]["accuracy"] - part[GROWN]["accuracy"]
    return Judgement("disagrees", f"{words}: grown networks are {gap:.1f} points behind; {WHY}")


@note_stand_in
def judge_large(numbers: Numbers) -> Judgement:
    """Judge Figure 5."""
    return _beside(numbers, "1000-1000")


@note_stand_in
def judge_twin(numbers: Numbers) -> Judgement:
    """Judge Figure 6."""
    return _beside(numbers, "fixed twin")


def picture(*names: str) -> Any:
    """Return curves of test accuracy by seconds."""

    def drawn(numbers: Numbers) -> Picture:
        part = numbers["runs"]
        return Picture(
            curves=[Curve(name, part[name]["seconds"], part[name]["by seconds"]) for name in names if name in part],
            x="seconds",
            y="test accuracy, %",
        )

    return drawn


@note_stand_in
def judge_steps(numbers: Numbers) -> Judgement:
    """Judge section 4."""
    small, large = (numbers["runs"][name]["steps"] for name in ("fixed twin", "1000-1000"))
    words = f"in the same time the small network trained {small:.0f} steps, 1000-1000 {large:.0f}"
    return Judgement("agrees" if large < small else "disagrees", words)


@note_stand_in
def judge_pauses(numbers: Numbers) -> Judgement:
    """Judge appendix C.1, Figure 8."""
    names = [name for name in numbers["runs"] if name.startswith("grown, ")]
    words = "; ".join(
        f"{name}: {part['accuracy']:.1f} %, widths {[round(w) for w in part['widths']]}"
        for name, part in ((name, numbers["runs"][name]) for name in names)
    )
    first, second = numbers["runs"][GROWN]["widths"]
    if abs(first - 222) < 22 and abs(second - 71) < 7:
        return Judgement("agrees", words)
    if first > 1.5 * second:
        why = "the threshold is not printed; the first layer gets a few times the units of the second, as there"
        return Judgement("agrees in kind", f"{words}; printed [222, 71]: {why}")
    return Judgement("disagrees", f"{words}; printed [222, 71]")


@note_stand_in
def judge_fifteen(numbers: Numbers) -> Judgement:
    """Judge appendix C.3, Figure 10."""
    part = numbers["runs"]["grown 15 times"]
    wide = numbers["runs"]["1000-1000"]
    last = part["seconds"][-1] if part["seconds"] else 0.0
    there = dict(zip(wide["seconds"], wide["by seconds"], strict=True)).get(last, wide["accuracy"])
    here = part["by seconds"][-1] if part["seconds"] else part["accuracy"]
    words = (
        f"after {last:g} s {here:.1f} % at widths {[round(w) for w in part['widths']]} (printed [929, 141]), 1000-1000 "
    )
    words += f"{there:.1f} %"
    return Judgement("agrees" if here > there - 0.5 else "disagrees", words)


def measure_strengths(scale: Scale) -> Numbers:
    """Measure means of lambda^2 and of the largest lambda by growth step, for both layers."""
    results = quick_runs() if scale == "quick" else [asdict(item) for item in all_runs()]
    return {"data": STAND_IN if scale == "quick" else "mnist", **_strengths(results)}


def strengths_from_table() -> tuple[Numbers, dict[str, str]]:
    """Return the stored strengths of units, and how they were made."""
    return {"data": "mnist", **_strengths(_read("tiny_schedule.json"))}, ABOUT


def _strengths(found: list[dict[str, Any]]) -> dict[str, Any]:
    part = [item["spectra"] for item in found if item["name"] == "grown 15 times"]
    steps = min(len(item) for item in part)
    values = np.array([item[:steps] for item in part])  # (seeds, steps, layers, 2)
    mean = values.mean(axis=0)
    return {
        "steps": list(range(1, steps + 1)),
        "mean lambda^2": [mean[:, layer, 0].tolist() for layer in (0, 1)],
        "largest lambda": [mean[:, layer, 1].tolist() for layer in (0, 1)],
    }


def _falls(numbers: Numbers, name: str) -> Judgement:
    first, second = numbers[name]
    words = f"{name} from the first to the last growth step: {first[0]:.3g} to {first[-1]:.3g} in the first layer, "
    words += f"{second[0]:.3g} to {second[-1]:.3g} in the second"
    if first[-1] < first[0] and second[-1] < second[0]:
        return Judgement("agrees", words)
    why = "from 2800 samples of 785 inputs much of lambda is chance"
    return Judgement("disagrees", f"{words}: it does not fall to nothing; {why}")


@note_stand_in
def judge_mean(numbers: Numbers) -> Judgement:
    """Judge appendix C.3, Figure 11."""
    return _falls(numbers, "mean lambda^2")


@note_stand_in
def judge_largest(numbers: Numbers) -> Judgement:
    """Judge appendix C.3, Figure 12."""
    return _falls(numbers, "largest lambda")


def picture_strengths(name: str) -> Any:
    """Picture appendix C.3, Figure 11 and appendix C.3, Figure 12."""
    return lambda n: Picture(
        curves=[
            Curve(f"hidden layer {i + 1}", n["steps"], [max(v, 1e-9) for v in part]) for i, part in enumerate(n[name])
        ],
        x="growth steps",
        y=name,
        log=True,
    )


@note_stand_in
def judge_random(numbers: Numbers) -> Judgement:
    """Judge appendix C.4, Figure 13."""
    best, drawn = (numbers["runs"][name] for name in ("optimal units", "random units"))
    words = f"right at once: {best['by seconds'][0]:.1f} and {drawn['by seconds'][0]:.1f} %; after training: "
    words += _told(numbers, "optimal units", "random units")
    ahead = all(a > b for a, b in zip(best["by seconds"], drawn["by seconds"], strict=True))
    if ahead and best["interval"][0] > drawn["interval"][1]:
        return Judgement("agrees", words)
    return Judgement("agrees in kind" if best["by seconds"][0] > drawn["by seconds"][0] else "disagrees", words)


# The abstract: with a schedule that trains more between growth steps.


@cache
def _quick_growth() -> list[dict[str, Any]]:
    return [asdict(item) for item in mnist_curves(0, epochs=10, count=8, wide=200, data=digit_data())]


def measure_growth(scale: Scale) -> Numbers:
    """Measure grown networks, twins and 1000-1000 by ``bottlenecks.py``: accuracies, sizes and seconds."""
    if scale == "quick":
        return {"data": STAND_IN, **_growth(_quick_growth())}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    results = [asdict(item) for seed in range(5) for item in mnist_curves(seed, device=device)]
    return {"data": "mnist", **_growth(results)}


def growth_from_table() -> tuple[Numbers, dict[str, str]]:
    """Return the numbers of the stored growth runs, and how they were made."""
    return {"data": "mnist", **_growth(_read("bottlenecks_mnist.json"))}, GROWTH_ABOUT


def _growth(found: list[dict[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in dict.fromkeys(item["name"] for item in found):
        part = [item for item in found if item["name"] == name]
        right = [100 * item["accuracy"] for item in part]
        key = name if name in ("grown", "fixed twin") else "large"
        out[key] = {
            "accuracy": right,
            "mean": float(np.mean(right)),
            "interval": mean_interval(right),
            "parameters": float(np.mean([item["parameters"] for item in part])),
            "seconds": float(np.mean([item["seconds"] for item in part])),
            "widths": [item["widths"] for item in part],
        }
    return out


@note_stand_in
def judge_accuracy(numbers: Numbers) -> Judgement:
    """Judge abstract."""
    words = ", ".join(
        f"{name} {spread['mean']:.2f} % ({low:.2f} to {high:.2f}), {spread['parameters']:,.0f} weights"
        for name, spread, (low, high) in ((k, v, v["interval"]) for k, v in numbers.items() if k != "data")
    )
    grown, large = numbers["grown"], numbers["large"]
    if grown["interval"][1] >= large["interval"][0] and grown["parameters"] < large["parameters"]:
        return Judgement("agrees", words)
    if grown["mean"] > large["mean"] - 0.5:
        return Judgement("agrees in kind", words)
    return Judgement("disagrees", words)


@note_stand_in
def judge_time(numbers: Numbers) -> Judgement:
    """Judge abstract."""
    grown, large = numbers["grown"]["seconds"], numbers["large"]["seconds"]
    words = f"growth took {grown:.0f} s in the mean, the large network {large:.0f} s for as good an accuracy"
    if grown < 2 * large:
        return Judgement("agrees", words)
    return Judgement("disagrees", f"{words}; on a GPU a step of the large network costs no more than one of a small")


CLAIMS = [
    Claim(
        "tiny/abstract-accuracy",
        "abstract",
        "On MNIST networks grown from one unit a layer match the accuracy of large ones.",
        measure=measure_growth,
        judge=judge_accuracy,
        full="an H200: 5 minutes; needs the image files",
        from_table=growth_from_table,
    ),
    Claim(
        "tiny/abstract-time",
        "abstract",
        "... with competitive training time.",
        measure=measure_growth,
        judge=judge_time,
        full="an H200: 5 minutes; needs the image files",
        from_table=growth_from_table,
    ),
    Claim(
        "tiny/figure-5",
        "Figure 5",
        (
            "With growth every 0.05 s for 8 steps the accuracy is better than or similar to that of large models, "
            "second by second."
        ),
        measure=measure_schedule,
        judge=judge_large,
        picture=picture(GROWN, "1000-1000"),
        full=FULL,
        from_table=schedule_from_table,
    ),
    Claim(
        "tiny/section-4-large",
        "section 4",
        "Large models take more computational time to train.",
        measure=measure_schedule,
        judge=judge_steps,
        full=FULL,
        from_table=schedule_from_table,
    ),
    Claim(
        "tiny/figure-6",
        "Figure 6",
        "... and to that of models of the same final architecture.",
        measure=measure_schedule,
        judge=judge_twin,
        picture=picture(GROWN, "fixed twin"),
        full=FULL,
        from_table=schedule_from_table,
    ),
    Claim(
        "tiny/figure-8",
        "appendix C.1, Figure 8",
        "8 growth steps on each layer give [222, 71]; training time between them is varied.",
        printed="[222, 71]",
        measure=measure_schedule,
        judge=judge_pauses,
        picture=picture(GROWN, "grown, 0.5 s apart", "grown, 2 s apart"),
        full=FULL,
        from_table=schedule_from_table,
    ),
    Claim(
        "tiny/figure-9",
        "appendix C.2, Figure 9",
        "Figure 6 with other architectures.",
        cannot="neither the architectures nor the numbers of the picture are in the text",
    ),
    Claim(
        "tiny/figure-10",
        "appendix C.3, Figure 10",
        "15 growth steps give [929, 141], which does as well as [1000, 1000].",
        printed="[929, 141]",
        measure=measure_schedule,
        judge=judge_fifteen,
        picture=picture("grown 15 times", "1000-1000"),
        full=FULL,
        from_table=schedule_from_table,
    ),
    Claim(
        "tiny/figure-11",
        "appendix C.3, Figure 11",
        (
            "The mean of lambda^2 falls as growth goes on: after 8 steps little is left to gain (so the text; the "
            "curve cannot be read)."
        ),
        printed="a picture",
        measure=measure_strengths,
        judge=judge_mean,
        picture=picture_strengths("mean lambda^2"),
        full=FULL,
        from_table=strengths_from_table,
    ),
    Claim(
        "tiny/figure-12",
        "appendix C.3, Figure 12",
        "So does the largest lambda.",
        printed="a picture",
        measure=measure_strengths,
        judge=judge_largest,
        picture=picture_strengths("largest lambda"),
        full=FULL,
        from_table=strengths_from_table,
    ),
    Claim(
        "tiny/figure-13",
        "appendix C.4, Figure 13",
        "Optimal units do better than random ones of the same number.",
        measure=measure_schedule,
        judge=judge_random,
        picture=picture("optimal units", "random units"),
        full=FULL,
        from_table=schedule_from_table,
    ),
]
