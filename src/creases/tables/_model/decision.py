"""Classes and probabilities from the outputs of a model."""

from __future__ import annotations

import numpy as np

from creases._typing import Floats, Ints


def decide(outputs: Floats, threshold: float = 0.5) -> Ints:
    """Return the classes (n,) for the network's outputs (n, n_classes), one logit for each class.

    Of two classes, the second is decided where its probability is above the threshold; of more, the largest output
    decides.
    """
    if outputs.shape[1] == 2 and threshold != 0.5:
        return (outputs[:, 1] - outputs[:, 0] > log_odds(threshold)).astype(np.int64)
    return np.asarray(outputs.argmax(axis=1), np.int64)


def log_odds(probability: float) -> float:
    """Return the logit of a probability."""
    return float(np.log(probability) - np.log1p(-probability))


def probabilities(outputs: Floats) -> Floats:
    """Return the probability (n, n_classes) of each class for the outputs (n, n_classes), one logit for each."""
    powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
