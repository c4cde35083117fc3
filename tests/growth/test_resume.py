"""A run that is stopped at any moment and resumed ends as the one that was left alone, bit by bit."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from creases.errors import CreasesError
from growth_runs import Residual, classes, conv, grow_and_save, mlp, normed, same_tensors, timeless


class Stopped(Exception):
    """What stops a run at the end of an epoch."""


def resumed_at_every(stops, make, path, data, **options):
    """A run that is stopped at the ends of some epochs, after its checkpoint, and resumed each time."""
    for stop in stops:

        def strike(state, at=stop):
            if len(state.history.epochs) > at:  # the checkpoint of epoch `at` is written by then
                raise Stopped

        with pytest.raises(Stopped):
            grow_and_save(make(), data, "classification", checkpoint=path, callbacks=[strike], **options)
    return grow_and_save(make(), data, "classification", checkpoint=path, **options)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("how", "make", "shape"),
    [
        pytest.param("tiny", lambda: mlp(3, 2, 2, 2, seed=3, dtype=torch.float32), (3,), marks=pytest.mark.thorough),
        ("fold", lambda: mlp(3, 2, 2, 2, seed=5, dropout=0.2), (3,)),
        pytest.param("gradmax", conv, (1, 6, 6), marks=pytest.mark.thorough),
        ("tiny", conv, (1, 6, 6)),
        ("gradmax", normed, (3,)),
        ("split", Residual, (3,)),
        pytest.param("random", lambda: mlp(3, 1, 1, 2, seed=0), (3,), marks=pytest.mark.thorough),
        ("fold", lambda: mlp(3, 2, 2, bend=nn.LeakyReLU), (3,)),
    ],
)
def test_stopped_after_any_epoch_a_run_ends_the_same(how, make, shape, tmp_path):
    data = classes(60, shape)
    options = {"how": how, "when": 2, "budget": 8, "lr": 0.02, "batch_size": 25, "validation": 0.2}
    whole = grow_and_save(make(), data, "classification", **options)
    again = resumed_at_every((1, 2, 3, 6), make, tmp_path / "run.pt", data, **options)
    assert whole.history.records
    assert same_tensors(whole.model, again.model)
    assert timeless(whole.history) == timeless(again.history)


def make_sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, nesterov=True)


def make_groups(parameters):
    first, *rest = parameters
    return torch.optim.AdamW([{"params": [first], "lr": 0.1, "weight_decay": 0.3}, {"params": rest}], amsgrad=True)


def make_rprop(parameters):
    return torch.optim.Rprop(parameters, lr=0.01)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """What a run that was stopped at the end of its second epoch has saved, and the call that resumes from a file."""

    def run(path, **more):
        options = {"how": "random", "when": 2, "budget": 6, "validation": 0.2, "checkpoint": path}
        schedule = {"schedule": lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 3)}
        return grow_and_save(mlp(3, 2, 2, 2, seed=3), classes(30), "classification", **options, **schedule, **more)

    def strike(state):
        if len(state.history.epochs) > 2:
            raise Stopped

    path = tmp_path_factory.mktemp("interrupted") / "run.pt"
    with pytest.raises(Stopped):
        run(path, callbacks=[strike])
    return torch.load(path, weights_only=True), run


def optimizer_state(name, value):
    return lambda saved: saved["optimizer"]["state"][0].update({name: value})


def group(**values):
    return lambda saved: saved["optimizer"]["param_groups"][0].update(values)


DAMAGED = "cannot resume from .*run.pt: it is damaged"
AGAIN = "cannot resume from .*run.pt: .*; delete it to begin again"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (group(lr="x"), "the optimizer's 'lr' is 'x'"),
        (group(betas=(0.5,)), "the optimizer's 'betas'"),
        (lambda saved: saved["optimizer"]["param_groups"][0].pop("eps"), "the optimizer's group has no 'eps'"),
        (lambda saved: saved["optimizer"]["state"].update({99: {}}), "parameters that it does not have"),
        (lambda saved: saved["spent"].update(steps="x"), "the steps of what is spent must be a count"),
        (lambda saved: saved["spent"].update(epochs=float("nan")), "the epochs of what is spent must be an amount"),
        (lambda saved: saved.update(stage_end=-1), "the stage_end of the checkpoint must be a count"),
        (lambda saved: saved["best"].__setitem__(0, 99), "the best network is of epoch 99"),
        *(
            (lambda saved, name=name: saved.pop(name), rf"{DAMAGED} \(KeyError\('{name}'\)\)")
            for name in ("history", "model", "optimizer", "spent", "best")
        ),
        *((lambda saved, width=width: saved["model"]["widths"].update({"0": width}), DAMAGED) for width in (10**9, {})),
        (lambda saved: saved["spent"].update(epochs=[]), DAMAGED),
        (lambda saved: saved["spent"].update(seconds=None), DAMAGED),
        *((optimizer_state("exp_avg", value), AGAIN) for value in (None, torch.zeros(7), torch.zeros(5, 3, 3))),
        (optimizer_state("exp_avg_sq", "x"), AGAIN),
        *((optimizer_state("step", value), AGAIN) for value in ("x", torch.zeros(2))),
        (lambda saved: saved["schedule"].update(last_epoch="x"), "the optimizer cannot continue"),
    ],
)
def test_a_forged_checkpoint_is_refused(forge, said, interrupted, tmp_path):
    saved, resume = copy.deepcopy(interrupted[0]), interrupted[1]
    forge(saved)
    torch.save(saved, tmp_path / "run.pt")
    with pytest.raises(CreasesError, match=said):
        resume(tmp_path / "run.pt")


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", [make_sgd, make_groups, make_rprop, torch.optim.Adagrad, torch.optim.NAdam])
def test_the_optimizers_memory_is_resumed_with_its_groups(optimizer, tmp_path):
    data = classes(60)
    options = {"how": "random", "when": 2, "budget": 7, "batch_size": 25, "optimizer": optimizer}
    whole = grow_and_save(mlp(3, 2, 2), data, "classification", **options)
    again = resumed_at_every((1, 2, 4), lambda: mlp(3, 2, 2), tmp_path / "run.pt", data, **options)
    assert same_tensors(whole.model, again.model)
