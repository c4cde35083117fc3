"""Reports of what does not change with time: the viewer with partitions and no growth, or a page of sections alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from creases._files import write_atomically
from creases.errors import InputError
from creases.show.report import _html as page
from creases.show.report._page import write_page
from creases.show.report._subject import Section
from creases.show.viewer import epochs_json, plain


def check_name(out: Path) -> None:
    """Refuse a name that is no page's, before any work."""
    if out.suffix not in (".html", ".htm"):
        raise InputError(f"out: expected a name ending in .html, got {out.name!r}")


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
    """Write a report with the viewer: one moment, in one frame for each slice.

    Parameters
    ----------
    problem
        As the viewer's run has it: name, about, task, features, classes, X, y, split.
    frames
        Of the slices, in the order of their names.
    regions
        Of the first slice.
    slices, slices_are
        Names of the slices where there are several, and what they are.
    """
    run = {
        "problem": problem,
        "setting": {},
        "measure": "",
        "epochs": epochs_json([]),
        "records": [],
        "moments": [{"id": 0, "epoch": 0, "kind": "end", "record": None, "regions": regions}],
        "ended": "",
        "kept": 0,
        "sections": sections,
        **({"slices": list(slices), "slices_are": slices_are} if len(slices) > 1 else {}),
    }
    named = {"0" if k == 0 else f"0/{k}": data for k, data in enumerate(frames)}
    return write_page(out, plain(run), named, title)


def write_sections(out: Path, title: str, lead: str, sections: Sequence[Section]) -> Path:
    """Write a report of sections alone: a page without a program in it."""
    parts = [page.words(lead, note=True), page.beside([_parts(section) for section in sections])]
    with write_atomically(out) as temporary:
        temporary.write_text(page.page(title, parts), "utf-8")
    return out


def _parts(section: Section) -> list[str]:
    parts = [page.heading(section["title"])]
    if "text" in section:
        parts.append(page.words(section["text"]))
    if "picture" in section:
        parts.append(page.image(section["picture"], section["title"]))
    if "table" in section:
        parts.append(page.table(section["table"]["columns"], section["table"]["rows"]))
    if "code" in section:
        parts.append(page.code(section["code"]))
    return parts
