"""What outputs depend on: the directions along which they vary most at the samples, and the units that act."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from creases.certify import UnitFacts, UnitSide, unit_facts
from creases.compare import ActiveSubspace, Coefficients, active_subspace, coefficients
from creases.regions import LinePartition
from creases.show.report._page import Section, format_float, format_integer, format_percent, pluralize, render_themes
from creases.show.report._subject import Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Largest numbers of outputs listed, of inputs that describe a direction, and of coefficients.
OUTPUTS, INPUTS, _NUMBERS = 20, 4, 2**23


def sensitivity_sections(subject: Subject) -> list[Section]:
    """Return the active subspace of each output (the dissertation, section 6.4), plotted for more than two inputs."""
    X, net = subject.X, subject.net
    if X is None or net.n_in < 2 or not net.n_out:
        return []
    rows = min(len(X), max(10, _NUMBERS // (net.n_out * (net.n_in + 1))))
    table_like = len(net.input_shape) == 1  # columns have different units, pixels of an image have one
    pieces = coefficients(net, X[:rows], dtype=torch.float64)
    pieces = _standardize(pieces, X[:rows]) if table_like else pieces
    outputs = range(min(OUTPUTS, net.n_out))
    spaces = [active_subspace(pieces, j) for j in outputs]
    columns = [
        "output",
        "RMS slope",
        "explained by the first direction",
        "directions for 95%",
        "first direction",
    ]
    table = [
        [
            subject.output_name(j),
            format_float(float(np.sqrt(space.total))),
            format_percent(space.share),
            _n_directions(space),
            _direction(space, subject.features),
        ]
        for j, space in zip(outputs, spaces, strict=True)
    ]
    looked = subject.samples_text if rows == len(X) else f"{pluralize(rows, 'sample')} (of {subject.rows:,})"
    text = (
        f"The directions of the input space along which each output varies most (active subspace), from its gradients "
        f"at {looked}. If the first direction explains nearly all of the squared slope, the output is close to a "
        "function of a single weighted sum of the inputs."
    )
    text += " Inputs are in units of their standard deviations." if table_like else ""
    if len(spaces) < net.n_out:
        text += f" {len(spaces)} of {net.n_out} outputs are listed."
    section: Section = {"title": "Sensitivity", "text": text, "table": {"columns": columns, "rows": table}}
    if net.n_in > 2 and any(space.total > 0 for space in spaces):
        section["picture"] = render_themes(lambda: _plot(subject, spaces))
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


def _n_directions(space: ActiveSubspace) -> str:
    if space.total <= 0:
        return "–"
    return str(int(np.searchsorted(np.cumsum(space.eigenvalues) / space.total, 0.95 - 1e-12)) + 1)


def _direction(space: ActiveSubspace, features: tuple[str, ...]) -> str:
    """Return the inputs with the largest weights in the first direction."""
    if space.total <= 0:
        return "constant"
    first = space.directions[0]
    order = np.argsort(-np.abs(first), kind="stable")[:INPUTS]
    text = ", ".join(f"{first[i]:+.2f} {features[i]}" for i in order if abs(first[i]) >= 0.005)
    return text + (", …" if len(first) > INPUTS else "")


def _plot(subject: Subject, spaces: list[ActiveSubspace]) -> Figure:
    from creases.show._figures._sensitivity import plot_active_directions, plot_spectra

    shape = subject.net.input_shape
    if len(shape) == 3 and shape[0] in (1, 3):
        names = [subject.output_name(j) for j in range(len(spaces))]
        return plot_active_directions({"": spaces}, shape, columns=names)
    return plot_spectra({"all outputs": spaces})


# Properties of the units: dead, always on, or duplicates, with crease sizes and weights.

#: Largest number of units listed; those with a note come first.
LISTED = 100


def units_section(subject: Subject) -> Section:
    """Return a table of units, with the numbers of dead, always-on and duplicate units."""
    net = subject.net
    if not net.n_units:
        return {"title": "Units", "text": "There are no hidden units: the network is a single affine function."}
    facts = unit_facts(net, subject.box, X=subject.X, partition=subject.partition)
    notes = [_notes(facts, unit) for unit in range(net.n_units)]
    order = sorted(range(net.n_units), key=lambda unit: not notes[unit])
    listed = sorted(order[:LISTED])
    crease = "breakpoints" if isinstance(subject.partition, LinePartition) else "crease length"
    columns = ["unit", "layer", "note"]
    columns += ["active on"] if subject.X is not None else []
    columns += [crease] if facts.crease_size is not None else []
    columns += ["input weight norm", "output weight norm"]
    rows = []
    for unit in listed:
        place = net.unit(unit)
        row = [str(unit), str(place.bend + 1), "; ".join(notes[unit])]
        row += [format_percent(facts.active_fraction[unit])] if subject.X is not None else []
        row += [format_float(facts.crease_size[unit])] if facts.crease_size is not None else []
        rows.append([*row, format_float(facts.norm_in[unit]), format_float(facts.norm_out[unit])])
    text = _summary(subject, facts)
    if len(listed) < net.n_units:
        rest = net.n_units - len(listed)
        text += f" {len(listed)} are listed, those with a note first; {format_integer(rest)} more are not shown."
    return {"title": "Units", "text": text, "table": {"columns": columns, "rows": rows}}


def _notes(facts: UnitFacts, unit: int) -> list[str]:
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


def _summary(subject: Subject, facts: UnitFacts) -> str:
    dead, on = int((facts.side == UnitSide.OFF).sum()), int((facts.side == UnitSide.ON).sum())
    twins, still = int((facts.same_crease >= 0).sum()), int((facts.side == UnitSide.UNDECIDED).sum())
    proof = "Proved over the whole box" if subject.covers_inputs else "Proved by bounds over the box"
    text = f"{pluralize(subject.net.n_units, 'unit')}. {proof}: {format_integer(dead)} dead"
    text += f", {format_integer(on)} always active"
    text += f"; {format_integer(still)} could not be decided" if still else ""
    shares = "shares its" if twins == 1 else "share their"
    text += f". {format_integer(twins) if twins else 'None'} {shares} crease with an earlier unit of the layer."
    if subject.X is not None:
        silent = int(((facts.active_fraction == 0) & (facts.side != UnitSide.OFF)).sum())
        text += f" {pluralize(silent, 'more unit')} inactive on all data ({subject.samples_text})." if silent else ""
        text += f" Percentages are of {subject.samples_text}."
    return text
