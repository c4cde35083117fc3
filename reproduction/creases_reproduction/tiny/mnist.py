"""Experiments of the TINY paper on MNIST (abstract, section 4, appendix C).

The figures have no numbers in the text but widths; what is said of them is judged, by seconds and by steps. None of the
runs has the source's set-up in seeds, time and width, so that most of these verdicts are "not comparable".
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
from creases_reproduction.tiny.source_setup import (
    OPTIMAL,
    RANDOM,
    SECONDS_OF_ONE_CORE,
    SECTION_4,
    describe_difference,
    describe_few_seeds,
)

FULL = "80 minutes of one core, divided among all; needs the image files"
SLACK = 0.5  #: points by which means of accuracies may differ and still be called similar

ENOUGH_STEPS = 8  #: growth steps after which "the accuracy of the system does not increase significantly" (C.3)
LITTLE = 0.05  #: share of the first step's gain, which goes as lambda^2, that is called little


def note_data(judge: Callable[[Numbers], Judgement]) -> Callable[[Numbers], Judgement]:
    """Make a judge say that its data are a stand-in for the source's, with which it agrees in kind at best."""

    @wraps(judge)
    def judge_and_note(numbers: Numbers) -> Judgement:
        verdict, why = judge(numbers)
        if numbers["data"] != STAND_IN:
            return Judgement(verdict, why)
        return Judgement("agrees in kind" if verdict == "agrees" else verdict, f"{why}. {numbers['data']}")

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
    """Judge appendix C.3: after 8 growth steps the accuracy does not increase significantly."""
    grown, eight = (numbers["runs"][name] for name in (FIFTEEN, GROWN))
    mark = _common_marks(numbers, FIFTEEN, GROWN, "seconds")[-1]
    at = [part["seconds marks"].index(mark) for part in (grown, eight)]
    low, high = grown["intervals by seconds"][at[0]][0], eight["intervals by seconds"][at[1]][1]
    words = (
        f"after {mark:g} seconds networks grown 15 times have {grown['by seconds'][at[0]]:.1f} %, those grown 8 times "
        f"{eight['by seconds'][at[1]]:.1f} %; at the end, after {grown['run seconds']:.0f} s, of which growth took "
        f"{grown['growing']:.1f}, {grown['accuracy']:.1f} %, and a large network {_last(numbers, LARGE):.1f} % after "
        f"{numbers['runs'][LARGE]['run seconds']:.0f} s. The text does not compare it with the large one"
    )
    return Judgement("disagrees" if low > high else "agrees", words)


def _last(numbers: Numbers, name: str) -> float:
    return float(numbers["runs"][name]["accuracy"])


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
    words += f" ({SECONDS_OF_ONE_CORE})"
    return Judgement("agrees" if large < small else "disagrees", words)


@note_data
def judge_pauses(numbers: Numbers) -> Judgement:
    """Judge appendix C.1, Figure 8."""
    names = [name for name in numbers["runs"] if name.startswith("grown, ") and not name.endswith(BY_STEPS)]
    words = "; ".join(
        f"{name}: {part['accuracy']:.1f} %, widths {[round(w) for w in part['widths']]}"
        for name, part in ((name, numbers["runs"][name]) for name in names)
    )
    if all(numbers["runs"][name]["widths"] == [222, 71] for name in names):
        why = "one unit for every singular vector, so that ranks alone give the widths"
        return Judgement("agrees", f"{words}, as printed, in every run: {why}. The accuracies are in a picture")
    return Judgement("disagrees", f"{words}; printed [222, 71]")


def _judge_little(numbers: Numbers, name: str, power: int) -> Judgement:
    """Judge appendix C.3: from the eighth growth step on little is left to gain, in both layers.

    By the share of the first step's gain, which goes as lambda^2: ``power`` is 1 for lambda^2 and 2 for lambda.
    """
    words, at_eight, later = [], True, True
    for layer, values in zip(("first", "second"), numbers[name], strict=True):
        shares = [(value / values[0]) ** power for value in values]
        at = min(ENOUGH_STEPS, len(values)) - 1
        at_eight &= shares[at] <= LITTLE
        later &= max(shares[at:]) <= LITTLE
        least = min(range(len(values)), key=values.__getitem__)
        words.append(
            f"{layer} layer: {values[0]:.3g} at the first step, {values[at]:.2g} at step {at + 1} ({shares[at]:.1%} of "
            f"the first gain), {values[-1]:.2g} at step {len(values)} ({shares[-1]:.1%}), "
            f"{values[-1] / values[least]:.1f} "
            f"times its least, at step {least + 1}"
        )
    text = f"{name}, {'; '.join(words)}"
    if later:
        return Judgement("agrees", text)
    if at_eight:
        return Judgement("agrees in kind", f"{text}: little is left after 8 steps, but it does not stay so")
    return Judgement("disagrees", text)


@note_data
def judge_mean(numbers: Numbers) -> Judgement:
    """Judge appendix C.3, Figure 11."""
    return _judge_little(numbers, "mean lambda^2", 1)


@note_data
def judge_largest(numbers: Numbers) -> Judgement:
    """Judge appendix C.3, Figure 12."""
    return _judge_little(numbers, "largest lambda", 2)


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
    best, drawn = (numbers["runs"][name] for name in (OPTIMAL, RANDOM))
    words = f"right at once: {best['by seconds'][0]:.1f} and {drawn['by seconds'][0]:.1f} %; at the marks "
    words += f"{', '.join(f'{mark:g}' for mark in best['seconds marks'])} s the optimal units lead by "
    leads = [a - b for a, b in zip(best["by seconds"], drawn["by seconds"], strict=True)]
    words += f"{', '.join(f'{lead:+.1f}' for lead in leads)} points; at the end: "
    words += " and ".join(
        f"{part['accuracy']:.1f} % ({part['interval'][0]:.1f} to {part['interval'][1]:.1f})" for part in (best, drawn)
    )
    if min(leads) > 0 and best["interval"][0] > drawn["interval"][1]:
        return Judgement("agrees", words)
    if best["accuracy"] >= drawn["accuracy"]:
        return Judgement("agrees in kind", words)
    return Judgement("disagrees", f"{words}: random units lead at the end")


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
        incomparable=describe_difference(GROWN, LARGE, also=SECTION_4, widths=False),
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
        incomparable=describe_difference(GROWN, LARGE, also=SECTION_4, widths=False),
        full=FULL,
        from_table=schedule_from_table,
    ),
    Claim(
        "tiny/figure-5",
        "Figure 5",
        (
            "With growth every 0.05 s the accuracy is better than or similar to that of large models, by seconds and "
            "by epochs."
        ),
        measure=measure_schedule,
        judge=judge_large,
        incomparable=describe_difference(GROWN, LARGE, also=SECTION_4, widths=False),
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
        incomparable=describe_difference(GROWN, TWIN, also=SECTION_4, widths=False),
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
        "15 growth steps on each layer end at [929, 141]; after 8 the accuracy does not increase significantly.",
        printed="[929, 141]; accuracies, also of [1000, 1000], in a picture",
        measure=measure_schedule,
        judge=judge_fifteen,
        incomparable=describe_difference(
            FIFTEEN,
            GROWN,
            also="all models are trained for the same time there, those grown 15 times for twice the time of the "
            f"others here; {SECONDS_OF_ONE_CORE}",
        ),
        picture=picture(FIFTEEN, LARGE),
        full=FULL,
        from_table=schedule_from_table,
    ),
    Claim(
        "tiny/figure-11",
        "appendix C.3, Figure 11",
        (
            "The mean of lambda^2 by growth step: after 8 steps no linear correlation is left to gain from (so the "
            "text; the curve is in a picture)."
        ),
        printed="a picture",
        measure=measure_strengths,
        judge=judge_mean,
        incomparable=describe_few_seeds,
        picture=picture_strengths("mean lambda^2"),
        full=FULL,
        from_table=strengths_from_table,
    ),
    Claim(
        "tiny/figure-12",
        "appendix C.3, Figure 12",
        "The largest lambda by growth step; the text is that of Figure 11.",
        printed="a picture",
        measure=measure_strengths,
        judge=judge_largest,
        incomparable=describe_few_seeds,
        picture=picture_strengths("largest lambda"),
        full=FULL,
        from_table=strengths_from_table,
    ),
    Claim(
        "tiny/figure-13",
        "appendix C.4, Figure 13",
        ("Units by (5) do better than as many random ones: from [1, 1] to [110, 51], and 5 seconds of training."),
        measure=measure_schedule,
        judge=judge_random,
        incomparable=describe_difference(OPTIMAL, RANDOM, also=SECONDS_OF_ONE_CORE),
        picture=picture(OPTIMAL, RANDOM),
        full=FULL,
        from_table=schedule_from_table,
    ),
]
