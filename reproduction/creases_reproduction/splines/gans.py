"""Generative adversarial networks on a mixture of 25 Gaussians: the lecture's slides on learning dynamics."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd

from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import numbers_from_table
from creases_reproduction.splines.gan_training import LATENTS, RULES, coverage_table
from creases_reproduction.statistics import mean_interval

SGD, RIDGE, RMSPROP, BOTH = RULES
EARLY, LATE = 4000, 16000  # steps at which rules are compared: those that all of them reach
SOURCE_STEPS = 400_000  # of the source's runs but for RMSprop alone, by the names of its files
SOURCE_STEPS_OF_RMSPROP = 2_400_000
BLUR = 0.28  # share at a mode of samples that are spread evenly over the grid: pi 0.3^2


def measure_coverage(scale: Scale) -> Numbers:
    """Measure the modes that generators cover as training goes on; the full runs are a stored table."""
    return coverage_numbers(coverage_table(10, (EARLY, LATE)) if scale == "full" else _few_steps())


@cache
def _few_steps() -> pd.DataFrame:
    """Return a table of very short runs, for all claims on this page."""
    plain = coverage_table(2, (10, 200), rules=(SGD, RMSPROP))
    return pd.concat([plain, coverage_table(1, (1, 3), rules=(RIDGE, BOTH))])


def coverage_numbers(table: pd.DataFrame) -> Numbers:
    """Return by rule and spread of the generator's inputs the modes covered and the share of samples at modes."""
    results: dict[str, dict[str, object]] = {}
    for (rule, latent), part in table.groupby(["rule", "latent"], sort=False):
        by_steps = part.groupby("steps")
        results[f"{rule}, {latent:g}"] = {
            "steps": list(by_steps.groups),
            "modes": [group.modes.tolist() for _, group in by_steps],
            "share": [group.share.mean() for _, group in by_steps],
        }
    return {"runs": results}


def _modes(numbers: Numbers, rule: str, steps: int, latent: float = LATENTS[0]) -> tuple[list[int], float]:
    """Return the modes of every seed and the share at modes after so many steps, or the last before."""
    run = numbers["runs"][f"{rule}, {latent:g}"]
    at = max((k for k, reached in enumerate(run["steps"]) if reached <= steps), default=0)
    return run["modes"][at], run["share"][at]


def _after(numbers: Numbers, rule: str, steps: int) -> str:
    """Return how many steps were made, in words."""
    reached = [n for n in numbers["runs"][f"{rule}, {LATENTS[0]:g}"]["steps"] if n <= steps]
    return f"after {max(reached, default=1)} steps"


def _describe(numbers: Numbers, rule: str, steps: int, latent: float = LATENTS[0]) -> str:
    modes, share = _modes(numbers, rule, steps, latent)
    return f"{rule} {np.mean(modes):.1f} ({min(modes)} to {max(modes)}; {share:.0%} of samples at a mode)"


def _is_more(a: list[int], b: list[int]) -> bool:
    """Whether the mean of a is above that of b, by 95 % intervals of both."""
    return mean_interval(a)[0] > mean_interval(b)[1]


def judge_collapse(numbers: Numbers) -> Judgement:
    """Judge whether simultaneous gradient steps miss modes, also at the end of the run."""
    last, share = _modes(numbers, SGD, SOURCE_STEPS)
    words = (
        f"modes of 25 {_after(numbers, SGD, LATE)}: {_describe(numbers, SGD, LATE)}; "
        f"{_after(numbers, SGD, SOURCE_STEPS)} {np.mean(last):.1f}, "
        f"with {share:.0%} of samples at a mode, where samples spread evenly over the grid have {BLUR:.0%}: "
        "modes that it reaches late are blurred"
    )
    missed = max(last) < 25 and share < 1.2 * BLUR
    return Judgement("agrees" if missed else "disagrees", words)


def judge_ridge(numbers: Numbers) -> Judgement:
    """Judge whether Follow-the-Ridge covers more modes than simultaneous steps."""
    plain, ridge = _modes(numbers, SGD, LATE)[0], _modes(numbers, RIDGE, LATE)[0]
    words = "; ".join(
        f"inputs of deviation {latent:g}: " + ", ".join(_describe(numbers, rule, LATE, latent) for rule in (SGD, RIDGE))
        for latent in LATENTS
    )
    words = f"modes of 25 {_after(numbers, RIDGE, LATE)}, {words}"
    if _is_more(ridge, plain):
        return Judgement("agrees", words)
    return Judgement("disagrees", f"{words}. No difference so far")


def describe_short_run(rule: str, source: int) -> Callable[[Numbers], str]:
    """Return what says that a rule was not run for as long as in the source; "" if it was."""

    def describe(numbers: Numbers) -> str:
        steps = numbers["runs"][f"{rule}, {LATENTS[0]:g}"]["steps"][-1]
        return f"{rule} ran for {steps} steps here, in the source for {source}" if steps < source else ""

    return describe


def judge_preconditioner(numbers: Numbers) -> Judgement:
    """Judge whether RMSprop's preconditioner covers more modes, and sharply."""
    plain, better = _modes(numbers, SGD, LATE), _modes(numbers, RMSPROP, LATE)
    last, share = _modes(numbers, RMSPROP, SOURCE_STEPS)
    words = (
        f"modes of 25 {_after(numbers, SGD, LATE)}: {_describe(numbers, SGD, LATE)}, "
        f"{_describe(numbers, RMSPROP, LATE)}; {_after(numbers, RMSPROP, SOURCE_STEPS)} {np.mean(last):.1f} with "
        f"{share:.0%} of samples at a mode"
    )
    sharper = share > BLUR * 1.2
    return Judgement("agrees" if _is_more(better[0], plain[0]) and sharper else "disagrees", words)


def judge_combination(numbers: Numbers) -> Judgement:
    """Judge whether Follow-the-Ridge with the preconditioner covers more modes early on."""
    plain, both = _modes(numbers, RMSPROP, EARLY)[0], _modes(numbers, BOTH, EARLY)[0]
    each = ", ".join(_describe(numbers, rule, EARLY) for rule in (RMSPROP, BOTH))
    words = f"modes of 25 {_after(numbers, BOTH, EARLY)}: {each}"
    later = f"{_after(numbers, BOTH, LATE)} {np.mean(_modes(numbers, RMSPROP, LATE)[0]):.1f} and "
    words += f"; {later}{np.mean(_modes(numbers, BOTH, LATE)[0]):.1f}: early on it leads, later it does not"
    return Judgement("agrees in kind" if _is_more(both, plain) else "disagrees", words)


def picture_coverage(numbers: Numbers) -> Picture:
    """Draw the modes covered by steps, at the lecture's spread of the inputs."""
    curves = []
    for rule in RULES:
        run = numbers["runs"][f"{rule}, {LATENTS[0]:g}"]
        modes = np.array(run["modes"], float)
        curves.append(
            Curve(
                rule,
                np.log10(run["steps"]).tolist(),
                modes.mean(1).tolist(),
                modes.min(1).tolist(),
                modes.max(1).tolist(),
            )
        )
    return Picture(curves=curves, x="log10 of the steps", y="modes covered, of 25 (mean, least and most)")


_PRINTED = "pictures; from the files' names: 400000 steps (2400000 for SimGD with RMSprop), rates 0.001, batches of 128"
_FULL = "8 minutes of 16 cores and an H200"


def _claim(
    name: str,
    place: str,
    says: str,
    judge: Callable[[Numbers], Judgement],
    picture: Callable[[Numbers], Picture] | None = None,
    incomparable: str | Callable[[Numbers], str] = "",
) -> Claim:
    return Claim(
        f"splines/{name}",
        f"slides 'Learning Dynamics in GANs', {place}",
        says,
        printed=_PRINTED,
        measure=measure_coverage,
        judge=judge,
        picture=picture,
        incomparable=incomparable,
        full=_FULL,
        from_table=numbers_from_table("gans", coverage_numbers),
    )


CLAIMS = [
    _claim(
        "gan-simgd",
        "SimGD",
        "Implicit regularisation makes it difficult for simultaneous gradient steps to approximate discontinuities: "
        "the generator misses modes.",
        judge_collapse,
        picture_coverage,
        incomparable=describe_short_run(SGD, SOURCE_STEPS),
    ),
    _claim(
        "gan-ridge",
        "Follow-the-Ridge",
        "A minimax algorithm (Follow-the-Ridge) improves mode coverage, but not enough.",
        judge_ridge,
        incomparable=describe_short_run(RIDGE, SOURCE_STEPS),
    ),
    _claim(
        "gan-preconditioner",
        "preconditioner",
        "A preconditioner makes the regularisation adaptive and covers more modes.",
        judge_preconditioner,
        incomparable=describe_short_run(RMSPROP, SOURCE_STEPS_OF_RMSPROP),
    ),
    _claim(
        "gan-combination",
        "minimax and preconditioner",
        "Both together approximate discontinuities more sharply and quickly: greatly improved coverage very early on.",
        judge_combination,
    ),
]
