"""The sections about a network: certificate, regions, units, pieces, sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from creases._versions import version
from creases.compare import Compression, coefficients, compress, decisions
from creases.network import Network
from creases.regions import LinePartition, PlanePartition
from creases.regions.diagnostics import PartitionSummary, summarize_partition, verify_partition
from creases.show.report._influence import sensitivity_sections, units_section
from creases.show.report._page import Section, format_float, format_integer, format_percent, pluralize, render_themes
from creases.show.report._subject import Subject, count_parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Provenance and certificate: the network, and the error of the pieces shown.


def certificate_section(subject: Subject) -> Section:
    """Return the largest ``|f - piece|`` at points and corners of the partition, or at samples without one."""
    net = subject.net
    rows = [
        ["network", _describe(net)],
        ["parameters", format_integer(count_parameters(net))],
        ["precision", str(net.dtype).removeprefix("torch.")],
        ["versions", ", ".join(f"{name} {version(name).split('+')[0]}" for name in ("creases", "torch", "numpy"))],
    ]
    if subject.partition is None:
        text, more = _at_samples(subject)
    else:
        text, more = _on_partition(subject)
    return {"title": "Exactness", "text": text, "table": {"columns": ["", ""], "rows": [*rows, *more]}}


def _on_partition(subject: Subject) -> tuple[str, list[list[Any]]]:
    assert subject.partition is not None
    check = verify_partition(subject.partition)
    rows = [
        ["random points", format_integer(check.n_points)],
        ["largest error there", f"{check.error_at_points:.2g}"],
        ["corners of regions", format_integer(check.n_corners)],
        ["largest error there", f"{check.error_at_corners:.2g}"],
        ["rounding error bound", f"{check.tolerance:.2g}"],
    ]
    if check.holds:
        return (
            "The regions shown are exact, not sampled. In each region the network is a single affine function; these "
            "functions agree with the network up to rounding at every corner of every region and at random points.",
            rows,
        )
    at = ", ".join(format_float(x) for x in check.worst_point[:8]) + (", …" if len(check.worst_point) > 8 else "")
    return (
        f"The pieces do NOT agree with the network: they differ by {check.max_error:.2g} at ({at}), and rounding "
        f"explains at most {check.tolerance:.2g}. Do not trust this report; map the network with exact arithmetic "
        "(creases map --exact).",
        [*rows, ["where", f"({at})"]],
    )


def _at_samples(subject: Subject) -> tuple[str, list[list[Any]]]:
    if subject.X is None:
        return f"A network with {subject.net.n_in} inputs, without samples or a slice.", []
    net = subject.net.to(torch.float64)
    largest = 0.0
    values = np.asarray(net(subject.X)).reshape(len(subject.X), -1)
    start = 0
    for J, y in net.jacobians(subject.X):
        x = subject.X[start : start + len(J)]
        by_piece = np.einsum("nmk,nk->nm", J, x) + y
        largest = max(largest, float(np.abs(by_piece - values[start : start + len(J)]).max(initial=0.0)))
        start += len(J)
    return (
        f"With {pluralize(subject.net.n_in, 'input')} the network is checked at samples: at each, the affine function "
        "of its region is compared with the network.",
        [["samples", subject.samples_text], ["largest error there", f"{largest:.2g}"]],
    )


def _describe(net: Network) -> str:
    """Describe a chain of layers by its widths, any other network by its repr."""
    widths = np.diff(net.unit_starts).tolist()
    if all(step.op in ("linear", "relu") for step in net.steps) and all(
        step.inputs == (i,) for i, step in enumerate(net.steps)
    ):
        hidden = "-".join(map(str, widths)) or "no"
        units = "unit" if widths == [1] else "units"
        return f"{pluralize(net.n_in, 'input')}, {hidden} hidden {units}, {pluralize(net.n_out, 'output')}"
    return repr(net)


# The linear pieces: dual plots of their coefficients, and compression to fewer pieces.

#: Numbers of pieces for compression.
KS = (1, 2, 3, 5, 10, 20, 50, 100)

#: Largest numbers of coefficients, of dots of a dual plot, and of dual plots.
_NUMBERS, _DOTS, _DUALS = 2**22, 20_000, 2


def dual_sections(subject: Subject) -> list[Section]:
    """Return dual plots of the first outputs (the dissertation, Figure 7.5)."""
    partition = subject.partition
    if not isinstance(partition, PlanePartition) or partition.count > _DOTS or not subject.net.n_units:
        return []
    outputs = range(min(_DUALS, subject.net.n_out))
    sections: list[Section] = []
    for j in outputs:
        name = subject.output_name(j)
        text = (
            f"Each dot is a region, placed at the slopes of {name} and sized by area. Lines connect neighboring "
            "regions, perpendicular to the crease between them; the longer the line, the sharper the fold."
        )
        if len(outputs) < subject.net.n_out:
            text += f" {len(outputs)} of {subject.net.n_out} outputs are shown."
        picture = render_themes(partial(_plot_dual, subject, partition, j))
        sections.append({"title": f"Dual plot of {name}", "text": text, "picture": picture})
    return sections


def _plot_dual(subject: Subject, partition: PlanePartition, output: int) -> Figure:
    from creases.show import plot_dual
    from creases.show._style import new_figure

    figure, (ax,) = new_figure(4.4, 4.0)
    if subject.classes is None:
        plot_dual(partition, output=output, ax=ax)
    else:
        names = [subject.class_name(k) for k in range(max(2, subject.net.n_out))]
        plot_dual(partition, output=output, ax=ax, color="class", classes=names)
    return figure


def compression_sections(subject: Subject) -> list[Section]:
    """Return the accuracy with the pieces of each output clustered to k, on every other sample."""
    compression = _compress(subject)
    if compression is None:
        return []

    def draw() -> Figure:
        from creases.show._figures._compare import plot_compression
        from creases.show._style import new_figure

        figure, (ax,) = new_figure(4.6, 3.0)
        plot_compression({"k pieces": compression}, ax=ax)
        return figure

    enough = [
        k for k, share in zip(compression.k, compression.accuracy, strict=True) if share >= compression.original - 0.01
    ]
    measure = "accuracy" if subject.y is not None else "self-agreement"
    text = (
        f"How many linear pieces does the network need? The coefficients at half of {subject.samples_text} are "
        "clustered into k pieces per output, and the other half is predicted with the nearest one. The full network "
        f"has {format_percent(compression.original)} {measure}; "
    )
    text += f"{pluralize(enough[0], 'piece')} per output" if enough else "no number tried"
    text += (" come" if enough and enough[0] > 1 else " comes") + " within 1% of it."
    columns = ["k", *map(str, compression.k), "all"]
    table = {
        "columns": columns,
        "rows": [["accuracy", *map(format_percent, compression.accuracy), format_percent(compression.original)]],
    }
    return [{"title": "Number of pieces needed", "text": text, "table": table, "picture": render_themes(draw)}]


def _compress(subject: Subject) -> Compression | None:
    """Compress the network; None for regression, or if there are too few samples."""
    X, net = subject.X, subject.net
    if subject.classes is None or X is None or len(X) < 8 or not net.n_units:
        return None
    rows = max(8, _NUMBERS // (net.n_out * (net.n_in + 1)))
    X, y = X[:rows], None if subject.y is None else np.asarray(subject.y)[:rows].astype(np.int64)
    pieces = coefficients(net, X, dtype=torch.float64)
    targets = decisions(pieces.values).cpu().numpy() if y is None else y
    train, test = (coefficients(net, X[first::2], dtype=torch.float64) for first in (0, 1))
    return compress(train, test, X[1::2], targets[1::2], k=[k for k in KS if k <= train.count])


# Statistics of the regions: number, sizes, predicted classes, samples.


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


# Breakpoints of a network of one input, with the changes of slope and the units.

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


def network_sections(
    net: Network,
    *,
    box: Any,
    X: Any = None,
    y: Any = None,
    features: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    partition: PlanePartition | LinePartition | None = None,
) -> list[Section]:
    """Return the sections (title, text, table, picture) about a network, as JSON for the viewer.

    At most 2,000 samples are used, which the texts mention.

    Parameters
    ----------
    net
        The network.
    box
        Box of inputs to analyze, (lo, hi) or a pair for each input.
    X, y
        Samples (n, n_in) and their class numbers or targets (n,).
    features, classes
        Names of the inputs and of the classes; None for regression.
    partition
        The partition shown; computed by default for one or two inputs. A slice gets its own certificate and
        statistics.
    """
    subject = Subject.from_data(net, box, partition, X, y, features, classes)
    return [
        certificate_section(subject),
        *census_sections(subject),
        units_section(subject),
        *spline_sections(subject),
        *dual_sections(subject),
        *compression_sections(subject),
        *sensitivity_sections(subject),
    ]
