"""What is said of a network and of a piece of one: shapes, bends, coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from creases._document import Document, Section, facts, table
from creases._text import plural

if TYPE_CHECKING:
    from creases._program._pieces import Piece
    from creases._program._program import Program

#: Rows and columns of coefficients, and bends, that are listed at most.
MATRIX, BENDS = 8, 100


def describe_network(net: Program) -> Document:
    """Return a network's shapes, and its bends in order with the number of their units."""
    rows = []
    for k, i in enumerate(net.bends[:BENDS]):
        step = net.steps[i]
        kind = "ReLU" if step.op == "relu" else f"choice among {net.candidates[k]}"
        kind = "leaky ReLU" if step.op == "relu" and "leak" in step.tensors else kind
        units = int(net.unit_starts[k + 1] - net.unit_starts[k])
        rows.append([str(k), step.path, kind, "×".join(map(str, step.shape)), f"{units:,}"])
    numbers = [part for step in net.steps for part in step.tensors.values() if part.is_floating_point()]
    about = {
        "inputs": "×".join(map(str, net.input_shape)) or "1",
        "outputs": "×".join(map(str, net.output_shape)) or "1",
        "units": f"{net.n_units:,}",
        "parameters": f"{sum(part.numel() for part in numbers):,}",
        "precision": str(net.dtype).removeprefix("torch.") + ("" if net.device.type == "cpu" else f", {net.device}"),
    }
    heads = ("bend", "place", "kind", "shape", "units")
    more = {"note": f"… and {len(net.bends) - BENDS} more"} if len(net.bends) > BENDS else {}
    bends = table("Bends", heads, rows, **more) if rows else {"title": "Bends", "text": "None: one affine function."}
    return Document("Network", "", [facts("Shapes", about.items()), bends], about)


def describe_piece(piece: Piece) -> Document:
    """Return the coefficients ``J x + y`` as a table; of a batch the shapes and the first."""
    J, y = (part.detach().cpu().numpy() if hasattr(part, "detach") else np.asarray(part) for part in piece)
    text = ""
    if J.ndim > 2:
        count = int(np.prod(J.shape[:-2]))
        shapes = f"J {'×'.join(map(str, J.shape))}, y {'×'.join(map(str, y.shape))}"
        text = f"{plural(count, 'affine function')} ({shapes})" + ("; the first:" if count else ".")
        if not count:
            return Document("Piece", text)
        J, y = J.reshape(-1, *J.shape[-2:])[0], y.reshape(-1, y.shape[-1])[0]
    return Document("Piece: J x + y", text, [coefficient_section(J, y)])


def coefficient_section(J: Any, y: Any) -> Section:
    """Return J (m, n) and y (m,) as a table with a row for each output; many inputs are cut."""
    J, y = np.atleast_2d(J), np.atleast_1d(y)
    shown = min(J.shape[1], MATRIX)
    rest = ["…"] if J.shape[1] > shown else []
    rows = [
        [f"output {k}", *(f"{value:.4g}" for value in J[k, :shown].tolist()), *rest, f"{float(y[k]):.4g}"]
        for k in range(min(len(y), MATRIX))
    ]
    more = {"note": f"… and {len(y) - MATRIX} more"} if len(y) > MATRIX else {}
    return table("Coefficients", ["", *(f"x{i}" for i in range(shown)), *rest, "offset"], rows, **more)
