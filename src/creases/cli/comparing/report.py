"""A comparison in a folder: the numbers as JSON, pictures, and one HTML page with all of it.

Of two networks the page shows each measure's number and the samples that they decide differently; of more, a heat map
of each measure too.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases.errors import FileError
from creases.files import write_json

if TYPE_CHECKING:
    from creases.cli.comparing.data import Samples
    from creases.compare import SampleDifference, Similarity

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

#: Samples of different decisions that the page lists, and draws where they are images.
_LISTED, _DRAWN = 20, 5


def write(found: Similarity, changed: SampleDifference, samples: Samples, folder: Path, command: Sequence[str]) -> Path:
    """Write ``comparison.json``, pictures and ``report.html``, each whole or not at all.

    Parameters
    ----------
    changed
        What changed between the first two networks.
    samples
        What the networks were compared at.
    command
        That makes it again.
    """
    from creases.files import replacing
    from creases.show import page

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"--out: cannot make the folder {folder}: {problem.strerror}") from None
    write_json(as_json(found, changed, samples), folder / "comparison.json")
    parts = [page.words(f"Compared at {samples.source}.", note=True)]
    if found.accuracy is not None:
        rows = [(found.names[i], f"{100 * found.accuracy[i]:.2f} %") for i in found.order()]
        parts += [page.heading("Accuracy"), page.table(("network", "right"), rows)]
    parts += _changes(found, changed, samples, folder)
    if len(found.names) == 2:
        parts += [page.heading("How alike"), page.table(("measure", "value"), pair_rows(found))]
    else:
        parts += _heat_maps(found, folder)
    parts += [page.heading("Again"), page.code(shlex.join(command))]
    path = folder / "report.html"
    with replacing(path) as temporary:
        temporary.write_text(page.page(f"{len(found.names)} networks compared", parts))
    return path


def as_json(found: Similarity, changed: SampleDifference, samples: Samples) -> dict[str, Any]:
    """The comparison as plain values, with the samples that the first two networks decide differently."""
    return {
        "samples_of": samples.source,
        **found.to_dict(),
        "changes": str(changed).splitlines(),
        "decided_differently": [int(i) for i in changed.differ],
    }


def pair_rows(found: Similarity) -> list[tuple[str, ...]]:
    """Each measure of two networks a and b with its meaning, and its value, both ways where that differs."""
    rows: list[tuple[str, ...]] = []
    for key, meaning in MEASURES.items():
        values = getattr(found, key)
        if values is not None:
            there, back = number(values[0, 1]), number(values[1, 0])
            pair = {
                "cross_entropy": "of softmax outputs: b in place of a, a in place of b",
                "mapped": "of coefficients by the best linear map: a to b, b to a",
            }.get(key)
            rows.append((f"{title(key)}: {pair or meaning}", f"{there}, {back}" if pair else there))
    return rows


def _changes(found: Similarity, changed: SampleDifference, samples: Samples, folder: Path) -> list[str]:
    """What changed from the first network to the second: sentences, and the samples of different decisions."""
    from creases.show import page, save_figure

    a, b, *_ = found.names
    parts = [page.heading(f"From {a} (a) to {b} (b)"), *map(page.words, str(changed).splitlines())]
    order = changed.differ[np.argsort(-changed.change[changed.differ], kind="stable")]
    if not len(order):
        return parts
    shown = order[:_LISTED]
    left = f", {len(shown)} of {len(order)}" if len(shown) < len(order) else ""
    parts.append(page.heading(f"Decided differently{left}, the most changed first"))
    if samples.image is not None:
        figure = _images(changed, samples, order[:_DRAWN])
        save_figure(figure, folder / "differences.png")
        parts.append(page.picture(figure, "a's class, b's class and, in brackets, the true one"))
    heads = ("sample", "a says", "b says", *(() if changed.labels is None else ("truth",)))
    columns = [shown, changed.class_a[shown], changed.class_b[shown]]
    columns += [] if changed.labels is None else [changed.labels[shown]]
    return [*parts, page.table(heads, [tuple(map(str, row)) for row in zip(*columns, strict=True)])]


def _images(changed: SampleDifference, samples: Samples, which: Any) -> Any:
    from creases.show import image_figure

    def drawn(i: int) -> Any:
        own = np.asarray(samples.x[i], np.float64).reshape(samples.image or ())
        own = (own - own.min()) / max(float(np.ptp(own)), 1e-300)
        return own[0] if len(own) == 1 else own.transpose(1, 2, 0)

    truth = ["" if changed.labels is None else f" ({changed.labels[i]})" for i in which]
    names = [f"{changed.class_a[i]}, {changed.class_b[i]}{one}" for i, one in zip(which, truth, strict=True)]
    return image_figure([[drawn(i) for i in which]], [""], names)


def _heat_maps(found: Similarity, folder: Path) -> list[str]:
    """A picture and a table of each measure."""
    from creases.show import new_figure, page, plot_similarity, save_figure

    order = found.order()
    names = [found.names[i] for i in order]
    size = 2.6 + 0.5 * len(names)
    parts = []
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
        parts += [page.heading(_capital(title(key))), page.words(f"{_capital(meaning)}.")]
        parts += [page.picture(figure, title(key)), page.table(("", *names), cells)]
    return parts


def title(key: str) -> str:
    """A measure's name for people."""
    return {"cka": "CKA", "cross_entropy": "cross-entropy", "mapped": "accuracy after mapping"}.get(key, key)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def number(value: Any) -> str:
    """A cell of a table."""
    return "-" if np.isnan(value) else f"{value:.3g}"
