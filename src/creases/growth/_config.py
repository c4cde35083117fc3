"""The configuration of a growth run: every option with its default, checked in one place; and as text.

Neither torch nor numpy is imported before a configuration is made: the help of commands is made of its fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from inspect import Parameter, signature
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, TypeVar

from creases._options import ModelOptions, documents, option
from creases.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from torch import nn, optim
    from torch.optim.lr_scheduler import LRScheduler

    from creases.growth._budget import Budget
    from creases.growth._objective import Loss
    from creases.growth._samples import Samples
    from creases.growth._training import MakeScheduler
    from creases.growth.methods._evidence import GrowthMethod
    from creases.growth.policies._policies import Stop, When, Where
    from creases.growth.policies._stages import Stages
    from creases.network import Place

    #: What makes an optimizer for a model's parameters.
    MakeOptimizer = Callable[[Iterable[nn.Parameter]], optim.Optimizer]

F = TypeVar("F", bound=Callable[..., Any])

#: An automatic batch holds this fraction of the rows, within these sizes: several steps per epoch, none too noisy.
BATCH_FRACTION, MIN_BATCH, MAX_BATCH = 1 / 8, 32, 200

#: An automatic budget has so many epochs, at least and at most, and between them enough for so many optimizer steps.
MIN_EPOCHS, MAX_EPOCHS, AUTO_STEPS = 20, 400, 3000

#: More stages than any run has.
NEVER = 10**9


class GrowthOptions(TypedDict, total=False):
    """The options of :class:`GrowthConfig` for growth in a training loop of your own."""

    how: str | GrowthMethod
    as_printed: bool
    where: str | Where
    when: str | int | When
    stop: Stop | Sequence[Stop]
    budget: str | float | Budget
    growth_share: str | float
    max_units: int | None
    max_parameters: int | None
    growth_patience: int | None
    seed: int


class RunOptions(GrowthOptions, total=False):
    """The options of :class:`GrowthConfig` for a run of training and growth."""

    optimizer: str | optim.Optimizer | MakeOptimizer
    lr: str | float
    schedule: str | LRScheduler | MakeScheduler
    weight_decay: str | float
    batch_size: str | int | None
    keep: Literal["auto", "best", "last"]
    loop: Literal["auto", "explained", "sized"]


def _read_hidden(text: str, name: str) -> str | tuple[int, ...]:
    """Return widths that are written with commas between, or auto."""
    if text != "auto" and not all(width.strip().isdecimal() and int(width) for width in text.split(",")):
        raise InputError(name, "be auto, or positive widths such as 2 or 4,4", repr(text))
    return text if text == "auto" else tuple(map(int, text.split(",")))


@documents()
@dataclass(frozen=True, kw_only=True)
class GrowthConfig(ModelOptions):
    """Options of a growth run, with the defaults that every way to start one shares.

    :func:`creases.grow`, the estimators, ``creases grow`` and the studio all use it.

    Parameters
    ----------
    {options}
    as_printed
        Whether ``how="fold"`` or ``how="tiny"`` keeps to its source to the letter, without choices of ours.
    where
        Layers to grow: ``"all"``, a layer's name, ``policies.At`` of several; or, except in stages,
        a function of the state.
    when
        Time to grow: ``"stages"`` (by fours and twos early in the run), a number of epochs, or a function of the state.
    stop
        Reasons to end the run, such as ``policies.Target(score=0.99)``, or functions of the state to a reason.
    growth_share
        For ``when="stages"``: the fraction of the budget for growth; ``"auto"`` is 0.28.
    max_parameters
        Maximum number of parameters of the network; None for no limit.
    growth_patience
        Number of stages, or growth steps, in a row that may fail to lower the held-out loss (without held-out data,
        the training loss) before growth stops. Such stages are undone. None for no limit.
    optimizer
        ``"adamw"``, an optimizer, or a function of the parameters to one.
    lr
        Learning rate of the optimizer, if that is given by name. ``"auto"`` falls with the cube root of the inputs of
        layers and the square root of their number, from 0.01 for 16 inputs; it follows the network as that grows, and
        is lowered at the start where a short test shows that the loss rises with it.
    schedule
        ``"cosine"`` anneals the learning rate to zero over the budget, ``"constant"`` leaves it; or a torch scheduler
        of your optimizer, or a function that makes one, which is stepped after every optimizer step.
    weight_decay
        Weight decay of AdamW. Biases and other parameters of one axis do not decay. ``"auto"`` is 0.3 for 400 samples
        or fewer, and falls in proportion to their number.
    batch_size
        Samples in a batch; ``"auto"`` is an eighth of them, between 32 and 200; None is all.
    keep
        ``"best"``: with validation data, return the network with the lowest validation loss, smoothed over epochs.
        ``"last"``: return the last network; once growth has ended, it is trained on the held-out samples too.
        ``"auto"``: train on all samples where nothing is left to choose by those held out: at the end of explained
        growth; in stages with a cosine when growth ends, if at most 15 epochs follow, or half-way through the training
        that follows, if the validation loss is not past its best there. Otherwise return the network with the lowest
        one, or the last one if it classifies the held-out samples as well. Samples that you pass for validation, and
        held-out rows of a table in sized growth, are never trained on.
    loop
        ``"explained"``: one fold at a time, each with its reason: the network starts as the linear model and is
        trained to convergence on all rows at once; held-out rows confirm every unit. ``"sized"``: stages that widen
        layers, with mini-batches. ``"auto"``: explained growth wherever it can run (a plain perceptron of one hidden
        layer, the loss of a task, up to 20,000 rows and 200,000 numbers in memory), unless an option of sized growth is
        set.
    standardize
        Whether columns (and targets of a regression) are scaled to mean 0 and standard deviation 1 for training.
    validation_fraction
        Fraction of the rows of a table that is held out for early stopping.
    device
        Where to train: ``"cpu"``, ``"cuda"``, ...

    Examples
    --------
    >>> config = GrowthConfig(how="tiny", budget=100)
    >>> config.when
    'stages'
    >>> GrowthConfig.from_dict(config.to_dict()) == config
    True
    """

    how: str | GrowthMethod = option(
        "auto",
        "Method: auto, fold, tiny, gradmax, random, split.\n"
        "auto is folds in layers of few inputs, random units in others. In Python also a method object, or a function "
        "of (model, place, evidence) to a proposal.",
        "METHOD",
        panel="Model",
        choices=("auto", "fold", "tiny", "gradmax", "random", "split"),
    )
    as_printed: bool = False
    where: str | Where = "all"
    when: str | int | When = "stages"
    stop: Stop | Sequence[Stop] = ()
    budget: str | float | Budget = option(
        "auto",
        "How much to spend on training and growth: epochs (100), time ('60 s', '5 min'; starting and writing the files "
        "take seconds more), '2e12 multiply-adds', or auto.\n"
        "auto is 20 to 400 epochs, about 3000 optimizer steps, and no limit in explained growth, where an epoch is a "
        "pass over the rows by any network. Growth steps, and stages that are undone, count towards it.",
        "COST",
        panel="Model",
        read=lambda text, _: int(text) if text.isdecimal() else text,
    )
    growth_share: str | float = "auto"
    max_units: int | None = option(None, "Maximum number of hidden units.", "N", panel="Model", type=int)
    max_parameters: int | None = None
    growth_patience: int | None = 2
    optimizer: str | optim.Optimizer | MakeOptimizer = "adamw"
    lr: str | float = "auto"
    schedule: str | LRScheduler | MakeScheduler = "cosine"
    weight_decay: str | float = "auto"
    batch_size: str | int | None = "auto"
    keep: Literal["auto", "best", "last"] = "auto"
    loop: Literal["auto", "explained", "sized"] = "auto"
    hidden: str | int | Sequence[int] = option(
        "auto",
        "Initial widths of the hidden layers; auto: start from a linear model.\n"
        "auto is one layer with two units per class or target (two for two classes), enough for any linear model.",
        "N,N,...",
        panel="Model",
        read=_read_hidden,
    )
    standardize: bool = True
    validation_fraction: float = 0.15
    device: str = "cpu"

    def __post_init__(self) -> None:
        from torch import optim

        from creases._validation import check_choice, check_count, check_number
        from creases.growth._budget import check_budget
        from creases.growth._training import check_schedule
        from creases.growth.methods._registry import resolve_method
        from creases.growth.policies._policies import At, as_stops, resolve_when, resolve_where

        resolve_method(self.how, self.as_printed)
        resolve_where(self.where)
        if self.stages() is None:
            resolve_when(self.when)
        elif not isinstance(self.where, str | At):
            raise InputError("where", "be 'all', a place's name or At(...) with when='stages'", repr(self.where))
        as_stops(self.stop)
        check_budget(self.budget)
        check_schedule(self.schedule)
        for name in ("max_units", "max_parameters", "growth_patience"):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name)
        is_name = isinstance(self.optimizer, str) and self.optimizer == "adamw"
        if not (is_name or isinstance(self.optimizer, optim.Optimizer) or callable(self.optimizer)):
            expected = "be 'adamw', an optimizer, or a function that makes one"
            raise InputError("optimizer", expected, repr(self.optimizer))
        if not isinstance(self.lr, str) or self.lr != "auto":
            check_number(self.lr, "lr", above=0)
        if not isinstance(self.weight_decay, str) or self.weight_decay != "auto":
            check_number(self.weight_decay, "weight_decay", least=0)
        value = self.batch_size
        is_count = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
        if not (value is None or is_count or (isinstance(value, str) and value == "auto")):
            raise InputError("batch_size", "be 'auto', None (all samples) or a positive integer", repr(value))
        check_choice(self.keep, ("auto", "best", "last"), "keep")
        check_choice(self.loop, ("auto", "explained", "sized"), "loop")
        object.__setattr__(self, "hidden", _check_hidden(self.hidden))
        for name in ("validation_fraction", "test_fraction"):
            check_number(getattr(self, name), name, least=0, below=1)
        if self.validation_fraction + self.test_fraction >= 1:
            raise InputError(
                "validation_fraction",
                "leave rows to train on",
                f"{self.validation_fraction:g}, with test_fraction {self.test_fraction:g}",
            )
        self.check()
        check_count(self.seed, "seed", least=0)

    def stages(self) -> Stages | None:
        """Return the stages of sized growth; None where ``when`` is another policy."""
        if not isinstance(self.when, str) or self.when != "stages":
            return None
        from creases.growth.policies._stages import Stages

        return Stages(self.growth_share, NEVER if self.growth_patience is None else self.growth_patience)

    def resolve_budget(self, steps_per_epoch: int | None) -> Budget:
        """Return the budget for so many optimizer steps in an epoch; None where a loader does not say."""
        from creases.growth._budget import Budget

        if self.budget != "auto":
            return Budget.parse(self.budget)
        epochs = -(-AUTO_STEPS // steps_per_epoch) if steps_per_epoch else 0
        return Budget(min(max(MIN_EPOCHS, epochs), MAX_EPOCHS))

    def layer_widths(self, n_outputs: int, task: str) -> tuple[int, ...]:
        """Return the widths of the hidden layers of a new network with so many outputs."""
        if isinstance(self.hidden, str):
            return (2 if task == "classification" and n_outputs == 2 else 2 * n_outputs,)
        assert not isinstance(self.hidden, int)
        return tuple(self.hidden)

    def batch_rows(self, n: int) -> int:
        """Return the number of rows in a batch of n samples."""
        if self.batch_size == "auto":
            return min(max(int(n * BATCH_FRACTION), MIN_BATCH), MAX_BATCH)
        return n if self.batch_size is None else int(self.batch_size)

    @property
    def fits_rate(self) -> bool:
        """Whether the learning rate is chosen by the size of the network."""
        return isinstance(self.lr, str) and isinstance(self.optimizer, str)

    def learning_rate(self, model: nn.Module, places: Sequence[Place]) -> float:
        """Return the learning rate of a model with these places."""
        from creases.growth._training import fitting_rate

        return fitting_rate(model, places) if isinstance(self.lr, str) else self.lr

    def make_optimizer(self, model: nn.Module, samples: Samples) -> optim.Optimizer:
        """Return the optimizer of a model's parameters, for these training samples."""
        from torch import optim

        from creases.growth._training import AdamW, fitting_decay
        from creases.network import places

        if isinstance(self.optimizer, optim.Optimizer):
            return self.optimizer
        if not isinstance(self.optimizer, str):
            return self.optimizer(model.parameters())
        lr = self.learning_rate(model, places(model, X=samples.example()) if self.fits_rate else ())
        decay = fitting_decay(samples.size) if isinstance(self.weight_decay, str) else self.weight_decay
        weights = [parameter for parameter in model.parameters() if parameter.ndim > 1]
        biases = [parameter for parameter in model.parameters() if parameter.ndim <= 1]
        groups = [{"params": weights, "weight_decay": decay}, {"params": biases, "weight_decay": 0.0}]
        # torch has one kernel for a whole step of Adam on such parameters; small models step faster
        fused = all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in model.parameters())
        return AdamW([group for group in groups if group["params"]], lr=lr, fused=fused)

    def to_dict(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, for JSON; objects and functions are refused."""
        changed = {field.name: getattr(self, field.name) for field in fields(self)}
        changed = {name: value for name, value in changed.items() if value != getattr(type(self), name)}
        for name, value in changed.items():
            if not isinstance(value, str | int | float | tuple | dict | None):
                raise InputError(name, "be a name or a number in a configuration that is saved", repr(value))
        return {name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Self:
        """Return the configuration that :meth:`to_dict` wrote."""
        unknown = sorted(set(options) - {field.name for field in fields(cls)})
        if unknown:
            raise InputError("options", "be names of the configuration", repr(unknown[0]))
        return cls(**options)


def takes_options(options: type[Any]) -> Callable[[F], F]:
    """Return a decorator for a function of ``**options``: its signature shows each one with its default."""

    def decorate(function: F) -> F:
        shown = signature(function)
        own = [p for p in shown.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        more = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(GrowthConfig, name), annotation=annotation)
            for name, annotation in options.__annotations__.items()
        ]
        function.__signature__ = shown.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return function

    return decorate


def config_of(options: Mapping[str, Any], kind: type[Any], caller: str) -> GrowthConfig:
    """Return the configuration with some options; refuse names that are not of this kind, as Python does."""
    for name in options:
        if name not in kind.__annotations__:
            raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}")
    return GrowthConfig(**options)


def _check_hidden(hidden: Any) -> str | tuple[int, ...]:
    if isinstance(hidden, str) and hidden == "auto":
        return hidden
    try:
        widths = (hidden,) if isinstance(hidden, Integral) else tuple(hidden)
    except TypeError:
        widths = ()
    if not widths or not all(isinstance(w, Integral) and not isinstance(w, bool) and int(w) >= 1 for w in widths):
        raise InputError("hidden", "be 'auto', or positive widths of hidden layers such as (4, 4)", repr(hidden))
    return tuple(map(int, widths))


_OPTIONS = ("how", "where", "when", "growth_share", "growth_patience", "seed")

#: Settings that may differ when a run is resumed: they let it run longer.
MAY_CHANGE = ("stop", "budget")


def describe_setting(loss: str | Loss, config: GrowthConfig, stops: Sequence[Any]) -> dict[str, str]:
    """Return what decides about growth, by name."""
    values = {"loss": loss, "stop": list(stops), **{name: getattr(config, name) for name in _OPTIONS}}
    values["how"] = [config.how, "as printed"] if config.as_printed else config.how
    return {name: _text(value) for name, value in values.items()}


def describe_run(train: Samples, held: Samples | None, **more: Any) -> dict[str, str]:
    """Return further settings of a run: its samples and what else decides about training, by name."""
    from creases.growth._samples import fingerprint

    samples = {"data": fingerprint(train), "validation": "none" if held is None else fingerprint(held)}
    return {name: str(value) for name, value in (samples | more).items()}


def _text(value: Any) -> str:
    """Return a setting as text that is the same in every process: functions by name."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "__dict__") and not is_dataclass(value):
        return type(value).__name__
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def check_setting(path: Path, saved: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse the checkpoint of a run with other settings."""
    for name in now.keys() - set(MAY_CHANGE):
        if saved.get(name) != now[name]:
            raise InputError(
                "checkpoint",
                "come from a run with the same settings",
                f"{path} with {name} = {saved.get(name)}, not {now[name]}",
                "repeat the original call, or pass another file",
            )


def check_ranks(setting: dict[str, str]) -> None:
    """Refuse settings that differ between processes."""
    from creases.growth._integrations import _ranks as ranks

    with ranks.fail_together():
        for name, value in ranks.from_first(setting).items():
            if setting[name] != value:
                got = f"{setting[name]} on rank {ranks.rank()} and {value} on rank 0"
                raise InputError(name, "be the same in every process", got)
