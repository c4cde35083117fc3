"""``creases animate``: a growth run's folder in, a GIF or MP4 out."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from creases.cli import app
from creases.show._animation import Stage


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A growth run of four inputs."""
    home = tmp_path_factory.mktemp("cli") / "grown"
    words = ["grow", "iris", "--budget", "8", "--when", "5", "--how", "random", "--out", str(home)]
    assert CliRunner().invoke(app, words).exit_code == 0
    return home


@pytest.mark.slow
def test_a_growth_run_becomes_an_animation_of_its_moments(run, folder, tmp_path):
    result = run("animate", folder, "--dpi", "30", "--columns", "0,1", "--beside", "dual", "--theme", "dark")
    assert result.exit_code == 0, result.output
    assert "Wrote growth.gif (" in result.stdout
    assert "on the slice sepal length (cm) × sepal width (cm)" in result.stdout
    with Image.open(tmp_path / "growth.gif") as image:
        assert image.n_frames > 1
    told = json.loads(run("animate", folder, "--out", "two.gif", "--dpi", "30", "--frames", "2", "--json").stdout)
    assert told["bytes"] == (tmp_path / "two.gif").stat().st_size
    assert told["slice"]


@pytest.mark.slow
def test_whole_values_of_two_inputs_are_no_classes(run, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 2))
    np.savez(tmp_path / "table.npz", X=X, y=np.round(9 + 5 * X[:, 0]))
    words = ["--task", "regression", "--budget", "2", "--out", "grown"]
    assert run("grow", "table.npz", "--target", "y", *words).exit_code == 0
    drawn, draw = {}, Stage.picture
    monkeypatch.setattr(Stage, "picture", lambda stage, shot: drawn.update(y=stage.scene.y) or draw(stage, shot))
    result = run("animate", "grown", "--dpi", "30", "--frames", "1")
    assert result.exit_code == 0, result.output
    assert drawn == {"y": None}
    assert "Wrote growth.gif (1 of " in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "film.avi"], "--out must be a file name ending in .gif, .mp4, got 'film.avi'"),
        (["--out", "none/film.gif"], "--out must be in an existing folder, got none/film.gif"),
        (["--columns", "0"], "--columns"),
    ],
)
def test_what_cannot_be_written_is_refused_in_one_line(run, folder, words, message):
    result = run("animate", folder, *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_folder_without_a_run_is_refused(run, tmp_path):
    result = run("animate", tmp_path)
    assert result.exit_code == 2
    assert "error:" in result.stderr
