"""The options that a page asks for, as a run's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creases.errors import InputError
from creases.growth import GrowthConfig
from creases.growth.methods import METHODS
from creases.show.studio._limits import Limits
from creases.show.studio._problem_input import check_integer, check_real, check_text


def make_config(asked: Mapping[str, Any], limits: Limits) -> GrowthConfig:
    """Return the configuration of a run; what the page leaves out has the usual default."""
    how = check_text(asked.get("how", GrowthConfig.how), "how", 40)
    if how not in METHODS:
        raise InputError("how", f"be one of {', '.join(METHODS)}", repr(how))
    options: dict[str, Any] = {"how": how}
    if "where" in asked:
        options["where"] = check_text(asked["where"], "where", 40).replace("-", " ")
    if "when" in asked:
        when = str(asked["when"])[:40]
        options["when"] = int(when) if when.isdecimal() else when
    if asked.get("hidden", "auto") != "auto":
        options["hidden"] = _check_widths(asked["hidden"], limits)
    if "seed" in asked:
        options["seed"] = check_integer(asked["seed"], "seed", 0, 2**31 - 1)
    if "lr" in asked:
        options["lr"] = check_real(asked["lr"], "lr", 1e-9, 10.0)
    if asked.get("batch", "auto") != "auto":
        options["batch_size"] = check_integer(asked["batch"], "batch_size", 1, limits.rows)
    if "epochs" in asked:
        options["max_epochs"] = check_integer(asked["epochs"], "max_epochs", 1, limits.epochs)
    return GrowthConfig(**options)


def _check_widths(widths: Any, limits: Limits) -> tuple[int, ...]:
    if not isinstance(widths, list) or not 1 <= len(widths) <= limits.layers:
        raise InputError("hidden", f"be auto, or 1 to {limits.layers} widths such as 2 or 4,4")
    checked = tuple(check_integer(width, "hidden", 1, limits.units) for width in widths)
    if sum(checked) > limits.units:
        raise InputError("hidden", f"have at most {limits.units} units", f"{sum(checked)}")
    return checked
