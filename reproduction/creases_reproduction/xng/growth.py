"""Slides 32 to 36 of XNG: networks grown by folding against networks from random weights."""

from __future__ import annotations

from creases_reproduction.claim import Claim, Judgement, Numbers, Picture, Row
from creases_reproduction.xng.growth_experiment import PROBLEMS
from creases_reproduction.xng.method_comparison import compare_methods, describe_rates, is_lower, rates_picture

#: What the slides count: networks of 1000 that solve their problem.
PRINTED = {"random 2-3-2": 65, "A foot-aligned": 360}


def judge_growth(numbers: Numbers) -> Judgement:
    """Judge whether grown networks end below those from random weights."""
    results = numbers["methods"]
    drawn = results["random 2-3-2"]
    words = describe_rates(numbers, "random 2-3-2", "A foot-aligned", "A fold")
    mean = f"mean loss {drawn['loss']:.3f}, {results['A foot-aligned']['loss']:.3f} and {results['A fold']['loss']:.3f}"
    better = [name for name in ("A foot-aligned", "A fold") if is_lower(results[name], drawn)]
    if "A foot-aligned" in better and results["A foot-aligned"]["high"] < drawn["low"]:
        return Judgement(
            "agrees in kind", f"Grown networks end lower ({mean}), but the aligned ones solve it less often: {words}."
        )
    if "A foot-aligned" in better:
        return Judgement("agrees", f"Grown networks end lower: {mean}; solved: {words}.")
    if better:
        return Judgement(
            "agrees in kind", f"The aligned variant is not clearly lower, the fold as worked out is: {mean}; {words}."
        )
    return Judgement("disagrees", f"Not clearly lower with {numbers['networks']} networks: {mean}; solved: {words}.")


def judge_count(numbers: Numbers) -> Judgement:
    """Judge Slide 36: the printed counts beside ours."""
    drawn, grown = (numbers["methods"][name] for name in PRINTED)
    words = f"Of {numbers['networks']} networks on sine: {describe_rates(numbers, *PRINTED, 'A fold')}"
    inside = all(
        item["low"] <= PRINTED[name] / 1000 <= item["high"] for name, item in zip(PRINTED, (drawn, grown), strict=True)
    )
    if inside:
        return Judgement("agrees", f"{words}.")
    if grown["rate"] > drawn["rate"]:
        return Judgement(
            "agrees in kind",
            f"{words}. Growth succeeds more often; the slides' data set is not given, and their rule as printed is at "
            "xng/slide-29.",
        )
    return Judgement("disagrees", f"{words}.")


def printed_rates_picture(numbers: Numbers) -> Picture:
    """Return rates of success, where the slides print theirs."""
    rows = [
        Row(
            name,
            PRINTED[name] / 10 if name in PRINTED else None,
            100 * method["rate"],
            100 * method["low"],
            100 * method["high"],
        )
        for name, method in numbers["methods"].items()
    ]
    return Picture(rows=rows, x="networks that solve it, % (printed: on data that are not given)")


_PLACES = {
    "sine": "slide 34: Sine",
    "overlapping_quadratic": "slide 35: Overlap Quadratic",
    "quadratic": "slides 32 and 33: Example, of data that are not named",
    "circle": "slides 32 and 33: Example, of data that are not named",
}


CLAIMS = [
    *(
        Claim(
            f"xng/growth-{name}",
            _PLACES[name],
            "Networks grown by folding from 2-2-2 to 2-3-2 end better than 2-3-2 networks from random "
            f"weights ({name.replace('_', ' ')}).",
            printed="a picture without numbers",
            measure=compare_methods(name),
            judge=judge_growth,
            picture=rates_picture,
            full="10 minutes of a core",
        )
        for name in PROBLEMS
    ),
    Claim(
        "xng/slide-36",
        "slide 36: utilization of approximatability",
        "Networks that solve their problem: from random weights, and grown from 2-2-2 to 2-3-2.",
        printed="65 of 1000; 360 of 1000",
        measure=compare_methods(
            "sine", ("random 2-3-2", "A foot-aligned", "A fold"), ("random 2-3-2", "A foot-aligned", "A fold")
        ),
        judge=judge_count,
        picture=printed_rates_picture,
        full="2 minutes of a core",
    ),
]
