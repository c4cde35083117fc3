"""Files that are none: pipes without a writer, devices, archives that unpack to gigabytes."""

from __future__ import annotations

import gzip
import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import creases
from creases import growth, regions
from creases.certify.proofs import load_proof
from creases.certify.properties import read_vnnlib
from creases.errors import FileError
from creases.growth import History

if not hasattr(os, "mkfifo"):
    pytest.skip("the system has no pipes with names", allow_module_level=True)

LOADERS = {
    "network.safetensors": creases.read,
    "network.onnx": creases.read,
    "network.npz": creases.read,
    "plane.npz": regions.PlanePartition.load,
    "proof.json": load_proof,
    "proof.json.gz": load_proof,
    "property.vnnlib": read_vnnlib,
    "history.json": History.load,
    "checkpoint.pt": growth.load_checkpoint,
    "table.csv": lambda path: creases.fit_table(path, target="y"),
    "table.parquet": lambda path: creases.fit_table(path, target="y"),
}


@contextmanager
def seconds(limit):
    """A context that raises after some seconds: a call that waits for a pipe would never end."""

    def refuse(number, frame):
        pytest.fail("it waits for the pipe")  # no reader takes this for an error of the file

    before = signal.signal(signal.SIGALRM, refuse)
    signal.alarm(limit)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", LOADERS)
def test_a_pipe_is_refused_in_words_and_not_waited_for(name, tmp_path):
    os.mkfifo(tmp_path / name)
    with seconds(60), pytest.raises(FileError):
        LOADERS[name](tmp_path / name)


@pytest.mark.parametrize("name", ["model.json", "encoding.json"])
def test_a_folder_with_a_pipe_is_refused_in_words_and_not_waited_for(name, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X[:, 0] + X[:, 1]})
    creases.fit_table(frame, target="y").save(tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    os.mkfifo(tmp_path / "run" / name)
    with seconds(60), pytest.raises(FileError, match=r"not a regular file"):
        creases.load(tmp_path / "run")


@pytest.mark.parametrize("name", ["model.json", "encoding.json"])
def test_a_folder_with_a_link_to_nothing_is_refused(name, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X[:, 0] + X[:, 1]})
    creases.fit_table(frame, target="y").save(tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    (tmp_path / "run" / name).symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileError, match=name):
        creases.load(tmp_path / "run")


@pytest.mark.slow
def test_a_table_behind_a_link_is_read_by_the_name_of_the_link(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2)).round(3)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X[:, 0] + X[:, 1]})
    frame.to_csv(tmp_path / "8f3a", index=False)
    (tmp_path / "table.csv").symlink_to(tmp_path / "8f3a")
    command = [sys.executable, "-m", "creases", "fit", str(tmp_path / "table.csv"), "--target", "y"]
    ran = subprocess.run([*command, "--out", str(tmp_path / "run")], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "60 rows of table.csv" in ran.stdout


@pytest.mark.slow
def test_a_proof_that_unpacks_to_gigabytes_is_refused_while_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.json.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(300):
            file.write(b" " * 10**6)
    assert path.stat().st_size < 10**6
    with pytest.raises(FileError, match="unpack to more than 67 MB: no proof does"):
        load_proof(path)


@pytest.mark.slow
def test_a_full_disk_ends_growth_in_one_line(tmp_path):
    def fill_disk():  # a limit of the size of files stands for it
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    command = [sys.executable, "-m", "creases", "grow", "moons", "--when", "stages", "--budget", "5 epochs"]
    command += ["--out", str(tmp_path / "run")]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # Python cuts bytecode off there without an error
    ran = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=fill_disk, env=env)
    assert ran.returncode not in (0, 70)
    assert "Traceback" not in ran.stderr
    assert "cannot write" in ran.stderr
