"""A growth run is read back from its folder, finished or not; what is missing or damaged is said."""

import json
import shutil

import numpy as np
import pytest

import creases
from creases.errors import FileError
from creases.growth import GrowthConfig
from creases.tables import Experiment, RunSettings, load_run

SETTINGS = RunSettings("moons", config=GrowthConfig(budget=30, when=8, how="random"))


def run(settings, folder, **options):
    experiment = Experiment.from_problem(settings.load_problem(), settings.config, folder=folder)
    experiment.run(progress=False, **options)
    return experiment


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run that has ended."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    folder.mkdir()
    SETTINGS.save(folder)
    outcome = run(SETTINGS, folder)
    outcome.network.save(folder / "model.safetensors")
    outcome.history.save(folder / "history.json")
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of it, to spoil."""
    return shutil.copytree(finished, tmp_path / "run")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The folder of a run that was stopped in its 20th epoch, with checkpoints after growth steps alone."""
    folder = tmp_path_factory.mktemp("runs") / "stopped"
    folder.mkdir()
    SETTINGS.save(folder)

    def stop(state):
        if len(state.history.epochs) == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(SETTINGS, folder, callbacks=[stop])
    return folder


def test_a_finished_run_is_read_with_the_network_that_was_kept(finished):
    found = load_run(finished)
    assert found.settings == SETTINGS
    assert found.history.ended
    assert found.epoch == found.history.kept
    X = found.data.problem.X
    assert np.array_equal(found.net(X), creases.read(finished / "model.safetensors")(X))


def test_a_stopped_run_is_read_up_to_its_last_checkpoint(stopped):
    found = load_run(stopped)
    assert not found.history.ended
    assert len(found.history.epochs) == 16
    assert found.snapshots[-1].kind == "grown"
    assert found.epoch == 16
    assert any((stopped / "snapshots").glob("0000020-training-*"))


def test_a_run_that_goes_on_after_its_end_is_read_from_its_checkpoint(finished, folder):
    longer = json.loads((folder / "history.json").read_text())
    longer["epochs"], longer["kept"] = longer["epochs"][:10], 10
    (folder / "history.json").write_text(json.dumps(longer))
    assert len(load_run(folder).history.epochs) == len(load_run(finished).history.epochs)


def test_without_its_checkpoint_and_its_moments_a_finished_run_still_has_its_network(folder):
    (folder / "checkpoint.pt").unlink()
    shutil.rmtree(folder / "snapshots")
    found = load_run(folder)
    assert [one.kind for one in found.snapshots] == ["end"]
    assert found.epoch == found.history.kept


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"holds no fit and no growth run \(there is no run.json in it\)"):
        load_run(tmp_path)


def test_a_run_that_has_come_to_nothing_yet_says_how_to_go_on(tmp_path):
    SETTINGS.save(tmp_path)
    with pytest.raises(FileError, match="has not reached its first checkpoint; resume it: creases grow --resume"):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("run.json", "run.json is damaged"),
        ("history.json", "this is not a growth history"),
        ("checkpoint.pt", r"cannot read .*checkpoint\.pt as a checkpoint"),
    ],
)
def test_a_damaged_file_is_named(folder, name, said):
    (folder / name).write_text("{")
    with pytest.raises(FileError, match=said):
        load_run(folder)


def cut(content):
    return content[: len(content) // 2]


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("model.json", cut, r"model\.json is damaged"),
        ("model.safetensors", cut, r"cannot read .*model\.safetensors: it is damaged"),
        (
            "model.safetensors",
            lambda content: content[:-1] + bytes([content[-1] ^ 255]),
            r"model\.safetensors is not the network that the run ended with",
        ),
    ],
)
def test_a_run_whose_model_is_damaged_is_refused_though_its_history_is_not(folder, name, damage, said):
    load_run(folder).model.save(folder)
    assert load_run(folder).history.ended
    (folder / name).write_bytes(damage((folder / name).read_bytes()))
    with pytest.raises(FileError, match=said):
        load_run(folder)


@pytest.mark.parametrize("why", [{"true": 7}, {"features": [0.1, 0.2, 0.3]}])
def test_the_history_of_other_data_is_refused(folder, why):
    cluster = {"size": 2, "share_of_loss": 0.1, "same_mistake": 2, "mispredicted": 2}
    explanation = {
        "method": "fold",
        "place": "0",
        "why": {"instance": 3, "features": [0.1, 0.2], "true": 1, "predicted": 0, "cluster": cluster},
        "where": {"space": "input", "fold_point": [0.1, 0.2], "found": "a crossing", "distance": 0.1},
        "crease": {"normal": [1.0, 0.0], "active_share": 0.5},
        "effect": {"predicted_gain": 0.1, "largest_change": 0.01},
    }
    history = json.loads((folder / "history.json").read_text())
    history["records"][0] |= {"method": "fold", "explanation": explanation}
    (folder / "history.json").write_text(json.dumps(history))
    assert "2 rows" in load_run(folder).history.explain(instance="row")
    explanation["why"] |= why
    (folder / "history.json").write_text(json.dumps(history))
    with pytest.raises(FileError, match="does not belong to its data: the explanation of growth step 1 is damaged"):
        load_run(folder)


def test_the_history_of_other_columns_is_refused(folder):
    history = json.loads((folder / "history.json").read_text())
    history["setting"]["features"] = ["length", "width"]
    (folder / "history.json").write_text(json.dumps(history))
    with pytest.raises(FileError, match="does not belong to its data: it has other features; start another run"):
        load_run(folder)


def test_networks_of_other_data_are_refused(folder):
    RunSettings("iris", config=SETTINGS.config).save(folder)
    said = r"epoch 0 in .* it has 2 inputs and 2 outputs, the data in run.json need 4 inputs and 3 outputs"
    with pytest.raises(FileError, match=said):
        load_run(folder)


def test_a_run_whose_networks_are_all_gone_says_so(folder):
    shutil.rmtree(folder / "snapshots")
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileError, match="lacks the final network; recreate it with: creases grow --resume"):
        load_run(folder)


def test_a_table_that_changed_since_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    table = tmp_path / "t.csv"
    np.savetxt(table, np.column_stack([rng.normal(size=(40, 2)), rng.integers(0, 2, 40)]), delimiter=",")
    settings = RunSettings(str(table), config=GrowthConfig(budget=2))
    (tmp_path / "o").mkdir()
    settings.save(tmp_path / "o")
    run(settings, tmp_path / "o")
    table.write_text(table.read_text() + "0,0,1\n")
    with pytest.raises(FileError, match=r"t\.csv has changed since the run in .* began; start another run"):
        load_run(tmp_path / "o")
