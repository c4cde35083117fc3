"""Arguments and options that several commands have, and how the shell completes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from creases.cli.console import argument, option
from creases.errors import FileError

TABLES = (".csv", ".tsv", ".parquet", ".npz")
MODELS = (".onnx", ".safetensors", ".npz", ".py")


def complete_words(*words: str) -> Callable[[str], list[str]]:
    """Return a completer that offers the words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def complete_files(*endings: str) -> Callable[[str], list[str]]:
    """Return a completer that offers folders and the files with these endings (all files without endings)."""
    return lambda incomplete: list(_files(incomplete, endings))


def complete_data(incomplete: str) -> list[str]:
    """Offer the built-in problems and the files of tables."""
    from creases.problems import names

    return [*(name for name in names() if name.startswith(incomplete)), *_files(incomplete, TABLES)]


def complete_model(incomplete: str) -> list[str]:
    """Offer model files, Python files and folders."""
    return list(_files(incomplete, MODELS))


def check_model(names: Any) -> Any:
    """Refuse a file of a network that is not there, before anything slow is imported."""
    for name in [names] if isinstance(names, str) else names or ():
        if Path(name).suffix in (".onnx", ".safetensors", ".npz") and not Path(name).exists():
            raise FileError(f"cannot read {name}: there is no such file")
    return names


def check_file(path: Path | None) -> Path | None:
    """Refuse a file or a folder that is not there, before anything slow is imported."""
    if path is not None and not path.exists():
        raise FileError(f"cannot read {path}: there is no such file")
    return path


def _files(incomplete: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Yield the folders, with a slash behind them, and the files that continue an incomplete name."""
    folder, start = Path(incomplete), ""
    if not incomplete.endswith("/") and incomplete:
        folder, start = Path(incomplete).parent, Path(incomplete).name
    prefix = incomplete.removesuffix(start)
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(start) and entry.name.startswith(".") == start.startswith("."):
            if entry.is_dir():
                yield f"{prefix}{entry.name}/"
            elif not endings or entry.suffix in endings:
                yield f"{prefix}{entry.name}"


#: What MODEL may be, in the help.
HELP = (
    "A network: an .onnx file, a .safetensors file (Network.save), an .npz file with W0, b0, W1, b1, ... "
    "(and optionally a number 'leak'), or module:name or path.py:name of a torch module or a function that returns "
    "one. The last two run that code: use them only with code you trust."
)

#: The same, where a folder will do too.
HELP_OR_RUN = f"{HELP} Or the folder of a growth run."

Model = Annotated[str, argument("MODEL", HELP_OR_RUN, autocompletion=complete_model, callback=check_model)]
Folder = Annotated[
    Path,
    argument("RUN", "Folder of a model (creases fit, creases grow).", autocompletion=complete_files()),
]
AsJson = Annotated[bool, option("", "Print the result as JSON.", "--json")]
InputShape = Annotated[str | None, option("C,H,W", "Shape of one input.")]
Address = Annotated[str | None, option("HOST", "Address of a running Ray cluster; default: start one here.")]

#: Where independent tasks run.
Engine = StrEnum("Engine", ["local", "serial", "ray"])
