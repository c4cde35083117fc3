"""The documentation: blocks run and print what is quoted, links lead somewhere, opening a page fetches nothing."""

import json
import os
import pkgutil
import re
import subprocess
import sys
from importlib import import_module

import pytest
import torch

import creases
from documents import ROOT, blocks, run_blocks

DOCS = ROOT / "docs"
_TABLES = (
    "import questions as q; pages = [page.read_text() for page in q.PAGES.glob('*.md')]; "
    "assert [q.fill_tables(page) for page in pages] == pages"
)
PAGES = sorted(DOCS.rglob("*.md"))
NOTEBOOKS = sorted((DOCS / "tutorials").glob("*.ipynb"))

sys.path.append(str(DOCS))
import notebooks  # noqa: E402

import cli  # noqa: E402

#: Pages that tests/test_growth_examples.py runs.
GROWTH_PAGES = {DOCS / "tutorial.md", DOCS / "concepts" / "growth.md"}

#: Pages whose blocks take longest.
LONG_PAGES = {"animate", "gallery", "grow", "report", "spline", "sweep"}


def _marked(page):
    marks = pytest.mark.thorough if page.stem in LONG_PAGES else pytest.mark.slow
    return pytest.param(page, id=page.stem, marks=marks)


#: The notebook that make slow runs; make thorough runs the others.
SHORT_NOTEBOOK = "prune"


def _marked_notebook(path):
    return pytest.param(path, id=path.stem, marks=() if path.stem == SHORT_NOTEBOOK else pytest.mark.thorough)


@pytest.mark.slow
@pytest.mark.parametrize("page", [_marked(page) for page in PAGES if blocks(page) and page not in GROWTH_PAGES])
def test_every_block_runs_and_prints_what_is_quoted(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(page)


@pytest.mark.slow
@pytest.mark.parametrize("path", [_marked_notebook(path) for path in NOTEBOOKS])
def test_every_notebook_runs_and_stores_as_many_outputs_as_it_makes(path):
    notebook = json.loads(path.read_text())
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = [(bool(printed), len(figures)) for printed, figures in notebooks.run_notebook(notebook)]
    stored = [[output["output_type"] for output in cell["outputs"]] for cell in notebooks.code_cells(notebook)]
    assert made == [("stream" in kinds, kinds.count("display_data")) for kinds in stored]
    assert sum(figures for _, figures in made) > 0


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_from_all_that_is_public_and_needs_no_network(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    fetched = re.compile(r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["']?https?://""")
    for page in tmp_path.rglob("*.html"):
        text = page.read_text()
        assert not fetched.search(text), page
        assert 'class="arithmatex"' not in text, f"{page}: a formula is not drawn"
    assert (tmp_path / "search" / "search_index.js").is_file(), "from disk a script can be read, and JSON cannot"
    described, indexed = {}, {}
    for page in (tmp_path / "reference").rglob("*.html"):
        text = page.read_text()
        described |= dict.fromkeys(re.findall(r'id="(creases[\w.]*)"', text), page)
        indexed[page] = set(re.findall(r'href="[^"]*"><code>(\w+)</code>', text))
    doors = _doors()
    for door in doors:
        index = (tmp_path / "reference" / (door.split(".")[:2][-1])).with_suffix(".html")
        for name in import_module(door).__all__:
            homes = [home for home in doors if f"{home}.{name}" in described]
            assert any(_is_the_same(name, home, door) for home in homes), (door, name)
            assert name in indexed[index] or described[f"{door}.{name}"] == index, (door, name, "is not in the index")


def _is_the_same(name, *doors):
    """Return whether a name stands for the same object wherever it is imported from."""
    first, *others = (getattr(import_module(door), name, None) for door in doors)
    return first is not None and all(other is first for other in others)


def _doors():
    """Return the names of all packages that users import from."""
    names = [module.name for module in pkgutil.walk_packages(creases.__path__, "creases.") if module.ispkg]
    public = [name for name in names if "._" not in name and not name.startswith("creases.cli")]
    return ["creases", *public]


def test_the_page_of_the_command_line_is_what_the_help_says():
    assert cli.page() == (DOCS / "reference" / "cli.md").read_text(), "make it again: python docs/cli.py"


def test_the_tables_of_the_open_questions_are_those_of_the_stored_results():
    done = subprocess.run([sys.executable, "-c", _TABLES], cwd=DOCS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"make them again: python docs/questions.py\n{done.stderr}"


def test_every_page_is_in_the_navigation():
    listed = (ROOT / "mkdocs.yml").read_text()
    for page in [*PAGES, *(path.with_suffix(".md") for path in NOTEBOOKS)]:
        assert str(page.relative_to(DOCS)) in listed, page


def test_every_page_is_linked_from_another():
    linked = {
        (page.parent / target).resolve()
        for page in [*PAGES, ROOT / "README.md"]
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text())
    }
    assert [page for page in PAGES if page.resolve() not in linked and page != DOCS / "index.md"] == []
