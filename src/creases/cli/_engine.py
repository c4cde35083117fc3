"""The option ``--engine`` of commands whose work is done by several processes."""

from __future__ import annotations

from enum import StrEnum


class Engine(StrEnum):
    """Where independent tasks run."""

    local = "local"
    serial = "serial"
    ray = "ray"
