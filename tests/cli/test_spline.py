import csv
import json
import subprocess
import sys

import numpy as np
import pytest

import creases
from creases.splines import Shallow, optimal_fit, to_module
from creases.splines.theory import velocities


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


@pytest.fixture
def arctan(tmp_path):
    """Forty points of the arctangent; an .npz file of two columns needs no names."""
    x = np.linspace(-3, 3, 40)
    np.savez(tmp_path / "arctan.npz", X=x[::-1, None], y=np.arctan(x[::-1]))
    return "arctan.npz"


def summary(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_trained_network_is_described_on_the_data(run, arctan, tmp_path):
    net = Shallow([1.0, 1.0, -1.0], [0.0, 0.01, 9.0], [1.0, 1.0, 1.0])
    creases.read(to_module(net), input_shape=(1,)).save(tmp_path / "net.safetensors")
    words = summary(run("spline", arctan, "--pieces", 2, "--network", "net.safetensors", "--json"))["network"]
    assert words[0] == "2 of 3 breakpoints between the first and the last sample (at first 83%)."
    x = np.linspace(-3, 3, 40)
    speed = velocities(net, x, np.arctan(x)).beta[0]
    assert f"Gradient flow moves unit 0 from 0 by {speed:.3g}." in words
    assert "Degenerate (shared pattern): unit 0, 1." in words
    assert "Degenerate (all active): unit 2." in words


@pytest.mark.slow
def test_the_best_fit_is_printed_and_written(run, arctan, tmp_path):
    words = ("spline", arctan, "--pieces", 4)
    found = summary(run(*words, "--out", "pieces.csv", "--out", "n.onnx", "--out", "p.svg", "--json"))
    assert found["files"] == ["pieces.csv", "n.onnx", "p.svg"]
    x = np.linspace(-3, 3, 40)
    best = optimal_fit(x, np.arctan(x), 4)
    assert found["is_optimal"]
    assert found["error"] == pytest.approx(best.sse / 40)
    pieces = read_csv(tmp_path / "pieces.csv")
    np.testing.assert_allclose([float(row["slope"]) for row in pieces], best.pieces.slopes)
    np.testing.assert_allclose([float(row["end"]) for row in pieces], [*best.knots, 3])
    np.testing.assert_allclose([float(row["value_at_begin"]) for row in pieces], best([-3, *best.knots]))
    errors = best.statistics(x, np.arctan(x)).standard_errors
    np.testing.assert_allclose([float(row["standard_error"]) for row in pieces], errors)
    np.testing.assert_allclose(creases.read(tmp_path / "n.onnx")(x[:, None])[:, 0], best(x), atol=1e-6)
    assert "<svg" in (tmp_path / "p.svg").read_text()
    shown = run(*words).stdout
    assert "40 samples" in shown
    assert "(optimal, proved)" in shown
    assert "Next: creases spline" in shown


def test_a_column_of_a_table_is_fitted_with_as_many_pieces_as_bic_chooses(run, table):
    found = summary(run("spline", table, "--x", "year", "--json"))
    assert len(found["pieces"]) == int(min(found["selection"], key=found["selection"].get)) > 2
    assert (found["pieces"][0]["begin"], found["pieces"][-1]["end"]) == (1960, 2019)


def test_dates_are_days_in_the_fit_and_dates_in_the_files(run, tmp_path):
    days = np.arange("2024-01-30", "2024-03-30", dtype="datetime64[D]")
    y = np.abs(np.arange(len(days)) - 30.0)
    lines = "".join(f"{day},{value}\n" for day, value in zip(days, y, strict=True))
    (tmp_path / "daily.csv").write_text("day,load\n" + lines)
    result = run("spline", "daily.csv", "--pieces", 2, "--out", "p.csv")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("load by day: 60 samples")
    left, right = read_csv(tmp_path / "p.csv")
    assert (left["begin"], left["end"], right["end"]) == ("2024-01-30", "2024-02-29", "2024-03-29")
    assert float(left["slope"]) == pytest.approx(-1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sine"], "cannot read sine: there is no such file"),
        (["station.csv"], "--x must be one column of numbers or dates, got "),
        (["station.csv", "--x", "yeer"], "--x must be a column of station.csv, got 'yeer'; did you mean 'year'?"),
        (["station.csv", "--x", "name"], "--x must be one column of numbers or dates, got "),
        (
            ["station.csv", "--x", "year", "--target", "name"],
            "--target must be numbers for regression, got text in column 'name'",
        ),
        (["station.csv", "--x", "year", "--out", "a.gif"], "--out must be a file name ending in .png, .svg, .csv"),
        (["station.csv", "--x", "year", "--pieces", "some"], "--pieces must be a positive number, bic or cv, got"),
        (["station.csv", "--x", "year", "--pieces", 0], "--pieces must be a positive number, bic or cv, got '0'"),
    ],
)
def test_bad_input_ends_in_one_line_and_exit_code_2(run, table, tmp_path, monkeypatch, words, message):
    monkeypatch.setattr("creases.splines.compile_kernels", lambda announce: pytest.fail("kernels were loaded"))
    result = run("spline", *words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stderr.startswith("error: ")
    assert result.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == [table]


def test_one_input_value_is_refused(run, tmp_path):
    (tmp_path / "one.csv").write_text("x,y\n" + "".join(f"1,{k}\n" for k in range(30)))
    result = run("spline", "one.csv")
    assert result.exit_code == 2
    assert "DATA must have at least two different inputs, got one value of 'x' in all rows" in result.stderr


@pytest.mark.slow
def test_the_module_of_the_command_does_not_import_torch():
    code = "import sys, creases.cli.spline; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
