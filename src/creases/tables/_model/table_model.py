"""The model of a table: a sum of curves, planes and units that a person can read completely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from creases._text import plural
from creases._typing import Floats, Ints
from creases._validation import check_number, check_vector
from creases.errors import InputError
from creases.tables._folder.folder import RunFile
from creases.tables._model.row_model import RowModel, model_baselines, scored_model
from creases.tables._model.schema import Facts
from creases.tables._stages.model import Curve, CurveModel, Plane

if TYPE_CHECKING:
    import pandas as pd

    from creases.network import Network
    from creases.tables._words.card import PointsCard
    from creases.tables._words.terms import CurveTerms


# Changes of a model by hand: knots moved or removed, curves flattened, planes forbidden, and what each change does.

#: A knot is meant by a number within this share of its curve's range.
NEAR = 1e-6

#: By input and knot, where the knot goes: a number, or a number and the value there.
Moves = Mapping[str, Mapping[float, float | tuple[float, Any]]]


@dataclass(frozen=True, eq=False)
class Edit:
    """A changed model and what the change does."""

    model: TableModel  #: the new model
    flips: Ints  #: numbers, from 0, of the table's rows whose class is another one; of a regression none
    changes: Floats  #: (n, m) of the scores of the table's rows
    scores: pd.DataFrame | None  #: accuracy, or R², "before" and "after" on each part of the rows

    def __str__(self) -> str:
        lines = []
        if self.model.classes is not None:
            lines.append(f"{plural(len(self.flips), 'row')} of {len(self.changes)} decided otherwise")
        lines.append(f"scores change by at most {np.abs(self.changes).max(initial=0.0):.3g}")
        return "; ".join(lines) + ("" if self.scores is None else f"\n{self.scores.to_string()}")


def _change_curves(
    model: TableModel, move: Moves, remove: Mapping[str, Sequence[float]], flatten: Sequence[str]
) -> tuple[Curve, ...]:
    """Return the curves of a model after changes by hand; see :meth:`TableModel.edit`."""
    features, curves = model.schema.features, dict(model.curves)
    listing = f"they are {', '.join(features)}"
    for param, changes in (("move", move), ("remove", remove)):
        if strangers := [name for name in changes if name not in curves]:
            raise InputError(param, "name inputs of the model", repr(strangers[0]), listing)
    for name, moves in move.items():
        feature = model.schema.encoder.features[features.index(name)]
        if feature.is_lookup:
            levels = next(column.levels for column in model.schema.encoder.inputs if column.name == feature.column)
            if unknown := [text for text in moves if str(text) not in levels]:
                hint = f"the first are {', '.join(levels[:3])}"
                raise InputError("move", f"name values of {name!r}", repr(unknown[0]), hint)
            moves = {(k := levels.index(str(text)) + 1.0): (k, effect) for text, effect in moves.items()}
        curves[name] = _move_knots(curves[name], name, moves)
    for name, knots in remove.items():
        curve = curves[name]
        removed = {_find_knot(curve, name, knot, "remove") for knot in knots}
        left = [k for k in range(len(curve.knots)) if k not in removed]
        if len(left) < 2:
            hint = "make the curve constant with {0}"
            raise InputError("remove", f"leave two knots of {name!r}", f"{len(left)}", hint, [("flatten", [name])])
        curves[name] = replace(curve, knots=curve.knots[left], values=curve.values[left], errors=curve.errors[left])
    for name in [flatten] if isinstance(flatten, str) else flatten:
        inputs = [each for each, column in zip(features, model.schema.columns, strict=True) if name in (each, column)]
        if not inputs:
            raise InputError("flatten", "name columns of the model", repr(name), listing)
        for each in inputs:
            curves[each] = replace(curves[each], values=0 * curves[each].values, errors=0 * curves[each].errors)
    return tuple(curves.values())


def _find_knot(curve: Curve, name: str, knot: Any, param: str) -> int:
    number = check_number(knot, f"{param}[{name!r}]")
    distance = np.abs(curve.knots - number)
    k = int(distance.argmin())
    if distance[k] > NEAR * np.ptp(curve.knots):
        listing = ", ".join(f"{each:g}" for each in curve.knots)
        raise InputError(param, f"name knots of {name!r}", f"{number:g}", f"they are at {listing}")
    return k


def _move_knots(curve: Curve, name: str, moves: Mapping[float, Any]) -> Curve:
    knots, values = curve.knots.copy(), curve.values.copy()
    for knot, goal in moves.items():
        k = _find_knot(curve, name, knot, "move")
        place, value = goal if isinstance(goal, tuple) else (goal, values[k])
        knots[k] = check_number(place, f"move[{name!r}][{knot!r}]")
        values[k] = check_vector(np.atleast_1d(value), f"move[{name!r}][{knot!r}]", values.shape[1])
    if not (np.diff(knots) > 0).all():
        got = ", ".join(f"{knot:g}" for knot in knots)
        raise InputError("move", f"leave the knots of {name!r} in their order", got, "remove a knot instead")
    if not curve.is_number and not np.array_equal(knots, curve.knots):
        raise InputError("move", "leave the knots 0 and 1 of a category in place", f"those of {name!r}")
    return replace(curve, knots=knots, values=values)


def _kept_planes(model: TableModel, forbid: Sequence[tuple[str, str]]) -> tuple[Plane, ...]:
    """Return the planes that are not forbidden, by the names of their variables or else by those of their columns."""
    planes, columns = model.function.planes, model.schema.columns
    variables = [set(names) for names in model.planes]
    owners = [{columns[j] for j, *_ in plane.inputs} for plane in planes]
    forbidden: set[int] = set()
    for pair in [forbid] if len(forbid) == 2 and all(isinstance(name, str) for name in forbid) else forbid:
        named = [[k for k, each in enumerate(names) if each == set(pair)] for names in (variables, owners)]
        if not any(named):
            listing = ", ".join(" and ".join(names) for names in model.planes) or "none"
            raise InputError("forbid", "name pairs of columns with a plane", repr(pair), f"the planes are: {listing}")
        forbidden |= set(named[0] or named[1])
    return tuple(plane for k, plane in enumerate(planes) if k not in forbidden)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableModel(RowModel):
    """A model of a table: what :func:`creases.fit_table` fits and :func:`creases.load` loads.

    It predicts and explains rows of the table's columns: a file, a DataFrame, a mapping or a list of mappings from
    column names to cells, or an array in the order of the input columns. They are encoded as the table was: see
    :class:`creases.tables.TableEncoding`.
    """

    _title: ClassVar[str] = "curves"

    function: CurveModel  #: of encoded rows, in the table's own units

    @property
    def _form(self) -> str:
        """What the model is called beside others: one without a bend has no curves."""
        return self._title if self.function.n_bends else "straight lines"

    @property
    def network(self) -> Network:
        """The same function as a network of encoded rows; with classes, it has a logit for each."""
        return self.function.network

    @property
    def curves(self) -> Mapping[str, Curve]:
        """What each encoded input adds to the scores, by its name."""
        return dict(zip(self.schema.features, self.function.curves, strict=True))

    @property
    def planes(self) -> dict[tuple[str, str], Plane]:
        """What two variables add together beyond their curves, by the two names.

        A variable is a column, a part of a date (``"sold month"``), or that a column is missing (``"distance is
        missing"``) or a code.
        """
        features = self.schema.encoder.features
        names = [[features[j].variable for j, *_ in plane.inputs] for plane in self.function.planes]
        return {(first, second): plane for (first, second), plane in zip(names, self.function.planes, strict=True)}

    def _outputs(self, X: Floats) -> Floats:
        """Return a logit for each class, or the predicted targets, of encoded rows X (n, d)."""
        return self.function.outputs(X)

    @property
    def _largest(self) -> float | None:
        """With a logarithmic link, whose network puts out logarithms of targets, the largest prediction; else None."""
        return self.function.largest if self.function.link == "log" else None

    def _describe(self) -> dict[str, Any]:
        """Return the effects of the columns and all parts of the sum, as plain data for JSON."""
        return {"kind": "curves", "effects": self._effects, "parts": self.function.to_dict()}

    def _write_files(self, folder: Path) -> None:
        """Write the predictions of the model and of simpler ones, which reports compare, and of held-out rows."""
        from creases.tables._model.predictions import held_rows
        from creases.tables._scores.baselines import save_baselines

        data, is_refitted = scored_model(self).data, scored_model(self) is not self
        if self._held is not None or ((self._folder or folder) / RunFile.HELD).exists():
            held_rows(self).save(folder / RunFile.HELD)
        if data is not None and data.source is not None:
            save_baselines(model_baselines(self), data, folder / RunFile.BASELINES, always=is_refitted)

    def card(self, *, integer: bool = False) -> PointsCard:
        """Return the model as a card of points to add up by hand, of whole numbers if they are to be integers."""
        from creases.tables._words.card import points_card

        return points_card(self, integer=integer)

    def _terms(self) -> CurveTerms:
        """Return the curves, planes and units with the names and units of columns, for words."""
        from creases.tables._words.terms import CurveTerms, plain_name

        schema = self.schema
        return CurveTerms(schema.encoder, schema.classes, plain_name(schema.target), schema.threshold, self.function)

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
            ``{"age": {30: (35, 0.2)}}``. Of a column of very many values, its values with other effects:
            ``{"customer": {"Miller": 0.2}}``.
        remove
            By input, knots to leave out: ``{"age": [30, 45]}``. A removed first or last knot shortens the curve, which
            is constant beyond it.
        flatten
            Columns or inputs whose curves become 0.
        forbid
            Pairs of variables, or of columns, without a plane: ``[("age", "town")]``; see :attr:`planes`.

        Examples
        --------
        >>> import creases
        >>> from creases import problems
        >>> model = creases.fit_table(problems.get("iris"))
        >>> change = model.edit(flatten=["sepal width (cm)"])
        >>> bool(change.model.curves["sepal width (cm)"].values.any()), len(change.flips) > 0
        (False, True)
        """
        curves = _change_curves(self, move or {}, remove or {}, flatten)
        function = replace(self.function, curves=curves, planes=_kept_planes(self, forbid))
        data, folder = self.data, self._folder
        if data is None and folder is not None and (folder / RunFile.SETTINGS).exists():  # its rows are read again
            from creases.tables._folder.settings import FitSettings

            data = FitSettings.load(folder).load_split()
        changed = replace(self, function=function, data=data, _facts=Facts(), _folder=None, _held=None, _scored=None)
        source = None if data is None else data.source
        if rows is None and source is None:
            raise InputError("rows", "be given for a model without the rows it was fitted to")
        X = source.X if rows is None and source is not None else self.encode(rows).X
        numbers = np.arange(len(X)) if rows is not None or source is None or source.rows is None else source.rows
        change, flips = function.scores(X) - self.function.scores(X), np.zeros(0, np.int64)
        if self.classes is not None:
            before, after = (self.schema.class_numbers(each._outputs(X)) for each in (self, changed))
            flips = numbers[before != after]
        if data is None or source is None:
            return Edit(changed, flips, change, None)
        import pandas as pd

        from creases.tables._scores.baselines import score_outputs

        pairs = {"before": self, "after": changed}
        scores = {name: score_outputs(each._outputs, data, each.schema.threshold) for name, each in pairs.items()}
        return Edit(changed, flips, change, pd.DataFrame({name: each.by_part for name, each in scores.items()}))
