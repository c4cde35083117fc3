"""Slides 32 to 36 of XNG: networks grown by folding against networks from random weights."""

from __future__ import annotations

from creases_reproduction.claim import Claim, Judgement, Numbers, Picture, Row
from creases_reproduction.xng.growth_experiment import PROBLEMS
from creases_reproduction.xng.method_comparison import (
    UNKNOWN_SUCCESS,
    comparison,
    describe_rates,
    is_more_often,
    rates_picture,
)

#: What the slides count: networks of 1000 that solve their problem. Their rule is that of slide 29.
PRINTED = {"random 2-3-2": 65, "A slide-29": 360}

#: From random weights; grown by a random unit as control, by the slides' rule, and by the fold of this library.
_COUNTED = ("random 2-3-2", "A random", "A slide-29", "A fold")


def judge_growth(numbers: Numbers) -> Judgement:
    """Judge by slide 36's measure: whether networks grown by slide 29 solve the problem more often than others."""
    results = numbers["methods"]
    drawn, printed = (results[name] for name in PRINTED)
    losses = ", ".join(f"{name} {results[name]['loss']:.3f}" for name in _COUNTED)
    words = f"solved: {describe_rates(numbers, *_COUNTED)}; mean losses: {losses}"
    if is_more_often(printed, drawn):
        return Judgement("agrees", f"Networks grown by slide 29 solve it more often; {words}.")
    less = "less often" if is_more_often(drawn, printed) else "no more often"
    return Judgement(
        "disagrees", f"Networks grown by slide 29 solve it {less} than those from random weights; {words}."
    )


def judge_count(numbers: Numbers) -> Judgement:
    """Judge Slide 36: the printed counts beside ours."""
    drawn, grown = (numbers["methods"][name] for name in PRINTED)
    words = f"Of {numbers['networks']} networks on sine: {describe_rates(numbers, *_COUNTED)}"
    inside = all(
        item["low"] <= PRINTED[name] / 1000 <= item["high"] for name, item in zip(PRINTED, (drawn, grown), strict=True)
    )
    if inside:
        return Judgement("agrees", f"{words}.")
    if grown["rate"] > drawn["rate"]:
        return Judgement(
            "agrees in kind",
            f"{words}. Growth succeeds more often.",
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
    "sine": "slide 34: Sine, by the measure of slide 36",
    "overlapping_quadratic": "slide 35: Overlap Quadratic, by the measure of slide 36",
    "quadratic": "slides 32 and 33: Example, of data that are not named; by the measure of slide 36",
    "circle": "slides 32 and 33: Example, of data that are not named; by the measure of slide 36",
}

#: Problems that the slides do not name.
_OURS = ("quadratic", "circle")


CLAIMS = [
    *(
        Claim(
            f"xng/growth-{name}",
            _PLACES[name],
            "Networks grown by folding from 2-2-2 to 2-3-2 solve their problem more often than 2-3-2 networks from "
            "random "
            f"weights ({name.replace('_', ' ')}).",
            printed="a picture without numbers",
            judge=judge_growth,
            incomparable=f"The slides name no such data: {name} is a problem of ours"
            if name in _OURS
            else UNKNOWN_SUCCESS,
            picture=rates_picture,
            **comparison(name),
        )
        for name in PROBLEMS
    ),
    Claim(
        "xng/slide-36",
        "slide 36: utilization of approximatability",
        "Networks that solve their problem: from random weights, and grown from 2-2-2 to 2-3-2.",
        printed="65 of 1000; 360 of 1000",
        judge=judge_count,
        incomparable=UNKNOWN_SUCCESS,
        picture=printed_rates_picture,
        **comparison("sine", _COUNTED, _COUNTED),
    ),
]
