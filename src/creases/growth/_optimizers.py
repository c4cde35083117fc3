"""AdamW of torch without the import of torch's compiler, which costs a process more than all its epochs.

Torch marks methods of its optimizers as not to be compiled, and imports the compiler to read the mark. Here they are
called without the mark: the steps are those of torch, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import optim


def _unmark(method: Any) -> Any:
    """Return what a method of torch wraps; other versions of torch may wrap nothing."""
    return getattr(method, "__wrapped__", method)


_step = _unmark(optim.Adam.step)


class AdamW(optim.AdamW):
    """AdamW of torch."""

    add_param_group = _unmark(optim.Optimizer.add_param_group)
    load_state_dict = _unmark(optim.Optimizer.load_state_dict)
    state_dict = _unmark(optim.Optimizer.state_dict)
    zero_grad = _unmark(optim.Optimizer.zero_grad)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take a step of Adam."""
        return _step(self, closure)
