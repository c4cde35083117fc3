"""Options requested by a page, as the configuration of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creases.errors import InputError
from creases.growth import GrowthConfig
from creases.growth.methods import METHODS
from creases.show.studio._limits import Limits
from creases.show.studio._problem_input import check_integer, check_real, check_text


def make_config(request: Mapping[str, Any], limits: Limits) -> GrowthConfig:
    """Return the configuration of a run; options missing from the request have their defaults."""
    how = check_text(request.get("how", GrowthConfig.how), "how", 40)
    if how not in METHODS:
        raise InputError("how", f"be one of {', '.join(METHODS)}", repr(how))
    options: dict[str, Any] = {"how": how}
    if "where" in request:
        options["where"] = check_text(request["where"], "where", 40)
    if "when" in request:
        when = str(request["when"])[:40]
        options["when"] = int(when) if when.isdecimal() else when
    if request.get("hidden", "auto") != "auto":
        options["hidden"] = _check_widths(request["hidden"], limits)
    if "seed" in request:
        options["seed"] = check_integer(request["seed"], "seed", 0, 2**31 - 1)
    if "lr" in request:
        options["lr"] = check_real(request["lr"], "lr", 1e-9, 10.0)
    if request.get("batch", "auto") != "auto":
        options["batch_size"] = check_integer(request["batch"], "batch_size", 1, limits.rows)
    if "epochs" in request:
        options["budget"] = check_integer(request["epochs"], "budget", 1, limits.epochs)
    return GrowthConfig(**options)


def _check_widths(widths: Any, limits: Limits) -> tuple[int, ...]:
    """Return the widths of the hidden layers; refuse too many layers or units."""
    if not isinstance(widths, list) or not 1 <= len(widths) <= limits.layers:
        raise InputError("hidden", f"be auto, or 1 to {limits.layers} widths such as 2 or 4,4")
    valid = tuple(check_integer(width, "hidden", 1, limits.units) for width in widths)
    if sum(valid) > limits.units:
        raise InputError("hidden", f"have at most {limits.units} units", f"{sum(valid)}")
    return valid
