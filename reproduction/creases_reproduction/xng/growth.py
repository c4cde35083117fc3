"""Slides 32 to 36 of XNG: networks grown by folding against networks from random weights."""

from __future__ import annotations

from creases_reproduction.claim import Claim, Judgement, Numbers, Picture, Row
from creases_reproduction.xng.growth_experiment import PROBLEMS
from creases_reproduction.xng.method_comparison import comparison, describe_rates, is_lower, rates_picture

#: What the slides count: networks of 1000 that solve their problem. Their rule is that of slide 29.
PRINTED = {"random 2-3-2": 65, "A slide-29": 360}

#: From random weights; grown by a random unit as control, by the slides' rule, and by the fold of this library.
_COUNTED = ("random 2-3-2", "A random", "A slide-29", "A fold")


def judge_growth(numbers: Numbers) -> Judgement:
    """Judge whether networks grown by the slides' rule end below those from random weights, and by a random unit."""
    results = numbers["methods"]
    drawn, control, printed, fold = (results[name] for name in _COUNTED)
    losses = ", ".join(f"{name} {results[name]['loss']:.3f}" for name in _COUNTED)
    words = f"mean losses: {losses}; solved: {describe_rates(numbers, *_COUNTED)}"
    if is_lower(printed, drawn) and is_lower(printed, control):
        return Judgement("agrees", f"Networks grown by slide 29 end lower, and lower than by a random unit; {words}.")
    if is_lower(printed, drawn):
        return Judgement(
            "agrees in kind", f"Networks grown by slide 29 end lower, but no lower than by a random unit; {words}."
        )
    if is_lower(fold, drawn):
        return Judgement(
            "agrees in kind", f"Networks grown by slide 29 end no lower; those by the fold worked out here do; {words}."
        )
    return Judgement("disagrees", f"Not clearly lower with {numbers['networks']} networks; {words}.")


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
        return Judgement("agrees in kind", f"{words}. Growth succeeds more often; the slides' data set is not given.")
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
            judge=judge_growth,
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
        picture=printed_rates_picture,
        **comparison("sine", _COUNTED, _COUNTED),
    ),
]
