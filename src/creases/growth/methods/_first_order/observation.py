"""A place during a forward and backward pass: its inputs, the desired changes behind it, and sums of their products."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth._budget import charge
from creases.growth._objective import Loss, LossSum
from creases.network import Place
from creases.network.surgery import copy_sharing_parameters, find_place, unwrap_module, without_side_effects

Batches = Iterable[tuple[Tensor, Tensor]]


@dataclass(frozen=True, eq=False)
class Observation:
    """One batch at a place, in the model's own layout and dtype."""

    layer_input: Tensor  #: b_{l-1}, the producer's input
    layer_output: Tensor  #: a_l, the producer's output
    consumer_inputs: dict[str, Tensor]  #: by consumer's path: its whole input
    goals: dict[str, Tensor]  #: by consumer's path: v_goal = -dL/da_{l+1}, L the loss of one sample (eq. 1, eta = 1)
    loss: float  #: summed over the samples
    count: int  #: samples


@dataclass(eq=False)
class PlaceObserver:
    """A copy of a model (same weights, eval mode, no hooks) on which one place is observed.

    The model itself, its mode, gradients and hooks do not change, nor does torch's random state.
    """

    twin: nn.Module
    place: Place
    loss_sum: LossSum  #: the loss
    in_place: bool = False  #: whether the model modifies tensors after layers used them, so that copies are needed

    @classmethod
    def from_model(cls, model: nn.Module, place: Place | str, loss: Loss, x: Tensor) -> PlaceObserver:
        """Return an observer of a place, or of the place of that name; ``x`` are some inputs."""
        model = unwrap_module(model)
        if not callable(loss):
            raise InputError("loss", "be a function of outputs and targets", type(loss).__name__)
        return cls(frozen_copy(model), find_place(model, place, X=x), LossSum(loss))

    def observe(self, x: Tensor, target: Any) -> Observation:
        """Run one batch forwards, and from the loss back to the consumers' outputs."""
        recorder = TensorRecorder(self.in_place)
        observation = self._observe_once(x, target, recorder)
        if all(x._version == version for x, version in recorder.tensors):  # else it runs again, with copies
            return observation
        self.in_place = True
        return self._observe_once(x, target, TensorRecorder(True))

    def _observe_once(self, x: Tensor, target: Any, recorder: TensorRecorder) -> Observation:
        inputs: dict[str, Tensor] = {}
        leaves: dict[str, Tensor] = {}
        passed: list[Tensor] = []
        producer = self.twin.get_submodule(self.place.name)
        handles = [
            producer.register_forward_hook(lambda m, args, out: passed.extend(map(recorder.keep, (args[0], out))))
        ]
        for link in self.place.consumers:
            consumer = self.twin.get_submodule(link.path)
            handles.append(consumer.register_forward_hook(_leaf(link.path, inputs, leaves, recorder)))
        try:
            with without_side_effects(), torch.enable_grad():
                outputs = self.twin(x)
                total = self.loss_sum(outputs, target, len(x))
                if not bool(torch.isfinite(total)):
                    raise InputError("loss", "be finite on every batch", f"{float(total.detach())}")
                slopes = _gradients(total, list(leaves.values()))
        finally:
            for handle in handles:
                handle.remove()
        goals = {path: -slope for path, slope in zip(leaves, slopes, strict=True)}
        return Observation(passed[0], passed[1], inputs, goals, float(total.detach()), len(x))


class TensorRecorder:
    """Tensors recorded while a model runs, copied only if it modifies them in place later."""

    def __init__(self, copies: bool) -> None:
        self.copies = copies
        self.tensors: list[tuple[Tensor, int]] = []

    def keep(self, x: Tensor) -> Tensor:
        """Return the tensor to store, so that its present values can be read later."""
        x = x.detach()
        if self.copies or x.is_inference():
            return x.clone()
        self.tensors.append((x, x._version))
        return x


def frozen_copy(model: nn.Module) -> nn.Module:
    """Return a copy that shares the model's weights and requires no gradients."""
    twin = copy_sharing_parameters(model)
    still: dict[int, nn.Parameter] = {}
    for module in twin.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                key = id(parameter)
                still.setdefault(key, nn.Parameter(parameter.detach(), requires_grad=False))
                module._parameters[name] = still[key]
    return twin


def iterate_batches(batches: Any, name: str = "batches") -> Iterator[tuple[Tensor, Any]]:
    """Yield batches of inputs and targets from one pair of tensors or from many pairs, without empty ones."""
    if isinstance(batches, tuple | list) and len(batches) == 2 and all(isinstance(part, Tensor) for part in batches):
        batches = [tuple(batches)]
    if isinstance(batches, Tensor) or not isinstance(batches, Iterable):
        raise InputError(name, "be pairs of inputs and targets, such as (X, y)", type(batches).__name__)
    for batch in batches:
        if not isinstance(batch, tuple | list) or len(batch) != 2 or not isinstance(batch[0], Tensor):
            raise InputError(name, "be pairs of inputs and targets, such as (X, y)", type(batch).__name__)
        if len(batch[0]):
            yield batch[0], batch[1]


def observe_batches(
    model: nn.Module, place: Place | str, batches: Batches, loss: Loss
) -> tuple[PlaceObserver, Iterator[Observation]]:
    """Return an observer of a place, and an iterator over its observations batch by batch."""
    source = iterate_batches(batches, "batches")
    first = next(source, None)
    if first is None:
        raise InputError("batches", "have at least one sample")
    observer = PlaceObserver.from_model(model, place, loss, first[0])

    def run() -> Iterator[Observation]:
        yield observer.observe(*first)
        for x, target in source:
            yield observer.observe(x, target)

    return observer, run()


def _leaf(
    path: str, inputs: dict[str, Tensor], leaves: dict[str, Tensor], recorder: TensorRecorder
) -> Callable[[nn.Module, Any, Tensor], Tensor]:
    """Return a hook that records a layer's input and makes the loss's gradient at its output readable."""

    def hook(module: nn.Module, args: Any, out: Tensor) -> Tensor:
        inputs[path] = recorder.keep(args[0])
        leaves[path] = torch.zeros_like(out, requires_grad=True)
        return out.detach() + leaves[path] if not out.requires_grad else out + leaves[path]

    return hook


def _gradients(total: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    if not total.requires_grad:
        return [torch.zeros_like(leaf) for leaf in leaves]
    gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    return [
        torch.zeros_like(leaf) if slope is None else slope.detach()
        for leaf, slope in zip(leaves, gradients, strict=True)
    ]


def product(a: Tensor, b: Tensor) -> Tensor:
    """Return a' b for a (n, p), b (n, q) in float64."""
    return a.double().T @ b.double()


def add_gram(sums: Tensor, x: Tensor, *, constant: bool) -> None:
    """Add x' x for all rows of x (n, d) to sums (d, d), in float64; with ``constant`` for (x, 1)."""
    x, d = x.double(), x.shape[1]
    sums[:d, :d] += _gram(x)
    if constant:
        column = x.sum(0)
        sums[:d, d] += column
        sums[d, :d] += column
        sums[d, d] += len(x)


def _gram(x: Tensor) -> Tensor:
    """Return x' x, on a CPU by numpy, which uses the symmetry to do half the work."""
    if x.device.type != "cpu":
        return x.T @ x
    charge(x.shape[0] * x.shape[1] ** 2 / 2)
    array = x.contiguous().numpy()
    return torch.from_numpy(array.T @ array)
