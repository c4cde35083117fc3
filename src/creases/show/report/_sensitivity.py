"""Sensitivity of the outputs: the directions along which they vary most at the samples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from creases.compare import ActiveSubspace, Coefficients, active_subspace, coefficients
from creases.show.report._formatting import Section, format_float, format_percent, pluralize
from creases.show.report._rendering import render_themes
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
