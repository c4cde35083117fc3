"""What follows a model's growth: torch.compile and DistributedDataParallel around it, and copies such as averages.

A compiled function and the buckets of DistributedDataParallel are made for the parameters that were there before; an
average of the weights (:class:`torch.optim.swa_utils.AveragedModel`), or a target network, has the old widths.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeGuard

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

from creases.errors import InputError
from creases.growth._checkpoint import resize_place
from creases.network import Place, remove
from creases.network.surgery import copy_sharing_parameters, unwrap_module


def is_compiled(model: Any) -> TypeGuard[nn.Module]:
    """Return whether a module is what ``torch.compile`` made of another."""
    return isinstance(model, nn.Module) and "_orig_mod" in model._modules


def forget_compiled(model: nn.Module, wrappers: Sequence[nn.Module]) -> None:
    """Forget what was compiled for other shapes, which counts towards the limit of recompilations."""
    if model._compiled_call_impl is not None or any(map(is_compiled, wrappers)):
        torch.compiler.reset()


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


def check_group(wrapper: DistributedDataParallel) -> None:
    """Refuse a wrapper in a process group of its own, which its unpickling would lose."""
    try:
        wrapper.__getstate__()  # type: ignore[no-untyped-call]
    except RuntimeError as problem:
        raise InputError("model", "be in the default process group", f"{problem}") from None


@dataclass(frozen=True, eq=False)
class Followers:
    """The wrappers of a model, the outermost first, and modules of the same structure."""

    wrappers: Sequence[nn.Module] = ()
    companions: Sequence[nn.Module] = ()
    averages: Sequence[AveragedModel] = ()  #: around companions

    @classmethod
    def from_model(cls, wrapped: Any, companions: Sequence[nn.Module]) -> tuple[nn.Module, Followers]:
        """Return the user's module without wrappers, and what follows it."""
        model, wrappers = unwrap(wrapped)
        if isinstance(companions, nn.Module):
            raise InputError("companions", "be a list of modules", type(companions).__name__)
        for wrapper in wrappers:
            if isinstance(wrapper, DistributedDataParallel):
                check_group(wrapper)
        modules, averages = [], []
        for companion in companions:
            module, around = unwrap(companion)
            modules.append(module)
            averages += [wrapper for wrapper in around if isinstance(wrapper, AveragedModel)]
        shapes = _shapes(model)
        for companion in modules:
            if _shapes(companion) != shapes or companion is model:
                raise InputError(
                    "companions",
                    "be copies of the model",
                    "the model itself" if companion is model else "one with other tensors",
                )
        return model, cls(wrappers, modules, averages)

    @contextmanager
    def follow(self, model: nn.Module, place: Place, removed: Sequence[int], count: int) -> Iterator[None]:
        """Let all follow a change of the model in this block, which removes units of a place and adds some at its end.

        Companions get the new units with the same weights; what the change adds to the existing weights is added to
        theirs.
        """
        twin = copy.deepcopy(copy_sharing_parameters(model)) if self.companions else model
        yield
        if self.companions:
            _resize(twin, place, removed, count)
        for companion in self.companions:
            _resize(companion, place, removed, count)
            _add_difference(companion, twin, model)
        self.renew(model)

    def renew(self, model: nn.Module) -> None:
        """Let the wrappers take the model's existing parameters."""
        for wrapper in reversed(self.wrappers):
            if isinstance(wrapper, DistributedDataParallel):
                rebuild_buckets(wrapper)
        forget_compiled(model, self.wrappers)


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


def _resize(model: nn.Module, place: Place, removed: Sequence[int], count: int) -> None:
    """Remove units of a place, and add units at its end that are zero."""
    if removed:
        smaller = remove(model, place, removed).place
        assert smaller is not None
        place = smaller
    resize_place(model, place, place.width + count)


@torch.no_grad()
def _add_difference(companion: nn.Module, before: nn.Module, after: nn.Module) -> None:
    """Add to a companion what a change added to the model.

    Values that did not change stay the same bit for bit; those that were the model's become the model's.
    """
    old, changed = before.state_dict(), after.state_dict()
    for name, mine in companion.state_dict().items():
        if mine.is_floating_point():
            was, new = old[name].to(mine), changed[name].to(mine)
            moved = torch.where(mine == was, new, mine + (new - was))
            mine.copy_(torch.where(new == was, mine, moved))


def _shapes(model: nn.Module) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in model.state_dict().items()}
