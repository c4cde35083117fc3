"""What a changed row is to reach: a class, or a value at least or at most so large."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import exp, inf, isinf, log, nextafter

import numpy as np

from creases._text import format_value
from creases._typing import Bools, Floats
from creases.errors import InputError
from creases.tables._words.terms import POINTS, Terms

#: A score above those of all rows; minus this is below them.
NEVER = 1e300

_NUMBER = r"[+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_BOUND = re.compile(rf"\s*(>=|<=|>|<|≥|≤)\s*({_NUMBER})\s*")
_BETWEEN = re.compile(rf"\s*({_NUMBER})\s*(?:to|\.\.)\s*({_NUMBER})\s*")


@dataclass(frozen=True)
class Goal:
    """A prediction to reach."""

    text: str
    number: int = 0  #: of the class, with classes
    low: float = -inf  #: without: least value
    high: float = inf  #: and largest

    def directions(self, terms: Terms) -> tuple[Floats, Floats]:
        """Return D (k, m) and c (k,): scores s (m,), in points or the target's units, reach it where ``D s >= c``.

        For more than two classes each row is how far the class is ahead of another one.
        """
        if terms.classes is None:
            low, high = (_score(terms, self.low, 1.0), _score(terms, self.high, -1.0))
            rows = [(1.0, low), (-1.0, -high)]
            kept = [(sign, end) for sign, end in rows if np.isfinite(end)]
            return np.array([[sign] for sign, _ in kept]), np.array([end for _, end in kept])
        if terms.is_binary:
            sign = 1.0 if self.number else -1.0
            return np.array([[sign]]), np.array([sign * POINTS * log(terms.threshold / (1 - terms.threshold))])
        m = len(terms.classes)
        others = np.delete(np.arange(m), self.number)
        return np.eye(m)[self.number] - np.eye(m)[others], np.zeros(m - 1)

    def margins(self, terms: Terms, scores: Floats) -> Floats:
        """Return how far scores (n, m) are beyond the goal: (n, k), all 0 or more where it is reached."""
        D, c = self.directions(terms)
        return np.asarray(scores @ D.T - c)

    def reached(self, terms: Terms, scores: Floats) -> Bools:
        """Return which scores (n, m) are predicted so; a tie with another class does not count."""
        margins = self.margins(terms, scores)
        return np.asarray((margins >= 0).all(axis=1) if terms.classes is None else (margins > 0).all(axis=1))

    def is_reached(self, terms: Terms, x: Floats) -> bool:
        """Return whether an encoded row x (d,) is predicted so."""
        return bool(self.reached(terms, terms.scores(x[None]))[0])


def parse_goal(terms: Terms, text: str) -> Goal:
    """Return the goal that a text names: a class, ``>= 30``, ``< 12.5`` or ``20 to 30``."""
    if terms.classes is not None:
        if text not in terms.classes:
            raise InputError("to", f"be one of {', '.join(terms.classes)}", repr(text))
        return Goal(f"{terms.target} = {text}" if terms.target else text, terms.classes.index(text))
    bound, between = _BOUND.fullmatch(text), _BETWEEN.fullmatch(text)
    if bound:
        value = _number(bound[2])
        low, high = (value, inf) if bound[1] in (">=", ">", "≥") else (-inf, value)
        words = "at least" if high == inf else "at most"
        return Goal(f"{terms.target} {words} {format_value(value)}{terms.target_unit}".lstrip(), 0, low, high)
    if between and _number(between[1]) < _number(between[2]):
        low, high = _number(between[1]), _number(between[2])
        return Goal(
            f"{terms.target} {format_value(low)} to {format_value(high)}{terms.target_unit}".lstrip(), 0, low, high
        )
    raise InputError("to", "be a bound such as '>= 30', '<= 12' or '20 to 30'", repr(text))


def _score(terms: Terms, value: float, sign: float) -> float:
    """Return the score from which on (``sign`` 1), or up to which (-1), predictions are at least or at most a value.

    Under a logarithmic link these are positive and at most ``largest``: beyond a value outside are all scores or none.
    """
    if not terms.is_factor or isinf(value):
        return value
    if value <= 0 or value > terms.model.largest:
        return NEVER if value > 0 else -NEVER
    if value == terms.model.largest and sign < 0:
        return NEVER
    score = log(value)
    while sign * exp(score) < sign * value:  # rounding may leave the prediction short of it
        score = nextafter(score, sign * inf)
    return score


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def other_classes(terms: Terms, x: Floats) -> list[Goal]:
    """Return the classes that an encoded row x (d,) is not predicted to have; none for a regression."""
    return [goal for goal in class_goals(terms) if not goal.is_reached(terms, x)]


def class_goals(terms: Terms) -> list[Goal]:
    """Return a goal for each class; none for a regression."""
    return [Goal(name, k) for k, name in enumerate(terms.classes or ())]
