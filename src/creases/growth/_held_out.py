"""The samples of a run divided: those to train on, and those held out to judge growth and to choose the network."""

from __future__ import annotations

import zlib
from typing import Any

import torch
from torch import nn

from creases.errors import InputError
from creases.growth._samples import DatasetSamples, InMemorySamples, Samples, as_samples
from creases.growth._state import combine_seeds

#: Samples in memory from which a fraction of them is held out where nothing is said about validation: 30 of them.
MIN_SAMPLES = 200


def resolve_validation(samples: Samples, validation: Any, fraction: float) -> Any:
    """Return validation samples or a fraction as they are given; "auto" is a fraction of enough samples in memory."""
    if not isinstance(validation, str) or validation != "auto":
        return validation
    can_divide = isinstance(samples, InMemorySamples) and len(samples) >= MIN_SAMPLES
    return fraction if can_divide else None


def split_samples(train: Any, validation: Any, model: nn.Module, seed: int) -> tuple[Any, Any]:
    """Return the samples to train on and those to validate with."""
    if not isinstance(validation, int | float) or isinstance(validation, bool):
        return train, None if validation is None else as_samples(validation, model, "validation")
    if not isinstance(train, InMemorySamples) or not 0 < validation < 1:
        raise InputError(
            "validation", "be samples, or a fraction above 0 and below 1 of data in memory", f"{validation}"
        )
    order = torch.randperm(len(train), generator=torch.Generator().manual_seed(combine_seeds(seed, 2)))
    count = max(1, round(validation * len(train)))
    if count >= len(train):
        raise InputError("validation", "leave samples to train on", f"{validation} of {len(train)} samples")
    return train.part(order[count:].sort().values, "data"), train.part(order[:count].sort().values, "validation")


def fingerprint(data: Samples) -> str:
    """Return what distinguishes data in memory from other data."""
    if not isinstance(data, InMemorySamples):
        return f"{len(data)} samples" if isinstance(data, DatasetSamples) else "a loader"
    check = 0
    for part in (data.X, data.y, data.weight):
        if part is not None:
            check = zlib.crc32(part.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data, check)
    return f"{len(data)} samples, {check:08x}"
