"""The linear pieces: dual plots of their coefficients, and compression to fewer pieces."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from creases.compare import Compression, coefficients, compress, decisions
from creases.regions import PlanePartition
from creases.show.report._formatting import Section, format_percent, pluralize
from creases.show.report._rendering import render_themes
from creases.show.report._subject import Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Numbers of pieces for compression.
KS = (1, 2, 3, 5, 10, 20, 50, 100)

#: Largest numbers of coefficients, of dots of a dual plot, and of dual plots.
_NUMBERS, _DOTS, _DUALS = 2**22, 20_000, 2


def dual_sections(subject: Subject) -> list[Section]:
    """Return dual plots of the first outputs (the dissertation, Figure 7.5)."""
    partition = subject.partition
    if not isinstance(partition, PlanePartition) or partition.count > _DOTS or not subject.net.n_units:
        return []
    outputs = range(min(_DUALS, subject.net.n_out))
    sections: list[Section] = []
    for j in outputs:
        name = subject.output_name(j)
        text = (
            f"Each dot is a region, placed at the slopes of {name} and sized by area. Lines connect neighboring "
            "regions, perpendicular to the crease between them; the longer the line, the sharper the fold."
        )
        if len(outputs) < subject.net.n_out:
            text += f" {len(outputs)} of {subject.net.n_out} outputs are shown."
        picture = render_themes(partial(_plot_dual, subject, partition, j))
        sections.append({"title": f"Dual plot of {name}", "text": text, "picture": picture})
    return sections


def _plot_dual(subject: Subject, partition: PlanePartition, output: int) -> Figure:
    from creases.show import plot_dual
    from creases.show._style import new_figure

    figure, (ax,) = new_figure(4.4, 4.0)
    if subject.classes is None:
        plot_dual(partition, output=output, ax=ax)
    else:
        names = [subject.class_name(k) for k in range(max(2, subject.net.n_out))]
        plot_dual(partition, output=output, ax=ax, color="class", classes=names)
    return figure


def compression_sections(subject: Subject) -> list[Section]:
    """Return the accuracy with the pieces of each output clustered to k, on every other sample."""
    compression = _compress(subject)
    if compression is None:
        return []

    def draw() -> Figure:
        from creases.show import plot_compression
        from creases.show._style import new_figure

        figure, (ax,) = new_figure(4.6, 3.0)
        plot_compression({"k pieces": compression}, ax=ax)
        return figure

    enough = [
        k for k, share in zip(compression.k, compression.accuracy, strict=True) if share >= compression.original - 0.01
    ]
    measure = "accuracy" if subject.y is not None else "self-agreement"
    text = (
        f"How many linear pieces does the network need? The coefficients at half of {subject.samples_text} are "
        "clustered into k pieces per output, and the other half is predicted with the nearest one. The full network "
        f"has {format_percent(compression.original)} {measure}; "
    )
    text += f"{pluralize(enough[0], 'piece')} per output" if enough else "no number tried"
    text += (" come" if enough and enough[0] > 1 else " comes") + " within 1% of it."
    columns = ["k", *map(str, compression.k), "all"]
    table = {
        "columns": columns,
        "rows": [["accuracy", *map(format_percent, compression.accuracy), format_percent(compression.original)]],
    }
    return [{"title": "Number of pieces needed", "text": text, "table": table, "picture": render_themes(draw)}]


def _compress(subject: Subject) -> Compression | None:
    """Compress the network; None for regression, or if there are too few samples."""
    X, net = subject.X, subject.net
    if subject.classes is None or X is None or len(X) < 8 or not net.n_units:
        return None
    rows = max(8, _NUMBERS // (net.n_out * (net.n_in + 1)))
    X, y = X[:rows], None if subject.y is None else np.asarray(subject.y)[:rows].astype(np.int64)
    pieces = coefficients(net, X, dtype=torch.float64)
    targets = decisions(pieces.values).cpu().numpy() if y is None else y
    train, test = (coefficients(net, X[first::2], dtype=torch.float64) for first in (0, 1))
    return compress(train, test, X[1::2], targets[1::2], k=[k for k in KS if k <= train.count])
