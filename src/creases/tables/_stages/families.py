"""Families of targets: what a score means for a row, and what a row loses by it.

A family is four functions of targets and scores: their expected targets, the rows' losses, the slopes of these, and
their curvatures. Beside its name and classes (0 for numbers) it says what the score of a number is (``link``), whether
its loss is a squared error, so that one Newton step is exact (``is_quadratic``), and whether the size of the losses is
measured (``has_noise``): that of classes is known. Newton steps, stages, planes and units need nothing else of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, log
from typing import Literal

import numpy as np

from creases._typing import Floats
from creases.errors import InputError

#: Families of numbers by name, and powers of the mean that the variance of a target is proportional to.
POWERS = {"poisson": 1.0, "tweedie": 1.5, "gamma": 2.0}
NAMES = ("normal", *POWERS, "lognormal")

#: Scores under a logarithmic link are at least this: targets are divided by their mean.
FLOOR = -30.0

#: Width over which the loss of a quantile is smooth, in deviations of the target, and its least curvature.
SMOOTH, LEAST_CURVATURE = 0.1, 0.02

Link = Literal["identity", "log"]


@dataclass(frozen=True)
class Classes:
    """The log loss of two or more classes; y is one column of class numbers."""

    n_classes: int
    name = "classes"
    link: Link = "identity"
    is_quadratic = False
    has_noise = False

    def targets(self, y: Floats) -> Floats:
        """Return class indicators (n, m): of the second of two, of each of more."""
        return np.asarray(y == (1 if self.n_classes == 2 else np.arange(self.n_classes)), np.float64)

    def means(self, s: Floats) -> Floats:
        """Return the probabilities (n, m)."""
        if self.n_classes == 2:
            return np.asarray(1 / (1 + np.exp(-np.clip(s, -700, None))))
        return probabilities(s)

    def losses(self, y: Floats, s: Floats) -> Floats:
        """Return the log losses (n,)."""
        if self.n_classes == 2:
            return np.asarray(np.logaddexp(0, np.where(y[:, 0] == 1, -s[:, 0], s[:, 0])))
        s = s - s.max(axis=1, keepdims=True)
        chosen = s[np.arange(len(s)), y[:, 0].astype(int)]
        return np.asarray(np.log(np.exp(s).sum(axis=1)) - chosen)

    def pulls(self, y: Floats, s: Floats) -> Floats:
        """Return indicators minus probabilities (n, m)."""
        return self.targets(y) - self.means(s)

    def curvatures(self, y: Floats, s: Floats) -> Floats:
        """Return the weights (n, m) of each score by itself.

        The scores of more than two classes act on each other; with the factor, steps are exact where all are as likely.
        """
        means = self.means(s)
        factor = 1.0 if self.n_classes == 2 else self.n_classes / (self.n_classes - 1)
        return np.asarray(np.maximum(means * (1 - means), 1e-6) * factor)

    def start(self, y: Floats, weight: Floats) -> Floats:
        """Return the scores (m,) of the classes' shares."""
        mean = np.asarray(np.average(self.targets(y), axis=0, weights=weight)).clip(1e-4, 1 - 1e-4)
        return np.asarray(np.log(mean) - (np.log(1 - mean) if self.n_classes == 2 else np.log(mean).mean()))

    def pearson(self, y: Floats, s: Floats) -> Floats:
        """Return residuals (n, m) in standard deviations."""
        means = self.means(s)
        return np.asarray((self.targets(y) - means) / np.sqrt((means * (1 - means)).clip(1e-3)))


@dataclass(frozen=True)
class Normal:
    """Squared errors of numbers, or of their logarithms."""

    name: str = "normal"
    link: Link = "identity"
    n_classes = 0
    is_quadratic = True
    has_noise = True

    def means(self, s: Floats) -> Floats:
        """Return the scores."""
        return s

    def losses(self, y: Floats, s: Floats) -> Floats:
        """Return the mean squared error (n,) of each row's targets."""
        return np.asarray(((s - y) ** 2).mean(axis=1))

    def pulls(self, y: Floats, s: Floats) -> Floats:
        """Return residuals (n, m)."""
        return np.asarray(y - s)

    def curvatures(self, y: Floats, s: Floats) -> Floats:
        """Return ones (n, m)."""
        return np.ones(s.shape)

    def start(self, y: Floats, weight: Floats) -> Floats:
        """Return the means (m,)."""
        return np.asarray(np.average(y, axis=0, weights=weight))

    def pearson(self, y: Floats, s: Floats) -> Floats:
        """Return residuals (n, m)."""
        return self.pulls(y, s)


@dataclass(frozen=True)
class Power:
    """Deviances of numbers from 0 on whose variance grows with a power of the mean; scores are logarithms of means.

    Power 1 is quasi-Poisson, 2 gamma, between them are Tweedie's families of amounts that may be 0 (Jorgensen 1987).
    Targets are divided by their mean.
    """

    power: float
    ceiling: float = inf  #: scores above it count as this one: no prediction is far beyond what was seen
    n_classes = 0
    link: Link = "log"
    is_quadratic = False
    has_noise = True

    @property
    def name(self) -> str:
        """``poisson``, ``tweedie`` or ``gamma``."""
        return next(name for name, power in POWERS.items() if power == self.power)

    def means(self, s: Floats) -> Floats:
        """Return the means (n, m)."""
        return np.asarray(np.exp(np.clip(s, FLOOR, self.ceiling)))

    def losses(self, y: Floats, s: Floats) -> Floats:
        """Return the unit deviance (n,) of each row."""
        mean, p = self.means(s), self.power
        if p == 1:
            terms = np.where(y > 0, y * (np.log(np.maximum(y, 1e-300)) - np.log(mean)), 0.0) - y + mean
        elif p == 2:
            terms = y / mean - 1 - np.log(y / mean)
        else:
            terms = y ** (2 - p) / ((1 - p) * (2 - p)) - y * mean ** (1 - p) / (1 - p) + mean ** (2 - p) / (2 - p)
        return np.asarray(2 * terms.mean(axis=1))

    def pulls(self, y: Floats, s: Floats) -> Floats:
        """Return ``(y - mean) mean**(1 - p)`` (n, m)."""
        mean = self.means(s)
        return np.asarray((y - mean) * mean ** (1 - self.power))

    def curvatures(self, y: Floats, s: Floats) -> Floats:
        """Return the expected ones, ``mean**(2 - p)`` (n, m)."""
        return np.asarray(np.maximum(self.means(s) ** (2 - self.power), 1e-6))

    def start(self, y: Floats, weight: Floats) -> Floats:
        """Return the logarithms of the means (m,)."""
        return np.asarray(np.log(np.maximum(np.average(y, axis=0, weights=weight), 1e-12)))

    def pearson(self, y: Floats, s: Floats) -> Floats:
        """Return residuals (n, m) in multiples of their usual size."""
        mean = self.means(s)
        return np.asarray((y - mean) / np.maximum(mean, 1e-3) ** (self.power / 2))


@dataclass(frozen=True)
class Quantile:
    """The loss whose best constant is a quantile, smooth over a small width (Fasiolo et al. 2021).

    The loss is that of the quantile, ``(level - (y < s)) (y - s)``, twice so that its scale is that of the others.
    """

    level: float
    n_classes = 0
    link: Link = "identity"
    is_quadratic = False
    has_noise = True

    @property
    def name(self) -> str:
        """``quantile:0.9``."""
        return f"quantile:{self.level:g}"

    def means(self, s: Floats) -> Floats:
        """Return the scores: the quantiles."""
        return s

    def losses(self, y: Floats, s: Floats) -> Floats:
        """Return the smooth loss (n,) of each row."""
        rest = y - s
        smooth = (self.level - 1) * rest + SMOOTH * np.logaddexp(0, rest / SMOOTH)
        return np.asarray(2 * smooth.mean(axis=1))

    def pulls(self, y: Floats, s: Floats) -> Floats:
        """Return the level minus the smooth share of scores above targets (n, m)."""
        return np.asarray(self.level - 1 / (1 + np.exp(np.clip((y - s) / SMOOTH, -700, 700))))

    def curvatures(self, y: Floats, s: Floats) -> Floats:
        """Return the smooth density of targets at the scores (n, m)."""
        share = 1 / (1 + np.exp(np.clip((y - s) / SMOOTH, -700, 700)))
        return np.asarray(np.maximum(share * (1 - share) / SMOOTH, LEAST_CURVATURE))

    def start(self, y: Floats, weight: Floats) -> Floats:
        """Return the quantiles (m,) of the targets."""
        return np.quantile(y, self.level, axis=0, method="inverted_cdf", weights=weight)

    def pearson(self, y: Floats, s: Floats) -> Floats:
        """Return the pulls (n, m), in their deviations."""
        return np.asarray(self.pulls(y, s) / (self.level * (1 - self.level)) ** 0.5)


#: What functions of rows need: y (n, m) are targets and s (n, m) scores.
Family = Classes | Normal | Power | Quantile

NORMAL = Normal()
LOGNORMAL = Normal("lognormal", "log")


def parse_family(text: str) -> Family:
    """Return the family of a name: ``poisson``, ``quantile:0.9``."""
    name, _, level = str(text).partition(":")
    if name == "quantile" and level:
        try:
            value = float(level)
        except ValueError:
            value = 0.0
        if 0 < value < 1:
            return Quantile(value)
        raise InputError("family", "be 'quantile:P' with a level P between 0 and 1", repr(text))
    if text in POWERS:
        return Power(POWERS[text])
    if text in ("normal", "lognormal"):
        return NORMAL if text == "normal" else LOGNORMAL
    listing = ", ".join(map(repr, NAMES))
    raise InputError("family", f"be 'auto', {listing} or 'quantile:0.9'", repr(text))


def check_targets(family: Family, y: Floats) -> None:
    """Refuse targets (n, m) that a family cannot have."""
    is_open = family.link == "log" and family.name in ("gamma", "lognormal")
    if family.link == "log" and ((y < 0).any() or (is_open and (y == 0).any()) or not (y > 0).any()):
        expected = f"be {'above 0' if is_open else '0 or more, some above'} for the family {family.name!r}"
        raise InputError("target", expected, f"{y.min():g} among them" if y.any() else "only 0", "use {0}",
                         [("family", "normal")])  # fmt: skip


@dataclass(frozen=True, eq=False)
class Targets:
    """A family, and how scores and targets of a table are scaled for it: the table's score is center + scale * s."""

    family: Family
    center: Floats  #: (m,) of the scores
    scale: Floats  #: (m,)
    largest: float = inf  #: the prediction at most, under a logarithmic link

    @classmethod
    def from_values(cls, family: Family, y: Floats, weight: Floats) -> Targets:
        """Return the scaling of targets (n, m) with weights (n,): means and deviations; 0 and 1 of classes."""
        if family.n_classes:
            m = 1 if family.n_classes == 2 else family.n_classes
            return cls(family, np.zeros(m), np.ones(m))
        check_targets(family, y)
        largest = float(y.max()) if family.link == "log" else inf
        if isinstance(family, Power):
            center = np.log(np.average(y / largest, axis=0, weights=weight)) + log(largest)
            family = replace(family, ceiling=log(largest) - float(center.min()))
            return cls(family, center, np.ones(len(center)), largest)
        y = np.log(y) if family.link == "log" else y
        size = np.maximum(np.abs(y).max(axis=0), 1e-300)  # squares of large numbers would be infinite
        center = np.average(y / size, axis=0, weights=weight)
        deviation = np.sqrt(np.average((y / size - center) ** 2, axis=0, weights=weight))
        return cls(family, center * size, np.where(deviation < 1e-12, 1.0, deviation) * size, largest)

    def standardize(self, y: Floats) -> Floats:
        """Return targets (n, m) as the family takes them."""
        if self.family.n_classes:
            return y
        check_targets(self.family, y)
        if isinstance(self.family, Power):
            return np.asarray(y / np.exp(self.center))
        return np.asarray(((np.log(y) if self.family.link == "log" else y) - self.center) / self.scale)

    def predict(self, s: Floats) -> Floats:
        """Return the predictions (n, m) of standardized scores (n, m), in the units of the targets."""
        return apply_link(self.center + self.scale * s, self.family.link, self.largest)


def log_odds(probability: float) -> float:
    """Return the logit of a probability."""
    return float(np.log(probability) - np.log1p(-probability))


def probabilities(outputs: Floats) -> Floats:
    """Return the probability (n, n_classes) of each class for the outputs (n, n_classes), one logit for each."""
    powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def apply_link(scores: Floats, link: Link, largest: float) -> Floats:
    """Return the predictions (n, m) of scores: these, or their exponentials, which are at most ``largest``."""
    if link == "identity":
        return scores
    return np.asarray(np.exp(np.minimum(scores, log(largest))))


def family_with_exposure(name: str) -> str:
    """Return the family of targets with exposures: that which is given, poisson by default."""
    if name != "auto" and parse_family(name).link == "identity":
        expected = "have a logarithmic link for rows with an exposure: poisson, tweedie, gamma or lognormal"
        raise InputError("family", expected, repr(name))
    return "poisson" if name == "auto" else name


def exposure_weights(family: Family, exposure: Floats) -> Floats:
    """Return by what the weights (n,) of rows change when their targets are divided by exposures (n,).

    With a logarithmic link, a target y with the offset log(e) has the deviance of y/e with the weight e**(2 - p).
    """
    power = family.power if isinstance(family, Power) else 2.0
    return np.asarray(exposure ** (2 - power))
