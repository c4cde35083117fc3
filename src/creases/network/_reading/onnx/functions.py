"""Functions that an ONNX file defines: how many nodes it has once their calls are replaced by their nodes."""

from __future__ import annotations

from functools import cache
from typing import Any

from creases.errors import ReadError

#: Nodes of a graph. Forty functions that call each other twice make a file of a kilobyte grow to a trillion nodes.
MAX_NODES = 1_000_000


def check_inlining(model: Any, source: str) -> None:
    """Refuse a model whose functions have too many nodes in all, or call themselves, before they are inlined."""
    functions = {(each.domain, each.name): each for each in model.functions}
    calling: set[tuple[str, str]] = set()

    @cache
    def size(key: tuple[str, str]) -> int:
        if key in calling:
            raise ReadError(f"cannot read {source}: its function {key[1]!r} calls itself")
        calling.add(key)
        total = count(functions[key].node)
        calling.remove(key)
        return total

    def count(nodes: Any) -> int:
        keys = [(node.domain, node.op_type) for node in nodes]
        return sum(size(key) if key in functions else 1 for key in keys)

    try:
        total = count(model.graph.node)
    except RecursionError:
        raise ReadError(f"cannot read {source}: its functions are nested too deeply") from None
    if total > MAX_NODES:
        raise ReadError(f"cannot read {source}: its functions unfold to {total:,} nodes, more than {MAX_NODES:,}")
