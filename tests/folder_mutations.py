"""Files of every kind beside partitions and networks, in the folders they belong to, damaged at random."""

from __future__ import annotations

import gzip
import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import creases
from creases import compare, lab, problems, tables
from creases.certify.properties import read_vnnlib
from creases.growth import GrowthConfig, History
from creases.problems.images._readers import read_idx
from creases.regions import PlaneTiles, plane_tiles
from creases.tables import Experiment, RunFile, TableSplit, load_run
from mutations import Kind, Rng, flip_bytes, mutate_json, mutate_npz, use_history

TABLE = "size,town,price\n" + "".join(f"{k}.5,{'Ulm' if k % 3 else 'Bonn'},{k * k}\n" for k in range(40))
PROPERTY = """(declare-const X_0 Real) (declare-const Y_0 Real)
(assert (<= X_0 1.0)) (assert (>= X_0 -1.0)) (assert (or (and (<= Y_0 0.5)) (and (>= Y_0 2.0))))
"""


def make_folder_kinds(folder: Path) -> dict[str, Kind]:
    """Write intact files into a folder, and return how each is loaded and used."""
    return {name: kind for make in MAKERS for name, kind in make(folder).items()}


def in_folder(file: Path, load: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Return a loader of a folder with another file in the place of one of its own."""

    def load_with(path: Path) -> Any:
        intact = file.read_bytes()
        shutil.copyfile(path, file)
        try:
            return load(file.parent)
        finally:
            file.write_bytes(intact)

    return load_with


def copy_of(file: Path) -> Path:
    """Return a copy of a file beside its folder, to be damaged while the file itself stays as it is."""
    return Path(shutil.copyfile(file, file.parent.parent / f"{file.parent.name}-{file.name}"))


def mutate_text(data: bytes, rng: Rng) -> bytes:
    """Remove, repeat or replace a word of a text, or change bytes."""
    if rng.random() < 0.3:
        return flip_bytes(data, rng)
    words = data.decode().split(" ")
    at = int(rng.integers(len(words)))
    other = words[int(rng.integers(len(words)))]
    words[at : at + 1] = [[], [words[at]] * 2, [other], ["1e999"], ["(" * 2000], ["nan"]][int(rng.integers(6))]
    return " ".join(words).encode()


def _use_problem(problem: Any) -> None:
    problem.standardized(), problem.features, problem.encoding


def _table_kinds(folder: Path) -> dict[str, Kind]:
    frame = tables.read_table(_write(folder / "table.csv", TABLE.encode()))
    import pandas as pd

    pd.read_csv(io.StringIO(TABLE)).to_parquet(folder / "table.parquet")
    np.savez(folder / "table.npz", X=frame.X, y=frame.y)
    images = np.arange(2 * 28 * 28, dtype=np.uint8)
    header = bytes([0, 0, 8, 3]) + np.array([2, 28, 28], ">u4").tobytes()
    _write(folder / "images.gz", gzip.compress(header + images.tobytes()))
    _write(folder / "property.vnnlib", PROPERTY.encode())
    read = tables.read_table
    return {
        "table": Kind(folder / "table.csv", read, _use_problem, flip_bytes),
        "table in Parquet": Kind(folder / "table.parquet", read, _use_problem, flip_bytes),
        "table of arrays": Kind(folder / "table.npz", read, _use_problem, mutate_npz),
        "images": Kind(folder / "images.gz", lambda path: read_idx(path, 3), np.sum, flip_bytes),
        "property": Kind(folder / "property.vnnlib", read_vnnlib, repr, mutate_text),
    }


def _run_kinds(folder: Path) -> dict[str, Kind]:
    from typer.testing import CliRunner

    from creases.cli import app

    run = folder / "run"
    options = ["--budget", "4", "--how", "random", "--when", "2", "--seed", "0"]
    result = CliRunner().invoke(
        app, ["grow", str(folder / "table.csv"), "--out", str(run), *options], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    rows = [{"size": "2.5", "town": "Ulm"}]

    def predict(model: Any) -> None:
        model.frame(rows), model.explain(rows[0]), repr(model)

    kinds = {
        "run settings": (RunFile.SETTINGS, load_run, lambda run: (run.net(run.data.problem.X), run.epoch)),
        "run description": (RunFile.DESCRIPTION, creases.load, predict),
        "run encoding": (RunFile.ENCODING, creases.load, predict),
        "run checkpoint": ("checkpoint.pt", load_run, lambda run: run.history.explain()),
    }
    return {
        name: Kind(
            copy_of(run / file), in_folder(run / file, load), use, mutate_json if file.endswith("json") else flip_bytes
        )
        for name, (file, load, use) in kinds.items()
    }


def _history_kinds(folder: Path) -> dict[str, Kind]:
    """Write a history with explanations of several methods, those of folds the most nested."""
    histories = []
    for how in ("fold", "tiny", "gradmax", "split"):
        config = GrowthConfig(budget=4, when=2, how=how)
        histories.append(Experiment(TableSplit.from_problem(problems.get("moons", n=60), config), config).run())
    history, *others = histories
    history.records += [record for other in others for record in other.records]
    path = history.save(folder / "histories.json")
    return {"history of several methods": Kind(path, History.load, use_history, mutate_json)}


def _sweep_kinds(folder: Path) -> dict[str, Kind]:
    def load(path: Path) -> Any:
        return lab.sweep("sweep_jobs:square", {"x": [1, 2, 3]}, folder / "sweep", engine="serial")

    load(folder)
    definition, log = folder / "sweep" / "sweep.json", folder / "sweep" / "log.jsonl"
    return {
        "sweep definition": Kind(copy_of(definition), in_folder(definition, load), repr, mutate_json),
        "sweep results": Kind(copy_of(log), in_folder(log, load), repr, flip_bytes),
    }


def _onnx_kinds(folder: Path) -> dict[str, Kind]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv1d(1, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(6, 2), nn.Hardtanh())
    path = creases.read(model, (1, 4)).save(folder / "network.onnx")

    def use(net: Any) -> None:
        net(np.zeros((2, net.n_in))), net.piece(np.zeros((2, net.n_in)))

    return {"ONNX": Kind(path, creases.read, use, mutate_onnx)}


def mutate_onnx(data: bytes, rng: Rng) -> bytes:
    """Change a node, a weight's shape or type, or bytes of an ONNX file."""
    import onnx

    if rng.random() < 0.4:
        return flip_bytes(data, rng)
    model = onnx.load_from_string(data)
    graph = model.graph
    node, tensor = (part[int(rng.integers(len(part)))] for part in (graph.node, graph.initializer))
    match int(rng.integers(7)):
        case 0:
            node.op_type = str(rng.choice(["Relu", "Gemm", "Conv", "Reshape", "MaxPool", "Sigmoid", "No"]))
        case 1:
            del node.input[int(rng.integers(len(node.input)))]
        case 2:
            node.input[0] = str(rng.choice([value for other in graph.node for value in other.output]))
        case 3:
            tensor.dims[0] = int(rng.choice([-1, 0, 1, 7, 2**40]))
        case 4:
            tensor.data_type = int(rng.integers(0, 20))
        case 5:
            tensor.external_data.add(key="location", value="../../../etc/passwd")
            tensor.data_location = onnx.TensorProto.EXTERNAL
        case _:
            model.opset_import[0].version = int(rng.choice([0, 1, 6, 9, 23, 999]))
    return bytes(model.SerializeToString())


def _coefficient_kinds(folder: Path) -> dict[str, Kind]:
    net, rows = _linear_network()
    compare.coefficients(net, rows, out=folder / "coefficients")
    note, array = (folder / "coefficients" / name for name in ("done.json", "features.npy"))

    def load(path: Path) -> Any:
        return compare.coefficients(net, rows, out=path).rows(0).clone()  # while the damaged file is there

    return {
        "coefficients": Kind(copy_of(note), in_folder(note, load), repr, mutate_json),
        "coefficient array": Kind(copy_of(array), in_folder(array, load), repr, flip_bytes),
    }


def _tile_kinds(folder: Path) -> dict[str, Kind]:
    net = creases.read([(np.eye(2), np.full(2, 0.1)), (np.ones((1, 2)), np.zeros(1))])
    plane_tiles(net, folder / "tiles", (-1, 1), tiles=2, engine="serial")

    def load(path: Path) -> Any:
        tiles = PlaneTiles.load(path)
        return tiles.count, tiles.tile(0, 0).areas(), tiles.tile_box(1, 1)

    files = {"tiles": ("plane.json", mutate_json), "tile patterns": ("shared-0-0.npz", flip_bytes)}
    return {
        name: Kind(copy_of(folder / "tiles" / file), in_folder(folder / "tiles" / file, load), repr, mutate)
        for name, (file, mutate) in files.items()
    }


def _comparison_kinds(folder: Path) -> dict[str, Kind]:
    from typer.testing import CliRunner

    from creases.cli import app
    from creases.show.report import write_comparison_report

    net, rows = _linear_network()
    files = [str(net.save(folder / f"{name}.safetensors")) for name in "ab"]
    np.savez(folder / "rows.npz", X=rows, y=np.arange(20) % 3)
    arguments = ["compare", *files, "--data", str(folder / "rows.npz"), "--out", str(folder / "compared")]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    compared = next((folder / "compared").glob("*.json"))
    load = in_folder(compared, lambda path: write_comparison_report(path, folder / "report.html"))
    return {"comparison": Kind(copy_of(compared), load, repr, mutate_json)}


def _linear_network() -> tuple[Any, np.ndarray]:
    return creases.read(nn.Linear(2, 3).double()), np.random.default_rng(0).normal(size=(20, 2))


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


#: Each writes intact files of a few kinds into a folder.
MAKERS = (
    _table_kinds, _sweep_kinds, _onnx_kinds, _coefficient_kinds, _tile_kinds, _history_kinds,
    _run_kinds, _comparison_kinds,
)  # fmt: skip
