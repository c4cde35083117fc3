"""The method and policies that a page asks for, as a run's settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from creases.errors import InputError
from creases.growth.experiment import Settings
from creases.growth.methods import METHODS
from creases.show.studio._given import number, text, whole
from creases.show.studio._limits import Limits

#: What a page calls the settings.
NAMES = {
    "how": "Method",
    "where": "Where",
    "when": "When",
    "hidden": "Hidden layers",
    "seed": "Seed",
    "lr": "Learning rate",
    "batch": "Rows of a step",
    "epochs": "Epochs",
}


def make_settings(asked: Mapping[str, Any], data: str, limits: Limits) -> Settings:
    """The settings of a run on ``data``; what the page does not say is as for ``creases grow``."""
    usual = Settings(data)
    how = text(asked.get("how", usual.how), NAMES["how"], 40)
    if how not in METHODS:
        raise InputError(f"{NAMES['how']}: expected one of {', '.join(METHODS)}, got {how!r}")
    try:
        return Settings(
            data,
            how=how,
            where=text(asked.get("where", usual.where), NAMES["where"], 40),
            when=str(asked.get("when", usual.when))[:40],
            hidden=_widths(asked.get("hidden", list(usual.hidden)), limits),
            seed=whole(asked.get("seed", usual.seed), NAMES["seed"], 0, 2**31 - 1),
            lr=number(asked.get("lr", usual.lr), NAMES["lr"], 1e-9, 10.0),
            batch=whole(asked.get("batch", usual.batch), NAMES["batch"], 1, limits.rows),
            epochs=whole(asked.get("epochs", usual.epochs), NAMES["epochs"], 1, limits.epochs),
        )
    except InputError as refused:
        raise InputError(_named(str(refused))) from None


def _widths(given: Any, limits: Limits) -> tuple[int, ...]:
    name = NAMES["hidden"]
    if not isinstance(given, list) or not 1 <= len(given) <= limits.layers:
        raise InputError(f"{name}: expected 1 to {limits.layers} widths such as 2 or 4,4")
    widths = tuple(whole(width, name, 1, limits.units) for width in given)
    if sum(widths) > limits.units:
        raise InputError(f"{name}: {sum(widths)} units; the studio takes up to {limits.units}")
    return widths


def _named(message: str) -> str:
    """A message with the page's names of the settings in place of options and arguments."""
    return re.sub(r"^(?:--)?(\w+):", lambda found: f"{NAMES.get(found[1], found[1])}:", message)
