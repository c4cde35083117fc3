"""Reports without a timeline: the viewer with partitions only, or a page of sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from creases.errors import InputError
from creases.show._viewer import epochs_json, to_json
from creases.show.report._formatting import Section
from creases.show.report._page import write_page


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
    """Write a report with the viewer: one network, one frame for each slice.

    Parameters
    ----------
    problem
        The problem of the viewer's run: name, about, task, features, classes, X, y, split.
    frames
        Frames of the slices, in the order of their names.
    regions
        Number of regions of the first slice.
    slices, slices_are
        Names of several slices, and the label of their list.
    """
    run = {
        **run_without_growth(problem, sections),
        "moments": [{"id": 0, "epoch": 0, "kind": "end", "record": None, "regions": regions}],
        **({"slices": list(slices), "slices_are": slices_are} if len(slices) > 1 else {}),
    }
    frames_by_name = {"0" if k == 0 else f"0/{k}": data for k, data in enumerate(frames)}
    return write_page(out, to_json(run), frames_by_name, title)


def write_sections(out: Path, title: str, lead: str, sections: Sequence[Section]) -> Path:
    """Write a report that has sections only: the viewer without a picture."""
    problem: dict[str, Any] = {
        "name": title,
        "about": lead,
        "task": "",
        "features": [],
        "classes": None,
        "X": [],
        "y": [],
        "split": [],
    }
    run = {**run_without_growth(problem, sections), "moments": [], "lead": f"{title}. {lead}"}
    return write_page(out, to_json(run), {}, title)


def run_without_growth(problem: Mapping[str, Any], sections: Sequence[Section]) -> dict[str, Any]:
    """Return the viewer's JSON of a run without epochs and growth steps; its moments are missing."""
    return {
        "problem": problem,
        "setting": {},
        "measure": "",
        "epochs": epochs_json([]),
        "records": [],
        "ended": "",
        "kept": 0,
        "sections": sections,
    }
