"""A report as one HTML file: the built viewer with a run and its frames in it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from creases._files import write_atomically
from creases.errors import FileError
from creases.show.viewer._frames import report, report_html


def page(run: Mapping[str, Any], frames: Mapping[str, bytes], title: str) -> str:
    """The page of a run (web/PROTOCOL.md, "Run") with its frames by name; opened in a browser it asks for nothing."""
    built = files("creases.show.viewer") / "built"
    try:
        html, script, style = ((built / name).read_text("utf-8") for name in ("report.html", "studio.js", "studio.css"))
    except OSError as problem:
        raise FileError(f"viewer: {problem.filename} is missing; install creases anew") from None
    return report_html(html, script, style, title, report(run, frames))


def write_page(path: str | Path, run: Mapping[str, Any], frames: Mapping[str, bytes], title: str) -> Path:
    """Write the page, whole or not at all."""
    text = page(run, frames, title)
    with write_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)
