"""The samples that folds at patches are chosen from: their losses, coarse features, and what a place sees of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from creases._typing import Floats, Ints
from creases.errors import InputError
from creases.growth._cost import charge
from creases.growth._loss_sum import LossSum
from creases.growth.methods._first_order.observation import Observation, PlaceObserver, frozen_copy
from creases.growth.methods._fold.importance_sample import importance_sample
from creases.growth.methods._fold.predictions import Decisions, Residuals, decisions, residuals
from creases.growth.methods._fold.subspace import leading_directions
from creases.network import Place
from creases.network.surgery import without_side_effects

#: Samples that a proposal looks at, at most, and other ones on which it is checked.
LOOK, OTHERS = 1024, 256

#: Samples run at a time.
PART = 128

#: Coarse features of what enters the layer, at most, and their leading directions that are clustered.
FEATURES, DIRECTIONS = 256, 16


def seen_rows(n: int) -> Ints:
    """Return which of n samples are looked at, (m,) rising: the same ones in every growth step."""
    return np.sort(np.random.default_rng(0).permutation(n)[:LOOK]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class PatchSample:
    """Samples, their predictions, and a copy of the model in eval mode on which a place is observed."""

    twin: nn.Module
    place: Place
    X: Tensor  #: (n, *shape)
    y: Tensor  #: (n, ...)
    state: Decisions | Residuals
    features: Floats  #: (n, f) coarse features of what enters the layer
    outputs: Floats  #: (n, m)
    seed: int

    @classmethod
    def from_model(
        cls, model: nn.Module, place: Place, X: Tensor, y: Any, loss: str, weight: Any, seed: int
    ) -> PatchSample:
        """Run samples once, without gradients."""
        twin = frozen_copy(model)
        outputs, features = _look(twin, place, X)
        state = (decisions if loss == "classification" else residuals)(outputs, flat_targets(y), weight)
        target = torch.as_tensor(state.true) if isinstance(state, Decisions) else torch.as_tensor(outputs - state.e)
        return cls(twin, place, X, target, state, features, outputs, seed)

    @cached_property
    def coordinates(self) -> Floats:
        """Return the coarse features in their leading directions, (n, k)."""
        centered = self.features - self.features.mean(axis=0)
        if centered.shape[1] <= DIRECTIONS:
            return np.asarray(centered)
        charge(centered.size * DIRECTIONS)
        return np.asarray(centered @ leading_directions(centered, DIRECTIONS, self.seed))

    def draw(self, size: int) -> tuple[Ints, Floats]:
        """Return about ``size`` samples, half of them drawn by their loss, and what each stands for (mean 1)."""
        return importance_sample(self.state.weight * self.state.loss, size, self.seed)

    def others(self, used: Ints) -> Ints:
        """Return samples that were not used, in random order; all of them where hardly any are left."""
        n = len(self.X)
        rest = np.setdiff1d(np.arange(n), used)
        rest = rest if len(rest) >= min(n // 4, OTHERS // 4) and len(rest) else np.arange(n)
        return np.random.default_rng(self.seed).permutation(rest)[:OTHERS].astype(np.int64)

    def observe(self, rows: Ints, weight: Floats) -> list[Observation]:
        """Return observations of samples (m,), with goals weighted so that their sum is that of the mean loss."""
        observer = PlaceObserver(self.twin, self.place, LossSum(_sample_losses))
        out = []
        share = torch.as_tensor(weight * self.state.weight[rows] / len(rows))
        for start in range(0, len(rows), PART):
            index = torch.as_tensor(rows[start : start + PART])
            batch = observer.observe(self.X[index.to(self.X.device)], self.y[index])
            factor = share[start : start + PART]
            goals = {
                path: goal * factor.to(goal).reshape(-1, *[1] * (goal.ndim - 1)) for path, goal in batch.goals.items()
            }
            out.append(replace(batch, goals=goals))
        return out

    def observe_centered(self, rows: Ints, weight: Floats) -> list[Observation]:
        """Return :meth:`observe` with goals from which what the consumers' biases can do is subtracted."""
        batches = self.observe(rows, weight)
        share = torch.as_tensor(weight * self.state.weight[rows] / len(rows))
        shares = torch.split(share, PART)
        for link in self.place.consumers:
            axis = -1 if isinstance(self.twin.get_submodule(link.path), nn.Linear) else 1
            flat = [batch.goals[link.path].movedim(axis, -1) for batch in batches]  # (n, *outputs, out)
            total = torch.stack([part.double().flatten(0, -2).sum(0) for part in flat]).sum(0)
            mean = total / (float(share.sum()) * max(flat[0][0, ..., 0].numel(), 1))
            for batch, part, factor in zip(batches, flat, shares, strict=True):
                constant = factor.to(part).reshape(-1, *[1] * (part.ndim - 1)) * mean.to(part)
                batch.goals[link.path] = (part - constant).movedim(-1, axis).contiguous()
        return batches

    def measure(self, model: nn.Module, rows: Ints) -> tuple[float, Floats]:
        """Return the mean loss of another model on samples, and its outputs (m, o)."""
        outputs = model_outputs(model, self.X[torch.as_tensor(rows).to(self.X.device)])
        weight, y = self.state.weight[rows], self.y[torch.as_tensor(rows)].numpy()
        state = (decisions if isinstance(self.state, Decisions) else residuals)(outputs, y, weight)
        return state.mean_loss, outputs


def model_outputs(model: nn.Module, X: Tensor) -> Floats:
    """Return the outputs (n, m) of a model that is in eval mode."""
    with without_side_effects():
        return np.concatenate([_as_numbers(model(part)) for part in _parts(X)])


def flat_targets(y: Any) -> Any:
    """Return targets (n, ...) as (n,) or (n, m)."""
    return y.reshape(len(y), -1) if np.ndim(y) > 2 else y


def _look(twin: nn.Module, place: Place, X: Tensor) -> tuple[Floats, Floats]:
    """Return outputs (n, m), and coarse features (n, f) of what enters a place's layer."""
    layer, features = twin.get_submodule(place.name), list[Floats]()
    handle = layer.register_forward_hook(lambda module, args, out: features.append(_coarse(module, args[0])))
    try:
        outputs = model_outputs(twin, X)
    finally:
        handle.remove()
    return outputs, np.concatenate(features)


def _coarse(layer: nn.Module, x: Tensor) -> Floats:
    """Return a layer's input (n, ...) as features (n, f): channels on a coarse grid of positions."""
    if isinstance(layer, nn.Linear):
        return _as_numbers(x if x.ndim == 2 else x.flatten(1, -2).mean(1))
    cells = max(1, FEATURES // x.shape[1])
    if x.ndim == 3:
        return _as_numbers(F.adaptive_avg_pool1d(x, min(cells, x.shape[2])))
    side = int(cells**0.5)
    return _as_numbers(F.adaptive_avg_pool2d(x, (min(side, x.shape[2]), min(side, x.shape[3]))))


def _as_numbers(x: Any) -> Floats:
    if not isinstance(x, Tensor):
        raise InputError("model", "return one tensor of outputs to be folded", type(x).__name__)
    return np.asarray(x.detach().flatten(1).double().cpu().numpy())


def _parts(X: Tensor) -> Iterator[Tensor]:
    return iter(torch.split(X, PART))


def _sample_losses(outputs: Tensor, target: Tensor) -> Tensor:
    """Return the loss of each sample, (n,): cross-entropy for classes, half the squared error for values."""
    outputs = outputs.flatten(1)
    if target.is_floating_point():
        return (outputs - target.to(outputs)).square().sum(1) / 2
    logits = outputs if outputs.shape[1] > 1 else torch.cat([torch.zeros_like(outputs), outputs], 1)
    return F.cross_entropy(logits, target.to(logits.device), reduction="none")
