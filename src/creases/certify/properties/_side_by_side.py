"""The networks of a property about several, side by side as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from creases._program import Step
from creases._text import plural
from creases.certify.properties._property import PartNetwork, Property
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network


def put_side_by_side(net: NetworkLike | tuple[NetworkLike, ...], prop: Property) -> Network:
    """Return the network that a property is about, in float64: several are put side by side.

    Its inputs and outputs must be those of the property; a proof of the property is about this network.
    """
    if not prop.networks:
        if isinstance(net, tuple):
            raise InputError("net", "be one network: the property is about one", f"{len(net)}")
        work = _to_float(net)
        _check_sizes(work, prop.n_in, prop.n_out, "")
        return work
    if not isinstance(net, tuple) or len(net) != len(prop.networks):
        names = ", ".join(part.name for part in prop.networks)
        raise InputError("net", f"be a tuple of {len(prop.networks)} networks: {names}", _count(net))
    parts = [_to_float(each) for each in net]
    for each, part in zip(parts, prop.networks, strict=True):
        _check_sizes(each, len(part.inputs), part.n_out, f" of {part.name}")
    return _join(parts, prop.networks, prop.n_in)


def _join(nets: list[Network], parts: tuple[PartNetwork, ...], n_in: int) -> Network:
    """Return one network with the outputs of several, flattened, each of which takes some of its inputs (n_in,)."""
    steps: list[Step] = []
    ends = []
    for net, part in zip(nets, parts, strict=True):
        index = torch.tensor(part.inputs)
        steps.append(Step("gather", (0,), (net.n_in,), tensors={"index": index}, path=f"inputs of {part.name}"))
        steps.append(Step("reshape", (len(steps),), net.input_shape, {"shape": list(net.input_shape)}))
        first = len(steps)  # the number of the network's own input among all values
        steps += [
            replace(step, inputs=tuple(value + first for value in step.inputs), path=f"{part.name}.{step.path}")
            for step in net.steps
        ]
        steps.append(Step("reshape", (len(steps),), (net.n_out,), {"shape": [net.n_out]}))
        ends.append(len(steps))
    steps.append(Step("concat", tuple(ends), (sum(net.n_out for net in nets),), {"dim": 0}, path="outputs"))
    return Network(steps, (n_in,))


def _to_float(net: NetworkLike) -> Network:
    work = as_network(net).to("cpu").to(torch.float64)
    if work.link:
        hint = "pass the model without its last layer to ask about its scores"
        raise InputError("net", "have the outputs that the property names", f"scores before {work.link}", hint)
    return work


def _check_sizes(net: Network, n_in: int, n_out: int, whose: str) -> None:
    if (n_in, n_out) != (net.n_in, net.n_out):
        expected = f"have the network's {plural(net.n_in, 'input')} and {plural(net.n_out, 'output')}{whose}"
        raise InputError("prop", expected, f"{n_in} and {n_out}")


def _count(net: Any) -> str:
    return f"a tuple of {len(net)}" if isinstance(net, tuple) else "one"
