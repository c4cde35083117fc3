"""Comparisons of networks in a notebook."""

from __future__ import annotations

import numpy as np

from creases._typing import Floats
from creases.compare import Difference, Similarity
from creases.show.notebook import _card as card

#: Networks of a comparison that are shown.
NETWORKS = 12


def difference_html(difference: Difference) -> str:
    """Return what the difference of two networks is, in words and by decisions at samples."""
    lines = [card.paragraph(line) for line in str(difference).splitlines()]
    samples, counts = difference.samples, ""
    if samples is not None and len(samples.differ):
        confusion = samples.confusion()
        pairs = [(int(i), int(j), int(confusion[i, j])) for i, j in np.argwhere(confusion) if i != j]
        pairs.sort(key=lambda pair: -pair[2])
        counts = card.table(("a predicts", "b predicts", "samples"), pairs)
    verdict = "the same everywhere compared" if difference.empty else "the networks differ"
    return card.card(f"Difference: {verdict}", *lines, counts)


def similarity_html(similarity: Similarity) -> str:
    """Return agreement and CKA of all pairs of networks."""
    parts = [
        card.paragraph(f"{len(similarity.names)} networks at {similarity.samples:,} samples", faint=True),
        card.beside(
            _matrix("same decisions", similarity.agreement, similarity),
            _matrix("CKA of coefficients", similarity.cka, similarity),
        ),
    ]
    if similarity.accuracy is not None:
        rows = [(name, float(value)) for name, value in zip(similarity.names, similarity.accuracy, strict=True)]
        parts.append(card.table(("network", "accuracy"), rows))
    return card.card("Similarity", *parts)


def _matrix(title: str, values: Floats, similarity: Similarity) -> str:
    names = similarity.names[:NETWORKS]
    rows = [(name, *(f"{value:.3g}" for value in row[: len(names)])) for name, row in zip(names, values, strict=False)]
    return card.paragraph(title) + card.table(("", *names), rows, limit=NETWORKS)
