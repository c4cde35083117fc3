"""``creases report``: what it is given tells what it writes; what it cannot show is refused in one line."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from creases.cli import app
from creases.show.report import kind_of_result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A growth run of four inputs."""
    home = tmp_path_factory.mktemp("cli") / "grown"
    words = ["grow", "iris", "--budget", "12", "--when", "5", "--how", "random", "--out", str(home)]
    assert CliRunner().invoke(app, words).exit_code == 0
    return home


@pytest.mark.slow
def test_a_growth_run_becomes_one_page(run, folder, tmp_path):
    result = run("report", folder, "--out", "page.html", "--columns", "0,1", "--through", "0,60,120")
    assert result.exit_code == 0, result.output
    assert "Wrote page.html (growth run, " in result.stdout
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    told = json.loads(run("report", folder, "--json").stdout)
    assert told["file"] == "report.html"
    assert told["bytes"] == (tmp_path / "report.html").stat().st_size < 5_000_000
    assert told["ended"]
    assert len(told["slices"]) == 4


@pytest.mark.thorough
def test_a_run_that_has_not_ended_is_shown_with_the_way_on(run, folder, tmp_path):
    there = shutil.copytree(folder, tmp_path / "run")
    history = json.loads((there / "history.json").read_text())
    (there / "checkpoint.pt").unlink()
    (there / "history.json").write_text(json.dumps({**history, "ended": ""}))
    result = run("report", "run")
    assert result.exit_code == 0, result.output
    assert "The run is not finished" in result.stderr
    assert "creases grow --resume run" in result.stderr


@pytest.mark.parametrize(
    ("name", "kind"),
    [("run.json", "growth run"), ("comparison.json", "comparison")],
)
def test_a_folder_is_told_by_what_it_holds(tmp_path, name, kind):
    (tmp_path / name).touch()
    assert kind_of_result(tmp_path) == kind


def test_a_map_is_told_by_its_name(run, fold, tmp_path):
    assert run("map", fold, "--out", "map.npz").exit_code == 0
    result = run("report", "map.npz")
    assert result.exit_code == 0, result.output
    assert "Wrote report.html (map, " in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere",), "RESULT must be an existing file or folder, got nowhere"),
        (
            ("empty",),
            "RESULT must hold a growth run (run.json) or a comparison (comparison.json), got empty",
        ),
        (("notes.txt",), "RESULT must be a folder, or a map or network (.npz, .safetensors, .onnx), got 'notes.txt'"),
        (("empty", "--out", "page.pdf"), "--out must be a file name ending in .html, got 'page.pdf'"),
        (("empty", "--out", "no/page.html"), "--out must be in an existing folder, got no/page.html"),
        (("empty", "--out", "folder.html"), "--out must be a file name, got the folder folder.html"),
        (("compared", "--columns", "a,b"), "--columns must be given for a growth run only, got a comparison, compared"),
        (("run", "--box", "0,1,0,1"), "--box must be given for a map only, got a growth run, run"),
        (("run",), "run/run.json is damaged"),
        (("map.npz",), "cannot read map.npz: it is not an .npz file of creases, or damaged"),
        (("map.npz", "--box", ""), "--box must be comma-separated numbers, got ''"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(run, tmp_path, words, said):
    for name in ("empty", "folder.html", "compared", "run"):
        (tmp_path / name).mkdir()
    (tmp_path / "compared" / "comparison.json").touch()
    (tmp_path / "run" / "run.json").touch()
    (tmp_path / "notes.txt").touch()
    (tmp_path / "map.npz").write_bytes(b"PK\x03\x04 cut short")
    result = run("report", *words)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_a_damaged_file_of_a_run_is_named_and_nothing_is_written(run, folder, tmp_path):
    there = shutil.copytree(folder, tmp_path / "run")
    moment, history = sorted((there / "snapshots").iterdir())[0], there / "history.json"
    for path, said in ((moment, "it is damaged"), (history, "this is not a growth history")):
        path.write_bytes(path.read_bytes()[:50])
        result = run("report", "run")
        assert result.exit_code == 2
        assert f"{path.name}: {said}" in " ".join(result.stderr.split())
        assert not (tmp_path / "report.html").exists()
