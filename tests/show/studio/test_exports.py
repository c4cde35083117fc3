"""What can be taken away from the studio: network, report, animation, and code that makes the same network."""

from __future__ import annotations

import base64
import re
import runpy
import zlib

import numpy as np
import pytest

import creases
from creases.show.studio._exports import Export
from report_pages import decode_frame
from studio_page import FORMULA, IRIS, LINE, MOONS, Page


def test_the_network_is_exported_for_the_datas_own_units(ended, tmp_path):
    (export,) = ended.send("export", what="model")
    assert isinstance(export, Export)
    path = tmp_path / "model.safetensors"
    path.write_bytes(export.content)
    X = ended.live.data.problem.X
    assert np.array_equal(creases.read(path)(X), ended.live.net(X))
    (onnx,) = ended.send("export", what="onnx")
    assert onnx.name.endswith(".onnx")


@pytest.mark.slow
def test_the_report_is_one_page_with_the_run_and_its_code_in_it(ended):
    (export,) = ended.send("export", what="report")
    page = export.content.decode()
    assert export.name.endswith(".html")
    packed = re.search(r'id="creases-report">([^<]+)<', page)[1]
    header, frames = decode_frame(zlib.decompress(base64.b64decode(packed)))
    run = header["run"]
    assert run["records"] == ended.run["records"]
    assert run["epochs"] == ended.run["epochs"]
    assert {str(one["id"]) for one in run["moments"]} == set(frames)
    again = next(section for section in run["sections"] if section["title"] == "Reproduce it")
    assert "history = experiment.run()" in again["code"]


@pytest.mark.thorough
@pytest.mark.parametrize("problem", [FORMULA, LINE, IRIS], ids=["plane", "line", "slice"])
def test_the_animation_and_report_of_every_kind_of_picture_are_made(problem):
    page = Page().start(problem, when="2").work(3)
    page.send("pause")
    *_, export = page.send("export", what="animation")
    assert export.content.startswith(b"GIF89a")
    *_, export = page.send("export", what="report")
    assert export.content.startswith(b"<!doctype html>")


def exported_code(page, folder, monkeypatch):
    """The network that the exported script makes."""
    *_, export = page.send("export", what="code")
    (folder / "code.py").write_bytes(export.content)
    monkeypatch.chdir(folder)
    runpy.run_path("code.py")
    return creases.read(folder / "model.safetensors")


def test_the_exported_code_makes_the_same_network_and_tells_the_same(ended, tmp_path, monkeypatch, capsys):
    net = exported_code(ended, tmp_path, monkeypatch)
    X = ended.live.data.problem.X
    assert np.array_equal(net(X), ended.live.net(X))
    assert capsys.readouterr().out.strip() == ended.live.history.explain(**ended.live.data.names)


@pytest.mark.slow
def test_the_code_of_a_run_in_stages_makes_the_same_network(tmp_path, monkeypatch):
    page = Page().start(FORMULA, epochs=200, batch=5, how="random")
    page.send("pause")
    page.send("grow")
    while not any(record["epoch"] for record in page.run["records"]):
        page.send("step")
    page.steps(1)
    page.send("undo")  # of the stage
    page.steps(8)
    page.send("grow")  # in the middle of the next
    page.steps(12)
    assert False in page.live.log
    assert page.live.log.count("grow") == 2
    net = exported_code(page, tmp_path, monkeypatch)
    X = page.live.data.problem.X
    assert net.n_units == page.live.net.n_units
    assert np.array_equal(net(X), page.live.net(X))


def test_the_code_of_a_run_that_keeps_the_linear_model_makes_it(tmp_path, monkeypatch):
    monkeypatch.setattr("creases.tables._fit.experiment.LINEAR_MARGIN", 100.0)  # no network is so much better
    page = Page().start({**FORMULA, "formula": "0.3*x", "noise": 0.3}, epochs=20, hidden=[8]).work()
    assert (page.live.history.kept, page.run["kept"], page.run["moments"][-1]["epoch"]) == (0, 0, 0)
    X = page.live.data.problem.X
    assert np.array_equal(exported_code(page, tmp_path, monkeypatch)(X), page.live.net(X))
    assert {record["tag"] for record in page.run["records"]} <= {"not kept", "undone: no improvement"}


def test_the_code_of_every_kind_of_problem_begins_with_the_same_data():
    for problem in (MOONS, FORMULA, {**FORMULA, "formula": "x**2 + min(y, 0.5) < 0.3", "noise": 0}):
        page = Page().start(problem)
        *_, export = page.send("export", what="code")
        head = export.content.decode().partition("config =")[0]
        made: dict = {}
        exec(head, made)
        assert np.array_equal(made["problem"].X, page.live.data.problem.X)
        assert np.array_equal(made["problem"].y, page.live.data.problem.y)
        assert made["problem"].classes == page.live.data.problem.classes


@pytest.mark.thorough
@pytest.mark.parametrize(("undos", "at"), [(1, 12), (2, 10)], ids=["after the end", "before it"])
def test_a_run_that_ended_is_trained_on_and_its_code_makes_the_same_network(undos, at, tmp_path, monkeypatch):
    problem = {**FORMULA, "rows": 600}  # enough for networks to be better than a linear model
    page = Page().start(problem, when="5", epochs=12, how="random", batch=10).work()
    assert page.refused("train_on", epochs=10**6)[0] == "run"
    page.send("train_on", epochs=6)
    assert (page.status["state"], page.run["ended"], page.run["kept"]) == ("running", "", None)
    assert page.run["moments"][-1]["kind"] != "end"
    assert page.refused("train_on")[1].startswith("The run is not finished")
    page.work()
    assert (len(page.run["epochs"]["epoch"]), page.run["moments"][-1]["kind"]) == (18, "end")
    assert page.as_told()
    assert [record["epoch"] for record in page.run["records"]] == [5, 10, 15]
    for _ in range(undos):
        page.send("undo")  # of the third step, after the first end, and of the second, before it
    page.work(1)
    page.send("go")
    page.work()
    assert page.live.log.index(18) == at
    assert [done for done in page.live.log if type(done) is int] == [18]
    assert "linear model" not in page.run["ended"]
    X = page.live.data.problem.X
    assert np.array_equal(exported_code(page, tmp_path, monkeypatch)(X), page.live.net(X))
