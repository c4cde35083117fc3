"""A limit on the memory that reading a model takes, known before any of it is taken."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import ceil, isfinite, prod
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from creases.errors import LimitError

#: What older versions of torch lack.
_REDUCTION = getattr(torch.Tag, "reduction", None)


class AllocationLimit(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses a torch operation whose results, with the tensors that are alive, would take more than ``max_bytes``."""

    def __init__(self, max_bytes: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.max_bytes = max_bytes
        self.most_bytes = 0  #: what the largest operation took
        self._taken = 0
        self._alive: list[tuple[StorageWeakRef, int]] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled here, and torch's compiler takes seconds to import

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        needed = _result_bytes(func, args, kwargs)
        self.most_bytes = max(self.most_bytes, needed)
        if self._taken + needed > self.max_bytes:
            self._alive = [each for each in self._alive if not each[0].expired()]  # type: ignore[no-untyped-call]
            self._taken = sum(size for _, size in self._alive)
        if self._taken + needed > self.max_bytes:
            taken = f" beside the {_size(self._taken)} that it holds" if self._taken > 1e6 else ""
            raise LimitError(
                f"max_memory={self.max_bytes:.3g}",
                f"is less than the {_size(needed)} that the model's operation {func._schema.name.partition('::')[2]} "
                f"would take{taken}",
                "is the file what you expect? If so, raise the limit: creases.read(model, max_memory=...)",
            )
        out = func(*args, **kwargs)
        known = {leaf.untyped_storage()._cdata for leaf in _tensors(args)}
        for leaf in _tensors(out):
            storage = leaf.untyped_storage()
            if storage._cdata not in known and storage.nbytes():
                self._alive.append((StorageWeakRef(storage), storage.nbytes()))  # type: ignore[no-untyped-call]
                self._taken += storage.nbytes()
        return out


def _result_bytes(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> int:
    """Return how many bytes the results of an operation take at most, counted as if every entry were stored.

    The operations whose results may be larger than what they read have rules here: torch's own rules import a symbolic
    algebra or its compiler.
    """
    tensors = _tensors((args, kwargs))
    if func._schema.is_mutable or _REDUCTION in func.tags:  # in place, or smaller than what it reduces
        return 0
    if torch.Tag.pointwise in func.tags and tensors:
        return 8 * prod(np.broadcast_shapes(*(tuple(leaf.shape) for leaf in tensors)))
    x = args[0] if args else None
    entries: Any = sum(leaf.numel() for leaf in tensors)
    match func._schema.name.removeprefix("aten::"):
        case "arange":
            start, end, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
            count = (end - start) / step if step else 0.0
            entries = max(ceil(count), 0) if isfinite(count) else 0
        case "mm" | "addmm" | "bmm" | "baddbmm":  # the last two operands are multiplied
            entries = prod(tensors[-2].shape[:-1]) * tensors[-1].shape[-1]
        case "convolution":
            weight, (strides, pads, dilations, transposed, output_pads, groups) = args[1], args[3:]
            reach = [d * (k - 1) for d, k in zip(dilations, weight.shape[2:], strict=True)]
            axes = zip(args[0].shape[2:], reach, strides, pads, output_pads, strict=True)
            if transposed:
                sizes = [(n - 1) * s - 2 * p + r + o + 1 for n, r, s, p, o in axes]
            else:
                sizes = [(n + 2 * p - r - 1) // s + 1 for n, r, s, p, _ in axes]
            channels = weight.shape[1] * groups if transposed else len(weight)
            entries = len(args[0]) * channels * prod(max(size, 0) for size in sizes)
        case "constant_pad_nd":  # of the last axes first
            more = [before + after for before, after in zip(args[1][::2], args[1][1::2], strict=True)]
            entries = prod(max(n + k, 0) for n, k in zip_longest(tensors[0].shape[::-1], more, fillvalue=0))
        case "repeat":
            entries *= prod(args[1])
        case "expand":  # takes nothing, but what computes with it may
            entries = max(entries, prod(abs(n) for n in args[1]))
        case "index_select":
            entries = tensors[0].numel() * len(args[2]) // max(tensors[0].shape[args[1]], 1)
        case "index":
            kept = prod(n for n, k in zip_longest(tensors[0].shape, args[1]) if k is None)
            entries = kept * prod(np.broadcast_shapes(*(tuple(k.shape) for k in args[1] if k is not None)))
        case _ if not tensors and isinstance(x, list | tuple):  # a new tensor of this size
            entries = prod(x)
    return 8 * int(entries)


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.3g} MB"
