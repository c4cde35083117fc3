"""Reports as HTML files: which results have one, the built viewer with a run and its frames inlined, sections."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._document import Section
from creases._files import write_atomically
from creases._text import format_value
from creases.errors import FileError, InputError
from creases.show._viewer._frames import render_report, report_frame
from creases.show._viewer._run import epochs_json, to_json
from creases.tables import RunFile, name_result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_page(path: str | Path, run: Mapping[str, Any], frames: Mapping[str, bytes], title: str) -> Path:
    """Write the page of a run (web/PROTOCOL.md, "Run") and its frames by name, atomically; it loads nothing else."""
    built = files("creases.show._viewer") / "built"
    try:
        html, script, style = ((built / name).read_text("utf-8") for name in ("report.html", "studio.js", "studio.css"))
    except OSError as problem:
        raise FileError(f"cannot read the viewer: {problem.filename} is missing; reinstall creases") from None
    text = render_report(html, script, style, title, report_frame(run, frames))
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


# Render figures as PNG data URIs, in the light and the dark theme.


def render_themes(draw: Callable[[], Figure], *, dpi: int = 130) -> dict[str, str]:
    """Return the figure of ``draw`` as a PNG data URI for each theme."""
    from creases.show._style import (
        reduce_colors,  # with matplotlib, which pages without pictures do not need
        style_context,
    )
    from creases.show._themes import THEMES, theme

    images = {}
    for name in THEMES:
        with theme(name):
            figure, buffer = draw(), io.BytesIO()
            with style_context():
                figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
        images[name] = f"data:image/png;base64,{base64.b64encode(reduce_colors(buffer.getvalue())).decode()}"
    return images


# Format numbers, counts and shares for reports.


def format_float(value: float, digits: int = 4) -> str:
    """Format a number briefly; a dash if it is not finite."""
    return format_value(float(value), digits) if isfinite(value) else "–"


def format_percent(share: float) -> str:
    """Format a share in percent, with three significant digits."""
    return f"{100 * share:.3g}%" if isfinite(share) else "–"


def format_integer(value: int) -> str:
    """Format an integer with thousands separators; a very large one as a power of ten."""
    return f"{value:,}" if abs(value) < 10**12 else f"about 10^{len(str(abs(value))) - 1}"


# Reports without a timeline: the viewer with partitions only, or a page of sections.


def check_html_name(out: Path) -> None:
    """Check that a file name ends in .html, before any work."""
    if out.suffix not in (".html", ".htm"):
        raise InputError("out", "end in .html", repr(out.name))


def write_viewer(
    out: Path,
    title: str,
    problem: Mapping[str, Any],
    frames: Sequence[bytes],
    regions: int,
    sections: Sequence[Section],
    slices: Sequence[str] = (),
    slices_are: str = "Slice",
) -> Path:
    """Write a report with the viewer: one network, a frame for each slice, of the first of which this is the count.

    ``problem`` is that of the viewer's run: name, about, task, features, classes, X, y, split; ``slices_are`` is the
    label of the list of several slices.
    """
    run = {
        **run_without_growth(problem, sections),
        "moments": [{"id": 0, "epoch": 0, "kind": "end", "record": None, "regions": regions}],
        **({"slices": list(slices), "slices_are": slices_are} if len(slices) > 1 else {}),
    }
    frames_by_name = {"0" if k == 0 else f"0/{k}": data for k, data in enumerate(frames)}
    return write_page(out, to_json(run), frames_by_name, title)


def round_values(values: Any) -> list[Any]:
    """Round numbers, in lists of any depth, to six digits, more than a chart can show."""
    rounded: list[Any] = np.vectorize(lambda value: float(f"{value:.6g}"), otypes=[float])(values).tolist()
    return rounded


def series(kind: str, x: Any, y: Any, color: int | None = None, **look: Any) -> dict[str, Any]:
    """Return what a chart draws: a line, points, bars, a band or a density, in the color of a class."""
    colored = {} if color is None else {"color": color}
    return {"kind": kind, "x": round_values(x), "y": round_values(y), **colored, **look}


def write_sections(out: Path, title: str, lead: str, sections: Sequence[Section]) -> Path:
    """Write a report that has sections only: the viewer without a picture."""
    problem: dict[str, Any] = {"name": title, "about": lead, "task": "", "classes": None}
    problem |= {name: [] for name in ("features", "X", "y", "split")}
    run = {**run_without_growth(problem, sections), "lead": f"{title}. {lead}"}
    return write_page(out, to_json(run), {}, title)


def run_without_growth(problem: Mapping[str, Any], sections: Sequence[Section]) -> dict[str, Any]:
    """Return the viewer's JSON of a run without epochs, growth steps and moments."""
    return {
        "problem": problem,
        "setting": {},
        "measure": "",
        "epochs": epochs_json([]),
        "records": [],
        "moments": [],
        "ended": "",
        "kept": 0,
        "sections": sections,
    }


# What a folder or file of results holds.

COMPARISON = "comparison.json"

#: Files of maps and of networks.
_MAPS = (".npz", ".safetensors", ".onnx")


def kind_of_result(result: Path) -> str:
    """Return what a folder or file holds, judging by its files."""
    kinds = {RunFile.SETTINGS: "growth run", COMPARISON: "comparison"}
    if result.is_dir():
        kind = next((kind for name, kind in kinds.items() if (result / name).exists()), None)
        if kind is None:
            raise InputError(
                "result",
                f"hold a growth run ({RunFile.SETTINGS}) or a comparison ({COMPARISON})",
                str(result),
                "pass a folder written by creases fit, grow or compare",
            )
        return name_result(result) if kind == "growth run" else kind
    if not result.exists():
        raise InputError("result", "be an existing file or folder", str(result))
    if result.suffix in _MAPS:
        return "map"
    raise InputError("result", f"be a folder, or a map or network ({', '.join(_MAPS)})", repr(result.name))
