"""Run every command that reads or writes files under faults, and say what each ends in.

    python bench/faults.py [--only fit,map]

Faults: the command is killed at four moments of its work; no file may be longer than 100 bytes (a full disk); the
folder of the output cannot be written to; an input is a pipe without a writer; the output is a pipe without a reader;
an input is a link to itself; input and output are links to files. Commands run in processes that are forked from
one that has imported everything and run each command once, so that moments are those of the work itself.

A fault may end in a refusal: an exit code that is neither 0 nor that of a fault in creases, one line on stderr, and no
change of what was there. Whatever else a command leaves behind must be whole: the file as it was before, or one that
can be read.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
from PIL import Image

import creases
from creases.cli import FAULT, app
from creases.regions import PlanePartition
from record import note, note_table

#: Seconds after which a command that waits is called hung.
PATIENCE = 120

#: Seconds after which a command that serves has read what it serves.
SERVING = 20

#: Bytes of a file on the full disk.
ROOM = 100

NOBODY = 65534

PROPERTY = """
(declare-const X_0 Real) (declare-const X_1 Real) (declare-const Y_0 Real) (declare-const Y_1 Real)
(assert (<= X_0 0.5)) (assert (>= X_0 0.4)) (assert (<= X_1 0.5)) (assert (>= X_1 0.4))
(assert (<= Y_0 -1000.0))
"""


@dataclass(frozen=True)
class Command:
    """A command: its arguments, which of them are inputs, and what it writes."""

    arguments: tuple[str, ...]
    inputs: tuple[str, ...]  #: names of files or folders
    output: str = ""  #: its name; "" if it writes none
    is_folder: bool = False
    again: tuple[str, ...] = ()  #: options that let it run again over what is there
    serves: bool = False  #: whether it runs until it is stopped
    starts_processes: bool = False  #: or threads, which a fork may not: it has a Python of its own


COMMANDS = {
    "fit": Command(("fit", "table.csv", "--target", "y", "--out", "OUT"), ("table.csv",), "run", True, ("--force",)),
    "grow": Command(
        ("grow", "table.csv", "--target", "y", "--budget", "3 epochs", "--out", "OUT"),
        ("table.csv",),
        "grown-run",
        True,
        ("--force",),
    ),
    "predict": Command(
        ("predict", "fitted", "table.csv", "--force", "--out", "OUT"), ("table.csv", "fitted/model.json"), "rows.csv"
    ),
    "export to .sql": Command(("export", "fitted", "OUT", "--force"), ("fitted/model.json",), "model.sql"),
    "export to .xlsx": Command(("export", "fitted", "OUT", "--force"), ("fitted/encoding.json",), "model.xlsx"),
    "map": Command(("map", "net.safetensors", "--box", "-1,1,-1,1", "--out", "OUT"), ("net.safetensors",), "map.png"),
    "map to .npz": Command(("map", "net.onnx", "--box", "-1,1,-1,1", "--out", "OUT"), ("net.onnx",), "map.npz"),
    "explain": Command(("explain", "net.safetensors", "0.2,-0.4"), ("net.safetensors",)),
    "explain a row": Command(("explain", "fitted", "--row", "0"), ("fitted/model.json", "fitted/encoding.json")),
    "verify": Command(
        ("verify", "net.onnx", "property.vnnlib", "--proof", "OUT"), ("net.onnx", "property.vnnlib"), "proof.json.gz"
    ),
    "check": Command(
        ("check", "old-proof.json", "net.onnx", "--property", "property.vnnlib"),
        ("old-proof.json", "net.onnx", "property.vnnlib"),
    ),
    "compare": Command(
        ("compare", "net.safetensors", "other.safetensors", "--data", "points.csv", "--out", "OUT"),
        ("net.safetensors", "points.csv"),
        "comparison",
        True,
    ),
    "spline": Command(("spline", "curve.csv", "--pieces", "2", "--out", "OUT"), ("curve.csv",), "pieces.csv"),
    "prune": Command(
        ("prune", "net.safetensors", "--box", "-1,1", "--out", "OUT"), ("net.safetensors",), "small.safetensors"
    ),
    "report": Command(("report", "fitted", "--out", "OUT"), ("fitted/model.json", "fitted/run.json"), "fit.html"),
    "report of growth": Command(
        ("report", "grown", "--out", "OUT"), ("grown/model.json", "grown/history.json"), "growth.html"
    ),
    "animate": Command(
        ("animate", "grown", "--frames", "2", "--dpi", "40", "--out", "OUT"), ("grown/history.json",), "growth.gif"
    ),
    "studio": Command(
        ("studio", "fitted", "--no-browser", "--port", "0"), ("fitted/model.json", "fitted/encoding.json"), serves=True
    ),
    "demo": Command(("demo", "--out", "OUT"), (), "demo", True, starts_processes=True),
    "reproduce": Command(("reproduce", "xng/slide-31", "--out", "OUT"), (), "claims", True, starts_processes=True),
}

COMMANDS_OF_THEIR_OWN = {command.arguments[0] for command in COMMANDS.values() if command.starts_processes}

FAULTS = ("killed", "full disk", "read-only", "pipe to read", "pipe to write", "link to itself", "links")


@dataclass(frozen=True)
class Outcome:
    """How a process ended; ``code`` is None if it hung."""

    code: int | None
    errors: str

    @property
    def is_refusal(self) -> bool:
        """Whether it said no in words, as it should."""
        return self.code not in (None, 0, FAULT) and "Traceback" not in self.errors and 0 < len(self.errors) < 2000

    def __str__(self) -> str:
        return "hung" if self.code is None else f"code {self.code}: {self.errors.strip()[-300:]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(COMMANDS), help="names of commands")
    chosen = parser.parse_args().only.split(",")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.chmod(home, 0o755)
        os.chdir(home)
        make_inputs(home)
        rows, wrong, cells = [], [], 0
        for name in chosen:
            command = COMMANDS[name]
            seconds = warm_up(command)
            row = [f"`{command.arguments[0]}`{name.removeprefix(command.arguments[0])}"]
            for fault in FAULTS:
                text = run_fault(fault, command, seconds)
                cells += text != ""
                wrong += [f"{name}, {fault}: {text}"] if text.startswith("WRONG") else []
                row.append(text or "–")
            print(" | ".join(row), flush=True)
            rows.append(row)
    note_table("commands", ["command", *FAULTS], rows)
    note("cells", str(cells))
    note("wrong", str(len(wrong)))
    print(f"{cells} cells, {len(wrong)} wrong")
    print(*wrong, sep="\n")


def make_inputs(home: Path) -> None:
    """Write every file that the commands read, and the folders of a fit and of a growth run."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)).round(3)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": (X[:, 0] + np.abs(X[:, 1])).round(3)}).to_csv(
        "table.csv", index=False
    )
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.where(X[:, 0] > 0, "u", "v")}).to_csv("points.csv", index=False)
    pd.DataFrame({"x": np.arange(12.0), "y": np.abs(np.arange(12) - 5.0)}).to_csv("curve.csv", index=False)
    for name in ("net", "other"):
        layers = [(rng.normal(size=(4, 2)), rng.normal(size=4)), (rng.normal(size=(2, 4)), rng.normal(size=2))]
        net = creases.read(layers)
        net.save(f"{name}.safetensors")
        if name == "net":
            run(("prune", "net.safetensors", "--out", "net.onnx"))
    (home / "property.vnnlib").write_text(PROPERTY)
    run(("fit", "table.csv", "--target", "y", "--out", "fitted"))
    run(("grow", "table.csv", "--target", "y", "--budget", "3 epochs", "--out", "grown"))
    run(("verify", "net.onnx", "property.vnnlib", "--proof", "old-proof.json"))


def run(arguments: tuple[str, ...]) -> None:
    """Run a command in this process, so that what it imports and compiles is there for all; it must succeed."""
    try:
        app(list(arguments), standalone_mode=True)
    except SystemExit as end:
        if end.code not in (0, None):
            raise RuntimeError(f"{arguments} ended with {end.code}") from None


def warm_up(command: Command) -> float:
    """Run a command as it is; return its seconds in a second run."""
    if command.serves:
        return 0.0
    run(fill(command, command.output))
    remove(Path(command.output or "nothing"))
    start = time.perf_counter()
    outcome = fork(fill(command, command.output))
    assert outcome.code == 0, outcome
    remove(Path(command.output or "nothing"))
    return time.perf_counter() - start


def fill(command: Command, output: str) -> tuple[str, ...]:
    """Return the arguments with the name of the output."""
    return tuple(output if word == "OUT" else word for word in command.arguments)


def fork(
    arguments: tuple[str, ...], prepare: Callable[[], None] = lambda: None, kill_after: float = PATIENCE
) -> Outcome:
    """Run a command in a process of its own, and return how it ended."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        _become(arguments, prepare, write)
    os.close(write)
    code = _wait(child, kill_after)
    with open(read, "rb") as errors:
        return Outcome(code, errors.read().decode(errors="replace"))


def _become(arguments: tuple[str, ...], prepare: Callable[[], None], errors: int) -> NoReturn:
    """Run a command and end this process, which is a fork, with its code."""
    code = FAULT
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(errors, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        prepare()
        if arguments[0] in COMMANDS_OF_THEIR_OWN and os.access(sys.executable, os.X_OK):
            os.execv(sys.executable, [sys.executable, "-m", "creases", *arguments])
        app(list(arguments), standalone_mode=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child: int, seconds: float) -> int | None:
    """Return the exit code of a process; one that takes longer is killed, and has none."""
    limit = time.perf_counter() + seconds
    while time.perf_counter() < limit:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


OLD = b"what was there before"


def kill(command: Command, seconds: float) -> str:
    """Kill a command at four moments, each time over an old file, or before a folder is there."""
    if not command.output:
        return ""
    path = Path(command.output)
    for moment in (0.2, 0.5, 0.8, 0.95):
        if not command.is_folder:
            path.write_bytes(OLD)
        fork(fill(command, command.output), kill_after=moment * seconds)
        if not command.is_folder and path.read_bytes() != OLD and not is_whole(path):
            return f"WRONG: half a file after {moment:.0%}"
        more = command.again if path.exists() else ()
        outcome = fork((*fill(command, command.output), *more))
        litter = [each.name for each in Path().iterdir() if each.name.startswith(".")]
        if outcome.code != 0 or litter:
            return f"WRONG: run again after {moment:.0%}: {outcome} {litter}"
        remove(path)
    return "runs again" if command.is_folder else "old or whole, runs again"


def fill_disk(command: Command, seconds: float) -> str:
    """Run a command where no file may be longer than some bytes."""
    if not command.output:
        return ""
    path = Path(command.output)
    if not command.is_folder:
        path.write_bytes(OLD)
    outcome = fork(fill(command, command.output), lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM)))
    if not outcome.is_refusal:
        return f"WRONG: {outcome}"
    if command.is_folder:
        outcome = fork((*fill(command, command.output), *(command.again if path.exists() else ())))
        return "refused, runs again" if outcome.code == 0 else f"WRONG: run again: {outcome}"
    return "refused, old stays" if path.read_bytes() == OLD else "WRONG: the old file is gone"


def lock(command: Command, seconds: float) -> str:
    """Run a command whose output is to be in a folder that cannot be written to."""
    if not command.output:
        return ""
    folder = Path("locked")
    folder.mkdir()
    folder.chmod(0o555)

    def become_nobody() -> None:
        if os.getuid() == 0:  # who may write everywhere
            os.setuid(NOBODY)

    outcome = fork(fill(command, str(folder / command.output)), become_nobody)
    left = list(folder.iterdir())
    remove(folder)
    return "refused" if outcome.is_refusal and not left else f"WRONG: {outcome} {left}"


def pipe_input(command: Command, seconds: float) -> str:
    """Replace one input after another by a pipe that nobody writes to."""
    return _spoil_inputs(command, lambda path, real: os.mkfifo(path))


def loop_input(command: Command, seconds: float) -> str:
    """Replace one input after another by a link to itself."""
    return _spoil_inputs(command, lambda path, real: path.symlink_to(path.absolute()))


def _spoil_inputs(command: Command, spoil: Callable[[Path, Path], None]) -> str:
    if not command.inputs:
        return ""
    for name in command.inputs:
        path, real = Path(name), Path(f"{name}.real")
        path.rename(real)
        spoil(path, real)
        outcome = fork(fill(command, command.output))
        path.unlink()
        real.rename(path)
        remove(Path(command.output or "nothing"))
        if not outcome.is_refusal:
            return f"WRONG: {name}: {outcome}"
    return "refused"


def pipe_output(command: Command, seconds: float) -> str:
    """Run a command whose output is the name of a pipe that nobody reads."""
    if not command.output:
        return ""
    path = Path(command.output)
    os.mkfifo(path)
    outcome = fork(fill(command, command.output))
    if outcome.code == 0:
        return "replaced" if path.is_file() and is_whole(path) else "WRONG: nothing was written"
    return "refused" if outcome.is_refusal and path.is_fifo() else f"WRONG: {outcome}"


def link_all(command: Command, seconds: float) -> str:
    """Run a command whose inputs and output are links."""
    reals = [(Path(name), Path(f"{name}.real")) for name in command.inputs]
    for path, real in reals:
        path.rename(real)
        path.symlink_to(real.absolute())
    path, target = Path(command.output or "nothing"), Path(f"target{Path(command.output).suffix}")
    if command.is_folder:
        target.mkdir()
    else:
        target.write_bytes(OLD)
    if command.output:
        path.symlink_to(target)
    outcome = fork(fill(command, command.output), kill_after=SERVING if command.serves else PATIENCE)
    is_link, whole = path.is_symlink(), not command.output or command.is_folder or is_whole(path)
    for each in (path, target):
        remove(each)
    for link, real in reals:
        link.unlink()
        real.rename(link)
    if outcome.code != (None if command.serves else 0) or not whole:
        return f"WRONG: {outcome}"
    if not command.inputs:
        return f"the output is {'behind the link' if is_link else 'in its place'}"
    return "read" if not command.output else f"read; the output is {'behind the link' if is_link else 'in its place'}"


def run_fault(fault: str, command: Command, seconds: float) -> str:
    """Return what a command ends in under a fault, in a few words; "" where it does not concern it."""
    act = dict(zip(FAULTS, (kill, fill_disk, lock, pipe_input, pipe_output, loop_input, link_all), strict=True))[fault]
    try:
        return act(command, seconds)
    finally:
        remove(Path(command.output or "nothing"))


def is_whole(path: Path) -> bool:
    """Whether a file can be read to its end."""
    try:
        match path.suffixes[-1]:
            case ".png" | ".gif":
                with Image.open(path) as image:
                    image.load()
            case ".npz":
                PlanePartition.load(path)
            case ".gz":
                json.loads(gzip.decompress(path.read_bytes()))
            case ".csv":
                return len(pd.read_csv(path)) > 0
            case ".html":
                return path.read_text().rstrip().endswith("</html>")
            case ".safetensors":
                creases.read(path)
            case ".sql":
                return path.read_text().endswith(") AS s\n")
            case ".xlsx":
                with zipfile.ZipFile(path) as book:
                    return book.testzip() is None
    except Exception:
        return False
    return True


def remove(path: Path) -> None:
    """Remove a file, link or folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
