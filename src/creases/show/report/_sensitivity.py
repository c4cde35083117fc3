"""What the outputs are sensitive to: the directions along which they vary most over the samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from creases.compare import ActiveSubspace, Coefficients, active_subspace, coefficients
from creases.show.report._pictures import both
from creases.show.report._subject import Section, Subject
from creases.show.report._words import counted, number, percent

#: Outputs that are listed, at most, inputs that a direction is told by, and numbers that coefficients may be.
OUTPUTS, INPUTS, _NUMBERS = 20, 4, 2**23


def sensitivity_sections(subject: Subject) -> list[Section]:
    """The active subspace of each output (section 6.4) at the samples; for more than two inputs with a picture."""
    X, net = subject.X, subject.net
    if X is None or net.n_in < 2 or not net.n_out:
        return []
    rows = min(len(X), max(10, _NUMBERS // (net.n_out * (net.n_in + 1))))
    table_like = len(net.input_shape) == 1  # columns have units of their own, the pixels of an image one
    found = coefficients(net, X[:rows], dtype=torch.float64)
    found = _in_spreads(found, X[:rows]) if table_like else found
    outputs = range(min(OUTPUTS, net.n_out))
    spaces = [active_subspace(found, j) for j in outputs]
    columns = [
        "output",
        "root mean squared slope",
        "along the first direction",
        "directions for 95 %",
        "first direction",
    ]
    table = [
        [
            subject.output_name(j),
            number(float(np.sqrt(one.total))),
            percent(one.share),
            _needed(one),
            _direction(one, subject.features),
        ]
        for j, one in zip(outputs, spaces, strict=True)
    ]
    looked = subject.looked if rows == len(X) else f"{counted(rows, 'sample')} (of {subject.rows:,})"
    text = (
        f"The gradients of each output at {looked}, and the directions of input space along which it varies most. If "
        "the first has nearly all of the mean squared slope, the output is nearly a function of one number: the inputs "
        "weighed as in that direction."
    )
    text += " Inputs are measured in their standard deviations." if table_like else ""
    if len(spaces) < net.n_out:
        text += f" Listed are {len(spaces)} of {net.n_out} outputs."
    section: Section = {"title": "Sensitivity", "text": text, "table": {"columns": columns, "rows": table}}
    if net.n_in > 2 and any(one.total > 0 for one in spaces):
        section["picture"] = both(lambda: _picture(subject, spaces))
    return [section]


def _in_spreads(found: Coefficients, X: NDArray[np.float64]) -> Coefficients:
    """The coefficients by inputs in units of their standard deviations; of a single sample as they are."""
    spread = X.std(axis=0)
    if not spread.any():
        return found
    scale = torch.from_numpy(np.append(spread, 1.0))  # the last column is the offset
    if found.basis is None:
        return replace(found, features=found.features * scale)
    return replace(found, basis=found.basis * scale)


def _needed(found: ActiveSubspace) -> str:
    if found.total <= 0:
        return "–"
    return str(int(np.searchsorted(np.cumsum(found.eigenvalues) / found.total, 0.95 - 1e-12)) + 1)


def _direction(found: ActiveSubspace, features: tuple[str, ...]) -> str:
    """The inputs that weigh most in the first direction."""
    if found.total <= 0:
        return "constant"
    first = found.directions[0]
    order = np.argsort(-np.abs(first), kind="stable")[:INPUTS]
    told = ", ".join(f"{first[i]:+.2f} {features[i]}" for i in order if abs(first[i]) >= 0.005)
    return told + (", …" if len(first) > INPUTS else "")


def _picture(subject: Subject, spaces: list[ActiveSubspace]) -> Figure:
    from creases.show import plot_active_directions, plot_spectra

    shape = subject.net.input_shape
    if len(shape) == 3 and shape[0] in (1, 3):
        names = [subject.output_name(j) for j in range(len(spaces))]
        return plot_active_directions({"": spaces}, shape, columns=names)
    return plot_spectra({"all outputs": spaces})
