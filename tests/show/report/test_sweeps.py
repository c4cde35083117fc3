"""The report of a sweep: how far it is, its results over its parameters, what failed, how to go on."""

import json

import pytest

from creases.errors import FileError
from creases.lab import Sweep
from creases.show.report import _sweeps as sweeps
from creases.show.report._sweeps import write_sweep_report
from report_pages import read


def swept(folder, function, jobs):
    sweep = Sweep(function, jobs, folder)
    sweep.run(engine="serial", progress=False)
    return folder


def tables(run):
    """The tables of a report's run by the titles of their sections: heads first, then rows."""
    found = {section["title"]: section.get("table", {"columns": [], "rows": []}) for section in run["sections"]}
    return {title: [table["columns"], *table["rows"]] for title, table in found.items()}


def area(width, height, kind):
    """A row."""
    return {"area": width * height * (2 if kind == "double" else 1), "kind_of": kind}


def test_results_are_shown_over_pairs_of_parameters_and_by_each(tmp_path, drawn):
    jobs = {"width": [1, 2, 3], "height": [4.0, 5.0], "kind": ["plain", "double"], "constant": [7]}
    folder = swept(tmp_path / "areas", lambda width, height, kind, constant: area(width, height, kind), jobs)
    run, frames = read(write_sweep_report(folder, tmp_path / "page.html"))
    found = tables(run)
    assert dict(found["Overview"])["done"] == "12 of 12 jobs"
    assert dict(found["Overview"])["parameter height"] == "4, 5"
    titles = ["area over width and height", "area over width and kind", "area over height and kind"]
    assert [title for title in found if " over " in title] == titles
    assert len(drawn) == 3
    assert found["Means by width"][1:] == [["1", "4", "6.75"], ["2", "4", "13.5"], ["3", "4", "20.25"]]
    assert found["Highest area"][:2] == [["width", "height", "kind", "area"], ["3", "5", "double", "30"]]
    assert found["Lowest area"][1] == ["1", "4", "plain", "4"]
    assert "Failures" not in found
    assert run["moments"] == []
    assert not frames


def test_failures_are_told_with_the_way_on(tmp_path, drawn):
    folder = swept(tmp_path / "odd", "sweep_jobs:fails", {"x": [0, 1, 2, 3]})
    run, _ = read(write_sweep_report(folder, tmp_path / "page.html"))
    found = tables(run)
    assert found["Failures"][1:] == [
        ["ArithmeticError: 1 is odd", "1", "x 1"],
        ["ArithmeticError: 3 is odd", "1", "x 3"],
    ]
    told = json.dumps(run["sections"])
    assert "The sweep is not finished." in told
    assert "sweep.run()" in told
    assert "Traceback" in told
    assert not drawn  # one parameter, and no result


def test_of_very_many_maps_the_first_are_drawn(tmp_path, drawn, monkeypatch):
    monkeypatch.setattr(sweeps, "MAPS", 2)
    folder = swept(tmp_path / "many", lambda a, b, c: {"sum": a + b + c}, {name: [0, 1] for name in "abc"})
    run, _ = read(write_sweep_report(folder, tmp_path / "page.html"))
    assert len(drawn) == 2
    assert "1 more heat map can be drawn with: creases sweep heat" in json.dumps(run["sections"])


def test_a_sweep_without_a_result_is_shown_too(tmp_path, drawn):
    folder = swept(tmp_path / "none", "sweep_jobs:fails", {"x": [1]})
    run, _ = read(write_sweep_report(folder, tmp_path / "page.html"))
    assert dict(tables(run)["Overview"])["failed"] == "1"


def test_a_heat_map_is_in_the_page_for_light_and_dark(tmp_path):
    folder = swept(tmp_path / "real", lambda a, b: {"sum": a + b}, {"a": [0, 1], "b": [0, 1]})
    run, _ = read(write_sweep_report(folder, tmp_path / "page.html"))
    (picture,) = (section["picture"] for section in run["sections"] if "picture" in section)
    assert set(picture) == {"light", "dark"}
    assert all(image.startswith("data:image/png;base64,") for image in picture.values())


def test_a_folder_without_a_sweep_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"cannot read .*: there is no such folder"):
        write_sweep_report(tmp_path / "none", tmp_path / "page.html")
    with pytest.raises(FileError):
        write_sweep_report(tmp_path, tmp_path / "page.html")
