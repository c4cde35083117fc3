"""The similarity measures of a comparison: names, meanings and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from creases.compare import Similarity

#: Measures by name, with their meaning.
MEASURES = {
    "agreement": "fraction of samples with the same predicted class",
    "cka": "centered kernel alignment of coefficients: 1 if pieces are equal up to rotation and scale",
    "distance": "mean squared distance of coefficients, scaled: 0 for equal networks",
    "cross_entropy": "cross-entropy of the column's softmax outputs relative to the row's; on the diagonal its entropy",
    "mapped": "accuracy of the row's coefficients, linearly mapped to the column's; on the diagonal its own",
}

#: Measures whose small values mean similar networks.
DISTANCES = ("distance", "cross_entropy")

#: Measures with the accuracies on the diagonal of their heat map.
WITH_ACCURACY = ("agreement", "cka", "distance")


def measure_title(key: str) -> str:
    """Return the name of a measure for humans."""
    return {"cka": "CKA", "cross_entropy": "cross-entropy", "mapped": "accuracy after mapping"}.get(key, key)


def format_number(value: Any) -> str:
    """Format a value for a table."""
    return "-" if np.isnan(value) else f"{value:.3g}"


def capitalize(text: str) -> str:
    """Capitalize the first letter of a text."""
    return text[:1].upper() + text[1:]


def pair_rows(similarity: Similarity) -> list[tuple[str, str, str]]:
    """Return name, meaning and value of each measure of two networks, both values if asymmetric."""
    rows = []
    for key, meaning in MEASURES.items():
        values = getattr(similarity, key)
        if values is not None:
            forward, backward = format_number(values[0, 1]), format_number(values[1, 0])
            pair = {
                "cross_entropy": "cross-entropy of softmax outputs: b in place of a, a in place of b",
                "mapped": "accuracy of coefficients after the best linear map: a to b, b to a",
            }.get(key)
            rows.append((measure_title(key), pair or meaning, f"{forward}, {backward}" if pair else forward))
    return rows


def plot_measure(similarity: Similarity, key: str) -> Any:
    """Plot the heat map of a measure, with similar networks side by side."""
    from creases.show import plot_similarity
    from creases.show._style import new_figure

    size = 2.6 + 0.5 * len(similarity.names)
    figure, (ax,) = new_figure(size + 0.8, size)
    plot_similarity(
        getattr(similarity, key),
        similarity.names,
        ax=ax,
        accuracy=similarity.accuracy if key in WITH_ACCURACY else None,
        distance=key in DISTANCES,
        order=similarity.order(),
        label=measure_title(key),
    )
    return figure
