"""Which loop grows a network: one fold at a time where all rows fit one batch, stages of sizes otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn

from creases.errors import CreasesError, InputError
from creases.growth._config import GrowthConfig
from creases.growth._objective import Loss, objective
from creases.growth._samples import InMemorySamples, Samples
from creases.growth.integrations import _ranks as ranks
from creases.network import read

#: Rows, and numbers in them, up to which every step of training takes all rows: a run takes about a minute there.
MAX_ROWS, MAX_NUMBERS = 20_000, 200_000

#: Options that act in sized growth alone.
SIZED_OPTIONS = (
    *("where", "when", "stop", "growth_share", "growth_factor", "patience", "growth_patience", "recycle"),
    *("optimizer", "lr", "schedule", "weight_decay", "batch_size", "hidden", "device"),
)

#: Methods whose every unit has a reason: with others, ``loop="explained"`` must be asked for.
EXPLAINED = ("auto", "fold")


@dataclass(frozen=True)
class LoopChoice:
    """The loop of a run, and why."""

    is_explained: bool
    why: str


def choose_loop(config: GrowthConfig, model: nn.Module, samples: Samples, loss: str | Loss) -> LoopChoice:
    """Return the loop for a model and its samples; refuse ``loop="explained"`` where it cannot run."""
    if config.loop == "sized":
        return LoopChoice(False, "sized growth, as loop='sized' asks for")
    if obstacle := _option_obstacle(config) or _data_obstacle(samples, loss) or _model_obstacle(model, samples):
        if config.loop == "explained":
            raise InputError("loop", "be 'sized' or 'auto' here", f"'explained', and {obstacle}")
        return LoopChoice(False, f"sized growth, as {obstacle}")
    if config.loop == "auto" and config.how not in EXPLAINED:
        return LoopChoice(False, f"sized growth, as how={_name(config.how)} gives units without a reason of their own")
    return LoopChoice(True, "explained growth, one fold at a time, as all rows fit one batch")


def _option_obstacle(config: GrowthConfig) -> str:
    for name in SIZED_OPTIONS:
        if getattr(config, name, None) != getattr(GrowthConfig, name, None):
            return f"{name} is an option of sized growth"
    return ""


def _data_obstacle(samples: Samples, loss: str | Loss) -> str:
    if ranks.world_size() > 1:
        return "several processes train it"
    if not isinstance(samples, InMemorySamples):
        return "the data are not in memory"
    if not objective(loss).is_builtin:
        return "the loss is a function"
    if len(samples) > MAX_ROWS or samples.X.numel() > MAX_NUMBERS:
        return f"{len(samples):,} rows of {samples.X[0].numel():,} numbers are too many for one batch"
    if samples.X.ndim != 2 or samples.y.ndim > 2:
        return "the samples are not rows of numbers"
    return ""


def _model_obstacle(model: nn.Module, samples: Samples) -> str:
    """Return why a model is not a perceptron of one hidden relu layer, with biases, on the CPU; "" if it is."""
    shown = "the model is not a perceptron of one hidden relu layer"
    if any(parameter.device.type != "cpu" for parameter in model.parameters()):
        return "the model is not on the CPU"
    try:
        steps = read(model, tuple(samples.example().shape[1:])).steps
    except CreasesError:
        return shown
    ops = [step.op for step in steps]
    if ops != ["linear", "relu", "linear"] or steps[1].leak is not None:
        return shown
    layers = [dict(model.named_modules()).get(steps[k].path) for k in (0, 2)]
    is_plain = all(isinstance(layer, nn.Linear) and layer.bias is not None for layer in layers)
    return "" if is_plain and len(list(model.parameters())) == 4 else shown


def _name(how: Any) -> str:
    return repr(how) if isinstance(how, str) else type(how).__name__
