"""The report of a comparison: the folder of ``creases compare`` in, one HTML file out.

Where the networks are kept with it and are small, each is mapped: on its inputs, or on a plane through three samples.
"""

from __future__ import annotations

import base64
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from creases.compare import Similarity
from creases.errors import FileError
from creases.show.report._measures import MEASURES, capital, format_number, measure_title, pair_rows, plot_measure
from creases.show.report._pictures import both
from creases.show.report._planes import Planes, mapped
from creases.show.report._still import check_name, write_sections, write_viewer
from creases.show.report._subject import Section

NAME = "comparison.json"

#: What a comparison's numbers must have; networks and samples may be missing.
_PARTS = ("accuracy", "agreement", "cka", "distance", "cross_entropy", "mapped")
_NEEDED = ("names", "samples", "samples_of", "changes", "decided_differently", *_PARTS)


def write_comparison_report(folder: Path, out: Path) -> Path:
    """Write the report of a comparison to an HTML file.

    Parameters
    ----------
    folder
        That ``creases compare ... --out`` wrote.
    """
    check_name(out)
    told = _read(folder / NAME)
    found = Similarity(
        tuple(told["names"]),
        told["samples"],
        *(None if told[part] is None else np.array(told[part], np.float64) for part in _PARTS),  # type: ignore[arg-type]
    )
    planes = mapped(folder, told)
    sections = [
        _networks(found, planes),
        *([planes.difference] if planes is not None and planes.difference is not None else []),
        *_changes(found, told, folder),
        *_measures(found),
        *([{"title": "Make it again", "code": shlex.join(told["command"])}] if told.get("command") else []),
    ]
    name = f"{len(found.names)} networks compared"
    lead = f"{', '.join(found.names)}, at {told['samples_of']}."
    if planes is None:
        return write_sections(out, name, lead, sections)
    problem = {**planes.problem, "name": name, "about": lead}
    counts = planes.counts[0]
    return write_viewer(out, name, problem, planes.frames, counts, sections, planes.names, "Network")


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileError(f"folder: there is no {path}; give the folder that creases compare wrote with --out")
    try:
        told = json.loads(path.read_text("utf-8"))
        missing = [name for name in _NEEDED if name not in told]
    except (OSError, ValueError, TypeError) as error:
        raise FileError(f"folder: {path} is damaged: {error}") from None
    if missing:
        raise FileError(f"folder: {path} is damaged, or written by another version: it has no {', '.join(missing)}")
    return dict(told)


def _networks(found: Similarity, planes: Planes | None) -> Section:
    """A line for each network: how often it is right, and what it has of regions."""
    columns = ["network", *(["right"] if found.accuracy is not None else [])]
    columns += ["parameters", "units", f"regions {planes.where}"] if planes is not None else []
    rows = []
    for i, name in enumerate(found.names):
        row = [name] + ([f"{100 * found.accuracy[i]:.2f} %"] if found.accuracy is not None else [])
        if planes is not None:
            more = (planes.parameters[i], planes.units[i], planes.counts[i]) if i < len(planes.counts) else ()
            row += [f"{count:,}" for count in more] or ["–"] * 3
        rows.append(row)
    return {"title": "The networks", "table": {"columns": columns, "rows": rows}}


def _changes(found: Similarity, told: dict[str, Any], folder: Path) -> list[Section]:
    """What changed from the first network to the second at the samples, and those that they decide differently."""
    a, b, *_ = found.names
    sections: list[Section] = [{"title": f"From {a} (a) to {b} (b)", "text": " ".join(told["changes"])}]
    listed, all_ = told.get("listed", []), len(told["decided_differently"])
    if not listed:
        return sections
    left = f", {len(listed)} of {all_}" if len(listed) < all_ else ""
    heads = {"sample": "sample", "a": "a says", "b": "b says", "truth": "truth"}
    keys = [key for key in heads if key in listed[0]]
    rows = [[str(row[key]) for key in keys] for row in listed]
    section: Section = {"title": f"Decided differently{left}, the most changed first"}
    drawn = folder / "differences.png"
    if drawn.is_file():
        section["text"] = "Below each image a's class, b's class and, in brackets, the true one."
        section["picture"] = f"data:image/png;base64,{base64.b64encode(drawn.read_bytes()).decode()}"
    return [*sections, {**section, "table": {"columns": [heads[key] for key in keys], "rows": rows}}]


def _measures(found: Similarity) -> list[Section]:
    """Of two networks each measure's number, of more a heat map and a table of each."""
    if len(found.names) == 2:
        pair = pair_rows(found)
        text = " ".join(f"{capital(name)}: {meaning}." for name, meaning, _ in pair)
        table = {"columns": ["measure", "value"], "rows": [[capital(name), value] for name, _, value in pair]}
        return [{"title": "How alike", "text": text, "table": table}]
    order = found.order()
    sections: list[Section] = []
    for key, meaning in MEASURES.items():
        values = getattr(found, key)
        if values is None:
            continue
        rows = [[found.names[i], *(format_number(values[i, j]) for j in order)] for i in order]
        table = {"columns": ["", *(found.names[i] for i in order)], "rows": rows}
        drawn = both(lambda key=key: plot_measure(found, key))  # type: ignore[misc]
        sections.append(
            {"title": capital(measure_title(key)), "text": f"{capital(meaning)}.", "picture": drawn, "table": table}
        )
    return sections
