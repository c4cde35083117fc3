"""Inserting a layer after a nonlinearity, initialized as the identity."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from creases.errors import InputError
from creases.network.surgery import _edits as optimizers
from creases.network.surgery._edits import same_outputs, unwrap_module
from creases.network.surgery._place import Certificate, Place, certify_edit
from creases.network.surgery._places import Survey
from creases.network.surgery._tracking import BEND_FUNCTIONS, Use

#: Nonlinearities with ``f(f(x)) = f(x)``.
_IDEMPOTENT = (nn.ReLU, nn.ReLU6, nn.Hardtanh)
_LEAKY = (nn.LeakyReLU, nn.PReLU)
_SUPPORTED = "ReLU, ReLU6, Hardtanh, LeakyReLU or PReLU"


def deepen(
    model: nn.Module,
    place: Place | str,
    *,
    kernel: int = 3,
    optimizer: Optimizer | None = None,
    X: Tensor | None = None,
    input_shape: Sequence[int] | None = None,
) -> Certificate:
    """Insert a trainable layer after a nonlinearity without changing the function.

    The nonlinearity's module, say ``act``, becomes ``nn.Sequential(act, layer, act2)`` under the same name, so all
    other modules keep their names. The layer depends on the nonlinearity:

    - after ReLU, ReLU6 and Hardtanh it is the identity (Linear, or a convolution whose kernel is 1 at the center)
      followed by the same nonlinearity, which does not change its own outputs: exact;
    - after LeakyReLU and PReLU with slope a, ``phi(z) - phi(-z) = (1 + a) z``: two units ``z, -z`` for each old one,
      the same nonlinearity, and a second layer that divides their difference by 1 + a: the identity up to rounding.

    Parameters
    ----------
    place
        A place or its name, for the nonlinearity after it; or the path of a nonlinearity's module, which may come
        after a residual sum. A nonlinearity that is called as a function (``F.relu``) cannot be replaced.
    kernel
        Odd size of the new convolution's kernel.
    optimizer
        New parameters join the groups of those of the layer before the nonlinearity.
    X, input_shape
        As in :func:`widen`. Convolutional models need one of them, to determine shapes from a run.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> deepen(model, "0").place_name
    '1.1'
    """
    model = unwrap_module(model)
    optimizers.check_optimizer(optimizer, model)
    if not isinstance(kernel, int) or kernel < 1 or kernel % 2 == 0:
        raise InputError("kernel", "be an odd positive integer such as 1 or 3", repr(kernel))
    survey = Survey(model, input_shape, X)
    path = _module_path(survey, place)
    use = _check_use(survey, path)
    bend = model.get_submodule(path)
    parts = _parts(path, bend, use, kernel)
    _try_parts(survey, path, parts)
    wrapper = nn.Sequential(bend, *(part.train(bend.training) for part in parts))
    wrapper.training = bend.training
    beside = next((model.get_submodule(owner) for owner in sorted(use.owners)), None)
    new = {f"{path}.{name}": p for name, p in wrapper.named_parameters() if not name.startswith("0.")}

    def insert() -> None:
        _replace(model, bend, wrapper)
        if optimizer is not None:
            for name, parameter in new.items():
                weight_or_bias = name.rpartition(".")[2]  # biases may have a group of their own
                peer = None if beside is None else beside._parameters.get(weight_or_bias, beside._parameters["weight"])
                optimizers.add_parameter(optimizer, peer, name, parameter)

    return certify_edit(
        model,
        X,
        insert,
        action="deepen",
        place_name=f"{path}.1",
        old_width=0,
        new_width=len(wrapper[1].weight),  # type: ignore[arg-type]
        bound=0.0,
        place=None,
    )


def _module_path(survey: Survey, place: Place | str) -> str:
    """Return the path of the nonlinearity's module at a place or path."""
    name, tracker = place.name if isinstance(place, Place) else place, survey.tracker
    if not isinstance(name, str) or name not in tracker.modules:
        bends = [path for path in tracker.uses if type(tracker.modules[path]) in (*_IDEMPOTENT, *_LEAKY)]
        listed = [", ".join(map(repr, paths)) or "none" for paths in (tracker.first, bends)]
        hint = f"this model's layers are {listed[0]}, its nonlinearities {listed[1]}"
        raise InputError("place", "be a place, its name or the path of a nonlinearity", repr(name), hint)
    if name not in tracker.first:
        return name
    passages = dict.fromkeys(passage for passage in tracker.passages.get(name, []) if passage.op in BEND_FUNCTIONS)
    if len(passages) != 1:
        got = f"{name!r}, followed by {[passage.module or passage.op for passage in passages] or 'none'}"
        hint = "pass the path of a nonlinearity's module"
        raise InputError("place", "be followed by exactly one nonlinearity", got, hint)
    passage = next(iter(passages))
    if not passage.module:
        got = f"{name!r}, followed by {passage.op} called as a function"
        hint = "make it a module, for example self.act = torch.nn.ReLU(), and call that"
        raise InputError("place", "be followed by a nonlinearity that is a module", got, hint)
    return passage.module


def _check_use(survey: Survey, path: str) -> Use:
    """Return how the model uses a nonlinearity's module; refused if no layer can follow it."""
    bend = survey.twin.get_submodule(path)
    if type(bend) not in (*_IDEMPOTENT, *_LEAKY):
        raise InputError("place", f"be followed by {_SUPPORTED}", f"{path!r}, which is {type(bend).__name__}")
    if not path:
        raise InputError("place", "be inside a container", "the model itself", "put it into a torch.nn.Sequential")
    use = survey.tracker.uses.get(path)
    if use is None or use.calls != 1:
        got = f"{path!r}, called {use.calls if use else 0} times"
        raise InputError("place", "be a module that is called once per run", got, "add a module per call")
    if use.axis is None:
        raise InputError("place", "be a module whose output has an axis of units", f"{path!r} of shape {use.shape}")
    return use


def _parts(path: str, bend: nn.Module, use: Use, kernel: int) -> list[nn.Module]:
    """Return an identity layer and a nonlinearity; after leaky ones another layer."""
    assert use.axis is not None
    n = use.shape[use.axis]
    spatial = 0 if use.axis == len(use.shape) - 1 else len(use.shape) - 2
    identity = torch.eye(n, dtype=use.like.dtype, device=use.like.device)
    if type(bend) in _IDEMPOTENT:
        return [_layer(identity, spatial, kernel), _copy_bend(bend)]
    slopes = bend.weight.detach() if isinstance(bend, nn.PReLU) else bend.negative_slope
    slope = torch.as_tensor(slopes, dtype=identity.dtype, device=identity.device)
    if bool(((1 + slope).abs() < 1e-3).any()):
        raise InputError("place", "have slopes away from -1, to express the identity", f"{path!r} with one near -1")
    mean = identity / (1 + slope)
    return [
        _layer(torch.cat([identity, -identity]), spatial, kernel),
        _copy_bend(bend),
        _layer(torch.cat([mean, -mean], dim=1), spatial, 1),
    ]


def _copy_bend(bend: nn.Module) -> nn.Module:
    """Return a copy of a nonlinearity without its hooks; a PReLU for twice as many units."""
    if isinstance(bend, nn.PReLU):
        n = bend.weight.numel()
        new = nn.PReLU(n if n == 1 else 2 * n, device="meta")
        slopes = bend.weight.detach().repeat(1 if n == 1 else 2)
        new.weight = nn.Parameter(slopes, requires_grad=bend.weight.requires_grad)
        return new
    names = inspect.signature(type(bend)).parameters
    return type(bend)(**{name: value for name, value in vars(bend).items() if name in names})


def _layer(matrix: Tensor, spatial: int, kernel: int) -> nn.Module:
    """Return a layer that applies a matrix (out, in): Linear, or a convolution over ``spatial`` axes."""
    out, n = matrix.shape
    if spatial:
        kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[spatial - 1]
        layer: nn.Module = kind(n, out, kernel, padding=kernel // 2, device="meta")  # draws no random numbers
        weight = matrix.new_zeros(out, n, kernel**spatial)
        weight[:, :, kernel**spatial // 2] = matrix  # the center: the size is odd
        weight = weight.reshape(out, n, *(kernel,) * spatial)
    else:
        layer, weight = nn.Linear(n, out, device="meta"), matrix
    layer.weight = nn.Parameter(weight)
    layer.bias = nn.Parameter(matrix.new_zeros(out))
    return layer


def _try_parts(survey: Survey, path: str, parts: list[nn.Module]) -> None:
    """Insert the new layers into the copy first: the outputs must not change."""
    bend = survey.twin.get_submodule(path)
    _replace(survey.twin, bend, nn.Sequential(bend, *parts).eval())
    try:
        outputs = survey.run().outputs
    except Exception as problem:
        got = f"{path!r}, with which the model fails: {problem}"
        raise InputError("place", "allow a layer after it", got) from None
    if not same_outputs(survey.tracker.outputs, outputs):
        raise InputError("place", "be used only as a module", f"{path!r}, whose replacement changes the outputs")


def _replace(model: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Replace a module by another, under all of its names."""
    for parent in list(model.modules()):
        if parent is new:
            continue
        for name, child in parent._modules.items():
            if child is old:
                parent._modules[name] = new
