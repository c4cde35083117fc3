"""The command line as a terminal shows it: completion, width, colors, pipes and what to do next."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from typer.main import get_command

from creases.cli import COMMANDS, app
from creases.cli import _options as options
from creases.cli.console import repeat_command
from creases.growth import GrowthConfig
from creases.tables import CurveConfig

CREASES = (sys.executable, "-m", "creases")


def complete(words: str) -> list[str]:
    """Return what the shell offers after these words."""
    values = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1), "_CREASES_COMPLETE": "complete_bash"}
    done = subprocess.run(CREASES, env={**os.environ, **values}, capture_output=True, text=True, check=False)
    return done.stdout.split()


def test_completion_can_be_installed(run):
    text = run("--help").stdout
    assert "--install-completion" in text
    assert "--show-completion" in text
    values = {**os.environ, "_CREASES_COMPLETE": "source_bash"}  # what --show-completion prints, for a known shell
    done = subprocess.run(CREASES, env=values, capture_output=True, text=True, check=False)
    assert "_CREASES_COMPLETE=complete_bash" in done.stdout


def test_commands_are_completed():
    assert complete("creases pr") == ["predict", "prune", "problems"]


def test_built_in_problems_and_tables_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("moon.csv", "moon.txt", ".moon.csv"):
        (tmp_path / name).touch()
    (tmp_path / "moonlight").mkdir()
    assert options.complete_data("moo") == ["moons", "moon.csv", "moonlight/"]
    assert options.complete_data("missing/") == []


def test_files_are_completed_in_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "net.onnx").touch()
    assert options.complete_model("out/") == options.complete_model("out/n") == ["out/net.onnx"]


@pytest.mark.slow
def test_the_built_in_problems_are_listed(run):
    result = run("problems")
    assert result.exit_code == 0
    assert re.search(r"^moons +400 +2 +2 classes +\S", result.stdout, re.M)
    assert re.search(r"^diabetes +442 +10 +number +\S", result.stdout, re.M)
    assert result.stdout.splitlines()[-1] == "Next: creases grow moons --out out/moons"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns(run, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(name, "--help").stdout.splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", ["fit", "grow", "map", "prune"])
def test_long_commands_group_their_options_and_show_examples(run, name):
    text = run(name, "--help").stdout
    assert "─ Output ─" in text
    examples = re.findall(rf"^   creases {name} .*", text, re.M)
    assert len(examples) >= 2
    assert all(len(line.rstrip()) < 80 for line in examples)


def test_the_examples_of_a_command_have_options_that_exist():
    root = get_command(app)
    for name in COMMANDS:
        command = root.get_command(root.context_class(root), name)
        commands = (command, *getattr(command, "commands", {}).values())
        known = {option for each in commands for parameter in each.params for option in parameter.opts}
        for example in re.findall(rf"^  creases {name} (.*)", command.help, re.M):
            assert set(re.findall(r"--[a-z-]+", example)) <= known, name


def test_pipes_and_no_color_get_no_escape_codes_and_no_name_controls_a_terminal():
    command = "from creases.cli.console import note, out, print_next; note('\\x1b]0;t\\x07'); "
    command += "out.print('[bold red]a[/]\\x9b31m\\u202e'); print_next('b', 'c')"
    for values in ({}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}):
        done = subprocess.run(
            [sys.executable, "-c", command], env={**os.environ, **values}, capture_output=True, check=True
        )
        assert done.stdout == b"a\\x9b31m\\u202e\n\nNext: b  # c\n"
        assert done.stderr == b"\\x1b]0;t\n"  # rich rings no bells


@pytest.mark.slow
def test_a_closed_pipe_leaves_no_traceback():
    with subprocess.Popen([*CREASES, "problems"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()


def test_help_does_not_import_torch():
    code = "import sys; from creases.cli import app; app(['--help'], standalone_mode=False); assert 'torch' not in {}"
    done = subprocess.run([sys.executable, "-c", code.format("sys.modules")], capture_output=True, check=False)
    assert done.returncode == 0


@pytest.mark.slow
def test_the_help_of_no_command_imports_numpy():
    code = (
        "import sys; from typer.testing import CliRunner; from creases.cli import COMMANDS, app\n"
        "assert all(CliRunner().invoke(app, [name, '--help']).exit_code == 0 for name in COMMANDS)\n"
        "assert not {'numpy', 'torch', 'pandas', 'sklearn'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
def test_a_missing_file_is_refused_before_torch_is_imported(tmp_path):
    commands = [
        "compare none.onnx other.onnx --data mnist", "compare a.py:b a.py:c --data none.csv",
        "verify none.onnx p.vnnlib",
        "verify a.py:b none.vnnlib", "verify a.py:b none.vnnlib --other none.onnx", "spline none.csv", "animate none",
        "grow none.csv --out o", "grow --resume none", "fit none.csv --out o", "predict none none.csv", "map none.onnx",
    ]  # fmt: skip
    code = (
        "import sys; from typer.testing import CliRunner; from creases.cli import app\n"
        f"for words in {commands}:\n"
        "    done = CliRunner().invoke(app, words.split())\n"
        "    assert (done.exit_code, 'none' in done.stderr) == (2, True), (words, done.stderr)\n"
        "    assert 'torch' not in sys.modules, words"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_names_and_defaults_in_help_are_those_of_the_library():
    root = get_command(app)
    for name, config in (("fit", CurveConfig()), ("grow", GrowthConfig())):
        shown = {each.name: each.default for each in root.get_command(root.context_class(root), name).params}
        shared = {option: str(getattr(config, option)) for option in vars(config) if shown.get(option) is not None}
        shared.pop("when", None)  # which the command reads in its own way
        assert {"test_fraction", "threshold", "seed"} <= set(shared)
        assert {option: str(shown[option]) for option in shared} == shared


def test_a_command_can_be_repeated_with_more_options(run):
    run("map", "a network.npz")
    assert repeat_command("--out", "map.png") == "creases map 'a network.npz' --out map.png"
