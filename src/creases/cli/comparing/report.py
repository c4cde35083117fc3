"""A comparison in a folder: the numbers as JSON, a heat map for each measure, and one HTML page with all of it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases.cli import output
from creases.errors import FileError

if TYPE_CHECKING:
    from creases.compare import Similarity

#: Measures by name, with what their numbers mean.
MEASURES = {
    "agreement": "share of samples that both put into the same class",
    "cka": "centred kernel alignment of coefficients: 1 where pieces are alike up to rotation and scale",
    "distance": "mean squared distance of coefficients, scaled: 0 for equal networks",
    "cross_entropy": "of softmax outputs: how badly a column's network stands in for a row's; the diagonal: itself",
    "mapped": "of a row's coefficients, by the best linear map to a column's; the diagonal its own",
}

#: Measures of which small values mean that networks are alike.
_APART = ("distance", "cross_entropy")


def write(found: Similarity, source: str, folder: Path, command: Sequence[str], changes: Sequence[str]) -> Path:
    """Write ``comparison.json``, a picture for each measure and ``report.html``, each whole or not at all.

    Parameters
    ----------
    source
        What the networks were compared at, in words.
    command
        That makes it again.
    changes
        What changed between the first two networks, in sentences.
    """
    from creases.files import replacing
    from creases.show import new_figure, page, save_figure
    from creases.show.compare import plot_similarity

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"--out: cannot make the folder {folder}: {problem.strerror}") from None
    output.write_json({"samples_of": source, **found.to_dict()}, folder / "comparison.json")
    order = found.order()
    names = [found.names[i] for i in order]
    parts = [page.words(f"Compared at {source}.", note=True)]
    if found.accuracy is not None:
        rows = [(found.names[i], f"{100 * found.accuracy[i]:.2f} %") for i in order]
        parts += [page.heading("Accuracy"), page.table(("network", "right"), rows)]
    if changes:
        parts += [page.heading(f"From {found.names[0]} (a) to {found.names[1]} (b)"), *map(page.words, changes)]
    size = 2.6 + 0.5 * len(names)
    for key, meaning in MEASURES.items():
        values = getattr(found, key)
        if values is None:
            continue
        figure, (ax,) = new_figure(size + 0.8, size)
        plot_similarity(
            values,
            found.names,
            ax=ax,
            accuracy=found.accuracy if key in ("agreement", "cka", "distance") else None,
            distance=key in _APART,
            order=order,
            label=title(key),
        )
        save_figure(figure, folder / f"{key}.png")
        cells = [(found.names[i], *(number(values[i, j]) for j in order)) for i in order]
        parts += [
            page.heading(_capital(title(key))),
            page.words(f"{_capital(meaning)}."),
            page.picture(figure, title(key)),
        ]
        parts += [page.table(("", *names), cells)]
    parts += [page.heading("Again"), page.code(shlex.join(command))]
    path = folder / "report.html"
    with replacing(path) as temporary:
        temporary.write_text(page.page(f"{len(names)} networks compared", parts))
    return path


def title(key: str) -> str:
    """A measure's name for people."""
    return {"cka": "CKA", "cross_entropy": "cross-entropy", "mapped": "accuracy after mapping"}.get(key, key)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def number(value: Any) -> str:
    """A cell of a table."""
    return "-" if np.isnan(value) else f"{value:.3g}"
