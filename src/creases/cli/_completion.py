"""Shell completion of arguments: built-in problems, models, tables and the folders of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

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
