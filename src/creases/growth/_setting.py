"""The settings of a growth run as text, by which a checkpoint knows its run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from creases.errors import InputError
from creases.growth._config import GrowthConfig
from creases.growth._loss_sum import Loss
from creases.growth.integrations import _ranks as ranks

_OPTIONS = ("how", "where", "when", "growth_share", "growth_patience", "seed")

#: Settings that may differ when a run is resumed: they let it run longer.
MAY_CHANGE = ("stop", "budget")


def describe_setting(loss: str | Loss, config: GrowthConfig, stops: Sequence[Any]) -> dict[str, str]:
    """Return what decides about growth, by name."""
    values = {"loss": loss, "stop": list(stops), **{name: getattr(config, name) for name in _OPTIONS}}
    return {name: _text(value) for name, value in values.items()}


def _text(value: Any) -> str:
    """Return a setting as text that is the same in every process: functions by name."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "__dict__") and not is_dataclass(value):
        return type(value).__name__
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def check_setting(path: Path, saved: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse the checkpoint of a run with other settings."""
    for name in now.keys() - set(MAY_CHANGE):
        if saved.get(name) != now[name]:
            raise InputError(
                "checkpoint",
                "come from a run with the same settings",
                f"{path} with {name} = {saved.get(name)}, not {now[name]}",
                "repeat the original call, or pass another file",
            )


def check_ranks(setting: dict[str, str]) -> None:
    """Refuse settings that differ between processes."""
    with ranks.fail_together():
        for name, value in ranks.from_first(setting).items():
            if setting[name] != value:
                got = f"{setting[name]} on rank {ranks.rank()} and {value} on rank 0"
                raise InputError(name, "be the same in every process", got)
