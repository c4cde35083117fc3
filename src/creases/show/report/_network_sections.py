"""The sections about a network: certificate, regions, units, pieces, sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from creases._document import Section, facts, table
from creases._text import format_number, plural
from creases._versions import version
from creases.certify import UnitFacts, UnitSide, unit_facts
from creases.compare import (
    ActiveSubspace,
    Coefficients,
    Compression,
    active_subspace,
    coefficients,
    compress,
    count_regions,
    decisions,
)
from creases.network import Network
from creases.regions import LinePartition, PlanePartition
from creases.regions.diagnostics import PartitionSummary, summarize_partition, verify_partition
from creases.show.report._page import (
    format_float,
    format_integer,
    format_percent,
    render_themes,
    series,
)
from creases.show.report._subject import Subject, count_parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# What outputs depend on: the directions along which they vary most at the samples, and the units that act.

#: Largest numbers of outputs listed, of inputs that describe a direction, and of coefficients.
MAX_OUTPUTS, MAX_INPUTS, _MAX_GRADIENTS = 20, 4, 2**23

#: Largest number of directions drawn; singular values below this share of the largest are rounding errors of float32.
MAX_DIRECTIONS, _ROUNDING = 200, 1e-6


def sensitivity_sections(subject: Subject) -> list[Section]:
    """Return the active subspace of each output (the dissertation, section 6.4), plotted for more than two inputs."""
    X, net = subject.X, subject.net
    if X is None or net.n_in < 2 or not net.n_out:
        return []
    rows = min(len(X), max(10, _MAX_GRADIENTS // (net.n_out * (net.n_in + 1))))
    table_like = len(net.input_shape) == 1  # columns have different units, pixels of an image have one
    pieces = coefficients(net, X[:rows], dtype=torch.float64)
    pieces = _standardize(pieces, X[:rows]) if table_like else pieces
    outputs = range(min(MAX_OUTPUTS, net.n_out))
    spaces = [active_subspace(pieces, j) for j in outputs]
    columns = ["output", "RMS slope", "explained by the first direction", "directions for 95%", "first direction"]
    rows_of_outputs = [
        [
            subject.output_name(j),
            format_float(float(np.sqrt(space.total))),
            format_percent(space.share),
            str(int((np.cumsum(space.eigenvalues) / space.total < 0.95 - 1e-12).sum()) + 1) if space.total > 0 else "–",
            _direction(space, subject.features),
        ]
        for j, space in zip(outputs, spaces, strict=True)
    ]
    looked = subject.samples_text if rows == len(X) else f"{plural(rows, 'sample')} (of {subject.rows:,})"
    text = (
        f"The directions of the input space along which each output varies most (active subspace), from its gradients "
        f"at {looked}. If the first direction explains nearly all of the squared slope, the output is close to a "
        "function of a single weighted sum of the inputs."
    )
    text += " Inputs are in units of their standard deviations." if table_like else ""
    if len(spaces) < net.n_out:
        text += f" {len(spaces)} of {net.n_out} outputs are listed."
    section = table("Sensitivity", columns, rows_of_outputs, text=text)
    if net.n_in > 2 and any(space.total > 0 for space in spaces):
        shape, names = net.input_shape, [subject.output_name(j) for j in outputs]
        if len(shape) == 3 and shape[0] in (1, 3):
            from creases.show._figures._compare import plot_active_directions

            section["picture"] = render_themes(lambda: plot_active_directions({"": spaces}, shape, columns=names))
        else:
            section["charts"] = [_spectra_chart(spaces, names)]
    return [section]


def _standardize(pieces: Coefficients, X: NDArray[np.float64]) -> Coefficients:
    """Rescale coefficients to inputs in units of standard deviations; unchanged for a single sample."""
    spread = X.std(axis=0)
    if not spread.any():
        return pieces
    scale = torch.from_numpy(np.append(spread, 1.0))  # the last column is the offset
    if pieces.basis is None:
        return replace(pieces, features=pieces.features * scale)
    return replace(pieces, basis=pieces.basis * scale)


def _direction(space: ActiveSubspace, features: tuple[str, ...]) -> str:
    """Return the inputs with the largest weights in the first direction."""
    if space.total <= 0:
        return "constant"
    first = space.directions[0]
    order = np.argsort(-np.abs(first), kind="stable")[:MAX_INPUTS]
    text = ", ".join(f"{first[i]:+.2f} {features[i]}" for i in order if abs(first[i]) >= 0.005)
    return text + (", …" if len(first) > MAX_INPUTS else "")


def _spectra_chart(spaces: list[ActiveSubspace], names: list[str]) -> dict[str, Any]:
    """Return the singular values of the gradients of each output: the root mean squared slopes along its directions."""
    drawn = []
    for j, (name, space) in enumerate(zip(names, spaces, strict=True)):
        sizes = np.sqrt(space.eigenvalues[:MAX_DIRECTIONS])
        above = sizes > _ROUNDING * sizes.max(initial=0.0)
        numbers = 1 + np.flatnonzero(above)
        drawn += [series("line", numbers, sizes[above], j, name=name), series("points", numbers, sizes[above], j)]
    return {
        "title": "Root mean squared slope along each direction",
        "x": {"name": "direction"},
        "y": {"name": "singular value of the gradients", "log": True},
        "series": drawn,
    }


# Properties of the units: dead, always on, or duplicates, with crease sizes and weights.

#: Largest number of units listed; those with a note come first.
MAX_UNITS = 100


def units_section(subject: Subject) -> Section:
    """Return a table of units, with the numbers of dead, always-on and duplicate units."""
    net = subject.net
    if not net.n_units:
        return {"title": "Units", "text": "There are no hidden units: the network is a single affine function."}
    about = unit_facts(net, subject.box, X=subject.X, partition=subject.partition)
    notes = [_unit_notes(about, unit) for unit in range(net.n_units)]
    order = sorted(range(net.n_units), key=lambda unit: not notes[unit])
    listed = sorted(order[:MAX_UNITS])
    crease = "breakpoints" if isinstance(subject.partition, LinePartition) else "crease length"
    columns = ["unit", "layer", "note"]
    columns += ["active on"] if subject.X is not None else []
    columns += [crease] if about.crease_size is not None else []
    columns += ["input weight norm", "output weight norm"]
    rows = []
    for unit in listed:
        place = net.unit(unit)
        row = [str(unit), str(place.bend + 1), "; ".join(notes[unit])]
        row += [format_percent(about.active_fraction[unit])] if subject.X is not None else []
        row += [format_float(about.crease_size[unit])] if about.crease_size is not None else []
        rows.append([*row, format_float(about.norm_in[unit]), format_float(about.norm_out[unit])])
    text = _count_units(subject, about)
    if len(listed) < net.n_units:
        rest = net.n_units - len(listed)
        text += f" {len(listed)} are listed, those with a note first; {format_integer(rest)} more are not shown."
    return table("Units", columns, rows, text=text)


def _unit_notes(facts: UnitFacts, unit: int) -> list[str]:
    """Return the notes about a unit."""
    notes = []
    if facts.side[unit] == UnitSide.OFF:
        notes.append("dead: never active")
    elif facts.side[unit] == UnitSide.ON:
        notes.append("always active: no crease here")
    elif facts.active_fraction[unit] == 0:
        notes.append("inactive on all data")
    elif facts.active_fraction[unit] == 1:
        notes.append("active on all data")
    if facts.same_crease[unit] >= 0:
        kind = "duplicate of" if facts.orientation[unit] > 0 else "mirror of"
        notes.append(f"{kind} unit {facts.same_crease[unit]} (same crease)")
    elif facts.parallel[unit] >= 0 and facts.side[unit] != UnitSide.OFF:
        notes.append(f"parallel to unit {facts.parallel[unit]}")
    if facts.norm_out[unit] == 0:
        notes.append("unused: all outgoing weights are 0")
    return notes


def _count_units(subject: Subject, facts: UnitFacts) -> str:
    dead, on = int((facts.side == UnitSide.OFF).sum()), int((facts.side == UnitSide.ON).sum())
    twins, still = int((facts.same_crease >= 0).sum()), int((facts.side == UnitSide.UNDECIDED).sum())
    proof = "Proved over the whole box" if subject.covers_inputs else "Proved by bounds over the box"
    text = f"{plural(subject.net.n_units, 'unit')}. {proof}: {format_integer(dead)} dead"
    text += f", {format_integer(on)} always active"
    text += f"; {format_integer(still)} could not be decided" if still else ""
    shares = "shares its" if twins == 1 else "share their"
    text += f". {format_integer(twins) if twins else 'None'} {shares} crease with an earlier unit of the layer."
    if subject.X is not None:
        silent = int(((facts.active_fraction == 0) & (facts.side != UnitSide.OFF)).sum())
        text += f" {plural(silent, 'more unit')} inactive on all data ({subject.samples_text})." if silent else ""
        text += f" Percentages are of {subject.samples_text}."
    return text


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
    text, more = _at_samples(subject) if subject.partition is None else _on_partition(subject)
    return facts("Exactness", [*rows, *more], text=text)


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
        f"With {plural(subject.net.n_in, 'input')} the network is checked at samples: at each, the affine function "
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
        return f"{plural(net.n_in, 'input')}, {hidden} hidden {units}, {plural(net.n_out, 'output')}"
    return repr(net)


# The linear pieces: dual plots of their coefficients, and compression to fewer pieces.

#: Numbers of pieces for compression.
KS = (1, 2, 3, 5, 10, 20, 50, 100)

#: Largest numbers of coefficients, of dots of a dual plot, and of dual plots.
_MAX_PIECES, _DOTS, _DUALS = 2**22, 20_000, 2


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
    enough = [
        k for k, share in zip(compression.k, compression.accuracy, strict=True) if share >= compression.original - 0.01
    ]
    measure = "accuracy" if subject.y is not None else "self-agreement"
    text = (
        f"How many linear pieces does the network need? The coefficients at half of {subject.samples_text} are "
        "clustered into k pieces per output, and the other half is predicted with the nearest one. The full network "
        f"has {format_percent(compression.original)} {measure}; "
    )
    text += f"{plural(enough[0], 'piece')} per output" if enough else "no number tried"
    text += (" come" if enough and enough[0] > 1 else " comes") + " within 1% of it."
    cells = ["accuracy", *map(format_percent, compression.accuracy), format_percent(compression.original)]
    heads = ["k", *map(str, compression.k), "all"]
    accuracy, own = 100 * np.array(compression.accuracy), [100 * compression.original] * 2
    drawn = [series("line", compression.k, accuracy, 0, name="k pieces"), series("points", compression.k, accuracy, 0)]
    drawn.append(series("line", [compression.k[0], compression.k[-1]], own, name="full network"))
    chart = {
        "x": {"name": "pieces per output, k", "log": True},
        "y": {"name": f"{measure} (%)"},
        "series": drawn,
    }
    return [table("Number of pieces needed", heads, [cells], text=text, charts=[chart])]


def _compress(subject: Subject) -> Compression | None:
    """Compress the network; None for regression, or if there are too few samples."""
    X, net = subject.X, subject.net
    if subject.classes is None or X is None or len(X) < 8 or not net.n_units:
        return None
    rows = max(8, _MAX_PIECES // (net.n_out * (net.n_in + 1)))
    X, y = X[:rows], None if subject.y is None else np.asarray(subject.y)[:rows].astype(np.int64)
    pieces = coefficients(net, X, dtype=torch.float64)
    targets = decisions(pieces.values).cpu().numpy() if y is None else y
    train, test = (coefficients(net, X[first::2], dtype=torch.float64) for first in (0, 1))
    return compress(train, test, X[1::2], targets[1::2], k=[k for k in KS if k <= train.count])


# Statistics of the regions: number, sizes, predicted classes, samples.


def census_sections(subject: Subject) -> list[Section]:
    """Return sections about the regions of the partition, or of the samples without one."""
    if subject.partition is not None:
        summary = summarize_partition(subject.partition, subject.coordinates)
        return [_regions(subject, summary), *([] if subject.classes is None else [_classes(subject, summary)])]
    if subject.X is None:
        return []
    occupied = count_regions(subject.net, subject.X)
    text = (
        f"{subject.samples_text} fall in {plural(occupied, 'region')}, "
        f"{format_number(len(subject.X) / max(1, occupied))} per region on "
        f"average. With {subject.net.n_in} inputs there are too many regions to list; slices show them on planes."
    )
    return [{"title": "Regions", "text": text}]


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
    text = f"{plural(summary.count, 'region')} in {subject.domain_text}; on {on} the network is one affine function."
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
        name = f"regions of the whole input space that contain {subject.samples_text}"
        rows.append([name, format_integer(count_regions(subject.net, subject.X))])
    return facts("Regions", rows, text=text)


def _classes(subject: Subject, summary: PartitionSummary) -> Section:
    share = summary.class_sizes / summary.class_sizes.sum()
    y = None if subject.y is None or subject.coordinates is None else np.asarray(subject.y).astype(np.int64)
    columns = ["class", f"fraction of {subject.domain_text}", "in regions", *(["samples"] if y is not None else [])]
    rows = []
    for index in range(max(len(share), len(subject.classes or ()))):
        found = (share[index], int(summary.class_regions[index])) if index < len(share) else (0.0, 0)
        row = [subject.class_name(index), format_percent(found[0]), format_integer(found[1])]
        rows.append(row + ([format_integer(int((y == index).sum()))] if y is not None else []))
    if isinstance(subject.partition, LinePartition):
        text = f"The prediction changes at {plural(int(summary.boundary_size), 'point')}."
    else:
        text = f"The decision boundary has length {format_float(summary.boundary_size)}."
    if not summary.boundary_size:
        text = f"No decision boundary crosses {subject.domain_text}."
    else:
        text += " A region that it crosses counts for each class in it."
    return table("Predicted classes", columns, rows, text=text)


# Breakpoints of a network of one input, with the changes of slope and the units.

#: Largest numbers of breakpoints and of outputs listed.
MAX_BREAKPOINTS, MAX_SLOPES = 100, 4


def spline_sections(subject: Subject) -> list[Section]:
    """Return the breakpoints of a network of one input from left to right; of very many the sharpest."""
    partition = subject.partition
    if not isinstance(partition, LinePartition) or not subject.covers_inputs:
        return []
    width = float(partition.b[0] - partition.a[0])
    slopes = partition.pieces().J[:, :, 0] / width  # (k + 1, m)
    jumps = np.diff(slopes, axis=0)
    x = partition.points(partition.breakpoints)[:, 0]
    order = np.argsort(-np.abs(jumps).max(axis=1, initial=0.0), kind="stable")[:MAX_BREAKPOINTS]
    listed = np.sort(order)
    names = [subject.output_name(j) for j in range(min(MAX_SLOPES, partition.net.n_out))]
    columns = [subject.features[0], "units", *(f"Δ slope of {name}" for name in names)]
    rows = [
        [
            format_float(x[i], 6),
            ", ".join(map(str, partition.units(i))),
            *(format_float(jumps[i, j]) for j in range(len(names))),
        ]
        for i in listed.tolist()
    ]
    text = f"A function of one input is a linear spline. It has {plural(len(x), 'breakpoint')} in the interval"
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
    return [table("Breakpoints", columns, rows, text=text) if rows else {"title": "Breakpoints", "text": text}]


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
    """Return the sections about a network in a box of inputs, (lo, hi) or a pair for each.

    At most 2,000 of the samples X (n, n_in) and their classes or targets y (n,) are used, which the texts mention.
    ``classes`` are None for regression. The partition shown is computed for one or two inputs unless it is given; a
    slice gets its own certificate and statistics.
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
