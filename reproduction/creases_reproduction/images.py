"""What claims on image networks share: the stand-in data of the quick scale, and accuracies."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from creases_reproduction.claim import Judgement, Numbers

STAND_IN = "scikit-learn's digits stand in for the images at quick scale"


def note_stand_in(judge: Callable[[Numbers], Judgement]) -> Callable[[Numbers], Judgement]:
    """Make a judge mention that other images than the source's were used, where this is so."""

    def judge_and_note(numbers: Numbers) -> Judgement:
        judgement = judge(numbers)
        if numbers.get("data") != STAND_IN:
            return judgement
        return judgement._replace(why=f"{STAND_IN}: {judgement.why}")

    return judge_and_note


def accuracy(model: nn.Module, X: Tensor, y: Tensor) -> float:
    """Return the share of samples that a model classifies correctly."""
    with torch.no_grad():
        classes = torch.cat([model(X[start : start + 1000]).argmax(1) for start in range(0, len(X), 1000)])
    return float((classes == y).double().mean())
