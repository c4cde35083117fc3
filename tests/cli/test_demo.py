import json
import re

import pytest


@pytest.mark.slow
def test_the_demo_grows_a_network_maps_it_and_names_the_files(run, tmp_path):
    result = run("demo")
    assert result.exit_code == 0, result.output
    folder = tmp_path / "out" / "demo"
    for name in ("growth.png", "map.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    assert re.search(r"regions +\d+", result.stdout)
    assert re.search(r"differs from the network by at most \d.\de-1\d", result.stdout)
    assert json.loads((folder / "model.json").read_text())["units"] < 12
    assert "Next: creases report out/demo" in result.stdout


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_pictures_and_a_demo_may_be_repeated(run, tmp_path):
    pictures = []
    for _ in range(2):
        assert run("demo", "--out", "a", "--seed", 7).exit_code == 0
        pictures.append([(tmp_path / "a" / name).read_bytes() for name in ("growth.png", "map.png")])
    assert pictures[0] == pictures[1]


@pytest.mark.slow
def test_a_demo_does_not_write_over_another_run(run):
    assert run("grow", "moons", "--out", "mine", "--budget", 1).exit_code == 0
    result = run("demo", "--out", "mine")
    assert result.exit_code == 2
    assert "got mine with run.json of a growth run" in " ".join(result.stderr.split())
