"""Depth: a layer inserted as the identity, proposed by what its best first-order move gains on held-out samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import inf, isfinite

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth._cost import count_cost
from creases.growth._loss_sum import Loss
from creases.growth._proposal import DepthProposal
from creases.growth.integrations import _ranks as ranks
from creases.growth.methods._first_order.consumer import Consumer, as_rows
from creases.growth.methods._first_order.observation import Batches, Observation, iterate_batches
from creases.growth.methods._first_order.products import product
from creases.growth.methods._first_order.route import Route
from creases.growth.methods._first_order.statistics import input_slices, subtract_best_moves
from creases.growth.methods._tiny.bottleneck import best_moves, whitening_matrix
from creases.growth.methods._tiny.growth_sample import GrowthSample, gather_sample
from creases.growth.methods._tiny.line_search import LineSearchResult, ReplayedModel, minimize_loss
from creases.network import Place, deepen
from creases.network.surgery import copy_sharing_parameters, find_place, without_side_effects

_CUTOFF = 1e-6  # directions in which the units vary less, relative to the others, would make the move huge


@dataclass(frozen=True, eq=False)
class LayerMove:
    """The best change of a layer's weights, dW* (Prop. 3.1 of the TINY paper), transposed."""

    weight: Tensor  #: (d, units), the bias last
    gain: float  #: decrease of the mean loss per step along it, to first order
    goal: float  #: mean of |v|^2, the desired change of the layer's outputs


def propose_depth(
    model: nn.Module,
    place: Place | str,
    batches: Batches,
    loss: Loss,
    *,
    validation: Batches | None = None,
    kernel: int = 3,
) -> DepthProposal:
    """Propose a layer after a place's nonlinearity, which starts as the identity.

    What the layer is worth is measured as for TINY's new units. The desired change of the layers behind it, minus what
    their own weights can provide (V_proj), is traced back to the new layer's outputs; the layer's best move
    ``dW* = (1/n) V B' ((1/n) B B')^+`` (Prop. 3.1 of the TINY paper) approximates it; a line search along this move
    (eq. 7) gives the decrease of the mean loss on held-out samples. The move itself is not applied: the inserted layer
    leaves the function as it is.

    Parameters
    ----------
    model, place
        A module and one of its places, or the place's name. The nonlinearity after it must be one that
        :func:`creases.deepen` takes.
    batches, loss, validation
        As in :func:`tiny`.
    kernel
        Size of the kernel where the new layer is a convolution.

    Returns
    -------
    DepthProposal
        Its gain is 0, with the reason in its explanation, where no move lowers the loss on held-out samples.

    Examples
    --------
    >>> numbers = torch.Generator().manual_seed(0)
    >>> x = torch.rand(400, 2, generator=numbers) * 2 - 1
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    >>> with torch.no_grad():
    ...     for parameter, values in zip(model.parameters(), ([[1.0, 0.0], [0.0, 1.0]], 0.0, 0.5, 0.0)):
    ...         _ = parameter.copy_(torch.tensor(values))
    >>> maximum = x.relu().amax(1, keepdim=True)
    >>> proposal = propose_depth(model, "0", (x, maximum), nn.MSELoss())
    >>> proposal.name, proposal.count, proposal.multiply_adds, proposal.gain > 0
    ('1.1', 2, 4, True)
    """
    with ranks.fail_together():
        batches = list(iterate_batches(batches))
        if not batches:
            raise InputError("batches", "have at least one sample")
        x = batches[0][0]
        place = find_place(model, place, X=x)
        twin = copy_sharing_parameters(model)
        inserted = deepen(twin, place, kernel=kernel, X=x)
    sample = gather_sample(twin, inserted.place_name, batches, loss, validation)
    move = _best_move(sample)
    size = _search_size(sample, move)
    gain = size.before - size.after
    reason = "" if size.factor else "no update of a new layer lowers the loss on held-out samples"
    cost = count_multiply_adds(twin, x[:1]) - count_multiply_adds(model, x[:1])
    explanation = {
        "method": "depth",
        "place": inserted.place_name,
        "previous": place.name,
        "reason": reason,
        "units": inserted.new_width,
        "samples": int(sample.sums.count),
        "loss": sample.sums.mean_loss,
        "share_of_goal": move.gain / move.goal if move.goal else 0.0,
        "gain": gain,
        "parameters": inserted.parameters_after - inserted.parameters_before,
        "multiply_adds": cost,
        "line_search": {
            "amplitude": size.factor,
            "samples": size.samples,
            "held_out": sample.has_validation,
            "loss_before": size.before,
            "loss_after": size.after,
            "gain": gain,
            "tried": size.tried,
        },
    }
    return DepthProposal(
        place, inserted.place_name, kernel, inserted.new_width, gain, cost, tuple(x.shape[1:]), explanation
    )


def count_multiply_adds(model: nn.Module, x: Tensor) -> int:
    """Return the multiply-adds of a forward pass: matrix products and convolutions."""
    with without_side_effects(), count_cost() as cost:
        copy_sharing_parameters(model)(x)
    return cost.multiply_adds


def _best_move(sample: GrowthSample) -> LayerMove:
    """Return the best move of the layer that makes a place's units, for V_proj of the layers behind them."""
    route, moves = sample.route, best_moves(sample.sums, cutoff=_CUTOFF)
    goal = torch.zeros((), dtype=torch.float64)
    pairs = sample.sums.features.new_zeros(len(sample.sums.features), route.place.width)
    with ranks.fail_together():
        for observation in sample.observations:
            wanted = _pull_back(route, subtract_best_moves(route, observation, moves)).double()
            goal += wanted.square().sum().cpu()
            for part in input_slices(route, observation.layer_input):
                features = as_rows(route.features(observation.layer_input[part]))
                pairs += product(features, as_rows(wanted[part]))
    ranks.sum_over_ranks([pairs, goal])
    w = whitening_matrix(sample.sums.features, _CUTOFF)
    weight, n = w @ (w.T @ pairs), float(sample.sums.count)
    return LayerMove(weight, float((weight * pairs).sum()) / n, float(goal) / n)


def _pull_back(route: Route, observation: Observation) -> Tensor:
    """Return the consumers' desired changes as those of the units, (n, units, *positions): by the chain rule."""
    goals = {e.link.path: observation.goals[e.link.path] for e in route.consumers}
    with torch.enable_grad():
        z = _outputs(route, observation.layer_input).requires_grad_()
        units = route.propagate_present(z)
        total = torch.zeros((), dtype=z.dtype, device=z.device)
        for e in route.consumers:
            total = total + (e.response(units, _columns(e, route)) * e.goals(goals[e.link.path], z.dtype)).sum()
        return torch.autograd.grad(total, z)[0]


def _outputs(route: Route, layer_input: Tensor) -> Tensor:
    """Return the units before the bend, (n, units, *positions)."""
    with without_side_effects():
        z = route.producer(layer_input)
    assert isinstance(z, Tensor)
    return (z.movedim(-1, 1) if isinstance(route.producer, nn.Linear) else z).clone()


def _columns(consumer: Consumer, route: Route) -> Tensor:
    """Return the consumer's weights of the existing units, (out, units, *columns of one unit)."""
    weight = consumer.layer.weight
    assert isinstance(weight, Tensor)
    columns = consumer.link.columns(route.place.width).to(weight.device)
    return weight.detach()[:, columns if consumer.kind == "flat" else columns[:, 0]]


def _search_size(sample: GrowthSample, move: LayerMove) -> LineSearchResult:
    """Search for the step along a move at which the loss on held-out samples is smallest."""
    route, columns = sample.route, {e.link.path: _columns(e, sample.route) for e in sample.route.consumers}
    start = torch.tensor([sum(len(run.x) for run in sample.runs), sum(run.first for run in sample.runs)]).double()
    ranks.sum_over_ranks([start])
    n, before = int(start[0]), float(start[1] / start[0])
    with torch.no_grad():
        paths = [_Path.along(route, run, move) for run in sample.runs]

    def loss(step: float) -> float:
        total = torch.zeros((), dtype=torch.float64)
        for run, path in zip(sample.runs, paths, strict=True):
            with torch.no_grad():
                difference = route.propagate_present(path.start + step * path.change) - path.arrived
            total += run.loss(
                {
                    e.link.path: partial(e.add_response, units=difference, columns=columns[e.link.path])
                    for e in route.consumers
                }
            )
        ranks.sum_over_ranks([total])
        return float(total) / n if isfinite(total) else inf

    return minimize_loss(loss, before, n)


@dataclass(frozen=True, eq=False)
class _Path:
    """The units of a batch along a move of the layer that makes them."""

    start: Tensor  #: before the bend, (n, units, *positions)
    change: Tensor  #: of that, for a step of 1
    arrived: Tensor  #: as they reach the consumers at the start

    @classmethod
    def along(cls, route: Route, run: ReplayedModel, move: LayerMove) -> _Path:
        start = _outputs(route, run.layer_input)
        rows = [
            as_rows(route.features(run.layer_input[part])) @ move.weight
            for part in input_slices(route, run.layer_input)
        ]
        change = torch.cat(rows).reshape(len(start), *start.shape[2:], start.shape[1]).movedim(-1, 1).to(start.dtype)
        return cls(start, change, route.propagate_present(start))
