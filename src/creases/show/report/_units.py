"""Properties of the units: dead, always on, or duplicates, with crease sizes and weights."""

from __future__ import annotations

from creases.certify import UnitFacts, UnitSide, unit_facts
from creases.regions import LinePartition
from creases.show.report._formatting import Section, format_float, format_integer, format_percent, pluralize
from creases.show.report._subject import Subject

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
