"""Networks and pieces in a notebook."""

from __future__ import annotations

from typing import Any

import numpy as np

from creases._text import plural
from creases.network import Network, Piece
from creases.show.notebook import _card as card

#: Rows and columns of coefficients that are shown.
MATRIX = 8


def network_html(net: Network) -> str:
    """Return a network's shapes, and its bends in order with the number of their units."""
    parameters = sum(t.numel() for step in net.steps for t in step.tensors.values() if t.is_floating_point())
    rows = []
    for k, i in enumerate(net.bends):
        step = net.steps[i]
        kind = "ReLU" if step.op == "relu" else f"choice among {net.candidates[k]}"
        if step.op == "relu" and "leak" in step.tensors:
            kind = "leaky ReLU"
        units = int(net.unit_starts[k + 1] - net.unit_starts[k])
        rows.append((k, step.path, kind, "×".join(map(str, step.shape)), units))
    about = [
        ("inputs", "×".join(map(str, net.input_shape)) or "1"),
        ("outputs", "×".join(map(str, net.output_shape)) or "1"),
        ("units", card.number(net.n_units)),
        ("parameters", card.number(parameters)),
        ("precision", str(net.dtype).removeprefix("torch.") + ("" if net.device.type == "cpu" else f", {net.device}")),
    ]
    heads = ("bend", "place", "kind", "shape", "units")
    bends = (
        card.table(heads, rows) if rows else card.paragraph("No nonlinearities: a single affine function.", faint=True)
    )
    return card.card("Network", card.beside(card.facts(about), bends))


def piece_html(piece: Piece) -> str:
    """Return the coefficients ``J x + y`` as a table; of a batch the shapes and the first."""
    J, y = (_array(part) for part in piece)
    note = ""
    if J.ndim > 2:
        count = int(np.prod(J.shape[:-2]))
        shapes = f"J {'×'.join(map(str, J.shape))}, y {'×'.join(map(str, y.shape))}"
        note = card.paragraph(f"{plural(count, 'affine function')} ({shapes})" + ("; the first:" if count else "."))
        if not count:
            return card.card("Piece", note)
        J, y = J.reshape(-1, *J.shape[-2:])[0], y.reshape(-1, y.shape[-1])[0]
    return card.card("Piece: J x + y", note, coefficient_table(J, y))


def coefficient_table(J: Any, y: Any) -> str:
    """Return J (m, n) and y (m,) as a table with a row for each output; many inputs are cut."""
    J, y = np.atleast_2d(J), np.atleast_1d(y)
    shown = min(J.shape[1], MATRIX)
    rest = ["…"] if J.shape[1] > shown else []
    heads = ["", *(f"x{i}" for i in range(shown)), *rest, "offset"]
    rows = [
        [f"output {k}", *map(float, row[:shown]), *rest, float(offset)]
        for k, (row, offset) in enumerate(zip(J, y, strict=True))
    ]
    return card.table(heads, rows, limit=MATRIX)


def _array(value: Any) -> Any:
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)
