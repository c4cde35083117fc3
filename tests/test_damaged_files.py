"""Damaged and forged files: refused in words of creases, or loaded as something that can be used; never a crash."""

from __future__ import annotations

import warnings
import zipfile

import numpy as np
import pytest

from creases.errors import CreasesError, FileError
from creases.regions import PlanePartition
from mutations import Kind, make_kinds

NAMES = ("cell", "infinite line", "line", "plane", "plane of choices", "space", "space without vertices")
FILES = (*NAMES, "network", "network of choices", "weights", "history", "checkpoint")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory) -> dict[str, Kind]:
    return make_kinds(tmp_path_factory.mktemp("intact"))


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_refused_or_can_be_used(kinds, name, tmp_path):
    """Thousands more are tried by bench/fuzz_files.py, in a process of their own."""
    kind = kinds[name]
    kind.use(kind.load(kind.path))
    path = tmp_path / f"damaged{kind.path.suffix}"
    refused = 0
    for seed in range(1000, 1005):
        path.write_bytes(kind.mutate(kind.path.read_bytes(), np.random.default_rng(seed)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kind.use(kind.load(path))
        except CreasesError:
            refused += 1
    assert refused


@pytest.mark.parametrize(
    ("array", "change"),
    [
        ("edges", lambda a: a + 10**6),
        ("corners", lambda a: -a - 1),
        ("corner_edges", lambda a: a[::-1]),
        ("edge_regions", lambda a: a * 0 + (2**31 - 1)),
        ("edge_units", lambda a: a + 100),
        ("starts", lambda a: a[::-1]),
        ("vertices", lambda a: a[:-1]),
        ("values", lambda a: a * np.nan),
        ("patterns", lambda a: a[:, :0]),
        ("box", lambda a: a[:, ::-1]),
        ("edges", lambda a: a.astype(float)),
    ],
)
def test_a_forged_plane_is_refused_by_the_name_of_its_array(kinds, array, change, tmp_path):
    with np.load(kinds["plane"].path) as saved:
        arrays = dict(saved)
    np.savez(tmp_path / "forged.npz", **{**arrays, array: change(arrays[array])})
    with pytest.raises(FileError, match=r"forged.npz: damaged: .*(edge|corner|region|start|vert|value|pattern|box)"):
        PlanePartition.load(tmp_path / "forged.npz")


def test_an_array_that_claims_more_than_the_file_holds_is_refused(kinds, tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(kinds["plane"].path) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "vertices.npy":
                start = content.index(b"'shape': (") + len(b"'shape': (")
                content = content[:start] + b"9999999999" + content[start + 10 :]
                content = content.replace(b"9999999999", b"99999999,2", 1)
            target.writestr(name, content)
    with pytest.raises(FileError, match=r"not an .npz file that creases wrote, or damaged"):
        PlanePartition.load(path)
