"""The fingerprint of a claim changes with the code and the tables that its result depends on, and with nothing else."""

from __future__ import annotations

import pytest

from creases_reproduction import fingerprint as module
from creases_reproduction.catalogue import find_claim, module_of
from creases_reproduction.fingerprint import ROOT, fingerprint, imported_files, named_tables

SOURCES = {
    "__init__.py": "",
    "claims.py": "from creases_reproduction.family import numbers\n",
    "family/__init__.py": "",
    "family/numbers.py": 'def late():\n    from creases_reproduction.maths import add\n\ntable("measured")\n',
    "family/other.py": "",
    "maths.py": "import json\nfrom collections import Counter\n",
}


@pytest.fixture
def package(tmp_path):
    """The files of a package with a module that imports others, one of them inside a function."""
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_files_are_those_that_a_module_imports_at_any_remove(package):
    files = {path.relative_to(package).as_posix() for path in imported_files("creases_reproduction.claims", package)}
    assert files == set(SOURCES) - {"family/other.py", "__init__.py"}


def test_tables_are_those_that_the_files_name(package):
    folder = package / "results"
    (folder / "claims").mkdir(parents=True)
    for name in ("measured.csv", "unnamed.csv"):
        (folder / name).write_text("1")
    files = set(imported_files("creases_reproduction.claims", package))
    assert named_tables(files, folder) == [folder / "measured.csv"]


def test_a_claim_depends_on_its_module_on_what_measures_it_and_on_its_table():
    claim = find_claim("linearity/figure-3.5")
    files = imported_files(module_of(claim.id), ROOT)
    names = {path.name for path in files}
    assert {"chapter3_training.py", "boolean_success.py", "experiment.py"} <= names
    assert "chapter6_images.py" not in names
    assert [path.name for path in named_tables(set(files), ROOT / "results")] == ["boolean_success.parquet"]


def test_other_code_gives_another_fingerprint(package, monkeypatch):
    claim = find_claim("linearity/figure-3.5")
    (package / "results").mkdir()
    monkeypatch.setattr(module, "ROOT", package)
    monkeypatch.setattr(module, "module_of", lambda id: "creases_reproduction.claims")
    first = fingerprint(claim)
    (package / "family" / "other.py").write_text("unused = 1\n")
    assert fingerprint(claim) == first
    (package / "maths.py").write_text("import json\n")
    assert fingerprint(claim) != first
