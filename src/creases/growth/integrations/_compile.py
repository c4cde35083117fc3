"""torch.compile around a model that grows: a compiled function is made for the shapes that were there before."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeGuard, cast

import torch
from torch import nn


def is_compiled(model: Any) -> TypeGuard[nn.Module]:
    """Return whether a module is what ``torch.compile`` made of another."""
    return isinstance(model, nn.Module) and "_orig_mod" in model._modules


def forget_compiled(model: nn.Module, wrappers: Sequence[nn.Module]) -> None:
    """Forget what was compiled for other shapes, which counts towards the limit of recompilations."""
    if model._compiled_call_impl is not None or any(map(is_compiled, wrappers)):
        torch.compiler.reset()


def run_uncompiled() -> AbstractContextManager[Any]:
    """Return a context in which compiled modules run as written: in a mode, torch gives up compiling them for good."""
    if "torch._dynamo" not in sys.modules or not hasattr(torch.compiler, "set_stance"):
        return nullcontext()
    return cast(AbstractContextManager[Any], torch.compiler.set_stance("force_eager"))
