"""Finding the places of a model: its units are followed through a run, and each place is tried before it is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.network.surgery._carriers import carrier_values
from creases.network.surgery._certificate import same_outputs
from creases.network.surgery._flow import Flow
from creases.network.surgery._function_names import BEND_FUNCTIONS
from creases.network.surgery._layers import CARRIER_LAYERS, input_tensors, output_tensors
from creases.network.surgery._link import Link
from creases.network.surgery._place import Place, check_place, unit_cost
from creases.network.surgery._resize import enlarged
from creases.network.surgery._sandbox import copy_sharing_parameters, example, unwrap_module, without_side_effects
from creases.network.surgery._tracking import UnitTracker


def places(
    model: nn.Module, input_shape: Sequence[int] | None = None, *, data: Tensor | None = None, refused: bool = False
) -> list[Place]:
    """The inner widths of a model that can grow, in the order of its modules.

    Nothing is declared: the model is run once on an example while every entry of every tensor knows the unit it
    carries, and each place is then tried on a copy (two more units whose fan-out is zero: the model must run and give
    the same). The model itself, its mode and the state of random numbers are left alone.

    Parameters
    ----------
    model
        Any ``torch.nn.Module`` whose layers are ``nn.Linear`` and convolutions, with any code between.
    input_shape
        Shape of one input without the batch axis; needed for models that do not start with a linear layer.
    data
        Inputs (n, *shape) in place of ``input_shape``: for models that take integers, or special values.
    refused
        Also list the layers whose width cannot grow, with the ``reason``.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    >>> [(place.name, place.width, place.bend, place.cost) for place in places(model)]
    [('0', 8, 'relu', 4)]
    >>> [(place.name, place.reason) for place in places(model, refused=True) if place.reason]
    [('2', "it gives the model's output")]
    """
    survey = Survey(unwrap_module(model), input_shape, data)
    found = [survey.place(name) for name in survey.flow.first]
    return [place for place in found if refused or not place.reason]


def find_place(
    model: nn.Module, where: Place | str, input_shape: Sequence[int] | None = None, data: Tensor | None = None
) -> Place:
    """The place that a caller means, as it is now."""
    if isinstance(where, Place):
        check_place(model, where)
        return where
    if not isinstance(where, str):
        raise InputError(f"where: expected a Place or its name, got {type(where).__name__}")
    survey = Survey(model, input_shape, data)
    if where not in survey.flow.first:
        known = [place.name for place in map(survey.place, survey.flow.first) if not place.reason]
        raise InputError(f"where: no place {where!r}; this model's places are {', '.join(map(repr, known)) or 'none'}")
    place = survey.place(where)
    check_place(model, place)
    return place


class Survey:
    """One look at a model: how its units flow, and a copy to try places on."""

    def __init__(self, model: nn.Module, input_shape: Sequence[int] | None, data: Tensor | None) -> None:
        self.twin = copy_sharing_parameters(model)
        self.x = example(self.twin, input_shape, data)
        try:
            self.flow = self.run()
        except Exception as problem:
            shape = tuple(self.x.shape)
            given = "input_shape" if data is None else "the data's shape"
            raise InputError(f"model: does not run on an example of shape {shape}: {problem}; check {given}") from None
        uses = Counter(id(p) for module in self.twin.modules() for p in module._parameters.values() if p is not None)
        self.shared = {key for key, n in uses.items() if n > 1}

    def place(self, name: str) -> Place:
        """The place of one layer's units; with a reason where it cannot grow."""
        width = getattr(self.twin.get_submodule(name), output_tensors(self.twin.get_submodule(name)).counter)
        passages = self.flow.passages.get(name, [])
        links, lost = self._links(self.flow, name, width)
        carriers, consumers = self._sorted(links)
        reason = self._reason(name, links, lost) or ("" if consumers else "no layer takes its units")
        place = Place(
            name=name,
            width=width,
            bend=next((passage.op for passage in passages if passage.op in BEND_FUNCTIONS), ""),
            norm=any(passage.op == "batch_norm" for passage in passages),
            between=tuple(dict.fromkeys(passage.module or passage.op.strip("_") for passage in passages)),
            carriers=carriers,
            consumers=consumers,
            cost=0 if reason else unit_cost(self.twin, name, links),
            reason=reason,
        )
        return place if reason else self._tried(place)

    def run(self) -> Flow:
        """Follow the units of the copy as it is now."""
        with without_side_effects():
            return UnitTracker(self.twin).run(self.twin, self.x)

    def _links(self, flow: Flow, name: str, width: int) -> tuple[tuple[Link, ...], str]:
        """The layers that the units enter; and the first of them whose columns cannot be told apart."""
        links, lost = [], ""
        for path, numbers in flow.taken.items():
            unit = (numbers - flow.first[name]).long()
            unit[(unit < 0) | (unit >= width)] = -1
            if (unit >= 0).any():
                link = Link.found(path, unit, width)
                links += [link] if link else []
                lost = lost or ("" if link else path)
        return tuple(links), lost

    def _reason(self, name: str, links: tuple[Link, ...], lost: str) -> str:
        """Why a place cannot grow, as far as one run tells."""
        layer = self.twin.get_submodule(name)
        if "weight" not in layer._parameters:
            return "its weight is computed (weight norm or another parametrization); remove that first"
        if id(layer.weight) in self.shared:
            return f"{name}.weight is shared with another layer"
        if name not in self.flow.taken:
            return "forward does not use it as a layer of its own"
        if name in self.flow.refused:
            return self.flow.refused[name]
        if lost:
            return f"not all of its units enter {lost!r}, or not in their order"
        for path, held in [
            (name, output_tensors(layer)),
            *((k.path, input_tensors(self.twin.get_submodule(k.path))) for k in links),
        ]:
            holder = self.twin.get_submodule(path)
            for tensor, _ in held.tensors:
                owned = {**holder._parameters, **holder._buffers}
                if getattr(holder, tensor, None) is not None and owned.get(tensor) is None:
                    return f"{path}.{tensor} is computed (weight norm or another parametrization); remove that first"
                if id(owned.get(tensor)) in self.shared:
                    return f"{path}.{tensor} is shared with another layer"
        return ""

    def _tried(self, place: Place) -> Place:
        """The place after a trial with two more units; they may show that columns are arranged otherwise.

        A single unit's columns look the same whether channels come first or last, hence the second attempt.
        """
        for _ in range(2):
            flow = self._widened(place)
            if isinstance(flow, str):
                return replace(place, reason=flow)
            links, lost = self._links(flow, place.name, place.width + 2)
            if lost or place.name in flow.refused:
                why = f"its units enter {lost!r} in an order of its own"
                return replace(place, reason=flow.refused.get(place.name, why))
            if set(links) == {link.widened(2) for link in (*place.carriers, *place.consumers)}:
                same = same_outputs(self.flow.outputs, flow.outputs)
                return place if same else replace(place, reason="the model gives other values when it is wider")
            carriers, consumers = self._sorted(tuple(link.widened(-2) for link in links))
            place = replace(place, carriers=carriers, consumers=consumers)
        return replace(place, reason="its units enter other layers when it is wider")

    def _sorted(self, links: tuple[Link, ...]) -> tuple[tuple[Link, ...], tuple[Link, ...]]:
        """Carriers and consumers apart."""
        carriers = tuple(link for link in links if isinstance(self.twin.get_submodule(link.path), CARRIER_LAYERS))
        return carriers, tuple(link for link in links if link not in carriers)

    def _widened(self, place: Place) -> Flow | str:
        """A run with two more units of random fan-in and no fan-out; or why there was none."""
        producer = self.twin.get_submodule(place.name)
        numbers = torch.Generator().manual_seed(1)
        values = carrier_values(self.twin, place, 2, None)
        for tensor, axis in output_tensors(producer).tensors:
            old = producer._parameters.get(tensor)
            if old is not None:
                shape = list(old.shape)
                shape[axis] = 2
                values[place.name, tensor] = torch.randn(shape, generator=numbers)
        plan = enlarged(self.twin, place, 2, values, None)
        undo = plan.inverse()
        plan.apply()
        try:
            return self.run()
        except Exception as problem:
            line = (str(problem).splitlines() or [type(problem).__name__])[0]
            return (
                f"the model does not run when it is wider ({line}); its code or a tensor in it may hold {place.width}"
            )
        finally:
            undo.apply()
