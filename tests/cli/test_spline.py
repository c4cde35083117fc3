import csv
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import creases
from creases.cli.spline import _data as data
from creases.problems import TARGETS
from creases.splines import optimal_fit, roughness, to_spline

QUICK = ("--width", 6, "--steps", 200, "--points", 40)


@pytest.fixture
def table(tmp_path):
    """Years and temperatures, with columns that do not matter: names, and gaps."""
    rng = np.random.default_rng(0)
    year = np.arange(1960, 2020)
    temperature = 14 + 0.4 * np.sin((year - 1960) / 8) + 0.05 * rng.normal(size=len(year))
    lines = [
        f"S{k},{x},{'' if k % 2 else 'ok'},{y:.4f}" for k, (x, y) in enumerate(zip(year, temperature, strict=True))
    ]
    (tmp_path / "station.csv").write_text("\n".join(["name,year,note,temperature", *lines]))
    return "station.csv"


def summary(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.thorough
def test_the_table_has_errors_of_the_initial_and_trained_network_and_of_the_best_fit(run):
    result = run("spline", *QUICK)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("sine, sin 2x by x: 40 samples, 6 units, 200 steps\n")
    first, trained, best = map(float, re.search(r"training error +(\S+) +(\S+) +(\S+)", result.stdout).groups())
    assert first > trained > best
    for words in (r"test error( +\S+){3}", r"breakpoints within the data( +\d+){3}", r"roughness( +\S+){3}"):
        assert re.search(words, result.stdout)
    assert re.search(r"Gap to the best fit \(7 pieces\): 0\.\d+, \d+(\.\d+)? times its error", result.stdout)
    assert re.search(r"crossed a sample \d+ times?; births: \d+, deaths: \d+\.", result.stdout)
    assert "Next: creases spline" in result.stdout
    assert "--out fit.png" in result.stdout


@pytest.mark.slow
def test_the_numbers_are_those_of_the_network_that_is_written(run, tmp_path):
    found = summary(run("spline", "--target", "arctan", *QUICK, "--out", "n.safetensors", "--json"))
    net = creases.read(tmp_path / "n.safetensors")
    x = np.linspace(-3, 3, 40)
    assert found["network"]["training_error"] == pytest.approx(((net(x[:, None])[:, 0] - np.arctan(x)) ** 2).mean())
    form = to_spline(creases.splines.from_module(net))
    np.testing.assert_allclose(found["network"]["at"], form.beta)
    np.testing.assert_allclose(found["network"]["delta_slopes"], form.mu)
    assert found["network"]["roughness"] == pytest.approx(roughness(form))
    assert found["network"]["breakpoints_in_range"] == int((abs(form.beta) < 3).sum())
    assert found["gap"] == found["network"]["training_error"] - found["best_fit"]["training_error"] > 0
    assert found["best_fit"]["least_possible_error"] <= found["best_fit"]["training_error"]
    assert found["files"] == ["n.safetensors"]


@pytest.mark.slow
def test_relocation_brings_the_network_near_the_best_fit(run):
    plain, moved = (
        summary(run("spline", "--width", 8, "--steps", 2000, "--points", 40, *more, "--json"))
        for more in ((), ("--relocate",))
    )
    assert moved["relocated"] > 0
    assert plain["relocated"] == 0
    assert moved["best_fit"] == plain["best_fit"]
    assert moved["gap"] < 0.1 * plain["gap"]


def test_first_breakpoints_are_where_init_says(run):
    none = ("spline", "--width", 30, "--steps", 0, "--points", 12, "--json", "--init")
    found = {how: summary(run(*none, how)) for how in ("torch", "uniform", "curvature", "spiky")}
    assert found["uniform"]["network"]["breakpoints_in_range"] == 30
    assert min(found["uniform"]["network"]["at"]) < -1  # not all on one side, as when the weights' numbers drew them
    assert found["torch"]["network"]["breakpoints_in_range"] < 30
    np.testing.assert_allclose(found["spiky"]["network"]["at"], found["torch"]["network"]["at"])
    assert found["spiky"]["network"]["roughness"] == pytest.approx(400 * found["torch"]["network"]["roughness"])
    assert found["torch"]["first"] == {name: found["torch"]["network"][name] for name in found["torch"]["first"]}


@pytest.mark.slow
def test_a_table_is_fitted_in_its_own_units(run, table, tmp_path):
    words = ("spline", table, "--x", "year", "--target", "temperature", "--width", 6, "--steps", 3000)
    found = summary(run(*words, "--out", "n.onnx", "--out", "t.svg", "--json"))
    assert (found["data"]["train"], found["data"]["test"]) == (48, 12)
    assert found["best_fit"]["training_error"] < found["network"]["training_error"] < 0.05
    assert found["network"]["test_error"] < 0.05
    net = creases.read(tmp_path / "n.onnx")
    assert 13 < net(np.array([[1990.0]]))[0, 0] < 15
    assert all(1900 < place < 2100 for place in found["best_fit"]["at"])
    picture = (tmp_path / "t.svg").read_text()
    assert "year" in picture
    assert "temperature" in picture


def test_an_npz_file_of_two_columns_needs_no_names(run, tmp_path):
    x = np.linspace(0, 1, 30)
    np.savez(tmp_path / "two.npz", X=x[:, None], y=x**2)
    found = summary(run("spline", "two.npz", "--width", 3, "--steps", 100, "--test", 0, "--json"))
    assert (found["data"]["input"], found["data"]["output"]) == ("X", "y")
    assert found["data"]["test"] == 0
    assert found["network"]["test_error"] is None
    assert "test error" not in run("spline", "two.npz", "--width", 3, "--steps", 10, "--test", 0).stdout


@pytest.mark.slow
def test_pictures_and_animation_are_written_whole(run, tmp_path):
    found = summary(run("spline", *QUICK, "--out", "a.png", "--animate", "a.gif", "--json"))
    assert found["files"] == ["a.png", "a.gif"]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with Image.open(tmp_path / "a.gif") as film:
        assert film.n_frames > 20
        film.seek(film.n_frames - 1)
        assert film.info["duration"] > 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gif", "a.png"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_result(run):
    one, same, other = (summary(run("spline", *QUICK, "--noise", 0.1, "--json", "--seed", s)) for s in (3, 3, 4))
    assert one == same
    assert one["network"]["at"] != other["network"]["at"]
    assert one["best_fit"]["at"] != other["best_fit"]["at"]


def test_steps_that_are_too_long_are_halved_and_reported(run):
    result = run("spline", *QUICK, "--lr", 1e6)
    assert result.exit_code == 0, result.output
    assert re.search(r"The learning rate was halved \d+ times? because the error rose\.", result.stdout)
    assert "nan" not in result.stdout


def test_more_breakpoints_than_data_interpolate(run):
    found = summary(run("spline", "--width", 30, "--steps", 10, "--points", 10, "--json"))
    assert found["best_fit"]["training_error"] < 1e-20
    assert "times its error" not in run("spline", "--width", 30, "--steps", 10, "--points", 10).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--target", "sin"],
            "--target must be one of sine, quadratic, cubic, chirp, arctan, sawtooth, got 'sin'; did you",
        ),
        (
            ["--target", "station.csv"],
            "--target must be the name of a curve, got the file station.csv; to fit a table, run",
        ),
        (["sine"], "cannot read sine: no such file; for the built-in curve use --target sine"),
        (["--x", "year"], "--x must be used with a table only; run: creases spline table.csv --x COLUMN"),
        (
            ["station.csv"],
            "--x must name the column to predict from, got a table with 4 columns; choose from name, year",
        ),
        (["station.csv", "--x", "yeer"], "--x must be a column of station.csv, got 'yeer'; did you mean 'year'?"),
        (["station.csv", "--x", "name"], "--x must be a column of numbers, got 'name', which holds text"),
        (["station.csv", "--x", "2", "--missing", "drop"], "--x must be a column of numbers, got 'note', which holds"),
        (
            ["station.csv", "--x", "year", "--target", "name"],
            "--target must be numbers for regression, got text in column 'name'",
        ),
        (
            ["station.csv", "--x", "year", "--target", "year"],
            "--x must be different columns without the target, got ['year']",
        ),
        (["station.csv", "--x", "year", "--test", 1], "--test must be a finite number at least 0 and below 1, got 1.0"),
        (["--width", 0], "--width must be a positive integer, got 0"),
        (["--steps", -1], "--steps must be an integer, at least 0, got -1"),
        (["--seed", -1], "--seed must be an integer from 0 to 2^64 - 1, got -1"),
        (["--lr", 0], "--lr must be a finite number above 0, got 0.0"),
        (["--points", 1], "--points must be an integer, at least 2, got 1"),
        (["--noise", -1], "--noise must be a finite number at least 0, got -1.0"),
        (["--points", 4, "--init", "curvature"], "x must have at least 5 different values for 'curvature', got 4"),
        (["--out", "a.gif"], "--out must be a file name ending in .png, .svg, .safetensors, .onnx, .csv, got 'a.gif'"),
        (["--values", "a.png"], "--values must be a file name ending in .csv, got 'a.png'"),
        (["--pieces", "some"], "--pieces must be a number, bic or cv, got 'some'"),
        (["--pieces", 0], "--pieces must be a positive integer, got 0"),
        (["--pieces", 3, "--slopes", "0"], "--slopes must be LOW,HIGH, got '0'; for example -1,1; leave one empty"),
        (
            ["--pieces", 3, "--animate", "a.gif"],
            "--animate must be used without --pieces; there is no training to show",
        ),
        (["--jumps"], "--jumps must be used with --pieces; a network is trained without conditions"),
        (["--pieces", 3, "--jumps", "--period", 6], "--period must be used without jumps"),
        (["--pieces", 3, "--jumps", "--out", "n.onnx"], "--jumps must not be used for a spline of breakpoints"),
        (["--animate", "a.avi"], "--animate must be a file name ending in .gif, .mp4, got 'a.avi'"),
        (["--animate", "no/a.gif"], "--animate must be in an existing folder, got no/a.gif"),
    ],
)
def test_bad_input_ends_in_one_line_and_exit_code_2(run, table, tmp_path, words, message):
    result = run("spline", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == [table]


def test_missing_values_are_refused_in_the_words_of_the_command(run, tmp_path):
    (tmp_path / "gaps.csv").write_text("x,y\n" + "".join(f"{k if k % 3 else ''},{k}\n" for k in range(30)))
    result = run("spline", "gaps.csv")
    assert result.exit_code == 2
    assert "DATA must have no missing values" in result.stderr
    assert "--missing drop" in result.stderr


def test_one_input_value_is_refused(run, tmp_path):
    (tmp_path / "one.csv").write_text("x,y\n" + "".join(f"1,{k}\n" for k in range(30)))
    result = run("spline", "one.csv")
    assert result.exit_code == 2
    assert "DATA must have at least two different inputs to train on, got one value of 'x' in all rows" in result.stderr


def test_every_curve_can_be_named():
    for name in TARGETS:
        found = data.curve_data(name, points=5, noise=0.0, seed=0)
        np.testing.assert_array_equal(found.y, TARGETS[name](found.x))


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_best_fit_alone_is_found_without_training(run, tmp_path):
    words = ("spline", "--target", "arctan", "--points", 40, "--pieces", 4)
    found = summary(run(*words, "--out", "pieces.csv", "--values", "values.csv", "--out", "n.onnx", "--json"))
    x = np.linspace(-3, 3, 40)
    best = optimal_fit(x, np.arctan(x), 4)
    assert found["is_optimal"]
    assert found["training_error"] == pytest.approx(best.sse / 40)
    pieces = read_csv(tmp_path / "pieces.csv")
    np.testing.assert_allclose([float(row["slope"]) for row in pieces], best.pieces.slopes)
    np.testing.assert_allclose([float(row["end"]) for row in pieces], [*best.knots, 3])
    np.testing.assert_allclose([float(row["value_at_begin"]) for row in pieces], best([-3, *best.knots]))
    errors = best.statistics(x, np.arctan(x)).standard_errors
    np.testing.assert_allclose([float(row["slope_standard_error"]) for row in pieces], errors)
    values = read_csv(tmp_path / "values.csv")
    np.testing.assert_allclose([float(row["best_fit"]) for row in values], best(x))
    np.testing.assert_allclose(creases.read(tmp_path / "n.onnx")(x[:, None])[:, 0], best(x), atol=1e-6)
    shown = run(*words).stdout
    assert "40 samples, 4 pieces" in shown
    assert "(optimal, proved)" in shown


def test_values_of_both_fits_are_written_after_training(run, tmp_path):
    found = summary(run("spline", *QUICK, "--values", "v.csv", "--out", "p.csv", "--json"))
    assert found["files"] == ["p.csv", "v.csv"]
    rows = read_csv(tmp_path / "v.csv")
    errors = [
        np.mean([(float(row[name]) - float(row["sin 2x"])) ** 2 for row in rows]) for name in ("network", "best_fit")
    ]
    assert errors == pytest.approx([found["network"]["training_error"], found["best_fit"]["training_error"]])
    assert len(read_csv(tmp_path / "p.csv")) == found["best_fit"]["pieces"]


@pytest.mark.slow
def test_conditions_and_the_choice_of_pieces_reach_the_fit(run, tmp_path):
    common = ("spline", "--points", 40, "--json")
    rising = summary(run(*common, "--pieces", 3, "--slopes", "0,"))
    assert min(row["slope"] for row in rising["pieces"]) >= -1e-9
    chosen = summary(run(*common, "--target", "sawtooth", "--pieces", "bic", "--jumps", "--out", "saw.svg"))
    assert len(chosen["pieces"]) == 4
    assert min(chosen["selection"], key=chosen["selection"].get) == "4"
    assert "<svg" in (tmp_path / "saw.svg").read_text()


def test_dates_are_days_in_the_fit_and_dates_in_the_files(run, tmp_path):
    days = np.arange("2024-01-30", "2024-03-30", dtype="datetime64[D]")
    y = np.abs(np.arange(len(days)) - 30.0)
    lines = "".join(f"{day},{value}\n" for day, value in zip(days, y, strict=True))
    (tmp_path / "daily.csv").write_text("day,load\n" + lines)
    found = summary(
        run("spline", "daily.csv", "--pieces", 2, "--test", 0, "--out", "p.csv", "--values", "v.csv", "--json")
    )
    assert found["data"]["input"] == "day days since 2024-01-30"
    left, right = read_csv(tmp_path / "p.csv")
    assert (left["begin"], left["end"], right["end"]) == ("2024-01-30", "2024-02-29", "2024-03-29")
    assert float(left["slope"]) == pytest.approx(-1)
    row = read_csv(tmp_path / "v.csv")[30]
    assert (row["day"], row["load"]) == ("2024-02-29", "0.0")
    assert abs(float(row["best_fit"])) < 1e-6


@pytest.mark.slow
def test_the_module_of_the_command_does_not_import_torch():
    code = "import sys, creases.cli.spline; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("words", [("--pieces", "0"), ("--width", "0"), ("--steps", "-1")])
def test_numbers_are_checked_before_kernels_are_compiled(run, monkeypatch, words):
    monkeypatch.setattr("creases.cli._kernels.load_spline_kernels", lambda: pytest.fail("kernels were loaded"))
    result = run("spline", *words)
    assert result.exit_code == 2
    assert f"error: {words[0]} must be" in result.stderr
