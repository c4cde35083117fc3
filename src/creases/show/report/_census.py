"""The census of regions: how many, how large, what they decide, where data lies."""

from __future__ import annotations

import numpy as np

from creases.regions import LinePartition
from creases.regions.diagnostics import PartitionSummary, summarize_partition
from creases.show.report._subject import Section, Subject
from creases.show.report._words import counted, number, percent, whole


def census_sections(subject: Subject) -> list[Section]:
    """The regions of the partition; without one, those that samples lie in."""
    if subject.partition is None:
        return [_by_samples(subject)] if subject.X is not None else []
    found = summarize_partition(subject.partition, subject.t)
    sections = [_regions(subject, found)]
    if subject.classes is not None:
        sections.append(_classes(subject, found))
    return sections


def _regions(subject: Subject, found: PartitionSummary) -> Section:
    size = "length" if isinstance(subject.partition, LinePartition) else "area"
    unit = float(np.abs(subject.partition.b - subject.partition.a).max()) if size == "length" else 1.0  # type: ignore[union-attr]
    sizes = found.sizes * unit
    rows = [
        [f"regions in {subject.where}", whole(found.count)],
        ["of them with an affine function of their own", whole(found.n_pieces)],
        [f"largest, median, smallest {size}", ", ".join(map(number, (sizes.max(), np.median(sizes), sizes.min())))],
        [f"{size} of all", number(float(sizes.sum()))],
    ]
    if found.max_regions is not None:
        rows.insert(1, ["networks of these widths have at most", whole(found.max_regions)])
    on = "each" if found.count > 1 else "it"
    text = f"{counted(found.count, 'region')} in {subject.where}; on {on} the network is one affine function."
    if found.samples is not None:
        with_data = found.samples[found.samples > 0]
        rows.append(["regions with data", whole(len(with_data))])
        if len(with_data):
            most = f"{int(np.median(with_data)):,}, {int(with_data.max()):,}"
            rows.append(["samples in a region with data: median, most", most])
        rows.append([f"samples outside {subject.where}", whole(found.n_outside)])
        text += f" Data: {subject.looked}, in {counted(len(with_data), 'region')}"
        text += (
            f"; {percent(float(sizes[found.samples > 0].sum() / sizes.sum()))} of the {size} is in regions with data."
        )
    elif subject.X is not None:
        rows.append([f"regions of all inputs that {subject.looked} lie in", whole(_occupied(subject))])
    return {"title": "Regions", "text": text, "table": {"columns": ["what", "value"], "rows": rows}}


def _classes(subject: Subject, found: PartitionSummary) -> Section:
    share = found.class_sizes / found.class_sizes.sum()
    labels = None if subject.y is None or subject.t is None else np.asarray(subject.y).astype(np.int64)
    columns = ["class", f"share of {subject.where}", "in regions", *(["samples"] if labels is not None else [])]
    rows = []
    for index in range(max(len(share), len(subject.classes or ()))):
        own = [subject.class_name(index)]
        own += [percent(share[index]), whole(int(found.class_regions[index]))] if index < len(share) else ["0 %", "0"]
        rows.append(own + ([whole(int((labels == index).sum()))] if labels is not None else []))
    if isinstance(subject.partition, LinePartition):
        text = f"The decision changes at {counted(int(found.boundary_size), 'point')}."
    else:
        text = f"The decision boundary is {number(found.boundary_size)} long."
    if not found.boundary_size:
        text = f"There is no decision boundary in {subject.where}."
    else:
        text += " A region that it runs through counts for each class in it."
    return {"title": "What is decided where", "text": text, "table": {"columns": columns, "rows": rows}}


def _by_samples(subject: Subject) -> Section:
    assert subject.X is not None
    occupied = _occupied(subject)
    text = (
        f"{subject.looked} in {counted(occupied, 'region')}: on average {len(subject.X) / max(1, occupied):.3g} "
        f"in each. All regions of {subject.net.n_in} inputs are too many to list; slices show them on planes."
    )
    return {"title": "Regions", "text": text}


def _occupied(subject: Subject) -> int:
    from creases.compare import count_regions

    return count_regions(subject.net, subject.X) if subject.X is not None else 0
