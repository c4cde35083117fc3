"""Moments of a growth run: which are taken, which are kept, and that a killed run has the same."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import creases
from creases import problems
from creases.growth import GrowthConfig
from creases.tables import Experiment, Snapshots, TableSplit
from creases.tables._fit import snapshots as module
from creases.tables._fit.snapshots import clear_snapshots, load_snapshots

TESTS = Path(__file__).parents[2]
PATHS = os.pathsep.join([str(TESTS), str(Path(creases.__file__).parents[1])])  # the creases that is tested here
ENVIRONMENT = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


CONFIG = GrowthConfig(how="random", when=8, budget=30, lr=0.01, batch_size=60, keep="last", growth_patience=None)


@pytest.fixture(scope="module")
def data():
    return TableSplit.from_problem(problems.get("moons"), CONFIG)


def start(data):
    return Experiment(data, CONFIG).model


def grown(data, moments):
    """A short run with growth steps at epochs 8, 16, ..."""
    experiment = Experiment(data, CONFIG, snapshots=moments)
    return experiment.model, experiment.run(progress=False)


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """A run whose moments are also in a folder; tests that change the folder copy it."""
    folder = tmp_path_factory.mktemp("whole") / "snapshots"
    moments = Snapshots(data.scaling, folder)
    model, history = grown(data, moments)
    return SimpleNamespace(moments=moments, model=model, history=history, folder=folder)


def test_there_is_a_moment_around_every_growth_step_and_now_and_then_between(whole):
    moments = whole.moments
    steps = [record.epoch for record in whole.history.records]
    assert steps == [8, 16, 24]
    between = [(epoch, "training") for epoch in (10, 20, 30)]
    around = [(epoch, kind) for epoch in steps for kind in ("before", "grown")]
    order = {"before": 0, "grown": 1, "training": 0}
    expected = sorted([*between, *around], key=lambda one: (one[0], order[one[1]]))
    assert [(one.epoch, one.kind) for one in moments] == [(0, "start"), *expected, (moments[-1].epoch, "end")]
    assert [one.record for one in moments if one.kind == "grown"] == [1, 2, 3]
    assert len({one.id for one in moments}) == len(moments)


def test_a_moments_network_takes_the_datas_own_units(data, whole):
    moments, model, history = whole.moments, whole.model, whole.history
    X = data.problem.X[:20]
    with torch.no_grad():
        expected = model(torch.from_numpy(data.scaling.inputs(X))).numpy()
    assert np.allclose(moments[-1].net(X), expected, atol=1e-4)
    for moment in moments:
        if moment.kind in ("before", "grown"):
            record = next(one for one in history.records if one.epoch == moment.epoch)
            assert moment.net.n_units == record.width[moment.kind == "grown"]


def test_where_it_was_time_to_grow_and_nothing_was_added_there_is_no_moment(data):
    moments = Snapshots(data.scaling)
    model = start(data)
    history = SimpleNamespace(stages=[], epochs=[{}] * 7, records=[])
    state = SimpleNamespace(model=model, due=True, record=None, history=history)
    moments.start(model)
    moments.before(state)
    moments.after(state)
    assert [one.kind for one in moments] == ["start"]


def step(number, epoch):
    return SimpleNamespace(action="grow", method="fold", is_linear=False, number=number, epoch=epoch, undone=False)


def told(model, epoch, record=None, records=0):
    """What a run's state tells moments at the end of an epoch."""
    made = [step(number, number) for number in range(1, records + 1)]
    history = SimpleNamespace(stages=[], epochs=range(epoch), records=made)
    return SimpleNamespace(model=model, due=record is not None, record=record, history=history)


def long_run(data, moments, epochs, every=5):
    """A run of so many epochs with a growth step at every fifth; gives the most moments that there were at once."""
    model = start(data)
    moments.start(model)
    most = 0
    for epoch in range(1, epochs + 1):
        number = epoch // every
        record = step(number, number * every) if epoch % every == 0 else None
        moments.before(told(model, epoch, record, number - (record is not None)))
        moments.after(told(model, epoch, record, number))
        most = max(most, len(moments))
    return most


@pytest.mark.slow
def test_training_and_growth_share_the_room_there_is(data):
    moments = Snapshots(data.scaling, max_snapshots=40)
    assert 30 < long_run(data, moments, 400, every=7) <= 40 + 3  # the start and the first growth step always stay
    kinds = [one.kind for one in moments]
    assert kinds.count("training") >= 10
    assert kinds.count("grown") >= 5


@pytest.mark.slow
def test_long_runs_are_thinned_evenly_and_keep_their_first_growth_step(data):
    moments = Snapshots(data.scaling, max_snapshots=40)
    long_run(data, moments, 1003)
    assert len(moments) <= 41
    grown_at = [one.record for one in moments if one.kind == "grown"]
    assert grown_at[0] == 1
    assert len(grown_at) >= 6
    assert len(set(np.diff(grown_at))) == 1
    before = [one.epoch for one in moments if one.kind == "before"]
    assert before == [one.epoch for one in moments if one.kind == "grown"]


@pytest.mark.slow
def test_large_networks_are_kept_at_fewer_moments(data):
    moments = Snapshots(data.scaling, max_bytes=1)
    long_run(data, moments, 400)
    assert 4 < len(moments) <= module.MIN_SNAPSHOTS + 1


@pytest.mark.slow
def test_what_is_written_is_what_is_kept(data, tmp_path):
    moments = Snapshots(data.scaling, tmp_path / "snapshots", max_snapshots=40)
    long_run(data, moments, 203)
    there = load_snapshots(tmp_path / "snapshots")
    same = ("epoch", "kind", "record", "step", "level")
    assert [[getattr(one, name) for name in same] for one in there] == [
        [getattr(one, name) for name in same] for one in moments
    ]
    X = data.problem.X[:5]
    assert all(np.array_equal(a.net(X), b.net(X)) for a, b in zip(there, moments, strict=True))


def test_a_run_that_goes_on_forgets_what_it_had_written_after_its_checkpoint(data, whole, tmp_path):
    shutil.copytree(whole.folder, tmp_path / "snapshots")
    (tmp_path / "snapshots" / ".0000020-training-00000-00002-abc.safetensors").write_bytes(b"half")
    again = Snapshots(data.scaling, tmp_path / "snapshots")
    again.start(whole.model)
    again.before(told(whole.model, 17))
    kinds = [(one.epoch, one.kind) for one in again]
    assert kinds == [(0, "start"), (8, "before"), (8, "grown"), (10, "training"), (16, "before"), (16, "grown")]
    assert len(list((tmp_path / "snapshots").iterdir())) == len(kinds)


@pytest.mark.slow
def test_numbers_of_dropped_moments_are_not_used_again(data):
    moments = Snapshots(data.scaling)
    model, _ = grown(data, moments)
    last = moments[-1].id
    moments.keep_only(lambda one: one.epoch <= 8)
    moments.end(model, 8)
    assert moments[-1].id == last + 1


def test_a_folder_is_cleared_of_moments_alone(whole, tmp_path):
    folder = shutil.copytree(whole.folder, tmp_path / "snapshots")
    (folder / ".0000008-grown-00001-00001-abc.safetensors").write_bytes(b"half")
    (folder / "mine.txt").write_text("mine")
    clear_snapshots(folder)
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    (folder / "mine.txt").unlink()
    clear_snapshots(folder)
    assert not folder.exists()


def test_a_damaged_moment_is_named(whole, tmp_path):
    shutil.copytree(whole.folder, tmp_path / "snapshots")
    broken = next((tmp_path / "snapshots").glob("*grown*"))
    broken.write_bytes(broken.read_bytes()[:100])
    with pytest.raises(creases.errors.FileError, match=broken.name):
        load_snapshots(tmp_path / "snapshots")


def test_the_network_before_the_first_growth_step_is_told_from_one_before_a_revival(data):
    moments, model = Snapshots(data.scaling), start(data)
    assert moments.before_growth is None
    actions = []
    for epoch, action in ((3, "revive"), (6, "grow"), (9, "grow")):
        about = {"action": action, "method": "fold", "number": len(actions) + 1, "epoch": epoch, "undone": False}
        actions.append(SimpleNamespace(is_linear=False, **about))
        history = SimpleNamespace(stages=[], epochs=range(epoch), records=actions)
        state = SimpleNamespace(model=model, due=True, record=actions[-1], history=history)
        moments.before(state)
        moments.after(state)
    first = next(one for one in moments if one.kind == "before" and one.epoch == 6)
    assert moments.before_growth is first.net


@pytest.mark.thorough
def test_networks_of_a_stage_that_is_undone_are_dropped(monkeypatch):
    verdicts = iter([(1.0, 0.0), (0.0, 1.0), (1.0, 0.0), *[(0.0, 1.0)] * 9])  # the first and the third stage pay
    monkeypatch.setattr("creases.growth._sized.compare_losses", lambda *losses: next(verdicts))
    config = GrowthConfig(how="random", budget=100, growth_share=0.3, batch_size=10, lr=0.01, weight_decay=1.0)
    data = TableSplit.from_problem(problems.get("moons"), config)
    moments, seen = Snapshots(data.scaling), {}
    experiment = Experiment(data, config, snapshots=moments)
    history = experiment.run(progress=False, callbacks=[lambda state: seen.update({one.id: one for one in moments})])
    undone = [record for record in history.records if record.undone]
    assert undone
    assert {record.number for record in undone} <= {one.record for one in seen.values()}
    by_epoch = {epoch["epoch"]: sum(epoch["widths"].values()) for epoch in history.epochs}
    for one in moments:
        if one.kind == "training":
            assert one.net.n_units == by_epoch[one.epoch]
    dropped = {one.record for one in seen.values()} - {one.record for one in moments}
    assert dropped == {record.number for record in undone}
    steps = [one.step for one in moments if one.kind == "grown"]
    assert steps == list(range(1, len({record.epoch for record in history.records if not record.undone}) + 1))


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_killed_and_resumed_run_has_the_moments_of_one_left_alone(tmp_path):
    program = [sys.executable, str(TESTS / "killed_growth.py"), "6", str(tmp_path)]
    done = subprocess.run(program, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["kills"] == 6
    assert found["snapshots"] > 10
    assert found["same"]
