"""Damaged and forged files: refused in words of creases, or loaded as something that can be used; never a crash."""

from __future__ import annotations

import gzip
import warnings
import zipfile

import numpy as np
import pytest

import creases
from creases import _files as _array_files
from creases.errors import CreasesError, FileError
from creases.problems.images import _readers
from creases.regions import PlanePartition
from mutations import Kind, make_kinds

NAMES = ("cell", "infinite line", "line", "plane", "plane of choices", "space", "space without vertices")
FILES = (*NAMES, "network", "network of choices", "weights", "history", "checkpoint")
FOLDER_FILES = (
    "table", "table in Parquet", "table of arrays", "images", "property", "run settings", "run description",
    "run encoding", "run checkpoint", "sweep definition", "sweep results",
    "ONNX", "coefficients", "coefficient array", "tiles", "tile patterns", "history of several methods", "comparison",
)  # fmt: skip


@pytest.fixture(scope="module")
def kinds(tmp_path_factory) -> dict[str, Kind]:
    return make_kinds(tmp_path_factory.mktemp("intact"))


@pytest.mark.slow
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
        ("values", lambda a: a * 1.001),
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


@pytest.mark.parametrize(
    ("name", "array", "change"),
    [
        ("cell", "p", lambda a: a - 100),
        ("cell", "p", lambda a: -a - 1e-3),
        ("cell", "y", lambda a: a + 0.01),
        ("line", "values", lambda a: a[::-1] + 1),
        ("space", "values", lambda a: -a),
        ("plane of choices", "values", lambda a: a + 0.1),
    ],
)
def test_a_result_that_is_not_of_its_network_is_refused(kinds, name, array, change, tmp_path):
    kind = kinds[name]
    with np.load(kind.path) as saved:
        arrays = dict(saved)
    np.savez(tmp_path / "forged.npz", **{**arrays, array: change(arrays[array])})
    with pytest.raises(FileError, match=r"forged.npz: damaged: (p|values|J x \+ y) (excludes|differs)"):
        kind.load(tmp_path / "forged.npz")


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


@pytest.fixture(scope="module")
def folder_kinds(tmp_path_factory) -> dict[str, Kind]:
    from folder_mutations import make_folder_kinds

    return make_folder_kinds(tmp_path_factory.mktemp("folders"))


@pytest.mark.thorough
@pytest.mark.parametrize("name", FOLDER_FILES)
def test_a_damaged_file_of_a_folder_is_refused_or_can_be_used(folder_kinds, name, tmp_path):
    test_a_damaged_file_is_refused_or_can_be_used(folder_kinds, name, tmp_path)


@pytest.mark.thorough
def test_files_of_all_kinds_are_damaged(kinds, folder_kinds):
    assert (set(kinds), set(folder_kinds)) == (set(FILES), set(FOLDER_FILES))


@pytest.mark.slow
def test_a_small_file_that_would_fill_the_memory_is_refused(kinds, tmp_path, monkeypatch):
    with np.load(kinds["plane"].path) as saved:
        arrays = dict(saved)
    np.savez_compressed(tmp_path / "bomb.npz", **arrays | {"values": np.zeros((10**7, 3))})
    monkeypatch.setattr(_array_files, "_LARGE", 10**6)
    with pytest.raises(FileError, match=r"would take 0\.\d+ GB of memory, \d+ times its own size"):
        PlanePartition.load(tmp_path / "bomb.npz")


def test_pickled_objects_are_refused(kinds, tmp_path):
    with np.load(kinds["plane"].path) as saved:
        arrays = dict(saved)
    np.savez(tmp_path / "pickled.npz", **arrays | {"values": np.array([{"a": 1}], dtype=object)})
    with pytest.raises(FileError, match="damaged"):
        PlanePartition.load(tmp_path / "pickled.npz")


def test_an_archive_of_images_is_unpacked_only_so_far(tmp_path, monkeypatch):
    (tmp_path / "images.gz").write_bytes(gzip.compress(bytes(10**6)))
    monkeypatch.setattr(_readers, "MAX_BYTES", 10**5)
    with pytest.raises(FileError, match="when unpacked"):
        _readers.read_idx(tmp_path / "images.gz", 3)


def test_an_onnx_file_reads_no_weights_from_outside_its_folder(tmp_path):
    onnx = pytest.importorskip("onnx")
    model = creases.read([(np.eye(2), np.zeros(2))]).save(tmp_path / "network.onnx")
    proto = onnx.load(model)
    weight = proto.graph.initializer[0]
    (tmp_path / "secret.bin").write_bytes(weight.raw_data)
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="../secret.bin")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "network.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(FileError, match="cannot read"):
        creases.read(tmp_path / "folder" / "network.onnx")
