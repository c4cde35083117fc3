"""Provenance and certificate: the network, and the error of the pieces shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from creases._versions import version
from creases.network import Network
from creases.regions.diagnostics import verify_partition
from creases.show.report._formatting import Section, format_float, format_integer, pluralize
from creases.show.report._subject import Subject, count_parameters


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
