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
from ray.cluster_utils import Cluster
import creases
from creases._engines._ray import Ray
from creases.tables._streaming import table

table.KIND_ROWS = 900
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
node = cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
submitted, submit = [], Ray.submit

def submit_and_kill(self, number, *arguments):
    submit(self, number, *arguments)
    submitted.append(number)
    if len(submitted) == 15:  # in the second of three or more passes of nine parts
        cluster.remove_node(node, allow_graceful=False)

Ray.submit = submit_and_kill
model = creases.fit_table(sys.argv[1], "y", engine="ray", address=cluster.address)
assert len(submitted) > 20 and len(cluster.list_all_nodes()) == 1
model.save(sys.argv[2])
cluster.shutdown()
"""


@pytest.mark.slow
@pytest.mark.thorough
def test_a_model_is_the_same_bit_for_bit_where_one_of_two_nodes_is_killed(tmp_path, monkeypatch):
    from creases.tables._streaming import table

    pytest.importorskip("ray")
    pattern = write_parts(make_table(9_000, classes=2), tmp_path)
    environment = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    command = [sys.executable, "-c", SCRIPT, pattern, str(tmp_path / "run")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    monkeypatch.setattr(table, "KIND_ROWS", 900)
    alone = creases.fit_table(pattern, "y", engine="serial")
    assert creases.load(tmp_path / "run").additive.to_dict() == alone.additive.to_dict()
