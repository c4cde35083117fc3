"""Statistics of the regions: number, sizes, predicted classes, samples."""

from __future__ import annotations

import numpy as np

from creases.regions import LinePartition
from creases.regions.diagnostics import PartitionSummary, summarize_partition
from creases.show.report._formatting import Section, format_float, format_integer, format_percent, pluralize
from creases.show.report._subject import Subject


def census_sections(subject: Subject) -> list[Section]:
    """Return sections about the regions of the partition, or of the samples without one."""
    if subject.partition is None:
        return [_sample_section(subject)] if subject.X is not None else []
    summary = summarize_partition(subject.partition, subject.coordinates)
    sections = [_regions(subject, summary)]
    if subject.classes is not None:
        sections.append(_classes(subject, summary))
    return sections


def _regions(subject: Subject, summary: PartitionSummary) -> Section:
    size = "length" if isinstance(subject.partition, LinePartition) else "area"
    unit = float(np.abs(subject.partition.b - subject.partition.a).max()) if size == "length" else 1.0  # type: ignore[union-attr]
    sizes = summary.sizes * unit
    rows = [
        [f"regions in {subject.domain_text}", format_integer(summary.count)],
        ["distinct affine functions", format_integer(summary.n_pieces)],
        [
            f"largest, median, smallest {size}",
            ", ".join(map(format_float, (sizes.max(), np.median(sizes), sizes.min()))),
        ],
        [f"total {size}", format_float(float(sizes.sum()))],
    ]
    if summary.max_regions is not None:
        rows.insert(1, ["maximum for these layer widths", format_integer(summary.max_regions)])
    on = "each" if summary.count > 1 else "it"
    text = f"{pluralize(summary.count, 'region')} in {subject.domain_text}; on {on} the network is one affine function."
    if summary.samples is not None:
        with_data = summary.samples[summary.samples > 0]
        rows.append(["regions with data", format_integer(len(with_data))])
        if len(with_data):
            most = f"{int(np.median(with_data)):,}, {int(with_data.max()):,}"
            rows.append(["samples per region with data: median, maximum", most])
        rows.append([f"samples outside {subject.domain_text}", format_integer(summary.n_outside)])
        text += f" Regions with data ({subject.samples_text}): {format_integer(len(with_data))}"
        share = format_percent(float(sizes[summary.samples > 0].sum() / sizes.sum()))
        text += f", {share} of the {size}."
    elif subject.X is not None:
        rows.append(
            [
                f"regions of the whole input space that contain {subject.samples_text}",
                format_integer(_count_occupied(subject)),
            ]
        )
    return {"title": "Regions", "text": text, "table": {"columns": ["", ""], "rows": rows}}


def _classes(subject: Subject, summary: PartitionSummary) -> Section:
    share = summary.class_sizes / summary.class_sizes.sum()
    y = None if subject.y is None or subject.coordinates is None else np.asarray(subject.y).astype(np.int64)
    columns = ["class", f"fraction of {subject.domain_text}", "in regions", *(["samples"] if y is not None else [])]
    rows = []
    for index in range(max(len(share), len(subject.classes or ()))):
        row = [subject.class_name(index)]
        row += (
            [format_percent(share[index]), format_integer(int(summary.class_regions[index]))]
            if index < len(share)
            else ["0%", "0"]
        )
        rows.append(row + ([format_integer(int((y == index).sum()))] if y is not None else []))
    if isinstance(subject.partition, LinePartition):
        text = f"The prediction changes at {pluralize(int(summary.boundary_size), 'point')}."
    else:
        text = f"The decision boundary has length {format_float(summary.boundary_size)}."
    if not summary.boundary_size:
        text = f"No decision boundary crosses {subject.domain_text}."
    else:
        text += " A region that it crosses counts for each class in it."
    return {"title": "Predicted classes", "text": text, "table": {"columns": columns, "rows": rows}}


def _sample_section(subject: Subject) -> Section:
    assert subject.X is not None
    occupied = _count_occupied(subject)
    text = (
        f"{subject.samples_text} fall in {pluralize(occupied, 'region')}, "
        f"{len(subject.X) / max(1, occupied):.3g} per region on "
        f"average. With {subject.net.n_in} inputs there are too many regions to list; slices show them on planes."
    )
    return {"title": "Regions", "text": text}


def _count_occupied(subject: Subject) -> int:
    from creases.compare import count_regions

    return count_regions(subject.net, subject.X) if subject.X is not None else 0
