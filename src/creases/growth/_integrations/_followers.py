"""What follows a model's growth: torch.compile and DistributedDataParallel around it.

A compiled function and the buckets of DistributedDataParallel are made for the parameters that were there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

from creases.errors import InputError
from creases.network.surgery import unwrap_module


def is_compiled(model: Any) -> TypeGuard[nn.Module]:
    """Return whether a module is what ``torch.compile`` made of another."""
    return isinstance(model, nn.Module) and "_orig_mod" in model._modules


def rebuild_buckets(wrapper: DistributedDataParallel) -> None:
    """Rebuild the buckets of a wrapper for the module's current parameters, as its unpickling does."""
    hooks = list(getattr(wrapper, "_comm_hooks", ()))
    names = wrapper.parameters_to_ignore
    first = {
        "_module_parameters": [p for name, p in wrapper.module.named_parameters() if name not in names],
        "_comm_hooks": [],
        "_static_graph_delay_allreduce_enqueued": False,  # of a static graph: as before the first backward pass
    }
    wrapper.__setstate__({**wrapper.__getstate__(), **first})  # type: ignore[no-untyped-call]
    for hook, state in hooks:
        wrapper.register_comm_hook(state, hook)


@dataclass(frozen=True, eq=False)
class Followers:
    """The wrappers of a model, the outermost first."""

    wrappers: Sequence[nn.Module] = ()

    @classmethod
    def from_model(cls, wrapped: Any) -> tuple[nn.Module, Followers]:
        """Return the user's module without wrappers, and what follows it."""
        model, wrappers = unwrap(wrapped)
        for wrapper in wrappers:
            if isinstance(wrapper, DistributedDataParallel):
                try:  # the unpickling of one in a process group of its own would lose that
                    wrapper.__getstate__()  # type: ignore[no-untyped-call]
                except RuntimeError as problem:
                    raise InputError("model", "be in the default process group", f"{problem}") from None
        return model, cls(wrappers)

    def renew(self, model: nn.Module) -> None:
        """Let the wrappers take the model's existing parameters."""
        for wrapper in reversed(self.wrappers):
            if isinstance(wrapper, DistributedDataParallel):
                rebuild_buckets(wrapper)
        if model._compiled_call_impl is not None or any(map(is_compiled, self.wrappers)):
            torch.compiler.reset()  # forgets what was compiled for other shapes, which counts towards the limit


def unwrap(model: Any) -> tuple[nn.Module, list[nn.Module]]:
    """Return the user's module, and its wrappers with the outermost first; refused if its weights cannot be edited."""
    wrappers: list[nn.Module] = []
    while True:
        if isinstance(model, DistributedDataParallel | AveragedModel):
            inner = model.module
        elif is_compiled(model):
            inner = model._modules["_orig_mod"]
        else:
            return unwrap_module(model), wrappers
        wrappers.append(model)
        model = inner
