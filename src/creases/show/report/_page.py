"""Write a report as one HTML file: the built viewer with a run and its frames inlined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from creases._files import write_atomically
from creases.errors import FileError
from creases.show._viewer._frames import render_report, report_frame


def render_page(run: Mapping[str, Any], frames: Mapping[str, bytes], title: str) -> str:
    """Return the page of a run (web/PROTOCOL.md, "Run") and its frames by name; it loads nothing else."""
    built = files("creases.show._viewer") / "built"
    try:
        html, script, style = ((built / name).read_text("utf-8") for name in ("report.html", "studio.js", "studio.css"))
    except OSError as problem:
        raise FileError(f"cannot read the viewer: {problem.filename} is missing; reinstall creases") from None
    return render_report(html, script, style, title, report_frame(run, frames))


def write_page(path: str | Path, run: Mapping[str, Any], frames: Mapping[str, bytes], title: str) -> Path:
    """Write the page atomically."""
    text = render_page(run, frames, title)
    with write_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


@dataclass(frozen=True)
class ReportSummary:
    """Size and content of a written report."""

    path: Path
    bytes: int
    moments: tuple[int, int]  #: in the report, and in the folder of the run
    rows: tuple[int, int]  #: in the report, and in the data
    slices: tuple[str, ...]
    ended: bool  #: whether the run had ended
