"""Folds at patches: filters whose creases pass through a patch of a typical misprediction, also behind batch norm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth._proposal import Proposal
from creases.growth.integrations import _ranks as ranks
from creases.growth.methods._evidence import renumber_samples
from creases.growth.methods._first_order.norm import check_norm, norm_links, pass_norm, row_length
from creases.growth.methods._first_order.observation import Observation, frozen_copy
from creases.growth.methods._first_order.route import Route, UnitPath
from creases.growth.methods._first_order.statistics import sample_size
from creases.growth.methods._fold.explanation import explain_refusal
from creases.growth.methods._fold.patch_direction import (
    PatchFilters,
    PatchMoments,
    filter_shape,
    fold_directions,
    pre_activations,
)
from creases.growth.methods._fold.patch_explanation import PatchFold, explain_patch_folds
from creases.growth.methods._fold.patch_sample import PatchSample, seen_rows
from creases.growth.methods._fold.patches import strongest_patches
from creases.growth.methods._fold.typical_mispredictions import (
    TypicalMisprediction,
    other_mispredictions,
    typical_mispredictions,
)
from creases.network import Place, widen
from creases.network.surgery import input_tensors

#: Fall of the mean loss, to first order and relative to it, at which the folds are tried on other samples.
TRIED = 0.02

#: Sizes, each an eighth of the last, that are tried until one lowers the loss; how far a parabola is extrapolated.
ATTEMPTS, MAX_STEPS = 2, 8.0


def check_patches(path: UnitPath) -> None:
    """Refuse places whose units have no crease through a chosen patch."""
    why = ""
    if not path.has_bias:
        why = "it has no bias, so its creases all pass through 0"
    elif path.is_smooth or path.value_at_zero:
        why = f"its bend ({path.place.bend or 'none'}) has no crease at 0"
    if why:
        raise InputError("place", "be one that can be folded", f"{path.place.name!r}: {why}")
    check_norm(path)


def patch_fold(
    model: nn.Module,
    place: Place,
    X: Tensor,
    y: Any,
    *,
    loss: str,
    count: int,
    k: int,
    restarts: int,
    eps: float,
    seed: int,
    weight: Any,
    tried: Sequence[int],
) -> Proposal:
    """Propose filters that fold at patches of typical mispredictions; arguments are those of :func:`fold`.

    It looks at 1024 samples at most. Of each typical misprediction the patch is taken at which the loss's gradient by
    a new unit's output is largest. The filter's crease passes through it, in the direction of the largest gain to first
    order; what the biases of the layers behind can do does not count. Filters are orthogonal as TINY's are. Outgoing
    weights are along the gradient; all together they are ``eps`` times as long as those of a present unit. The gain is
    estimated on other samples, with those biases adapted.
    """
    with ranks.fail_together():
        check_patches(UnitPath(model, place))
        rows = seen_rows(len(X))
        index = torch.from_numpy(rows)
        some = None if weight is None else np.asarray(torch.as_tensor(weight).cpu())[rows]
        target = y[index.to(y.device)] if isinstance(y, Tensor) else np.asarray(y)[rows]
        sample = PatchSample.from_model(model, place, X[index.to(X.device)], target, loss, some, seed)
        noise = np.isin(rows, tried) & sample.state.wrong
        typical = _typical(sample, count, max(k, count), restarts, noise)
        if typical:
            search = _PatchSearch.from_sample(sample, sample_size(model, place))
            chosen = search.choose(typical, count, eps)
        else:
            tired = "earlier folds at all mispredicted samples did not help, so these are treated as noise"
            chosen = tired if noise.any() else "no sample is mispredicted"
    chosen = ranks.from_first(chosen)
    if isinstance(chosen, str):
        return _empty_proposal(model, place, chosen)
    proposal, effect = search.proposal(chosen)
    if not effect["predicted_gain"] > 0:
        return _empty_proposal(model, place, "no fold at a typical misprediction lowers the loss of other samples")
    sizes = {"seen": len(rows), "searched": search.size, "scored": effect.pop("scored")}
    kind = "unit" if isinstance(search.route.producer, nn.Linear) else "filter"
    explanation = explain_patch_folds(place, kind, chosen.folds, sample.state, effect, sizes, noise)
    explanation = renumber_samples(explanation, index)
    return replace(proposal, gain=effect["predicted_gain"], explanation=explanation)


@dataclass(frozen=True, eq=False)
class ChosenFilters:
    """Folds and their filters, at their final size."""

    folds: list[PatchFold]
    filters: PatchFilters


@dataclass(frozen=True, eq=False)
class _PatchSearch:
    """The search for filters on an importance sample."""

    sample: PatchSample
    used: NDArray[np.int64]  #: (m,) samples that choose the filters
    observations: list[Observation]
    route: Route

    @classmethod
    def from_sample(cls, sample: PatchSample, size: int) -> _PatchSearch:
        """Observe about ``size`` samples."""
        rows, weight = sample.draw(size)
        observations = sample.observe_centered(rows, weight)
        return cls(sample, rows, observations, Route(sample.twin, sample.place, observations[0]))

    @property
    def size(self) -> int:
        """Return how many samples choose the filters."""
        return len(self.used)

    def choose(self, typical: Sequence[TypicalMisprediction], count: int, eps: float) -> ChosenFilters | str:
        """Return the best filters at typical mispredictions, at most ``count``, or why there is none."""
        folds = self._patches(typical, count)
        if not folds:
            return "new units get no gradient from any mispredicted sample"
        moments = PatchMoments.from_observations(self.route, self.observations)
        filters, order = fold_directions(self.route, self.observations, moments, [fold.patch for fold in folds])
        if not len(order):
            return "no crease through a patch of a typical misprediction lowers the loss"
        place, twin = self.sample.place, self.sample.twin
        if self.route.has_norm_first:  # which undoes the size of incoming weights: its own weights say how large it is
            spread = ((filters.rows @ moments.covariance) * filters.rows).sum(1).clamp_min(1e-30).sqrt()
            (link,) = norm_links(twin, place)
            weight = twin.get_submodule(link.path).weight
            assert isinstance(weight, Tensor)
            size = (float(weight.detach().double().abs().mean()) or 1.0) / spread
        else:
            size = row_length(twin, place) / filters.rows.norm(dim=1)
        filters = filters.scale(size, eps * self.route.mean_fan_out_length() / len(order))
        active = self._active_shares(filters)
        chosen = [replace(folds[number], unit=place.width + i) for i, number in enumerate(order.tolist())]
        gains = filters.gains.tolist()
        chosen = [replace(fold, first_order=g, active=a) for fold, g, a in zip(chosen, gains, active, strict=True)]
        return ChosenFilters(chosen, filters)

    def _patches(self, typical: Sequence[TypicalMisprediction], count: int) -> list[PatchFold]:
        """Return the strongest patch of each sample, then the next ones where there are fewer samples than filters."""
        rows = np.array([each.index for each in typical])
        ones = self.sample.observe(rows, np.ones(len(rows)))
        turns = -(-count // len(typical))
        where = [(batch, i) for batch in ones for i in range(batch.count)]
        patches = [strongest_patches(self.route, batch, i, turns) for batch, i in where]
        return [
            PatchFold(each, parts[turn])
            for turn in range(turns)
            for each, parts in zip(typical, patches, strict=True)
            if turn < len(parts)
        ][:count]

    def _active_shares(self, filters: PatchFilters) -> list[float]:
        """Return which share of a batch's patches lies on the active side of each filter."""
        z = pre_activations(self.route, self.observations[0].layer_input, filters)
        return (z > 0).double().movedim(1, 0).flatten(1).mean(1).tolist()

    def _mean_responses(self, filters: PatchFilters) -> dict[str, Tensor]:
        """Return by consumer the mean change (out,) of its output, which its bias, or a norm behind it, takes back."""
        layer_input = self.observations[0].layer_input
        arrived = self.route.propagate(pre_activations(self.route, layer_input, filters), self.route.bend)
        out = {}
        for consumer in self.route.consumers:
            change = consumer.response(arrived, filters.columns[consumer.link.path].to(arrived.dtype))
            out[consumer.link.path] = change.movedim(1, -1).reshape(-1, change.shape[1]).mean(0)
        return out

    def proposal(self, chosen: ChosenFilters) -> tuple[Proposal, dict[str, Any]]:
        """Return the proposal, and its effect on samples that did not choose it."""
        sample, filters = self.sample, chosen.filters
        bias = -(filters.rows * filters.points).sum(1)
        weights = filter_shape(self.route, filters.rows)
        proposal = Proposal("fold", sample.place, weights, bias, filters.columns, 0.0, {})
        plain = sample.X[torch.from_numpy(sample.others(np.zeros(0, np.int64))).to(sample.X.device)]
        proposal = pass_norm(sample.twin, self.route, proposal, [(plain, plain)], resize=self.route.is_homogeneous)
        rows = sample.others(np.union1d(self.used, [fold.typical.index for fold in chosen.folds]))
        state = sample.state
        before = float((state.weight[rows] * state.loss[rows]).sum() / state.weight[rows].sum())
        once = float(filters.gains.sum())
        size, shifts, gain = TRIED * before / once, self._mean_responses(filters), 0.0
        for _ in range(ATTEMPTS):
            after = [sample.measure(_widened(sample.twin, proposal, k * size, shifts), rows)[0] for k in (1, 2)]
            gain = _best_gain(after[0] - before, after[1] - before)
            if gain > 0:
                break
            size /= 8
        _, outputs = sample.measure(_widened(sample.twin, proposal, 1.0), rows)
        change = float(np.abs(outputs - sample.outputs[rows]).max())
        effect = {"predicted_gain": gain, "largest_change": change, "scored": len(rows)}
        return proposal, effect


def _typical(
    sample: PatchSample, count: int, k: int, restarts: int, noise: NDArray[np.bool_]
) -> list[TypicalMisprediction]:
    """Return the typical mispredictions of about k clusters, and further ones where they are fewer than ``count``."""
    state, n = sample.state, len(sample.X)
    options: dict[str, Any] = {"k": k, "restarts": restarts, "seed": sample.seed, "weight": state.weight}
    everything = (np.arange(n), np.ones(n))
    typical = typical_mispredictions(
        sample.coordinates, state.loss, state.wrong, noise=noise, fit=everything, **options
    )
    if len(typical) < count:
        typical += other_mispredictions(typical, state.kind, state.wrong & ~noise, count - len(typical))
    return typical[:count]


def _widened(
    twin: nn.Module, proposal: Proposal, factor: float, shifts: Mapping[str, Tensor] | None = None
) -> nn.Module:
    """Return a copy with the units added, their outgoing weights times a factor; ``shifts`` of outputs are undone."""
    other = frozen_copy(twin)
    for path, shift in (shifts or {}).items():
        layer = other.get_submodule(path)
        layer.register_forward_hook(_subtract(factor * shift, -1 if isinstance(layer, nn.Linear) else 1))
    columns = {path: factor * part for path, part in proposal.fan_out.items()}
    widen(other, proposal.place, proposal.fan_in, proposal.bias, columns, carriers=proposal.carriers)
    return other.eval()


def _subtract(shift: Tensor, axis: int) -> Callable[[nn.Module, Any, Tensor], Tensor]:
    """Return a hook that subtracts a constant (out,) from a layer's output, with channels on axis 1 or last."""

    def hook(module: nn.Module, args: Any, out: Tensor) -> Tensor:
        return out - (shift.reshape(-1, *[1] * (out.ndim - 2)) if axis == 1 else shift).to(out)

    return hook


def _best_gain(once: float, twice: float) -> float:
    """Return the largest fall of a parabola along a line, up to ``MAX_STEPS``, from its values at one and two steps."""
    slope, curvature = (4 * once - twice) / 2, twice - 2 * once
    best = min(-slope / curvature, MAX_STEPS) if curvature > 0 else 2.0
    return -(slope * best + curvature * best**2 / 2) if best > 0 else 0.0


def _empty_proposal(model: nn.Module, place: Place, why: str) -> Proposal:
    """Return a proposal without units, with the reason."""
    weight = model.get_submodule(place.name).weight
    assert isinstance(weight, Tensor)
    nothing = torch.zeros(0, dtype=torch.float64)
    columns = {}
    for link in place.consumers:
        layer = model.get_submodule(link.path)
        present = layer.weight
        assert isinstance(present, Tensor)
        moved = present.movedim(input_tensors(layer).weight_axis, 1)
        columns[link.path] = nothing.reshape(len(moved), 0, *moved.shape[2:])
    return Proposal(
        "fold", place, nothing.reshape(0, *weight.shape[1:]), nothing, columns, 0.0, explain_refusal(place, why)
    )
