"""Chapter 3 of the dissertation, section 3.4.5: pruning convolutional networks for images."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd
import torch

from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import ResultTable, Scale, stored_table
from creases_reproduction.judges import row, rows
from creases_reproduction.linearity.pruning_images import Settings, near_original, pruned_digits, pruned_images


@cache
def images(data: Any) -> ResultTable:
    """Return the pruning of one data set's network, once for all claims."""
    return pruned_images(data, Settings(), device="cuda" if torch.cuda.is_available() else "cpu")


def image_curves(table: pd.DataFrame) -> Numbers:
    """Return accuracy by the share of weights that are left, and the least share near the original accuracy."""
    numbers: dict[str, Any] = {}
    for method, part in table.groupby("method", sort=False):
        numbers[str(method)] = {"share": part["share"].tolist(), "accuracy": part["accuracy"].tolist()}
    near = near_original(table)
    numbers["rows"] = [row(item.method, item.printed_share, item.share) for item in near.itertuples()]
    numbers["original"] = float(near["original"].iloc[0])
    return numbers


def judge_images(numbers: Numbers) -> Judgement:
    """Judge images."""
    results = {row.what: row for row in rows(numbers)}
    words = f"of {numbers['original']:.1%}, less than a point is lost down to "
    words += ", ".join(
        f"{row.measured:.0%} of the weights by {name}"
        + ("" if row.printed is None else f" (printed {row.printed:.0%})")
        for name, row in results.items()
    )
    words += "; channels are removed two at a time here, to halve the cost, one at a time in the source"
    printed = [row for row in results.values() if row.printed is not None]
    if printed and all(abs((row.measured or 0) - (row.printed or 0)) <= 0.02 for row in printed):
        return Judgement("agrees", words)
    most = max(row.measured or 1 for row in results.values())
    faster = (results["channels"].measured or 0) >= (results["magnitude"].measured or 0) - 0.05
    limit = max(row.printed or 0.9 for row in results.values()) + 0.15
    return Judgement("agrees in kind" if most <= limit and faster else "disagrees", words)


def picture_images(numbers: Numbers) -> Picture:
    """Picture images."""
    curves = [Curve(name, numbers[name]["share"], numbers[name]["accuracy"]) for name in ("channels", "magnitude")]
    return Picture(curves=curves, x="share of weights left", y="accuracy")


def image_claim(data: Any, figure: str, says: str, printed: str) -> Claim:
    """Return Fig. 3.11 or 3.12; at quick scale digits of 8 x 8 pixels, which need no files, stand for both."""

    def measure(scale: Scale) -> Numbers:
        return image_curves((images(data) if scale == "full" else _digits()).table)

    def from_table() -> tuple[Numbers, dict[str, str]]:
        result = stored_table("pruning_images")
        seconds = result.about[data].partition(" training, ")[2].split()[0]  # "41 training, 105 in all, on cuda"
        about = {"device": "cuda"} | result.about | {"seconds": seconds}
        return image_curves(result.table[result.table["data"] == data]), about

    full = "two minutes of an H200, with the image files"
    return Claim(
        f"linearity/figure-{figure}",
        f"Figure {figure}, section 3.4.5",
        says,
        printed=printed,
        measure=measure,
        judge=judge_images,
        picture=picture_images,
        full=full,
        from_table=from_table,
    )


@cache
def _digits() -> ResultTable:
    return pruned_digits()


CLAIMS = [
    image_claim(
        "mnist",
        "3.11",
        "Accuracy on MNIST falls much only below 20 % of the weights, by channels or by magnitude.",
        "20 %, 20 %",
    ),
    image_claim(
        "cifar10",
        "3.12",
        "Accuracy on CIFAR-10 stays down to 60 % of the weights by channels, 40 % by magnitude.",
        "60 %, 40 %",
    ),
]
