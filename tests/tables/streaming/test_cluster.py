"""A Ray cluster of two nodes, one of which is killed during the passes over the rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import creases

from .conftest import make_table, write_parts

PATHS = str(Path(creases.__file__).parents[1])

SCRIPT = """
import sys
import threading
import time
from pathlib import Path

import ray
from ray.cluster_utils import Cluster
import creases
from creases._engines._ray import Ray
from creases.tables._streaming import table as streamed

pattern, run, marks = sys.argv[1], sys.argv[2], Path(sys.argv[3])
streamed.KIND_ROWS = 900
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
node = cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
start, submit, wait = Ray.__init__, Ray.submit, Ray.wait
submitted, lost, killed = [], [], []


def start_with_marks(self, function, *rest):
    doomed = node.node_id

    def work(function_of_block, reader, task):
        if (marks / "second pass").exists() and ray.get_runtime_context().get_node_id() == doomed:
            (marks / f"task {task}").touch()
            while True:  # until the node is killed
                time.sleep(1)
        return function(function_of_block, reader, task)

    start(self, work, *rest)


def count_and_submit(self, number, *arguments):
    submitted.append(number)
    if len(submitted) == 14:  # of two or more passes of nine parts
        (marks / "second pass").touch()
    submit(self, number, *arguments)


def note_losses(self):
    results = wait(self)
    lost.extend(number for number, result in results.items() if result is None)
    return results


def kill_node():
    while not (begun := list(marks.glob("task *"))):
        time.sleep(0.05)
    cluster.remove_node(node, allow_graceful=False)
    killed.extend(int(path.name.removeprefix("task ")) for path in begun)


threading.Thread(target=kill_node, daemon=True).start()
Ray.__init__, Ray.submit, Ray.wait = start_with_marks, count_and_submit, note_losses
model = creases.fit_table(pattern, "y", engine="ray", address=cluster.address)
assert len(killed) == 1 and killed[0] in lost, (killed, lost)  # it ran on the node when that was killed
assert len(submitted) > 25 and len(cluster.list_all_nodes()) == 1
model.save(run)
cluster.shutdown()
"""


@pytest.mark.thorough
def test_a_model_is_the_same_bit_for_bit_where_one_of_two_nodes_is_killed_with_its_task(tmp_path, monkeypatch):
    from creases.tables._streaming import table as streamed

    pytest.importorskip("ray")
    pattern = write_parts(make_table(9_000, classes=2), tmp_path)
    environment = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    (tmp_path / "marks").mkdir()
    command = [sys.executable, "-c", SCRIPT, pattern, str(tmp_path / "run"), str(tmp_path / "marks")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    monkeypatch.setattr(streamed, "KIND_ROWS", 900)
    alone = creases.fit_table(pattern, "y", engine="serial")
    assert creases.load(tmp_path / "run").function.to_dict() == alone.function.to_dict()
