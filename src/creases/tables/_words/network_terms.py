"""A grown network in the words that curves have: what each column adds, and what it could add at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from creases._typing import Floats
from creases.tables._encoding.encoding import number_encoding
from creases.tables._words.options import Options
from creases.tables._words.terms import Terms, plain_name

if TYPE_CHECKING:
    from creases.tables._model.grown_model import GrownModel


@dataclass(frozen=True, eq=False)
class NetworkTerms(Terms):
    """The columns of a grown network: each adds its integrated gradients on the way from the mean row."""

    model: Any  #: a ``GrownModel``

    @classmethod
    def from_network(cls, model: GrownModel) -> Self:
        """Return the terms of a grown network."""
        encoding = model.encoding or number_encoding(model.features, np.zeros(len(model.features)))
        return cls(model, encoding, model.classes, plain_name(model.target), model.threshold)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the terms are called: the columns."""
        return tuple(term.name for term in self.columns)

    @cached_property
    def intercept(self) -> Floats:
        """(m,) The prediction for the mean row."""
        return np.asarray(self.scores(self.model.center[None])[0])

    @property
    def _of_outputs(self) -> Floats:
        """(m, outputs) What the scores are of the network's outputs."""
        n_out = self.model.network.n_out
        return np.array([[-1.0, 1.0]]) if self.is_binary else np.eye(n_out)

    def contributions(self, X: Floats) -> Floats:
        """Return what each column adds at encoded rows X (n, d): (n, t, m); with the intercept they are the scores."""
        _, parts = self.model.input_parts(X)
        by_input = list(parts.values())
        columns = [np.sum([by_input[j] for j in term.inputs], axis=0) for term in self.columns]
        return self.to_points(np.stack(columns, axis=1))

    def scores(self, X: Floats) -> Floats:
        """Return the predictions (n, m) in the units of the terms."""
        return self.to_points(self.model.outputs(X) @ self._of_outputs.T)

    def curve_values(self, j: int) -> tuple[Floats, Floats]:
        """Return the range (2,) of input j as knots; it has no curve."""
        return self.model.ranges[j], np.zeros((2, len(self._of_outputs)))

    def mixed_columns(self) -> list[bool]:
        """Return for each column that others may act with it."""
        return [True] * len(self.columns)

    def gains(self, x: Floats, D: Floats, options: Options, columns: Sequence[Options]) -> Floats:
        """Return by how much each option (n,) of a column brings each part of a goal (n, k) nearer at most.

        A ReLU changes by no more than its input, and in its direction only; so what several columns change in a unit is
        between the sums of what each could take away and could add, and so on from layer to layer.
        """
        *hidden, (last, _) = self._layers
        least = most = options.values - options.values[:1]
        inputs = options.term.inputs
        for k, (weights, _) in enumerate(hidden):
            weights = weights[:, inputs] if not k else weights
            rises, falls = np.maximum(weights, 0).T, np.minimum(weights, 0).T
            least, most = (
                np.minimum(least @ rises + most @ falls, 0.0) if k else np.minimum(least @ weights.T, 0.0),
                np.maximum(most @ rises + least @ falls, 0.0) if k else np.maximum(most @ weights.T, 0.0),
            )
        effect = D @ self.to_points(self._of_outputs.T).T @ (last if hidden else last[:, inputs])  # (k, h)
        if not hidden:
            return np.asarray(most @ effect.T)
        return np.asarray(most @ np.maximum(effect, 0).T + least @ np.minimum(effect, 0).T)

    @cached_property
    def _layers(self) -> list[tuple[Floats, Floats]]:
        layers: list[tuple[Floats, Floats]] = self.model.layers()
        return layers
