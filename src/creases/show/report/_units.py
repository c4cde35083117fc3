"""Unit cards: which units are dead, always on, or double another, and what each has of the picture."""

from __future__ import annotations

from creases.certify import OFF, ON, UNDECIDED, UnitFacts, unit_facts
from creases.regions import LinePartition
from creases.show.report._subject import Section, Subject
from creases.show.report._words import counted, number, percent, whole

#: Units that are listed, at most: first those that there is something to say of.
LISTED = 100


def units_section(subject: Subject) -> Section:
    """A table of units, and in words how many are dead, always on, duplicates."""
    net = subject.net
    if not net.n_units:
        return {"title": "Units", "text": "There are no hidden units: the network is one affine function."}
    found = unit_facts(net, subject.box, X=subject.X, partition=subject.partition)
    notes = [_notes(found, unit) for unit in range(net.n_units)]
    order = sorted(range(net.n_units), key=lambda unit: not notes[unit])
    shown = sorted(order[:LISTED])
    crease = "breakpoints" if isinstance(subject.partition, LinePartition) else "crease length"
    columns = ["unit", "layer", "note"]
    columns += ["on for"] if subject.X is not None else []
    columns += [crease] if found.crease_size is not None else []
    columns += ["weights in", "weights out"]
    rows = []
    for unit in shown:
        own = net.unit(unit)
        row = [str(unit), str(own.bend + 1), "; ".join(notes[unit])]
        row += [percent(found.active_fraction[unit])] if subject.X is not None else []
        row += [number(found.crease_size[unit])] if found.crease_size is not None else []
        rows.append([*row, number(found.norm_in[unit]), number(found.norm_out[unit])])
    text = _summary(subject, found)
    if len(shown) < net.n_units:
        rest = net.n_units - len(shown)
        text += f" Listed are {len(shown)}, those with a note first; the other {whole(rest)} are left out."
    return {"title": "Units", "text": text, "table": {"columns": columns, "rows": rows}}


def _notes(found: UnitFacts, unit: int) -> list[str]:
    """What there is to say of a unit."""
    notes = []
    if found.side[unit] == OFF:
        notes.append("dead: off everywhere")
    elif found.side[unit] == ON:
        notes.append("always on: no crease here")
    elif found.active_fraction[unit] == 0:
        notes.append("off for all data")
    elif found.active_fraction[unit] == 1:
        notes.append("on for all data")
    if found.same_crease[unit] >= 0:
        kind = "duplicate of" if found.orientation[unit] > 0 else "mirror of"
        notes.append(f"{kind} unit {found.same_crease[unit]}: the same crease")
    elif found.parallel[unit] >= 0 and found.side[unit] != OFF:
        notes.append(f"parallel to unit {found.parallel[unit]}")
    if found.norm_out[unit] == 0:
        notes.append("nothing reads it")
    return notes


def _summary(subject: Subject, found: UnitFacts) -> str:
    dead, on = int((found.side == OFF).sum()), int((found.side == ON).sum())
    twins, still = int((found.same_crease >= 0).sum()), int((found.side == UNDECIDED).sum())
    proof = "Proved over the whole box" if subject.whole else "Proved by bounds over the box"
    text = f"{counted(subject.net.n_units, 'unit')}. {proof}: {whole(dead)} dead, {whole(on)} always on"
    text += f"; {whole(still)} could not be decided" if still else ""
    text += f". {whole(twins) if twins else 'None'} with the same crease as an earlier one of the layer."
    if subject.X is not None:
        silent = int(((found.active_fraction == 0) & (found.side != OFF)).sum())
        text += f" {counted(silent, 'unit')} more off for all data ({subject.looked})." if silent else ""
        text += f" Shares are of {subject.looked}."
    return text
