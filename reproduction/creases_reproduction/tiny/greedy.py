"""Whether greedy growth suffices (TINY paper, sections 3.4 and 5): a small unit always helps, and how sure it is."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from creases.growth import Proposal, apply
from creases.growth.methods import tiny
from creases.growth.methods.expressivity import optimal_units, statistics
from creases.network import places
from creases.problems import get
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.images import accuracy
from creases_reproduction.judges import count_failures, judge_cases
from creases_reproduction.tiny.bottlenecks import perceptron
from creases_reproduction.tiny.train_by_growth import train_by_growth

square = nn.functional.mse_loss
SMALL = 1e-3  #: factor of the fan-in of a unit that is to be small


@cache
def problems(count: int) -> list[tuple[nn.Sequential, Tensor, Tensor]]:
    """Return random networks 2 - 3 - 1 with samples of continuous targets that they are not."""
    collected = []
    for seed in range(count):
        model = perceptron([2, 3, 1], nn.Tanh if seed % 2 else nn.ReLU, seed).double()
        numbers = torch.Generator().manual_seed(seed)
        x = torch.rand(200, 2, generator=numbers, dtype=torch.float64) * 4 - 2
        c = torch.randn(4, generator=numbers, dtype=torch.float64)
        y = c[0] * torch.sin(2 * x[:, 0]) + c[1] * x[:, 0] * x[:, 1] + c[2] * x[:, 1].abs() + c[3]
        collected.append((model, x, y[:, None]))
    return collected


def left(model: nn.Module, x: Tensor, y: Tensor, proposal: Proposal | None = None) -> float:
    """Return the loss, with a proposal's units put in."""
    if proposal is not None:
        model = copy.deepcopy(model)
        apply(proposal, model)
    with torch.no_grad():
        return float(square(model(x), y))


def proposed(model: nn.Module, x: Tensor, y: Tensor, count: int, seed: int = 0) -> Proposal:
    """Return units for all of V_goal, by linear correlations and, where there are none, by the best of random ones."""
    return tiny(
        model,
        "0",
        [(x, y)],
        square,
        validation=[(x, y)],
        count=count,
        tau=0.0,
        project=False,
        fallback="random",
        seed=seed,
        above_noise=False,
        ridge=0.0,
    )


def measure_completion(scale: Scale) -> Numbers:
    """Measure loss after and before a set of units, one unit, and one unit with a small fan-in.

    Over random problems.
    """
    ratios: dict[str, list[float]] = {"some units": [], "one unit": [], "one small unit": []}
    for model, x, y in problems(60 if scale == "full" else 10):
        before = left(model, x, y)
        ratios["some units"].append(left(model, x, y, proposed(model, x, y, 10)) / before)
        item = proposed(model, x, y, 1)
        ratios["one unit"].append(left(model, x, y, item) / before)
        ratios["one small unit"].append(left(model, x, y, item.scale(SMALL, 1.0)) / before)
    return {
        name: {**count_failures(r < 1 for r in part), "best": min(part), "worst": max(part)}
        for name, part in ratios.items()
    }


def judge(name: str) -> Callable[[Numbers], Judgement]:
    """Return a judge: the loss fell in every case."""

    def judged(numbers: Numbers) -> Judgement:
        part = numbers[name]
        results = judge_cases(f"random problems: {name} lowered the loss")(part)
        return results._replace(why=f"{results.why}, to {part['best']:.4g} to {part['worst']:.6g} of what it was")

    return judged


def measure_paradox(scale: Scale) -> Numbers:
    """Measure y = x^2 on a symmetric grid, from the constant mean.

    No linear correlation; quadratic ones and random units.
    """
    x = torch.linspace(-1, 1, 101, dtype=torch.float64)[:, None]
    y = x.square()
    model = perceptron([1, 1, 1], nn.SiLU, 0).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model[2].bias.fill_(float(y.mean()))  # type: ignore[operator]
    before = left(model, x, y)
    options = {"validation": [(x, y)], "count": 1, "project": False, "ridge": 0.0}
    plain = tiny(model, "0", [(x, y)], square, fallback=None, above_noise=False, **options)  # type: ignore[arg-type]
    after = {
        way: left(model, x, y, tiny(model, "0", [(x, y)], square, fallback=way, above_noise=False, **options)) / before  # type: ignore[arg-type]
        for way in ("second", "random")
    }
    return {"units by linear correlation": plain.count, "loss after, of that before": after}


def judge_paradox(numbers: Numbers) -> Judgement:
    """Judge section 5."""
    after = numbers["loss after, of that before"]
    words = f"{numbers['units by linear correlation']} units by linear correlation; by second order the loss falls to "
    words += f"{after['second']:.2f} of what it was, by random units to {after['random']:.2f}"
    good = not numbers["units by linear correlation"] and max(after.values()) < 1
    return Judgement("agrees" if good else "disagrees", words)


def measure_variance(scale: Scale) -> Numbers:
    """Measure spread of the first unit's weights alpha omega' over batches: by samples in a batch, and by width.

    As the mean squared deviation from the mean over 40 batches (quick: 20), relative to the mean's square.
    """
    batches = 40 if scale == "full" else 20
    sizes, widths = (100, 200, 400, 800, 1600), (4, 8, 16, 32)
    return {
        "samples": list(sizes),
        "by samples": [_spread(8, n, batches) for n in sizes],
        "widths": list(widths),
        "by width": [_spread(w, 800, batches) for w in widths],
    }


def summed(out: Tensor, y: Tensor) -> Tensor:
    """Return squared errors summed over outputs, so that their number does not scale the wanted change."""
    return (out - y).square().sum(1).mean()


def _spread(width: int, n: int, batches: int) -> float:
    """Return one direction of unit length goes with another, the same for every width; noise is all else."""
    model = perceptron([width, 4, width], nn.Tanh, 0).double()
    nn.init.zeros_(model[2].weight)  # type: ignore[arg-type]
    nn.init.zeros_(model[2].bias)  # type: ignore[arg-type]
    numbers = torch.Generator().manual_seed(1)
    collected = []
    for _ in range(batches):
        x = torch.randn(n, width, generator=numbers, dtype=torch.float64)
        y = torch.randn(n, width, generator=numbers, dtype=torch.float64) / 2
        y[:, 0] += torch.sin(x[:, 0])
        sums = statistics(model, "0", [(x, y)], summed)
        units = optimal_units(sums, count=1, project=False)
        collected.append(torch.outer(units.alpha[:, 0], units.omega["2"][:, 0]))
    each = torch.stack(collected)
    return float((each - each.mean(0)).square().sum((1, 2)).mean() / each.mean(0).square().sum())


def judge_variance(numbers: Numbers) -> Judgement:
    """Judge section 3.4."""
    slopes = [
        float(np.polyfit(np.log(numbers[x]), np.log(numbers[y]), 1)[0])
        for x, y in (("samples", "by samples"), ("widths", "by width"))
    ]
    words = f"the variance goes as N^{slopes[0]:.2f} and p^{slopes[1]:.2f}"
    if abs(slopes[0] + 0.5) < 0.15 and abs(slopes[1] - 0.5) < 0.25:
        return Judgement("agrees", words)
    if abs(slopes[0] + 1) < 0.25 and slopes[1] > 0.4:
        return Judgement("disagrees", f"{words}: its square root, the standard deviation, as 1 / sqrt(N) and sqrt(p)")
    return Judgement("disagrees", words)


def picture_variance(numbers: Numbers) -> Picture:
    """Picture section 3.4."""
    curves = [Curve("by samples N", numbers["samples"], numbers["by samples"])]
    return Picture(curves=curves, x="samples", y="relative variance", log=True)


def measure_growth_alone(scale: Scale) -> Numbers:
    """Measure scikit-learn's digits by growth alone, from one unit a layer: test accuracy by growth steps."""
    problem = get("digits")
    x, y = torch.from_numpy(np.asarray(problem.X) / 16), torch.from_numpy(np.asarray(problem.y, np.int64))
    train, test = (x[:1200], y[:1200]), (x[1200:], y[1200:])
    model = perceptron([64, 1, 1, 10], nn.SELU, 0).double()
    names = [place.name for place in places(model)]
    kept = {name: value.detach().clone() for name, value in model.named_parameters()}
    steps, marks = (40 if scale == "full" else 12), []
    for _ in range(steps // 4):
        train_by_growth(model, names, [train], nn.functional.cross_entropy, steps=4, count=20)
        marks.append(accuracy(model, *test))
    now = {name: value.detach() for name, value in model.named_parameters()}
    moved = max(float((now[k][tuple(map(slice, v.shape))] - v).abs().max()) for k, v in kept.items())
    widths = [layer.out_features for layer in model if isinstance(layer, nn.Linear)][:-1]
    return {"steps": list(range(4, steps + 1, 4)), "accuracy": marks, "widths": widths, "present weights moved": moved}


def judge_alone(numbers: Numbers) -> Judgement:
    """Judge section 1."""
    last = numbers["accuracy"][-1]
    words = f"{last:.1%} of test digits right after {numbers['steps'][-1]} growth steps, widths {numbers['widths']}"
    words += f", weights moved by {numbers['present weights moved']:.1g}"
    return Judgement("agrees" if last > 0.5 and numbers["present weights moved"] == 0 else "disagrees", words)


CLAIMS = [
    Claim(
        "tiny/proposition-5.1",
        "Propositions 5.1, B.1",
        "Unless f is the target some units can be added that lower the loss.",
        measure=measure_completion,
        judge=judge("some units"),
        full="20 s",
    ),
    Claim(
        "tiny/proposition-5.2",
        "Propositions 5.2, B.2",
        "One unit suffices to lower the loss.",
        measure=measure_completion,
        judge=judge("one unit"),
        full="20 s",
    ),
    Claim(
        "tiny/proposition-5.3",
        "Propositions 5.3, B.3",
        "That unit can have arbitrarily small input weights.",
        measure=measure_completion,
        judge=judge("one small unit"),
        full="20 s",
    ),
    Claim(
        "tiny/section-5-higher",
        "section 5",
        (
            "Where no linear correlation is left (5) finds no unit, though one exists: by quadratic correlations, or "
            "at random."
        ),
        measure=measure_paradox,
        judge=judge_paradox,
        full="a second",
    ),
    Claim(
        "tiny/section-3.4",
        "section 3.4",
        (
            "The variance of the directions grows as sqrt(p), the larger of the widths before and after, and falls as "
            "sqrt(N), the samples."
        ),
        printed="sqrt(p), sqrt(N)",
        measure=measure_variance,
        judge=judge_variance,
        picture=picture_variance,
        full="10 s",
        misprints=("tiny/variance",),
    ),
    Claim(
        "tiny/section-1-alone",
        "section 1",
        "A network can be trained without gradient descent, by adding units only.",
        measure=measure_growth_alone,
        judge=judge_alone,
        picture=lambda n: Picture(
            curves=[Curve("growth alone", n["steps"], n["accuracy"])], x="growth steps", y="test accuracy"
        ),
        full="20 s",
    ),
]
