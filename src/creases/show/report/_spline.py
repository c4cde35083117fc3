"""Breakpoints of a network of one input, with the changes of slope and the units."""

from __future__ import annotations

import numpy as np

from creases.regions import LinePartition
from creases.show.report._formatting import Section, format_float, pluralize
from creases.show.report._subject import Subject

#: Largest numbers of breakpoints and of outputs listed.
LISTED, OUTPUTS = 100, 4


def spline_sections(subject: Subject) -> list[Section]:
    """Return the breakpoints of a network of one input from left to right; of very many the sharpest."""
    partition = subject.partition
    if not isinstance(partition, LinePartition) or not subject.covers_inputs:
        return []
    width = float(partition.b[0] - partition.a[0])
    slopes = partition.pieces().J[:, :, 0] / width  # (k + 1, m)
    jumps = np.diff(slopes, axis=0)
    x = partition.points(partition.breakpoints)[:, 0]
    order = np.argsort(-np.abs(jumps).max(axis=1, initial=0.0), kind="stable")[:LISTED]
    listed = np.sort(order)
    names = [subject.output_name(j) for j in range(min(OUTPUTS, partition.net.n_out))]
    columns = [subject.features[0], "units", *(f"Δ slope of {name}" for name in names)]
    rows = [
        [
            format_float(x[i], 6),
            ", ".join(map(str, partition.units(i))),
            *(format_float(jumps[i, j]) for j in range(len(names))),
        ]
        for i in listed.tolist()
    ]
    text = f"A function of one input is a linear spline. It has {pluralize(len(x), 'breakpoint')} in the interval"
    ends = [
        f"{format_float(slopes[0, j])} at the left end and {format_float(slopes[-1, j])} at the right"
        for j in range(len(names))
    ]
    text += "; its slope is " + "; ".join(
        f"{end}{f' ({name})' if len(names) > 1 else ''}" for name, end in zip(names, ends, strict=True)
    )
    text += ". Δ slope is the slope change at a breakpoint."
    if len(listed) < len(x):
        text += f" The {len(listed)} largest slope changes are listed."
    if len(names) < partition.net.n_out:
        text += f" {len(names)} of {partition.net.n_out} outputs are shown."
    section: Section = {"title": "Breakpoints", "text": text}
    return [{**section, "table": {"columns": columns, "rows": rows}} if rows else section]
