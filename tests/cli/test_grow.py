"""``creases grow``: a network grown on a table, its files, its report, and how it goes on after an interruption."""

import itertools
import json
import re
import shlex

import numpy as np
import pytest

import creases
from creases.cli import _table_result
from creases.growth import GrowthConfig, History
from creases.tables import Experiment, RunSettings
from creases.tables._fit import experiment as experiments

FILES = {
    "model.safetensors",
    "metrics.json",
    "model.json",
    "encoding.json",
    "history.json",
    "growth.png",
    "report.txt",
    "run.json",
    "rows.npz",
    "checkpoint.pt",
    "snapshots",
}


@pytest.fixture
def orchard(tmp_path):
    """A table with a story: which trees are picked early, by height (cm), age and kind; a corner needs a fold."""
    rng = np.random.default_rng(3)
    height, age = rng.uniform(150, 500, 160), rng.integers(2, 40, 160)
    kind = rng.choice(["apple", "pear"], 160)
    early = (height > 330) ^ (age > 20) ^ ((kind == "pear") & (age > 35))
    lines = [f"{h:.1f},{a},{k},{'early' if e else 'late'}" for h, a, k, e in zip(height, age, kind, early, strict=True)]
    path = tmp_path / "orchard.csv"
    path.write_text("\n".join(["height,age,kind,picked", *lines]) + "\n")
    return path


QUICK = ("--budget", 60, "--when", 15, "--seed", 1)


@pytest.mark.slow
def test_a_table_gives_a_network_in_its_own_units_and_a_report(run, orchard, tmp_path):
    result = run("grow", orchard, "--target", "picked", "--out", "o", *QUICK)
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "o").iterdir()} - {"model.onnx"} == FILES
    model = json.loads((tmp_path / "o" / "model.json").read_text())
    assert model["inputs"] == ["height", "age", "kind=apple", "kind=pear"]
    assert model["classes"] == ["early", "late"]
    net = creases.read(tmp_path / "o" / "model.safetensors")
    assert net.n_in == 4
    assert net.n_units == model["units"]
    loaded = creases.load(tmp_path / "o")
    assert set(loaded.importance) == {"height", "age", "kind"}
    assert loaded.describe().lead == "Predicts ‘picked’ from 4 inputs."
    table = np.genfromtxt(orchard, delimiter=",", skip_header=1, dtype=None, encoding="utf-8")
    X = np.array([[h, a, k == "apple", k == "pear"] for h, a, k, _ in table], float)
    y = np.array([picked == "late" for *_, picked in table])
    right = (net(X).argmax(axis=1) == y).mean()
    scores = model["scores"]["grown network"]
    assert right == pytest.approx((104 * scores["train"] + 24 * scores["validation"] + 32 * scores["test"]) / 160)
    said = " ".join(result.stdout.split())
    assert "104 training rows, 24 validation rows, 32 held-out test rows" in said
    assert "were misclassified as" in said
    assert "LogisticRegression" in said
    assert "Next: creases report o --out report.html" in said


@pytest.mark.thorough
def test_stages_of_growth_are_shown_with_both_losses(run, monkeypatch):
    gains = itertools.chain([(1.0, 0.1)], itertools.repeat((-9.0, 0.0)))  # the first stage pays, no other does
    monkeypatch.setattr("creases.tables._fit.experiment.compare_losses", lambda *losses: (1.0, 0.1))  # with a line
    monkeypatch.setattr("creases.growth._sized.compare_losses", lambda *losses: next(gains))
    result = run("grow", "circle", "--out", "o", "--budget", 200, "--when", "stages")
    assert result.exit_code == 0, result.output
    history = History.load("o/history.json")
    paid, failed = history.stages[:2]
    for number, stage, pays in ((1, paid, "yes"), (2, failed, "undone: no improvement")):
        losses = rf"{stage['loss_grown']:.4f} +{stage['loss_training_on']:.4f}"
        row = rf"{number} +{stage['epoch']} +{stage['widths']['hidden1']} +{losses} +-?[\d.]+ ± [\d.]+ +{pays}"
        assert re.search(row, result.stdout)
    said = " ".join(result.stdout.split())
    assert re.search(r"budget: 200 epochs spent: [\d.]+ epochs, ", said)
    assert f"Growth stopped: {history.growth_ended}. {history.explain_size()} Training stopped: {history.ended}" in said
    assert "With 64 it was" in history.explain_size()  # the size that did not pay, after 2 and 32 units
    assert re.search(r" 2 +\d+ +1 unit added \(undone: no improvement\)", said)
    summary = json.loads(run("grow", "--resume", "o", "--json").stdout)
    steps = [(step["kept"], step["undone"]) for step in summary["growth_steps"]]
    assert steps[:2] == [(True, False), (False, True)]
    assert (summary["stages"], summary["growth_ended"]) == (history.stages, history.growth_ended)
    assert summary["spent"]["epochs"] == pytest.approx(history.last["epochs"])
    assert summary["epochs"] == pytest.approx(history.last["epochs"])
    assert summary["epochs_in_history"] == len(history.epochs)
    assert history.last["epochs"] <= 201


@pytest.mark.slow
def test_a_linear_model_that_is_as_good_is_kept_and_said_so(run, tmp_path, monkeypatch):
    monkeypatch.setattr("creases.tables._fit.experiment.compare_losses", lambda *losses: (0.0, 1.0))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    rows = np.column_stack([X, X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=120)])
    np.savetxt(tmp_path / "line.csv", rows, delimiter=",", header="a,b,c,y", comments="")
    options = ("--task", "regression", "--when", 4, "--budget", 12)
    result = run("grow", "line.csv", "--out", "o", *options)
    said = " ".join(result.stdout.split())
    linear = "the network is the linear model, which does as well on validation rows"
    assert f"Training stopped: the budget of 12 epochs is spent; {linear}." in said
    assert re.search(r"this model +\d", result.stdout)
    net = creases.read("o/model.safetensors")
    assert np.allclose(net(X) + net(X[::-1]), 2 * net((X + X[::-1]) / 2))
    history = History.load("o/history.json")
    assert history.kept == 0
    assert {history.outcome(record) for record in history.records} <= {"not kept", "undone: no improvement"}


@pytest.mark.slow
def test_reasons_give_rows_as_they_are_in_the_table(run, orchard, tmp_path):
    result = run("grow", orchard, "--out", "o", "--json", *QUICK)
    summary = json.loads(result.stdout)
    lines = orchard.read_text().splitlines()[1:]
    history = History.load(tmp_path / "o" / "history.json")
    assert summary["growth_steps"]
    for step, record in zip(summary["growth_steps"], history.records, strict=True):
        if record.action == "revive":
            continue
        row = record.explanation["why"]["instance"]
        height, age, kind, _ = lines[row].split(",")
        assert f"row {row} (height {float(height):.3g}, age {age}, kind={kind})" in step["why"]
    assert (tmp_path / "o" / "report.txt").read_text().count("Growth step ") == len(history.records)


@pytest.mark.slow
def test_rows_left_out_for_missing_values_do_not_shift_the_others(run, orchard, tmp_path):
    lines = orchard.read_text().splitlines()
    lines[1:1] = [",5,apple,late"] * 7
    orchard.write_text("\n".join(lines))
    refused = run("grow", orchard, "--missing", "error", "--out", "o", *QUICK)
    assert refused.exit_code == 2
    assert "drop those rows with --missing drop, or add an indicator column with --missing indicate" in " ".join(
        refused.stderr.split()
    )
    assert not (tmp_path / "o").exists()
    summary = json.loads(run("grow", orchard, "--missing", "drop", "--out", "o", "--json", *QUICK).stdout)
    record = History.load(tmp_path / "o" / "history.json").records[-1]
    row = record.explanation["why"]["instance"]
    height = lines[1:][row].split(",")[0]
    assert f"row {row} (height {float(height):.3g}" in summary["growth_steps"][-1]["why"]


@pytest.mark.slow
def test_the_onnx_file_is_the_same_network(run, orchard, tmp_path):
    pytest.importorskip("onnx")
    assert run("grow", orchard, "--out", "o", "--budget", 5).exit_code == 0
    x = np.array([[200.0, 10, 1, 0], [450, 30, 0, 1]])
    a, b = (creases.read(tmp_path / "o" / f"model.{ending}")(x) for ending in ("safetensors", "onnx"))
    assert np.allclose(a, b, rtol=1e-12)


@pytest.mark.slow
def test_a_regression_is_told_in_the_targets_units(run, tmp_path):
    x = np.linspace(0, 100, 120)
    np.savez(tmp_path / "roof.npz", load=x, sag=np.abs(x - 40) * 30 + 1000)
    result = run("grow", "roof.npz", "--target", "sag", "--out", "o", "--budget", 80, "--when", 20)
    assert result.exit_code == 0, result.output
    scores = json.loads((tmp_path / "o" / "model.json").read_text())["scores"]
    assert scores["grown network"]["test"] > scores["Ridge"]["test"] + 0.1
    assert scores["grown network"]["test_rmse"] < scores["Ridge"]["test_rmse"] < 1000
    assert "values from 1010 to 2800" in result.stdout
    assert "test RMSE" in result.stdout


@pytest.mark.slow
def test_an_interrupted_run_says_how_to_go_on_and_comes_to_the_same_network(run, orchard, tmp_path, monkeypatch):
    assert run("grow", orchard, "--out", "whole", *QUICK).exit_code == 0
    real = Experiment.run

    def interrupted(experiment, **options):
        def stop(state):
            if len(state.history.epochs) == 40:
                raise KeyboardInterrupt

        return real(experiment, **{**options, "callbacks": [stop]})

    monkeypatch.setattr(experiments, "CHECKPOINT_SECONDS", 0)
    monkeypatch.setattr(Experiment, "run", interrupted)
    result = run("grow", orchard, "--out", "parts", *QUICK)
    assert result.exit_code == 130
    assert "Interrupted. Resume with: creases grow --resume parts" in result.stderr
    monkeypatch.setattr(Experiment, "run", real)
    assert run("grow", "--resume", "parts").exit_code == 0
    for name in ("model.safetensors", "model.json", "growth.png"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / n / "snapshots").iterdir()} for n in ("whole", "parts")
    )
    assert one == two
    assert len(one) > 8
    again = json.loads(run("grow", "--resume", "parts", "--json").stdout)
    assert again["epochs"] == 60
    longer = json.loads(run("grow", "--resume", "parts", "--budget", 70, "--json").stdout)
    assert longer["epochs"] == 70


@pytest.mark.slow
def test_a_folder_with_another_run_is_refused(run, orchard, tmp_path):
    assert run("grow", orchard, "--out", "o", "--budget", 2).exit_code == 0
    again = run("grow", orchard, "--out", "o", "--budget", 3)
    assert again.exit_code == 2
    assert (
        "--out must not contain a growth run or files of the same names, got o with run.json of a growth run; resume "
        "it with --resume o, overwrite it with --force, or choose another folder"
    ) in " ".join(again.stderr.split())
    forced = run("grow", orchard, "--out", "o", "--when", "stages", "--budget", 3, "--force", "--json")
    assert json.loads(forced.stdout)["spent"]["epochs"] == pytest.approx(3)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report.txt").write_text("mine")
    refused = run("grow", orchard, "--out", "mine")
    assert "got mine with report.txt; overwrite it with --force, or choose another folder" in " ".join(
        refused.stderr.split()
    )
    assert (tmp_path / "mine" / "report.txt").read_text() == "mine"


@pytest.mark.slow
def test_a_run_is_not_resumed_on_other_data(run, orchard):
    assert run("grow", orchard, "--out", "o", "--budget", 2).exit_code == 0
    orchard.write_text(orchard.read_text() + "300,10,pear,late\n")
    result = run("grow", "--resume", "o")
    assert result.exit_code == 2
    assert "orchard.csv has changed since the run in o began; start another run" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("grow",), "data and a folder are required: creases grow table.csv --target COLUMN --out DIR"),
        (("grow", "nowhere.csv", "--out", "o"), "there is no file nowhere.csv"),
        (("grow", "moon", "--out", "o"), "did you mean 'moons'?"),
        (("grow", "moons", "--target", "y", "--out", "o"), "--target must not be given for a built-in problem, got 'y'"),  # noqa: E501
        (("grow", "moons", "--out", "o", "--hidden", "2,x"), "--hidden must be auto, or positive widths such as 2 or 4,4, got '2,x'"),  # noqa: E501
        (("grow", "moons", "--out", "o", "--hidden", "0"), "--hidden must be auto, or positive widths such as 2 or 4,4, got '0'"),  # noqa: E501
        (("grow", "moons", "--out", "o", "--budget", "0"), "--budget must be positive and finite, got 0 epochs"),
        (("grow", "moons", "--out", "o", "--test-fraction", "0.9"), "validation_fraction must leave rows to train on, got 0.15, with test_fraction 0.9"),  # noqa: E501
        (("grow", "moons", "--out", "o", "--when", "never"), "--when must be auto, stages or a number of epochs, got 'never'"),  # noqa: E501
        (("grow", "--resume", "o"), "there is no folder o"),
        (("grow", "moons", "--resume", "o"), "DATA must not be given with --resume: a run keeps its settings"),
        (("grow", "--how", "tiny", "--resume", "o"), "--how must not be given with --resume: a run keeps its settings"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_refused_in_one_line(run, words, said):
    result = run(*words)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_a_wrong_column_is_refused_with_the_command_lines_words(run, orchard):
    result = run("grow", orchard, "--target", "pickt", "--out", "o")
    assert result.exit_code == 2
    assert "--target must" in result.stderr
    assert "did you mean 'picked'?" in result.stderr


def test_a_damaged_run_file_is_named(run, tmp_path):
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "run.json").write_text('{"creases-run": 7}')
    result = run("grow", "--resume", "o")
    assert result.exit_code == 2
    assert "run.json is damaged (version 7, expected 6)" in " ".join(result.stderr.split())


#: Methods that only the thorough tests run from the command line.
OTHERS = ("gradmax", "random")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["tiny", "split", *(pytest.param(how, marks=pytest.mark.thorough) for how in OTHERS)])
def test_every_method_grows_from_the_command_line(run, how):
    result = run("grow", "moons", "--how", how, "--hidden", "2,2", "--out", "o", "--budget", 12, "--when", 4, "--json")
    assert result.exit_code == 0, result.output
    steps = json.loads(result.stdout)["growth_steps"]
    assert steps
    assert all(step["why"] for step in steps)


@pytest.mark.slow
def test_a_budget_bounds_the_network(run):
    result = run("grow", "spirals", "--max-units", 3, "--when", 3, "--budget", 30, "--out", "o", "--json")
    summary = json.loads(result.stdout)
    assert max(step["width"][1] for step in summary["growth_steps"]) <= 3


@pytest.mark.slow
def test_a_class_with_one_row_and_few_rows_are_no_obstacle(run, tmp_path):
    rows = [f"{k},{'b' if k == 5 else 'a' if k % 2 else 'c'}" for k in range(12)]
    (tmp_path / "few.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    assert run("grow", "few.csv", "--out", "o", "--budget", 4, "--when", 2).exit_code == 0
    (tmp_path / "fewer.csv").write_text("x,y\n" + "\n".join(rows[:9]) + "\n")
    result = run("grow", "fewer.csv", "--out", "p")
    assert result.exit_code == 2
    assert "DATA must have at least 10 rows, got 9" in result.stderr


@pytest.mark.parametrize(
    "settings",
    [
        RunSettings("moons"),
        RunSettings("moons", config=GrowthConfig(how="tiny", when=12, hidden=(3, 4), max_units=30)),
        RunSettings("moons", config=GrowthConfig(budget=7, test_fraction=0.3, seed=5)),
        RunSettings("moons", config=GrowthConfig(loop="sized", class_weight={"upper": 5.0})),
    ],
)
def test_the_command_makes_a_run_of_the_same_settings(run, settings, monkeypatch):
    made = []

    def seen(given, home, **options):
        made.append((given, str(home)))
        raise KeyboardInterrupt

    monkeypatch.setattr(_table_result, "grow_into", seen)
    run(*shlex.split(settings.command("my run"))[1:])
    assert made == [(settings, "my run")]


def test_a_run_with_options_that_the_command_lacks_is_repeated_by_code():
    settings = RunSettings("moons", config=GrowthConfig(lr=0.003, budget=7))
    code = settings.command("my run")
    assert code.splitlines()[0] == "import creases"
    assert "grow_table(creases.problems.get('moons')" in code
    assert "lr=0.003" in code


@pytest.mark.slow
def test_a_rare_class_is_warned_of_and_found_with_weights_and_a_threshold(run, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(240, 2))
    labels = np.where(x[:, 0] + 1.2 * rng.normal(size=240) > 2.0, "yes", "no")
    rows = [f"{a:.3f},{b:.3f},{label}" for (a, b), label in zip(x, labels, strict=True)]
    (tmp_path / "rare.csv").write_text("\n".join(["a,b,churn", *rows]) + "\n")
    plain = run("grow", "rare.csv", "--out", "plain", "--budget", 2)
    assert plain.exit_code == 0, plain.output
    assert max(map(len, plain.stdout.split("Is it good?")[1].splitlines()[:12])) <= 80
    said = " ".join(plain.stdout.split())
    assert "Warning: The majority class (no) alone has accuracy" in said
    assert "Try --class-weight balanced or --threshold f1" in said
    options = ("--class-weight", "yes=12", "--threshold", "balanced_accuracy")
    result = run("grow", "rare.csv", "--out", "o", "--budget", 2, *options)
    assert result.exit_code == 0, result.output
    metrics = json.loads((tmp_path / "o" / "metrics.json").read_text())
    assert metrics["network"]["test"]["recall"][1] > 0
    assert metrics["class_weights"] == [1.0, 12.0]
    assert set(metrics["baselines"]) == {"LogisticRegression", "HistGradientBoosting", "most frequent class"}
    model = creases.load(tmp_path / "o")
    assert model.schema.threshold == metrics["threshold"] != 0.5
    positive = model.predict_proba(x)[:, 1] > model.schema.threshold
    assert ((model.predict(x) == "yes") == positive).all()
