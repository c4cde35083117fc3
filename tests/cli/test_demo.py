import json

import numpy as np

from creases.cli import demo


def test_demo_writes_a_picture_and_a_summary_and_names_them(run, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "EPOCHS", 15)
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "demo.png").read_bytes().startswith(b"\x89PNG")
    summary = json.loads((tmp_path / "out" / "demo.json").read_text())
    assert summary["accuracy"] > 0.95
    assert summary["regions"] > 50
    assert summary["certificate"]["largest_difference"] < 1e-10
    assert np.isclose(summary["area"]["all"], 4)
    assert "Open out/demo.png" in result.stdout


def test_the_same_seed_gives_the_same_picture(run, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "EPOCHS", 1)
    for folder in ("a", "b"):
        assert run("demo", "--out", folder, "--seed", 7).exit_code == 0
    assert (tmp_path / "a" / "demo.png").read_bytes() == (tmp_path / "b" / "demo.png").read_bytes()
