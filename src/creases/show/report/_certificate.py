"""Provenance and certificate: what the network is, and how far the pieces drawn are from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from creases._versions import version
from creases.network import Network
from creases.regions.diagnostics import verify_partition
from creases.show.report._subject import Section, Subject, parameters
from creases.show.report._words import counted, number, whole


def certificate_section(subject: Subject) -> Section:
    """Largest ``|f - piece|``: on the partition's points and corners, or where there is none at samples."""
    net = subject.net
    rows = [
        ["network", _in_words(net)],
        ["parameters", whole(parameters(net))],
        ["kept in", str(net.dtype).removeprefix("torch.")],
        ["made with", ", ".join(f"{name} {version(name).split('+')[0]}" for name in ("creases", "torch", "numpy"))],
    ]
    if subject.partition is None:
        text, more = _at_samples(subject)
    else:
        text, more = _on_partition(subject)
    return {"title": "Exactness", "text": text, "table": {"columns": ["what", "value"], "rows": [*rows, *more]}}


def _on_partition(subject: Subject) -> tuple[str, list[list[Any]]]:
    assert subject.partition is not None
    found = verify_partition(subject.partition)
    rows = [
        ["points drawn", whole(found.n_points)],
        ["largest |f − piece| at them", f"{found.error_at_points:.2g}"],
        ["corners of regions", whole(found.n_corners)],
        ["largest |f − piece| at them", f"{found.error_at_corners:.2g}"],
        ["rounding can make", f"{found.tolerance:.2g}"],
    ]
    if found.holds:
        return (
            "The regions shown are not sampled: they are the network. On each region it is one affine function, and "
            "these agree with the network itself to rounding at every corner of every region and at points drawn "
            "over all of it.",
            rows,
        )
    at = ", ".join(number(x) for x in found.worst_point[:8]) + (", …" if len(found.worst_point) > 8 else "")
    return (
        f"The pieces do NOT agree with the network: they differ by {found.max_error:.2g} at ({at}), and rounding can "
        f"make {found.tolerance:.2g} at most. Do not trust this report; map the network with exact arithmetic "
        "(creases map --exact).",
        [*rows, ["where", f"({at})"]],
    )


def _at_samples(subject: Subject) -> tuple[str, list[list[Any]]]:
    if subject.X is None:
        return f"A network of {subject.net.n_in} inputs, and no samples or slice to look at it.", []
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
        f"With {counted(subject.net.n_in, 'input')} the network is looked at sample by sample: at each, the affine "
        "function of its region is compared with the network itself.",
        [["samples", subject.looked], ["largest |f − piece| at them", f"{largest:.2g}"]],
    )


def _in_words(net: Network) -> str:
    """Its widths, where layers follow one another; else as it prints."""
    widths = np.diff(net.unit_starts).tolist()
    if all(step.op in ("linear", "relu") for step in net.steps) and all(
        step.inputs == (i,) for i, step in enumerate(net.steps)
    ):
        hidden = "-".join(map(str, widths)) or "no"
        units = "unit" if widths == [1] else "units"
        return f"{counted(net.n_in, 'input')}, {hidden} hidden {units}, {counted(net.n_out, 'output')}"
    return repr(net)
