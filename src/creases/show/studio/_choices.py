"""The problems, growth methods and policies that a page offers, with their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from creases.problems import names
from creases.show.studio._problem_input import TOO_LARGE

_PROBLEMS = {
    "xor_circles": "Disc and ring, by quadrant",
    "moons": "Two moons",
    "spirals": "Two spirals",
    "circle_annulus": "Disc inside a ring",
    "circle": "Inside a circle",
    "sine": "Above a sine wave",
    "quadratic": "Above a parabola",
    "overlapping_quadratic": "Above a parabola, overlapping",
    "xor": "XOR",
    "shells": "Two shells",
    "sine_curve": "Sine curve (one input)",
    "quadratic_curve": "Parabola (one input)",
    "cubic_curve": "Cubic (one input)",
    "chirp_curve": "Chirp (one input)",
    "arctan_curve": "Arctangent (one input)",
    "sawtooth_curve": "Sawtooth (one input)",
    "iris": "Iris (four inputs)",
    "diabetes": "Diabetes (ten inputs)",
    "wine": "Wine (thirteen inputs)",
    "breast_cancer": "Breast cancer (thirty inputs)",
    "digits": "Digits (64 inputs)",
}
#: All growth methods; not read from :mod:`creases.growth`, which would take seconds to import before a page can open.
_METHODS = {
    "auto": "Auto: fold, or random units for wide layers",
    "fold": "Fold at a typical mistake",
    "tiny": "TINY: best first-order update",
    "gradmax": "GradMax: largest gradient norm",
    "split": "Split a unit",
    "random": "Random units",
}
_WHERE = {"all": "All layers"}
_WHEN = {
    "stages": "Auto: one fold at a time, or in stages",
    "10": "Every 10 epochs",
    "50": "Every 50 epochs",
}


def choices() -> dict[str, list[tuple[str, str]]]:
    """Return values and labels of what a page offers: problems, methods, where and when to grow."""
    return {
        "problems": _with_labels((name for name in names() if name not in TOO_LARGE), _PROBLEMS),
        "methods": list(_METHODS.items()),
        "where": list(_WHERE.items()),
        "when": list(_WHEN.items()),
    }


def _with_labels(names: Iterable[str], labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return names with their labels, in the order of the labels; a name without one is its own label, at the end."""
    known = set(names)
    listed = [(name, label) for name, label in labels.items() if name in known]
    return listed + [(name, name) for name in sorted(known - set(labels))]
