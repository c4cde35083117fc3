"""The section about what is certain: the sum is the network, and what is proved about it."""

from __future__ import annotations

import numpy as np

from creases._text import plural
from creases.show.report._page import Section
from creases.tables import TableModel, certify_model

#: Seconds for each proof.
SECONDS = 2.0

#: Rows on which the sum of parts is compared with the network.
ROWS = 2000


def proved_section(model: TableModel) -> Section:
    """Return the facts about a model of curves that are proved for all rows within the ranges of its table."""
    assert model.data is not None
    facts = [_what_there_is(model), *certify_model(model, budget=SECONDS).sentences()]
    return {"title": "Facts", "text": "\n".join(facts), "size": "full"}


def _what_there_is(model: TableModel) -> str:
    """Say that the parts are the model; of one with pairs or units, how far rounding takes the network from them."""
    assert model.data is not None
    if not model.function.planes and model.function.units is None:
        whole = "sum" if model._largest is None else "product"
        return f"The curves are all there is: a prediction is their {whole}."
    X = model.data.problem.X[:ROWS]
    *hidden, (last, offset) = model._layers()
    values = X
    for weight, bias in hidden:
        values = np.maximum(values @ weight.T + bias, 0.0)
    scores = values @ last.T + offset
    gap = float(np.abs(model._read_network(scores) - model._outputs(X)).max(initial=0.0))
    return (
        "The curves, pairs and units are all there is: their sum is the network (compared on "
        f"{plural(len(X), 'row')}; largest difference {gap:.1g})."
    )
