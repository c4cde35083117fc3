import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
from typer.main import get_command

from creases import _compiled
from creases.__main__ import main
from creases.cli import COMMANDS, app
from creases.cli.console import load_kernels
from creases.regions._plane import kernel


def test_version_is_printed(run):
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"creases {version('creases')}\n")


def test_a_network_is_described_in_words_and_as_json(run, wide):
    lines = run("describe", wide).stdout.splitlines()
    assert lines[0] == "Network"
    assert {"inputs: 5", "outputs: 3", "units: 24", "parameters: 219"} <= set(lines)  # 5 x 24 + 24 + 24 x 3 + 3
    told = json.loads(run("describe", wide, "--json").stdout)
    assert told["sections"][1]["table"]["rows"][0][2:] == ["ReLU", "24", "24"]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_the_first_line_of_its_help(name):
    root = get_command(app)
    command = root.get_command(root.context_class(root), name)
    assert command.help.splitlines()[0] == COMMANDS[name][1]


@pytest.mark.parametrize("cached", [True, False])
def test_compilation_is_announced_only_when_it_is_due(tmp_path, monkeypatch, capsys, cached):
    monkeypatch.setattr(_compiled, "cache_folder", lambda module: tmp_path)
    if cached:
        (tmp_path / "kernel.subdivide-1.py311.nbi").touch()
    load_kernels()
    assert ("Compiling kernels (once per machine)" in capsys.readouterr().err) is not cached


def test_loaded_kernels_are_found_in_the_cache():
    load_kernels()
    assert _compiled.is_cached(kernel)


def test_ctrl_c_while_modules_are_imported_ends_without_a_traceback(monkeypatch):
    class Importing(ModuleType):
        @property
        def app(self):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "creases.cli", Importing("creases.cli"))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize(
    ("file", "most", "why"), [("/dev/full", -1, "No space left on device"), ("words.txt", 500, "File too large")]
)
def test_output_that_cannot_be_written_is_said_in_one_line(tmp_path, file, most, why):
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))"
    code = f"{limit}; import runpy, sys; sys.argv[1:] = ['problems']; runpy.run_module('creases', run_name='__main__')"
    with (tmp_path / file).open("w") as out:
        done = subprocess.run([sys.executable, "-c", code], stdout=out, stderr=-1, text=True)
    assert (done.returncode, done.stderr) == (2, f"error: the output cannot be written: {why}\n")
