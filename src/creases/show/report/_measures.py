"""How alike networks are, in words: the measures of a comparison, what each means, their numbers as a page has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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
APART = ("distance", "cross_entropy")

#: Measures that have the networks' accuracies on the diagonal of their heat map.
WITH_ACCURACY = ("agreement", "cka", "distance")


def measure_title(key: str) -> str:
    """A measure's name for people."""
    return {"cka": "CKA", "cross_entropy": "cross-entropy", "mapped": "accuracy after mapping"}.get(key, key)


def format_number(value: Any) -> str:
    """A cell of a table."""
    return "-" if np.isnan(value) else f"{value:.3g}"


def capital(text: str) -> str:
    """A text with its first letter as sentences have it."""
    return text[:1].upper() + text[1:]


def pair_rows(found: Similarity) -> list[tuple[str, str, str]]:
    """Each measure of two networks a and b, its meaning, and its value, both ways where that differs."""
    rows = []
    for key, meaning in MEASURES.items():
        values = getattr(found, key)
        if values is not None:
            there, back = format_number(values[0, 1]), format_number(values[1, 0])
            pair = {
                "cross_entropy": "of softmax outputs: b in place of a, a in place of b",
                "mapped": "of coefficients by the best linear map: a to b, b to a",
            }.get(key)
            rows.append((measure_title(key), pair or meaning, f"{there}, {back}" if pair else there))
    return rows


def plot_measure(found: Similarity, key: str) -> Any:
    """The heat map of a measure, like networks beside each other."""
    from creases.show import plot_similarity
    from creases.show.style import new_figure

    size = 2.6 + 0.5 * len(found.names)
    figure, (ax,) = new_figure(size + 0.8, size)
    plot_similarity(
        getattr(found, key),
        found.names,
        ax=ax,
        accuracy=found.accuracy if key in WITH_ACCURACY else None,
        distance=key in APART,
        order=found.order(),
        label=measure_title(key),
    )
    return figure
