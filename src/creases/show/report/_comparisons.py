"""Reports of comparisons: a folder in, one HTML file out.

Small networks that the comparison saved are map_networks, on their inputs or on a plane through three samples.
"""

from __future__ import annotations

import base64
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from creases._files import parse_json
from creases.compare import Similarity
from creases.errors import CreasesError, FileError
from creases.show.report._comparison_planes import Planes, map_networks
from creases.show.report._formatting import Section
from creases.show.report._measures import MEASURES, capitalize, format_number, measure_title, pair_rows, plot_measure
from creases.show.report._rendering import render_themes
from creases.show.report._static_pages import check_html_name, write_sections, write_viewer

NAME = "comparison.json"

#: Required entries of a comparison; networks and samples are optional.
_PARTS = ("accuracy", "agreement", "cka", "distance", "cross_entropy", "mapped")
_NEEDED = ("names", "samples", "samples_of", "changes", "decided_differently", *_PARTS)


def write_comparison_report(folder: Path, out: Path) -> Path:
    """Write the report of a comparison to an HTML file.

    Parameters
    ----------
    folder
        A folder that ``creases compare`` wrote.
    out
        The HTML file to write.
    """
    check_html_name(out)
    comparison = _read(folder / NAME)
    try:
        return _write(comparison, folder, out)
    except CreasesError:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise FileError(f"cannot read {folder / NAME}: it is damaged: {error}") from error


def _write(comparison: dict[str, Any], folder: Path, out: Path) -> Path:
    similarity = Similarity(
        tuple(comparison["names"]),
        comparison["samples"],
        *(None if comparison[part] is None else np.array(comparison[part], np.float64) for part in _PARTS),  # type: ignore[arg-type]
    )
    planes = map_networks(folder, comparison)
    sections = [
        _networks(similarity, planes),
        *([planes.difference] if planes is not None and planes.difference is not None else []),
        *_changes(similarity, comparison, folder),
        *_measures(similarity),
        *([{"title": "Reproduce it", "code": shlex.join(comparison["command"])}] if comparison.get("command") else []),
    ]
    name = f"{len(similarity.names)} networks compared"
    lead = f"{', '.join(similarity.names)}, on {comparison['samples_of']}."
    if planes is None:
        return write_sections(out, name, lead, sections)
    problem = {**planes.problem, "name": name, "about": lead}
    counts = planes.counts[0]
    return write_viewer(out, name, problem, planes.frames, counts, sections, planes.names, "Network")


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileError(f"cannot read {path}: there is no such file; pass a folder written by creases compare")
    try:
        comparison = parse_json(path.read_text("utf-8"))
        missing = [name for name in _NEEDED if name not in comparison]
    except (OSError, ValueError, TypeError) as error:
        raise FileError(f"cannot read {path}: it is damaged: {error}") from None
    if missing:
        raise FileError(f"cannot read {path}: it is damaged or from another version; missing: {', '.join(missing)}")
    return dict(comparison)


def _networks(similarity: Similarity, planes: Planes | None) -> Section:
    """Return a row for each network: its accuracy, its size and its regions."""
    columns = ["network", *(["accuracy"] if similarity.accuracy is not None else [])]
    columns += ["parameters", "units", f"regions {planes.where}"] if planes is not None else []
    rows = []
    for i, name in enumerate(similarity.names):
        row = [name] + ([f"{100 * similarity.accuracy[i]:.2f}%"] if similarity.accuracy is not None else [])
        if planes is not None:
            more = (planes.parameters[i], planes.units[i], planes.counts[i]) if i < len(planes.counts) else ()
            row += [f"{count:,}" for count in more] or ["–"] * 3
        rows.append(row)
    return {"title": "Networks", "table": {"columns": columns, "rows": rows}}


def _changes(similarity: Similarity, comparison: dict[str, Any], folder: Path) -> list[Section]:
    """Return the changes between the first two networks at the samples, and the samples they classify differently."""
    a, b, *_ = similarity.names
    sections: list[Section] = [{"title": f"From {a} (a) to {b} (b)", "text": " ".join(comparison["changes"])}]
    listed, count = comparison.get("listed", []), len(comparison["decided_differently"])
    if not listed:
        return sections
    left = f", {len(listed)} of {count}" if len(listed) < count else ""
    heads = {"sample": "sample", "a": "a predicts", "b": "b predicts", "truth": "truth"}
    keys = [key for key in heads if key in listed[0]]
    rows = [[str(row[key]) for key in keys] for row in listed]
    section: Section = {"title": f"Classified differently{left}, largest changes first"}
    picture = folder / "differences.png"
    if picture.is_file():
        section["text"] = "Below each image are the class of a, the class of b and, in parentheses, the true class."
        section["picture"] = f"data:image/png;base64,{base64.b64encode(picture.read_bytes()).decode()}"
    return [*sections, {**section, "table": {"columns": [heads[key] for key in keys], "rows": rows}}]


def _measures(similarity: Similarity) -> list[Section]:
    """Return the value of each measure for two networks, or heat maps and tables for more."""
    if len(similarity.names) == 2:
        pair = pair_rows(similarity)
        text = " ".join(f"{capitalize(name)}: {meaning}." for name, meaning, _ in pair)
        table = {"columns": ["measure", "value"], "rows": [[capitalize(name), value] for name, _, value in pair]}
        return [{"title": "Similarity", "text": text, "table": table}]
    order = similarity.order()
    sections: list[Section] = []
    for key, meaning in MEASURES.items():
        values = getattr(similarity, key)
        if values is None:
            continue
        rows = [[similarity.names[i], *(format_number(values[i, j]) for j in order)] for i in order]
        table = {"columns": ["", *(similarity.names[i] for i in order)], "rows": rows}
        picture = render_themes(lambda key=key: plot_measure(similarity, key))  # type: ignore[misc]
        sections.append(
            {
                "title": capitalize(measure_title(key)),
                "text": f"{capitalize(meaning)}.",
                "picture": picture,
                "table": table,
            }
        )
    return sections
