"""A run that is stopped at any moment and resumed ends as the one that was left alone, bit by bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

import creases
from creases.errors import CreasesError, FileError
from growth_runs import Residual, classes, conv, grow_and_save, mlp, normed, same_tensors, timeless

TESTS = Path(__file__).parents[1]
PATHS = os.pathsep.join([str(TESTS), str(Path(creases.__file__).parents[1])])  # the creases that is tested here
ENVIRONMENT = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
#: Runs that are killed in the thorough tests only.
OTHERS = ("fold", "tiny", "loader")


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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["history", "model", "optimizer", "spent", "best"])
def test_a_checkpoint_that_lacks_a_part_is_refused(name, tmp_path):
    path = tmp_path / "run.pt"
    options = {"how": "random", "when": 2, "budget": 3, "validation": 0.2, "checkpoint": path}
    grow_and_save(mlp(3, 2, 2, 2, seed=3), classes(30), "classification", **options)
    saved = torch.load(path, weights_only=True)
    del saved[name]
    torch.save(saved, path)
    with pytest.raises(FileError, match=rf"cannot resume from .*run.pt: it is damaged \(KeyError\('{name}'\)\)"):
        grow_and_save(mlp(3, 2, 2, 2, seed=3), classes(30), "classification", **options)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [("widths", "0", 10**9), ("widths", "0", {}), ("spent", "epochs", []), ("spent", "seconds", None)],
)
def test_a_checkpoint_with_a_forged_size_is_refused(part, name, value, tmp_path):
    path = tmp_path / "run.pt"
    options = {"how": "random", "when": 2, "budget": 3, "checkpoint": path}
    grow_and_save(mlp(3, 2, 2, 2, seed=3), classes(30), "classification", **options)
    saved = torch.load(path, weights_only=True)
    (saved["model"] if part == "widths" else saved)[part][name] = value
    torch.save(saved, path)
    with pytest.raises(FileError, match=r"cannot resume from .*run.pt: it is damaged"):
        grow_and_save(mlp(3, 2, 2, 2, seed=3), classes(30), "classification", **options)


def interrupted(path, **options):
    """The checkpoint of a run that was stopped at the end of its second epoch, and the call that resumes it."""
    call = {"how": "random", "when": 2, "budget": 6, "checkpoint": path, **options}

    def strike(state):
        if len(state.history.epochs) > 2:
            raise Stopped

    with pytest.raises(Stopped):
        grow_and_save(mlp(3, 2, 2, 2, seed=3), classes(30), "classification", callbacks=[strike], **call)
    saved = torch.load(path, weights_only=True)
    return saved, lambda: grow_and_save(mlp(3, 2, 2, 2, seed=3), classes(30), "classification", **call)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("exp_avg", None),
        ("exp_avg", torch.zeros(7)),
        ("exp_avg", torch.zeros(5, 3, 3)),
        ("exp_avg_sq", "x"),
        ("step", "x"),
        ("step", torch.zeros(2)),
    ],
)
def test_an_optimizer_state_that_does_not_fit_the_network_is_refused(name, value, tmp_path):
    saved, resume = interrupted(tmp_path / "run.pt")
    saved["optimizer"]["state"][0][name] = value
    torch.save(saved, tmp_path / "run.pt")
    with pytest.raises(FileError, match=r"cannot resume from .*run.pt: .*; delete it to begin again"):
        resume()


def test_a_scheduler_state_that_does_not_fit_is_refused(tmp_path):
    def make(optimizer):
        return torch.optim.lr_scheduler.StepLR(optimizer, 3)

    saved, resume = interrupted(tmp_path / "run.pt", schedule=make)
    saved["schedule"]["last_epoch"] = "x"
    torch.save(saved, tmp_path / "run.pt")
    with pytest.raises(FileError, match=r"cannot resume from .*run.pt: the optimizer cannot continue"):
        resume()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (lambda saved: saved["optimizer"]["param_groups"][0].update(lr="x"), "the optimizer's 'lr' is 'x'"),
        (lambda saved: saved["optimizer"]["param_groups"][0].update(betas=(0.5,)), "the optimizer's 'betas'"),
        (lambda saved: saved["optimizer"]["param_groups"][0].pop("eps"), "the optimizer's group has no 'eps'"),
        (lambda saved: saved["optimizer"]["state"].update({99: {}}), "parameters that it does not have"),
        (lambda saved: saved["spent"].update(steps="x"), "the steps of what is spent must be a count"),
        (lambda saved: saved["spent"].update(epochs=float("nan")), "the epochs of what is spent must be an amount"),
        (lambda saved: saved.update(stage_end=-1), "the stage_end of the checkpoint must be a count"),
        (lambda saved: saved["best"].__setitem__(0, 99), "the best network is of epoch 99"),
    ],
)
def test_a_forged_checkpoint_is_refused(forge, said, tmp_path):
    saved, resume = interrupted(tmp_path / "run.pt", validation=0.2)
    forge(saved)
    torch.save(saved, tmp_path / "run.pt")
    with pytest.raises(CreasesError, match=said):
        resume()


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", [make_sgd, make_groups, make_rprop, torch.optim.Adagrad, torch.optim.NAdam])
def test_the_optimizers_memory_is_resumed_with_its_groups(optimizer, tmp_path):
    data = classes(60)
    options = {"how": "random", "when": 2, "budget": 7, "batch_size": 25, "optimizer": optimizer}
    whole = grow_and_save(mlp(3, 2, 2), data, "classification", **options)
    again = resumed_at_every((1, 2, 4), lambda: mlp(3, 2, 2), tmp_path / "run.pt", data, **options)
    assert same_tensors(whole.model, again.model)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("variant", ["stages", *(pytest.param(name, marks=pytest.mark.thorough) for name in OTHERS)])
def test_killed_at_moments_of_chance_a_run_ends_the_same(variant, tmp_path):
    program = [sys.executable, str(TESTS / "killed_runs.py"), variant, "7", "0", str(tmp_path)]
    done = subprocess.run(program, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["kills"] == 7
    assert found["same network"]
    assert found["same history"]
    assert found["steps"] >= 2


@pytest.mark.thorough
@pytest.mark.slow
def test_a_program_that_is_killed_goes_on_when_it_is_started_again(tmp_path):
    folders = [tmp_path / "struck", tmp_path / "whole"]
    for folder in folders:
        folder.mkdir()
    code = "import sys; from pathlib import Path; from killed_runs import left_alone\n"
    code += "[left_alone('fold', Path(folder)) for folder in sys.argv[1:]]"
    first = subprocess.Popen([sys.executable, "-c", code, str(folders[0])], env=ENVIRONMENT)
    while not (folders[0] / "run.pt").exists() and first.poll() is None:
        time.sleep(0.005)
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert not (folders[0] / "history.json").exists()
    subprocess.run([sys.executable, "-c", code, *map(str, folders)], env=ENVIRONMENT, check=True)
    one, two = (torch.load(folder / "model.pt", weights_only=True) for folder in folders)
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)
