"""Finding the places of a model by tracking its units through a run and trying an edit of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from creases._schema import BOOL
from creases._validation import check_arguments
from creases.errors import InputError
from creases.network.surgery._edits import (
    copy_sharing_parameters,
    example,
    same_outputs,
    unwrap_module,
    without_side_effects,
)
from creases.network.surgery._place import (
    CARRIER_LAYERS,
    Link,
    Place,
    Values,
    check_place,
    count_outputs,
    fixed_tensor_reason,
    input_tensors,
    output_tensors,
    plan_addition,
    saved_parameters,
    shared_parameters,
)
from creases.network.surgery._tracking import BEND_FUNCTIONS, UnitTracker


@check_arguments(refused=BOOL)
def places(
    model: nn.Module, input_shape: Sequence[int] | None = None, *, X: Tensor | None = None, refused: bool = False
) -> list[Place]:
    """Return the hidden widths of a model that can change, in the order of its modules.

    They need no declaration: the model runs once on an example while the unit behind every tensor entry is tracked.
    Each place is then tried on a copy: with two more units whose outgoing weights are zero the outputs must not
    change. The model itself, its mode and the random state do not change.

    Parameters
    ----------
    model
        Any ``torch.nn.Module`` whose layers are ``nn.Linear`` and convolutions, with any code between them.
    input_shape
        Shape of one input without the batch axis; needed for models that do not start with a linear layer.
    X
        Inputs (n, *shape) instead of ``input_shape``, for models that need integers or particular values.
    refused
        Include the layers whose width cannot change, with the ``reason``.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    >>> [(place.name, place.width, place.bend, place.cost) for place in places(model)]
    [('0', 8, 'relu', 4)]
    >>> [(place.name, place.reason) for place in places(model, refused=True) if place.reason]
    [('2', "its units are the model's output")]
    """
    survey = Survey(unwrap_module(model), input_shape, X)
    return [place for place in map(survey.place, survey.tracker.first) if refused or not place.reason]


def find_place(
    model: nn.Module, place: Place | str, input_shape: Sequence[int] | None = None, X: Tensor | None = None
) -> Place:
    """Return a place of a model by its name; a place is checked and returned as it is."""
    if not isinstance(place, Place | str):
        raise InputError("place", "be a Place or the name of one", type(place).__name__)
    if isinstance(place, str):
        survey = Survey(model, input_shape, X)
        if place not in survey.tracker.first:
            names = [known.name for known in map(survey.place, survey.tracker.first) if not known.reason]
            expected = f"be one of this model's places, {', '.join(map(repr, names)) or 'of which there are none'}"
            raise InputError("place", expected, repr(place))
        place = survey.place(place)
    check_place(model, place)
    return place


class Survey:
    """The units of a model tracked through a run, and a copy of it to try edits on."""

    def __init__(self, model: nn.Module, input_shape: Sequence[int] | None, X: Tensor | None) -> None:
        self.twin = copy_sharing_parameters(model)
        self.x = example(self.twin, input_shape, X)
        try:
            self.tracker = self.run()
        except Exception as problem:
            shape, source = tuple(self.x.shape), "input_shape" if X is None else "the shape of X"
            raise InputError("model", f"run on an example of shape {shape}", f"{problem}", f"check {source}") from None
        self.shared = shared_parameters(self.twin)

    def run(self) -> UnitTracker:
        """Track the units of the copy in its current state."""
        with without_side_effects():
            return UnitTracker(self.twin).run(self.twin, self.x)

    def place(self, name: str) -> Place:
        """Return the place of a layer's units, with a reason if its width cannot change."""
        width = count_outputs(self.twin.get_submodule(name))
        passages = self.tracker.passages.get(name, [])
        links, lost = self._links(self.tracker, name, width)
        carriers, consumers = self._separate_carriers(links)
        place = Place(
            name=name,
            width=width,
            bend=next((passage.op for passage in passages if passage.op in BEND_FUNCTIONS), ""),
            norm=any(passage.op == "batch_norm" for passage in passages),
            between=tuple(dict.fromkeys(passage.module or passage.op.strip("_") for passage in passages)),
            carriers=carriers,
            consumers=consumers,
            cost=0,
            reason=self._reason(name, links, lost) or ("" if consumers else "no layer reads its units"),
        )
        if place.reason:
            return place
        return self._try_wider(replace(place, cost=saved_parameters(self.twin, [place.group([0])])))

    def _links(self, tracker: UnitTracker, name: str, width: int) -> tuple[tuple[Link, ...], str]:
        """Return the layers that read the units, and the first of them whose columns cannot be assigned to units."""
        links, lost = [], ""
        for path, numbers in tracker.columns.items():
            unit = (numbers - tracker.first[name]).long()
            unit[(unit < 0) | (unit >= width)] = -1
            if (unit >= 0).any():
                link = Link.from_columns(path, unit, width)
                links += [link] if link else []
                lost = lost or ("" if link else path)
        return tuple(links), lost

    def _reason(self, name: str, links: tuple[Link, ...], lost: str) -> str:
        """Return why a place cannot change, as far as a run shows."""
        sides = [(name, output_tensors), *((link.path, input_tensors) for link in links)]
        layers = [(path, self.twin.get_submodule(path), side) for path, side in sides]
        fixed = [fixed_tensor_reason(layer, path, side(layer), self.shared) for path, layer, side in layers]
        if name not in self.tracker.columns:
            fixed[1:] = ["forward does not call it as a layer"]
        elif why := self.tracker.refused.get(
            name, lost and f"{lost!r} reads only some of its units, or in another order"
        ):
            fixed[1:] = [why]
        return next(filter(None, fixed), "")

    def _try_wider(self, place: Place) -> Place:
        """Try a place with two more units, which may reveal another arrangement of columns.

        The columns of a single unit look the same whether channels come first or last, hence the second attempt.
        """
        for _ in range(2):
            wider = self._run_wider(place)
            if isinstance(wider, str):
                return replace(place, reason=wider)
            links, lost = self._links(wider, place.name, place.width + 2)
            if lost or place.name in wider.refused:
                why = f"{lost!r} reads its units in another order"
                return replace(place, reason=wider.refused.get(place.name, why))
            if set(links) == {link.resize(2) for link in (*place.carriers, *place.consumers)}:
                same = same_outputs(self.tracker.outputs, wider.outputs)
                return place if same else replace(place, reason="the model's outputs change when it is wider")
            carriers, consumers = self._separate_carriers(tuple(link.resize(-2) for link in links))
            place = replace(place, carriers=carriers, consumers=consumers)
        return replace(place, reason="other layers read its units when it is wider")

    def _separate_carriers(self, links: tuple[Link, ...]) -> tuple[tuple[Link, ...], tuple[Link, ...]]:
        """Return carriers and consumers separately."""
        carriers = tuple(link for link in links if isinstance(self.twin.get_submodule(link.path), CARRIER_LAYERS))
        return carriers, tuple(link for link in links if link not in carriers)

    def _run_wider(self, place: Place) -> UnitTracker | str:
        """Run the copy with two more units of random fan-in and zero fan-out; return an error as a string."""
        producer = self.twin.get_submodule(place.name)
        numbers = torch.Generator().manual_seed(1)
        values: Values = {}
        for tensor, axis in output_tensors(producer).tensors:
            old = producer._parameters.get(tensor)
            if old is not None:
                shape = list(old.shape)
                shape[axis] = 2
                values[place.name, tensor] = torch.randn(shape, generator=numbers)
        plan = plan_addition(self.twin, place, 2, values, None)
        undo = plan.inverse()
        plan.apply()
        try:
            return self.run()
        except Exception as problem:
            why = f"the model fails when it is wider ({first_line(problem)})"
            return f"{why}; its code or one of its tensors may depend on the width {place.width}"
        finally:
            undo.apply()


def first_line(problem: Exception) -> str:
    """Return the first line of an error's message, or its type."""
    return (str(problem).splitlines() or [type(problem).__name__])[0]
