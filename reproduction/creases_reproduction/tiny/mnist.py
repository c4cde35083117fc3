"""Experiments of the TINY paper on MNIST (abstract, section 4, appendix C).

The figures have no numbers in the text but widths; what is said of them is judged, by seconds and by steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import inf
from typing import Any

from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.images import STAND_IN
from creases_reproduction.tiny.growth_schedule import BY_STEPS, FIFTEEN, GROWN, LARGE, TWIN
from creases_reproduction.tiny.schedule_numbers import (
    measure_schedule,
    measure_strengths,
    schedule_from_table,
    strengths_from_table,
)

FULL = "80 minutes of one core, divided among all; needs the image files"
SLACK = 0.5  #: points by which means of accuracies may differ and still be called similar


def note_data(judge: Callable[[Numbers], Judgement]) -> Callable[[Numbers], Judgement]:
    """Make a judge say how its experiment differs from the source's; on other data it agrees in kind at best."""

    @wraps(judge)
    def judge_and_note(numbers: Numbers) -> Judgement:
        verdict, why = judge(numbers)
        in_kind = verdict == "agrees" and numbers["data"] == STAND_IN
        return Judgement("agrees in kind" if in_kind else verdict, f"{why}. {numbers['data']}")

    return judge_and_note


def _compare(numbers: Numbers, name: str, other: str, by: str) -> tuple[bool, str]:
    """Compare two runs at the last mark that both reach: whether the first is not behind, and the numbers in words.

    It is not behind where the intervals of the means overlap or the means differ by less than ``SLACK`` points.
    """
    parts = [numbers["runs"][name], numbers["runs"][other]]
    common = _common_marks(numbers, name, other, by)
    if not common:
        return False, f"no mark of {by} is reached by both"
    at = [part[f"{by} marks"].index(common[-1]) for part in parts]
    means = [part[f"by {by}"][i] for part, i in zip(parts, at, strict=True)]
    intervals = [part[f"intervals by {by}"][i] for part, i in zip(parts, at, strict=True)]
    told = [f"{mean:.1f} % ({low:.1f} to {high:.1f})" for mean, (low, high) in zip(means, intervals, strict=True)]
    fine = intervals[0][1] >= intervals[1][0] or means[0] > means[1] - SLACK
    seeds = " and ".join(str(part["seeds"]) for part in parts)
    return fine, f"after {common[-1]:,g} {by} {told[0]}, {other} {told[1]} ({seeds} seeds)"


def _common_marks(numbers: Numbers, name: str, other: str, by: str) -> list[float]:
    """Return the marks that two runs reach; none where one of them is missing."""
    parts = [numbers["runs"].get(run, {f"{by} marks": []}) for run in (name, other)]
    return sorted(set(parts[0][f"{by} marks"]) & set(parts[1][f"{by} marks"]))


def _judge_both(numbers: Numbers, name: str, other: str) -> Judgement:
    """Judge that a run is not behind another, neither by seconds nor by steps.

    By steps, the runs for some seconds are taken, or those for some steps where these reach a later mark.
    """
    pairs = [(name, other), (name + BY_STEPS, other + BY_STEPS)]
    longest = max(pairs, key=lambda pair: max(_common_marks(numbers, pair[0], pair[1], "steps"), default=0))
    results = [_compare(numbers, name, other, "seconds"), _compare(numbers, *longest, "steps")]
    words = f"test accuracy of networks {name}, {results[0][1]}; {results[1][1]}"
    fine = [good for good, _ in results]
    if all(fine):
        return Judgement("agrees", words)
    if any(fine):
        return Judgement("agrees in kind", f"{words}: behind by {'steps' if fine[0] else 'seconds'} only")
    return Judgement("disagrees", f"{words}: behind by both")


@note_data
def judge_large(numbers: Numbers) -> Judgement:
    """Judge Figure 5."""
    return _judge_both(numbers, GROWN, LARGE)


@note_data
def judge_twin(numbers: Numbers) -> Judgement:
    """Judge Figure 6."""
    return _judge_both(numbers, GROWN, TWIN)


@note_data
def judge_fifteen(numbers: Numbers) -> Judgement:
    """Judge appendix C.3, Figure 10."""
    grown = numbers["runs"][FIFTEEN]
    verdict, why = _judge_both(numbers, FIFTEEN, LARGE)
    words = (
        f"widths {[round(width) for width in grown['widths']]} (printed [929, 141]), {grown['accuracy']:.1f} % at the "
        f"end, after {grown['run seconds']:.0f} s, of which growth took {grown['growing']:.1f}"
    )
    return Judgement(verdict, f"{words}; {why}")


def picture(*names: str, by: str = "seconds") -> Any:
    """Return curves of test accuracy by seconds or by steps."""

    def drawn(numbers: Numbers) -> Picture:
        part = numbers["runs"]
        curves = [
            Curve(name, part[name][f"{by} marks"], part[name][f"by {by}"], *_bounds(part[name][f"intervals by {by}"]))
            for name in names
            if name in part and part[name][f"{by} marks"]
        ]
        return Picture(curves=curves, x="CPU seconds" if by == "seconds" else by, y="test accuracy, %")

    return drawn


def _bounds(intervals: list[list[float]]) -> tuple[list[float], list[float]]:
    return [low for low, _ in intervals], [high for _, high in intervals]


@note_data
def judge_steps(numbers: Numbers) -> Judgement:
    """Judge section 4."""
    small, large = (numbers["runs"][name]["steps"] for name in (TWIN, LARGE))
    words = f"in the same time the small network trained {small:.0f} steps, the large one {large:.0f}"
    return Judgement("agrees" if large < small else "disagrees", words)


@note_data
def judge_pauses(numbers: Numbers) -> Judgement:
    """Judge appendix C.1, Figure 8."""
    names = [name for name in numbers["runs"] if name.startswith("grown, ") and not name.endswith(BY_STEPS)]
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


def _falls(numbers: Numbers, name: str) -> Judgement:
    first, second = numbers[name]
    words = f"{name} from the first to the last growth step: {first[0]:.3g} to {first[-1]:.3g} in the first layer, "
    words += f"{second[0]:.3g} to {second[-1]:.3g} in the second"
    if first[-1] < first[0] and second[-1] < second[0]:
        return Judgement("agrees", words)
    falling = [values[-1] < values[0] for values in (first, second)]
    if any(falling):
        where = "first" if falling[0] else "second"
        return Judgement("agrees in kind", f"{words}: it falls in the {where} layer only")
    return Judgement("disagrees", words)


@note_data
def judge_mean(numbers: Numbers) -> Judgement:
    """Judge appendix C.3, Figure 11."""
    return _falls(numbers, "mean lambda^2")


@note_data
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


@note_data
def judge_random(numbers: Numbers) -> Judgement:
    """Judge appendix C.4, Figure 13."""
    best, drawn = (numbers["runs"][name] for name in ("optimal units", "random units"))
    words = f"right at once: {best['by seconds'][0]:.1f} and {drawn['by seconds'][0]:.1f} %; after training: "
    words += " and ".join(
        f"{part['accuracy']:.1f} % ({part['interval'][0]:.1f} to {part['interval'][1]:.1f})" for part in (best, drawn)
    )
    ahead = all(a > b for a, b in zip(best["by seconds"], drawn["by seconds"], strict=True))
    if ahead and best["interval"][0] > drawn["interval"][1]:
        return Judgement("agrees", words)
    return Judgement("agrees in kind" if best["by seconds"][0] > drawn["by seconds"][0] else "disagrees", words)


@note_data
def judge_accuracy(numbers: Numbers) -> Judgement:
    """Judge abstract."""
    judged = _judge_both(numbers, GROWN, LARGE)
    widths = [round(width) for width in numbers["runs"][GROWN]["widths"]]
    return judged._replace(why=f"widths {widths}; {judged.why}")


@note_data
def judge_time(numbers: Numbers) -> Judgement:
    """Judge abstract: CPU seconds until as many test images are right, the most that both reach."""
    grown, large = (numbers["runs"][name] for name in (GROWN, LARGE))
    level = min(part["by seconds"][-1] for part in (grown, large))
    took, other = (_first_reach(part["seconds marks"], part["by seconds"], level) for part in (grown, large))
    words = (
        f"to {level:.1f} % test accuracy growth and training took {took:.1f} CPU seconds in the mean, the large "
        f"network {other:.1f}"
    )
    if took <= other:
        return Judgement("agrees", words)
    return Judgement("agrees in kind" if took <= 2 * other else "disagrees", words)


def _first_reach(marks: list[float], values: list[float], level: float) -> float:
    """Return where a curve reaches a level first, between marks by linear interpolation; inf where it does not."""
    for i, value in enumerate(values):
        if value >= level:
            if i == 0:
                return marks[0]
            part = (level - values[i - 1]) / (value - values[i - 1])
            return marks[i - 1] + part * (marks[i] - marks[i - 1])
    return inf


CLAIMS = [
    Claim(
        "tiny/abstract-accuracy",
        "abstract",
        "On MNIST networks grown from one unit a layer match the accuracy of large ones.",
        measure=measure_schedule,
        judge=judge_accuracy,
        picture=picture(GROWN + BY_STEPS, TWIN + BY_STEPS, LARGE + BY_STEPS, by="steps"),
        full=FULL,
        from_table=schedule_from_table,
    ),
    Claim(
        "tiny/abstract-time",
        "abstract",
        "... with competitive training time.",
        measure=measure_schedule,
        judge=judge_time,
        full=FULL,
        from_table=schedule_from_table,
    ),
    Claim(
        "tiny/figure-5",
        "Figure 5",
        (
            "With growth every 0.05 s for 8 steps the accuracy is better than or similar to that of large models, "
            "by seconds and by epochs."
        ),
        measure=measure_schedule,
        judge=judge_large,
        picture=picture(GROWN, LARGE),
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
        picture=picture(GROWN, TWIN),
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
        picture=picture(GROWN, "grown, with longer pauses"),
        full=FULL,
        from_table=schedule_from_table,
    ),
    Claim(
        "tiny/figure-10",
        "appendix C.3, Figure 10",
        "15 growth steps give [929, 141], which does as well as [1000, 1000].",
        printed="[929, 141]",
        measure=measure_schedule,
        judge=judge_fifteen,
        picture=picture(FIFTEEN, LARGE),
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
