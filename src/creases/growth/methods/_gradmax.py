"""GradMax: new units that leave the function unchanged and get the largest gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from creases._validation import check_count
from creases.growth._integrations import _ranks as ranks
from creases.growth._objective import Loss
from creases.growth._proposal import Proposal
from creases.growth.methods._evidence import Evidence, message_of
from creases.growth.methods._first_order.observation import Batches, Observation, iterate_batches, observe_batches
from creases.growth.methods._first_order.route import Route, UnitPath, as_rows, refuse_place
from creases.growth.methods._first_order.statistics import batch_slices, sample_size, sum_statistics
from creases.growth.methods._first_order.units import NewUnits, check_norm, choose_signs, pass_norm, synchronize_units
from creases.growth.methods._tiny.bottleneck import join_columns, split_columns
from creases.network import Place

_SMALL = {torch.float64: 1e-14, torch.float32: 1e-8}  # of incoming weights that only choose a side of the bend


@dataclass(frozen=True)
class GradMax:
    """Growth by the units with the largest gradient; see :func:`gradmax`."""

    count: int = 1
    samples: int | None = None  #: for the gradient; None: :func:`sample_size`

    def check(self, model: nn.Module, place: Place) -> str:
        """Return why GradMax cannot grow a place; "" where it can."""
        return message_of(lambda: _start(UnitPath(model, place)))

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        batches, _ = evidence.draw(self.samples or sample_size(model, place))
        return gradmax(model, place, batches, evidence.objective.loss, count=self.count)


def gradmax(
    model: nn.Module, place: Place | str, batches: Batches, loss: Loss, *, count: int = GradMax.count
) -> Proposal:
    """Propose units whose incoming weights get the largest gradient for outgoing weights of a given length [1]_.

    Outgoing weights are the top left singular vectors of ``E[dL/da_{l+1} b_{l-1}']``, orthonormal (without that
    constraint copies of the first would win), with the mean length of the existing units' outgoing weights. Incoming
    weights depend on the bend:

    - "zero" where torch gives the bend a slope at 0: the function is unchanged;
    - "small" otherwise (relu'(0) is 0 in torch, so zero incoming weights would never move): along the descent
      direction, so small (1e-14 in float64, 1e-8 in float32) that they only choose the side of the bend;
    - with batch norm, which would scale small weights up: incoming along the gradient, with the sizes of the existing
      units before and after the norm, and outgoing zero ("zero out").

    The gain is 0, as nothing changes at once; ``explanation["gradient"]`` is the squared norm of the gradient of the
    new incoming weights, the rate at which the loss starts to fall (with batch norm it is not known beforehand).

    Parameters
    ----------
    model, place, batches, loss
        As in :func:`tiny`.
    count
        Maximum number of units.

    References
    ----------
    .. [1] Evci, van Merrienboer, Unterthiner, Vladymyrov, Pedregosa, "GradMax", ICLR 2022.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).double()
    >>> x = torch.randn(20, 2, dtype=torch.float64)
    >>> proposal = gradmax(model, "0", (x, x[:, :1]), nn.MSELoss())
    >>> proposal.explanation["start"], bool(proposal.fan_in.any())
    ('zero', False)
    """
    check_count(count, "count")
    with ranks.fail_together():
        pairs = list(iterate_batches(batches))
        observer, source = observe_batches(model, place, pairs, loss)
        observations = list(source)
        route = Route(observer.twin, observer.place, observations[0])
        sums = sum_statistics(route, observations, project=False)
    ranks.sum_over_ranks(sums.tensors())
    explanation: dict[str, Any] = {"method": "gradmax", "place": observer.place.name, "reason": ""}
    explanation |= {"samples": int(sums.count), "loss": sums.mean_loss}
    gradients = {path: part.pairs / sums.count for path, part in sums.consumers.items()}
    inner, values, outer = torch.linalg.svd(join_columns(gradients), full_matrices=False)
    k = min(count, int((values > 1e-12 * max(float(values[:1].sum()), 1e-300)).sum()))
    units = synchronize_units(NewUnits(inner[:, :k], split_columns(outer[:k], gradients), values[:k], k))
    explanation["singular_values"] = units.values.tolist()
    start, slope = _start(route)
    explanation["start"] = start
    if not route.is_smooth and len(units.values):
        units = choose_signs(route, observations, units).units
    if not len(units.values):
        why = "new units get no gradient: a layer before or after them is dead, or nothing correlates with the error"
        explanation |= {"reason": why, "gradient": 0.0, "units": 0}
        return _proposal(route, units, explanation)
    explanation["units"] = len(units.values)
    length = route.mean_fan_out_length()
    s = sums.features / sums.count
    if start == "zero out":
        silent = replace(units, omega={path: torch.zeros_like(columns) for path, columns in units.omega.items()})
        return pass_norm(observer.twin, route, _proposal(route, silent, explanation), pairs, resize=True)
    size = 0.0
    if start == "small":  # not zero, and the units' values are lost in rounding
        size = _SMALL.get(observations[0].layer_output.dtype, 1e-8) / max(float(s.diagonal().sum().sqrt()), 1.0)
    explanation["gradient"] = _gradient_norm(route, observations, units, slope, int(sums.count)) * length**2
    omega = {path: length * columns for path, columns in units.omega.items()}
    return _proposal(route, replace(units, alpha=size * units.alpha, omega=omega), explanation)


def _gradient_norm(route: Route, observations: Sequence[Observation], units: NewUnits, slope: float, n: int) -> float:
    """Return the squared norm of the gradient of all incoming weights, for outgoing ones of length 1."""
    if route.is_smooth:
        return float((slope * units.values).square().sum())
    total = torch.zeros_like(units.alpha)
    for batch in observations:
        for part in batch_slices(route, batch):
            features = route.features(batch.layer_input[part])
            z = torch.einsum("nd...,dk->nk...", features, units.alpha)
            slopes = torch.where(z > 0, route.right_slope, route.left_slope)
            with torch.enable_grad():
                at = torch.zeros_like(z, requires_grad=True)
                arrived = route.propagate_linear(slopes * at)
                gain = torch.zeros((), dtype=z.dtype, device=z.device)
                for consumer in route.consumers:
                    goals = consumer.goals(batch.goals[consumer.link.path][part])
                    change = consumer.response(arrived, units.omega[consumer.link.path])
                    gain = gain + (goals * change.reshape(goals.shape)).sum()
                (slope_at,) = torch.autograd.grad(gain, at)
            total += as_rows(features).T @ as_rows(slope_at)
    ranks.sum_over_ranks([total])
    return float((total / n).square().sum())


def _start(route: UnitPath) -> tuple[str, float]:
    """Return how new units start, and the slope with which a gradient reaches them."""
    if route.place.norm:
        check_norm(route)
        return "zero out", 1.0
    with torch.enable_grad():
        at = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        slope = float(torch.autograd.grad(route.bend(at).sum(), at)[0])
    if route.value_at_zero:
        got = f"{route.place.name!r}, whose bend is {route.value_at_zero:.3g} there"
        refuse_place("have a bend that is 0 at 0 for GradMax", got)
    if not slope and not route.right_slope and not route.left_slope:
        expected = "have a bend with a slope at 0 for GradMax, or no gradient reaches the new units"
        refuse_place(expected, repr(route.place.name))
    if route.is_smooth and slope:
        return "zero", slope
    return "small", max(abs(route.right_slope), abs(route.left_slope))


def _proposal(route: Route, units: NewUnits, explanation: dict[str, Any]) -> Proposal:
    weights, bias = route.layer_weights(units.alpha)
    return Proposal("gradmax", route.place, weights, bias, units.omega, 0.0, explanation)
