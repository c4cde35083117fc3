"""What some options of ``creases grow`` can be."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """Kinds of models."""

    curves = "curves"
    network = "network"


class Method(StrEnum):
    """Growth methods."""

    auto = "auto"
    fold = "fold"
    tiny = "tiny"
    gradmax = "gradmax"
    random = "random"
    split = "split"  # type: ignore[assignment]  # a member, not str's method


class Loop(StrEnum):
    """Loops of growth."""

    auto = "auto"
    explained = "explained"
    sized = "sized"


class Task(StrEnum):
    """What is predicted."""

    classification = "classification"
    regression = "regression"
