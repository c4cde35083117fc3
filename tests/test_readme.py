"""Every code block of the README runs, in order, in one folder."""

import re
import shlex
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from typer.testing import CliRunner

from creases.cli import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.M | re.S)


def run_line(line):
    words = shlex.split(line, comments=True)
    if words[0] == "creases":
        words, (_, *file) = (words[: words.index(">")], words[words.index(">") :]) if ">" in words else (words, [""])
        result = CliRunner().invoke(app, words[1:])
        assert result.exit_code == 0, result.output
        for name in file:
            Path(name).write_text(result.stdout)
    else:  # the set-up itself is not repeated from inside the tests: make only says what it would do
        assert words[0] == "make"
        subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.slow
def test_every_block_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for language, text in BLOCKS:
            assert language in ("python", "sh")
            if language == "python":
                exec(compile(text, "README.md", "exec"), names)
            else:
                for line in text.splitlines():
                    run_line(line)
    plt.close("all")
    for name in ("map.png", "map.svg", "map.npz"):
        assert (tmp_path / name).stat().st_size > 1000


def test_the_first_thing_is_a_picture_smaller_than_300_kb():
    first = README.split("\n\n")[1]
    path = re.fullmatch(r"!\[.*\]\((.*)\)", first)[1]
    assert (ROOT / path).read_bytes().startswith(b"\x89PNG")
    assert (ROOT / path).stat().st_size < 300_000


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)]*)\)", README))))
def test_links_lead_somewhere(path):
    assert (ROOT / path).is_file()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(creases/[\w/]+\.py)`", README))))
def test_files_named_exist(path):
    assert (ROOT / "src" / path).is_file()
