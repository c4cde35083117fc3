"""The kinds of problems."""

from __future__ import annotations

from typing import Literal

Task = Literal["classification", "regression"]
