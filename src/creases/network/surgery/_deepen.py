"""One more layer behind a bend, which starts as the identity."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from creases.errors import InputError
from creases.network.surgery import _optimizer as optimizers
from creases.network.surgery._certificate import Certificate, apply_and_measure, count_parameters, same_outputs
from creases.network.surgery._flow import Use
from creases.network.surgery._function_names import BEND_FUNCTIONS
from creases.network.surgery._place import Place
from creases.network.surgery._places import Survey
from creases.network.surgery._sandbox import unwrap_module

#: Bends that leave their own values as they are: ``bend(bend(x)) = bend(x)``.
_IDEMPOTENT = (nn.ReLU, nn.ReLU6, nn.Hardtanh)
_LEAKY = (nn.LeakyReLU, nn.PReLU)
_ADVICE = "only after ReLU, ReLU6, Hardtanh, LeakyReLU and PReLU can a layer start as the identity"


def deepen(
    model: nn.Module,
    where: Place | str,
    *,
    kernel: int = 3,
    optimizer: Optimizer | None = None,
    data: Tensor | None = None,
    input_shape: Sequence[int] | None = None,
) -> Certificate:
    """Insert a layer behind a bend that leaves the function as it is, and can learn from there.

    The bend's module, say ``act``, becomes ``nn.Sequential(act, layer, bend)`` under the same name, so all other
    modules keep their names, in a Sequential as in forward code of one's own. What the layer is:

    - after ReLU, ReLU6 and Hardtanh: the identity (Linear, or a convolution whose kernel is 1 in the middle) and the
      same bend again, which leaves its own values as they are: exact;
    - after LeakyReLU and PReLU with slope a: ``phi(z) - phi(-z) = (1 + a) z``, so two units ``z, -z`` for each, the
      same bend, and a second layer that takes their difference over 1 + a: the identity but for rounding.

    Parameters
    ----------
    where
        A place or its name (the bend its units pass), or the path of a bend's module, which may lie behind a residual
        sum. A bend that is called as a function (``F.relu``) cannot be replaced.
    kernel
        Odd size of the new convolution's kernel.
    optimizer
        New parameters join the group of the layer whose units pass the bend.
    data, input_shape
        As in :func:`widen`. The bend's shape is read off a run, so one of them is needed for convolutional models.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> deepen(model, "0").where
    '1.1'
    """
    model = unwrap_module(model)
    optimizers.check_optimizer(optimizer, model)
    if not isinstance(kernel, int) or kernel < 1 or kernel % 2 == 0:
        raise InputError(f"kernel: expected an odd size such as 1 or 3, got {kernel!r}")
    survey = Survey(model, input_shape, data)
    path = _bend_path(survey, where)
    use = _checked_use(survey, path)
    bend = model.get_submodule(path)
    parts = _parts(path, bend, use, kernel)
    _try(survey, path, parts)
    wrapper = nn.Sequential(bend, *(part.train(bend.training) for part in parts))
    wrapper.training = bend.training
    beside = next((model.get_submodule(owner)._parameters["weight"] for owner in sorted(use.owners)), None)
    before = count_parameters(model)
    new = {f"{path}.{name}": p for name, p in wrapper.named_parameters() if not name.startswith("0.")}

    def insert() -> None:
        _replace(model, bend, wrapper)
        if optimizer is not None:
            optimizers.add_parameters(optimizer, beside, new)

    change = apply_and_measure(model, data, insert)
    return Certificate(
        action="deepen",
        where=f"{path}.1",
        old_width=0,
        new_width=len(wrapper[1].weight),  # type: ignore[arg-type]
        parameters_before=before,
        parameters_after=count_parameters(model),
        change=change,
        bound=0.0,
        place=None,
    )


def _bend_path(survey: Survey, where: Place | str) -> str:
    """The path of the bend's module that a caller means."""
    name = where.name if isinstance(where, Place) else where
    modules = dict(survey.twin.named_modules())
    if not isinstance(name, str) or name not in modules:
        bends = [path for path in survey.flow.uses if type(modules[path]) in (*_IDEMPOTENT, *_LEAKY)]
        raise InputError(
            f"where: expected a place, its name or the path of a bend, got {name!r}; this model's layers are "
            f"{', '.join(map(repr, survey.flow.first)) or 'none'}, its bends {', '.join(map(repr, bends)) or 'none'}"
        )
    if name not in survey.flow.first:
        return name
    passed = dict.fromkeys(passage for passage in survey.flow.passages.get(name, []) if passage.op in BEND_FUNCTIONS)
    if len(passed) != 1:
        paths = [passage.module or passage.op for passage in passed]
        raise InputError(f"where: the units of {name!r} pass {paths or 'no bend'}; give the path of one bend's module")
    passage = next(iter(passed))
    if not passage.module:
        raise InputError(
            f"where: the units of {name!r} pass {passage.op}, called as a function in forward code, where nothing can "
            f"be inserted; make it a module, for example self.act = torch.nn.ReLU(), and call that"
        )
    return passage.module


def _checked_use(survey: Survey, path: str) -> Use:
    """How the model uses a bend's module, if a layer can follow it."""
    bend = survey.twin.get_submodule(path)
    if type(bend) not in (*_IDEMPOTENT, *_LEAKY):
        raise InputError(f"where: {path!r} is {type(bend).__name__}; {_ADVICE}")
    if not path:
        raise InputError("where: the model is nothing but a bend; put it into a torch.nn.Sequential")
    use = survey.flow.uses.get(path)
    if use is None or use.calls != 1:
        calls = 0 if use is None else use.calls
        raise InputError(
            f"where: {path!r} is used {calls} times in one run, and a layer behind it would be too; give each use a "
            "module of its own"
        )
    if use.axis is None:
        raise InputError(f"where: the values behind {path!r} have shape {use.shape}, and no axis of units")
    return use


def _parts(path: str, bend: nn.Module, use: Use, kernel: int) -> list[nn.Module]:
    """A layer that starts as the identity, and a bend of its own; after leaky bends one more layer."""
    assert use.axis is not None
    n = use.shape[use.axis]
    spatial = 0 if use.axis == len(use.shape) - 1 else len(use.shape) - 2
    identity = torch.eye(n, dtype=use.like.dtype, device=use.like.device)
    if type(bend) in _IDEMPOTENT:
        return [_layer(identity, spatial, kernel), _another(bend)]
    given = bend.weight.detach() if isinstance(bend, nn.PReLU) else bend.negative_slope
    slope = torch.as_tensor(given, dtype=identity.dtype, device=identity.device)
    if bool(((1 + slope).abs() < 1e-3).any()):
        raise InputError(f"where: {path!r} has a slope near -1, where the identity cannot be made of its units")
    mean = identity / (1 + slope)
    return [
        _layer(torch.cat([identity, -identity]), spatial, kernel),
        _another(bend),
        _layer(torch.cat([mean, -mean], dim=1), spatial, 1),
    ]


def _another(bend: nn.Module) -> nn.Module:
    """A bend like this one, without its hooks; a PReLU for twice as many units."""
    if isinstance(bend, nn.PReLU):
        n = bend.weight.numel()
        new = nn.PReLU(n if n == 1 else 2 * n, device="meta")
        slopes = bend.weight.detach().repeat(1 if n == 1 else 2)
        new.weight = nn.Parameter(slopes, requires_grad=bend.weight.requires_grad)
        return new
    if isinstance(bend, nn.LeakyReLU):
        return nn.LeakyReLU(bend.negative_slope, bend.inplace)
    if isinstance(bend, nn.Hardtanh) and not isinstance(bend, nn.ReLU6):
        return nn.Hardtanh(bend.min_val, bend.max_val, bend.inplace)
    assert isinstance(bend, nn.ReLU | nn.ReLU6)
    return type(bend)(bend.inplace)


def _layer(matrix: Tensor, spatial: int, kernel: int) -> nn.Module:
    """Linear, or a convolution over ``spatial`` axes, that applies a matrix (out, in) at each position."""
    out, n = matrix.shape
    if spatial:
        kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[spatial - 1]
        layer: nn.Module = kind(n, out, kernel, padding=kernel // 2, device="meta")  # draws no random numbers
        weight = matrix.new_zeros(out, n, kernel**spatial)
        weight[:, :, kernel**spatial // 2] = matrix  # the middle, as the size is odd
        weight = weight.reshape(out, n, *(kernel,) * spatial)
    else:
        layer, weight = nn.Linear(n, out, device="meta"), matrix
    layer.weight = nn.Parameter(weight)
    layer.bias = nn.Parameter(matrix.new_zeros(out))
    return layer


def _try(survey: Survey, path: str, parts: list[nn.Module]) -> None:
    """Put the new layers into the copy first: the outputs must stay."""
    bend = survey.twin.get_submodule(path)
    _replace(survey.twin, bend, nn.Sequential(bend, *parts).eval())
    try:
        outputs = survey.run().outputs
    except Exception as problem:
        raise InputError(f"where: the model does not run with a layer behind {path!r}: {problem}") from None
    if not same_outputs(survey.flow.outputs, outputs):
        raise InputError(
            f"where: the model gives other values with a layer behind {path!r}, so it is used elsewhere too"
        )


def _replace(model: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Put a module in another's place, under every name it has."""
    for parent in list(model.modules()):
        if parent is new:
            continue
        for name, child in parent._modules.items():
            if child is old:
                parent._modules[name] = new
