"""Margins and distances of points in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

from creases._typing import Floats
from creases.certify._exact import exact_outputs
from creases.certify._nearest.question import Question


def exact_margin(question: Question, point: Floats) -> Fraction | None:
    """Return by how much the decision at an input differs, exactly; None for a network too large."""
    outputs = exact_outputs(question.net, point)
    if outputs is None:
        return None
    margins = []
    for goal in question.goals:
        rows = [
            sum((Fraction(w) * z for w, z in zip(row, outputs, strict=True) if w), Fraction(constant))
            for row, constant in zip(goal.G.tolist(), goal.g.tolist(), strict=True)
        ]
        margins.append(min(rows))
    return max(margins)


def distance_above(question: Question, point: Floats) -> float:
    """Return the distance of an input from x, rounded up."""
    change = [
        abs(Fraction(w) * (Fraction(a) - Fraction(b)))
        for w, a, b in zip(question.weights.tolist(), point.tolist(), question.x.tolist(), strict=True)
        if a != b
    ]
    if not change:
        return 0.0
    if question.norm == "l2":
        square = sum((v * v for v in change), Fraction(0))
        return _root_above(square)
    return _float_above(sum(change, Fraction(0)) if question.norm == "l1" else max(change))


def _float_above(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else float(np.nextafter(nearest, np.inf))


def _root_above(square: Fraction) -> float:
    """Return the square root of a fraction, rounded up."""
    shift = max(0, 120 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift % 2
    scaled, rest = divmod(square.numerator << shift, square.denominator)
    root = isqrt(scaled)
    return _float_above(Fraction(root if root * root == scaled and not rest else root + 1, 2 ** (shift // 2)))
