"""The model of a table: a sum of curves, planes and units that a person can read whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from creases._typing import Floats
from creases.tables._model.row_model import RowModel
from creases.tables._stages.model import CurveModel

if TYPE_CHECKING:
    from creases.network import Network
    from creases.tables._model.edit import Edit, Moves
    from creases.tables._stages.model import Curve, Plane, Step, Units
    from creases.tables._words.card import PointsCard
    from creases.tables._words.terms import Terms


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableModel(RowModel):
    """A model of a table: what :func:`creases.fit_table` fits and :func:`creases.load` loads.

    It predicts and explains rows of the table's columns: a file, a DataFrame, a mapping or a list of mappings from
    column names to cells, or an array in the order of the input columns. They are encoded as the table was: see
    :class:`creases.tables.TableEncoding`.
    """

    title: ClassVar[str] = "curves"

    function: CurveModel  #: of encoded rows, in the table's own units

    @property
    def network(self) -> Network:
        """The same function as a network of encoded rows; with classes, it has a logit for each."""
        return self.function.network

    @property
    def curves(self) -> Mapping[str, Curve]:
        """What each encoded input adds to the scores, by its name."""
        return self.function.curves

    @property
    def planes(self) -> dict[tuple[str, str], Plane]:
        """What pairs of columns add together beyond their curves, by the two names."""
        columns = dict(zip(self.features, self.columns, strict=True))
        planes = self.function.planes
        return {(columns[plane.features[0][0]], columns[plane.features[1][0]]): plane for plane in planes}

    @property
    def units(self) -> Units | None:
        """What hidden units of many columns add; None if there are none."""
        return self.function.units

    @property
    def steps(self) -> tuple[Step, ...]:
        """What each stage brought on held-out rows."""
        return self.function.steps

    def outputs(self, X: Floats) -> Floats:
        """Return what the network puts out for encoded rows X (n, d): a logit for each class, or the targets."""
        scores = self.function.scores(X)
        return scores * [-0.5, 0.5] if self.classes is not None and len(self.classes) == 2 else scores

    def input_parts(self, X: Floats) -> tuple[Floats, dict[str, Floats]]:
        """Return the intercept (n, m), and what curves, planes and units add to it for rows X (n, d)."""
        return np.repeat(self.function.intercept[None], len(X), axis=0), dict(self.function.parts(X))

    def layers(self) -> list[tuple[Floats, Floats]]:
        """Return weights and biases of the network's layers, with a ReLU between them."""
        from creases.tables._stages.layers import to_layers

        return to_layers(self.function)

    def describe(self) -> dict[str, Any]:
        """Return the effects of the columns and all parts of the sum, as plain data for JSON."""
        return {"kind": "curves", "effects": self._effects, "parts": self.function.to_dict()}

    def write_files(self, folder: Path) -> None:
        """Write the predictions of the model and of simpler ones, which reports compare."""
        from creases.tables._folder.folder import RunFile
        from creases.tables._scores.stored import save_baselines

        data = self.scored.data
        if data is not None and data.source is not None:
            save_baselines(self.baselines, data, folder / RunFile.BASELINES, always=self.scored is not self)

    def card(self) -> PointsCard:
        """Return the model as a card of points to add up by hand."""
        from creases.tables._words.card import points_card

        return points_card(self)

    def terms(self) -> Terms:
        """Return the curves, planes and units with the names and units of columns, for words."""
        from creases.tables._words.terms import Terms

        return Terms.from_model(self)

    def __str__(self) -> str:
        from creases.tables._words.model_text import describe_model

        return "\n".join(describe_model(self))

    def edit(
        self,
        rows: Any = None,
        *,
        move: Moves | None = None,
        remove: Mapping[str, Sequence[float]] | None = None,
        flatten: Sequence[str] = (),
        forbid: Sequence[tuple[str, str]] = (),
    ) -> Edit:
        """Return another model with curves or planes changed by hand, and what the change does.

        Parameters
        ----------
        rows
            Rows to compare the models on; by default all rows of the table.
        move
            By input and knot, where the knot goes: ``{"age": {30: 35}}``, or with the value that the curve has there,
            ``{"age": {30: (35, 0.2)}}``.
        remove
            By input, knots to leave out: ``{"age": [30, 45]}``. A removed first or last knot shortens the curve, which
            is constant beyond it.
        flatten
            Columns or inputs whose curves become 0.
        forbid
            Pairs of columns without a plane: ``[("age", "town")]``.

        Examples
        --------
        >>> import creases
        >>> from creases import problems
        >>> model = creases.fit_table(problems.get("iris"))
        >>> change = model.edit(flatten=["petal width (cm)"])
        >>> bool(change.model.curves["petal width (cm)"].values.any()), len(change.flips) > 0
        (False, True)
        """
        from creases.tables._model.edit import edit_model

        return edit_model(self, rows, move=move or {}, remove=remove or {}, flatten=flatten, forbid=forbid)
