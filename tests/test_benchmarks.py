"""Benchmarks: the page is rendered from stored results, every figure has one, and runs say how they were made."""

from __future__ import annotations

import json
import re
import sys

import pytest

from documents import ROOT

sys.path.append(str(ROOT / "bench"))
import page
import record
import tasks

RESULTS = record.read_results()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUNS = [pytest.param(run, id=f"{name}-{k}") for name, runs in RESULTS.items() for k, run in enumerate(runs)]

#: A number as text has it: 23,350; 0.46; 6.5e11; .984.
_NUMBER = re.compile(r"(?<![\w.])[.]?\d[\d,.]*(?:e-?\d+)?")

#: What has digits and is no figure: code, addresses, widths of networks (2-16-16-1, 5-50x6-5) and names (float64, L2).
_NO_FIGURE = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)|\d+(?:x\d+)?(?:-\d+(?:x\d+)?)+|[A-Za-z]+-?\d+\w*", re.DOTALL)


def figures(text):
    """Return the figures of a text: its numbers, but for code, addresses, widths and names."""
    found = _NUMBER.findall(_NO_FIGURE.sub(" ", text))
    return {number.rstrip(".,") for number in found}


@pytest.mark.parametrize("template", page.PAGES, ids=lambda path: path.name)
def test_a_page_is_rendered_from_its_template_and_the_stored_results(template):
    rendered = page.render(template.read_text(encoding="utf-8"), RESULTS)
    assert page.PAGES[template].read_text(encoding="utf-8") == rendered, "write it again: make benchmarks-page"


def test_the_table_of_faults_is_the_stored_one_and_has_no_wrong_cell():
    text = page.ATTACKS.read_text(encoding="utf-8")
    assert page.renew_tables(text, RESULTS) == text, "write it again: make benchmarks-page"
    assert page.renew_tables("<!-- table faults.commands -->\nold\n<!-- end of table -->", RESULTS) in text
    assert RESULTS["faults"][0]["numbers"]["wrong"] == "0"


@pytest.mark.parametrize("template", page.PAGES, ids=lambda path: path.name)
def test_a_template_has_no_figures_of_its_own(template):
    prose = re.sub(r"\{\{.*?\}\}", "", template.read_text(encoding="utf-8"))
    assert not figures(prose)


def test_every_figure_of_the_page_and_of_the_readme_is_in_a_stored_result():
    texts = [json.dumps(runs, ensure_ascii=False) for runs in RESULTS.values()]
    known = {number.rstrip(".,") for text in texts for number in re.findall(r"[.]?\d[\d,.]*(?:e-?\d+)?", text)}
    assert figures(page.PAGE.read_text(encoding="utf-8")) <= known
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    required = figures((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert figures(readme) - required <= known
    assert figures("It takes 98.7654 ms.") - known == {"98.7654"}


def test_a_figure_that_other_pages_quote_is_the_one_of_the_benchmarks():
    time = next(row[2] for row in RESULTS["regions"][0]["tables"]["planes"]["rows"] if row[0] == "2-128-128-128-1")
    assert f"against {time} for creases" in (ROOT / "docs" / "peers" / "syrenn.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("run", RUNS)
def test_every_run_says_how_it_was_measured_or_that_it_was_not_recorded(run):
    assert set(record.PROVENANCE) <= set(run)
    assert all(run[field] for field in record.PROVENANCE)
    for table in run["tables"].values():
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda path: path.name
)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for block in re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE):
        widths = [len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", line))) for line in block.strip().splitlines()]
        assert len(widths) > 2, block
        assert len(set(widths)) == 1, (path, block)


def test_a_number_that_is_missing_or_stored_twice_is_refused():
    run = {**dict.fromkeys(record.PROVENANCE, "x"), "numbers": {"time": "1 s"}, "tables": {}}
    assert page.render("{{a.time}}", {"a": [run]}).endswith("1 s")
    with pytest.raises(KeyError, match="0 runs have it"):
        page.render("{{a.other}}", {"a": [run]})
    with pytest.raises(KeyError, match="2 runs have it"):
        page.render("{{a.time}}", {"a": [run, run]})


def test_a_run_takes_what_it_names_from_older_ones(tmp_path):
    first = {"numbers": {"a": "1", "b": "2"}, "tables": {}}
    record.store_run("bench", first, tmp_path)
    record.store_run("bench", {"numbers": {"a": "3"}, "tables": {}}, tmp_path)
    assert [run["numbers"] for run in record.read_results(tmp_path)["bench"]] == [{"b": "2"}, {"a": "3"}]
    record.store_run("bench", {"numbers": {"b": "4"}, "tables": {}}, tmp_path)
    assert [run["numbers"] for run in record.read_results(tmp_path)["bench"]] == [{"a": "3"}, {"b": "4"}]


def test_a_script_is_recorded_with_what_it_prints_and_names(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys; from rich.console import Console; from rich.table import Table; from record import note\n"
        "table = Table('n', 'seconds'); table.add_row(sys.argv[1], '0.5')\n"
        "Console(width=80).print(table); print('done'); note('seconds', '0.5 s')\n"
    )
    run = record.run_script(script, ["7"])
    assert run["numbers"] == {"seconds": "0.5 s"}
    assert run["printed"]["tables"] == [{"columns": ["n", "seconds"], "rows": [["7", "0.5"]]}]
    assert run["printed"]["lines"][-1] == "done"
    assert capsys.readouterr().out.endswith("done\n")
    assert run["command"].endswith("script.py 7")
    assert run["versions"]["creases"]
    assert re.fullmatch(r"[0-9a-f]{40}|not recorded", run["commit"])


def test_a_table_whose_rows_lack_cells_is_refused():
    with pytest.raises(ValueError, match="every row of times must have 2 cells"):
        record.note_table("times", ["a", "b"], [["1"]])


def test_tasks_that_a_file_has_are_not_run_again_and_one_that_fails_leaves_the_others(tmp_path, capsys):
    out = tmp_path / "folder" / "results.json"
    pairs = {"a": ([("n", 1)],), "b": ([("n", 2)],)}
    assert tasks.run_tasks(dict, {"a": pairs["a"]}, 1, out) == {"a": {"n": 1}}
    out.write_text('{"a": {"n": 5}, "other": {"n": 6}}')
    assert tasks.run_tasks(dict, pairs, 1, out) == {"a": {"n": 5}, "b": {"n": 2}}
    with pytest.raises(SystemExit, match="failed: bad"):
        tasks.run_tasks(dict, {"bad": (5,), "c": ([("n", 3)],)}, 1, out)
    assert "TypeError" in capsys.readouterr().out
    assert json.loads(out.read_text()) == {"a": {"n": 5}, "other": {"n": 6}, "b": {"n": 2}, "c": {"n": 3}}
