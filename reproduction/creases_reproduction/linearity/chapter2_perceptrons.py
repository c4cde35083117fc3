"""Chapter 2 of the dissertation, sections 2.1 and 2.2: perceptrons, backpropagation, rectangles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from creases import boolean
from creases._typing import Floats
from creases.errors import InputError
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import count_failures, drawing, judge_cases


def swaps_of_all(n: int) -> NDArray[np.uint8]:
    """Return swaps of every function of n <= 4 bits, (2^2^n,): at most 1 where a perceptron has it."""
    results = boolean.class_swaps(n)
    classes = boolean.canonical_form(np.arange(1 << (1 << n)), n)
    return np.asarray(results.swaps[np.searchsorted(results.representatives, classes)])


def measure_invariance(scale: Scale) -> Numbers:
    """Measure Theorem 2.1.1 for single bits as predicates and rotations of 2 to 4 bits as group.

    Equal weights suffice.
    """
    holds, others = [], 0
    for n in (2, 3, 4):
        x = np.arange(1 << n)
        rotated = (x >> 1) | (x & 1) << n - 1
        tables, swaps = boolean.truth_table(np.arange(1 << (1 << n)), n), swaps_of_all(n)
        same = (tables == tables[:, rotated]).all(axis=1)
        holds += [_has_equal_weights(int(f), n) for f in np.flatnonzero(same & (swaps <= 1))]
        others += sum(_has_equal_weights(int(f), n) for f in np.flatnonzero(same & (swaps > 1)))
    return {**count_failures(holds), "others": others}


def _has_equal_weights(f: int, n: int) -> bool:
    """Whether one threshold on the number of ones has the function."""
    try:
        return boolean.class_changes(f, n, [1] * n) <= 1
    except InputError:  # two inputs with as many ones differ in class
        return False


def measure_xor(scale: Scale) -> Numbers:
    """Measure Theorem 2.1.2: which functions of two bits are not linearly separable."""
    swaps = swaps_of_all(2)
    return {"separable": int((swaps <= 1).sum()), "others": np.flatnonzero(swaps > 1).tolist()}


def judge_xor(numbers: Numbers) -> Judgement:
    """Judge Theorem 2.1.2."""
    others, names = numbers["others"], {6: "XOR", 9: "its negation"}
    if 6 not in others:
        return Judgement("disagrees", "XOR is linearly separable")
    known = " and ".join(names.get(f, str(f)) for f in others)
    return Judgement("agrees", f"of the 16 functions of two bits {numbers['separable']} are separable, not so {known}")


def measure_masks(scale: Scale) -> Numbers:
    """Measure Theorem 2.1.3.

    Parity of R bits by products of bits, all 2^R and all but one of them, as linear programs.
    """
    holds = []
    for bits in range(1, 7 if scale == "full" else 5):
        x = np.arange(1 << bits)
        products = (x[:, None] & x == x).astype(np.float64)  # (points, masks): whether all bits of the mask are 1
        signs = np.where(boolean.truth_table(boolean.parity(bits), bits), -1.0, 1.0)
        holds.append(_is_separable(products, signs))
        holds += [not _is_separable(np.delete(products, mask, axis=1), signs) for mask in x]
    return count_failures(holds)


def _is_separable(features: Floats, signs: Floats) -> bool:
    """Whether weights give every point a value of its sign."""
    from scipy.optimize import linprog

    A = -signs[:, None] * features
    results = linprog(np.zeros(features.shape[1]), A_ub=A, b_ub=-np.ones(len(signs)), bounds=(None, None))
    return bool(results.status == 0)


def measure_convergence(scale: Scale) -> Numbers:
    """Measure the rule (2.4) on every class of functions of four bits: whether 1000 epochs reach a solution."""
    from sklearn.linear_model import Perceptron

    swaps = boolean.class_swaps(4)
    X, holds = 2 * boolean.all_inputs(4) - 1, []
    for f, changes in zip(swaps.representatives, swaps.swaps, strict=True):
        y = boolean.truth_table(int(f), 4)
        if 0 < y.sum() < len(y):  # the rule needs both classes
            model = Perceptron(max_iter=1000 if changes <= 1 else 50, tol=None, shuffle=False).fit(X, y)
            holds.append((model.score(X, y) == 1) == (changes <= 1))
    return count_failures(holds)


def measure_error_gradient(scale: Scale) -> Numbers:
    """Measure (2.11): the derivative of (2.10) by an output, printed and by automatic differentiation, at 5 points."""
    draw = np.random.default_rng(0)
    F, t = (torch.from_numpy(draw.normal(size=5)) for _ in range(2))
    F.requires_grad_()
    (gradient,) = torch.autograd.grad(0.5 * ((t - F) ** 2).sum(), F)
    F = F.detach()
    return {
        "as printed": float((gradient - (t - F)).abs().max()),
        "negated": float((gradient - (F - t)).abs().max()),
    }


def judge_error_gradient(numbers: Numbers) -> Judgement:
    """Judge eq. (2.11)."""
    if numbers["as printed"] < 1e-9:
        return Judgement("agrees", "the derivative is t - F")
    if numbers["negated"] > 1e-9:
        return Judgement("disagrees", f"the derivative is off by {numbers['as printed']:.2g}")
    return Judgement("disagrees", "the sign: the derivative is F - t, not t - F (the deltas of (2.23) need it so)")


def measure_backpropagation(scale: Scale) -> Numbers:
    """Measure the rules (2.23) for sigmoids and squared error, against automatic differentiation.

    The largest difference.
    """
    draw, off = np.random.default_rng(0), 0.0
    for widths in ([3, 4, 2], [2, 5, 3, 1], [1, 1, 1, 1]):
        W = [draw.normal(size=(b, a)) for a, b in pairwise(widths)]
        bias = [draw.normal(size=b) for b in widths[1:]]
        x, t = draw.normal(size=widths[0]), draw.normal(size=widths[-1])
        parameters = [torch.tensor(item, requires_grad=True) for item in [*W, *bias]]
        o = torch.tensor(x)
        for weight, b in zip(parameters[: len(W)], parameters[len(W) :], strict=True):
            o = torch.sigmoid(weight @ o + b)
        known = torch.autograd.grad(0.5 * ((torch.tensor(t) - o) ** 2).sum(), parameters)
        off = max(
            off,
            *(np.abs(a - b.numpy()).max() for a, b in zip(_derivatives_by_rules(W, bias, x, t), known, strict=True)),
        )
    return {"largest difference": off}


def _derivatives_by_rules(W: list[Floats], bias: list[Floats], x: Floats, t: Floats) -> list[Floats]:
    """Return derivatives of (2.10) by the weights and then by the biases, as (2.23) has them."""
    outputs = [x]
    for weight, b in zip(W, bias, strict=True):
        outputs.append(1 / (1 + np.exp(-(weight @ outputs[-1] + b))))
    slope = [o * (1 - o) for o in outputs]
    deltas = [(outputs[-1] - t) * slope[-1]]
    for layer in range(len(W) - 1, 0, -1):
        deltas.insert(0, (W[layer].T @ deltas[0]) * slope[layer])
    return [np.outer(delta, o) for delta, o in zip(deltas, outputs, strict=False)] + deltas


def judge_backpropagation(numbers: Numbers) -> Judgement:
    """Judge eq. (2.23)."""
    off = numbers["largest difference"]
    if off < 1e-12:
        return Judgement("agrees", f"at most {off:.1g} from automatic differentiation, for three networks")
    return Judgement("disagrees", f"{off:.2g} from automatic differentiation")


#: Steepness of a step, in 1 / width of a rectangle.
STEEP = 400.0


def measure_rectangles(scale: Scale) -> Numbers:
    """Measure Figure 2.3.

    Sin on [-pi, pi] by rectangles of two sigmoids, and of four ReLUs each: the largest errors.
    """
    counts = [5, 10, 20, 40, 80] + ([160, 320] if scale == "full" else [])
    x = torch.linspace(-np.pi, np.pi, 20_001, dtype=torch.float64)
    errors: dict[str, list[float]] = {"sigmoid": [], "relu": []}
    for count in counts:
        edges = torch.linspace(-np.pi, np.pi, count + 1, dtype=torch.float64)
        width = edges[1] - edges[0]
        edges[0], edges[-1] = edges[0] - width, edges[-1] + width  # the ends are no edges
        heights = torch.sin((torch.arange(count, dtype=torch.float64) + 0.5) * width - np.pi)
        t = (x[:, None] - edges) * STEEP / width
        steps = {"sigmoid": torch.sigmoid(t), "relu": torch.relu(t + 0.5) - torch.relu(t - 0.5)}
        for name, step in steps.items():
            errors[name].append(float(((step[:, :-1] - step[:, 1:]) @ heights - torch.sin(x)).abs().max()))
    return {"rectangles": counts, **errors}


def judge_rectangles(numbers: Numbers) -> Judgement:
    """Judge Figure 2.3 and section 2.2.2."""
    counts = np.array(numbers["rectangles"], float)
    slopes = {name: np.polyfit(np.log(counts), np.log(numbers[name]), 1)[0] for name in ("sigmoid", "relu")}
    at_20 = numbers["sigmoid"][numbers["rectangles"].index(20)]
    words = f"20 rectangles are {at_20:.2f} off at most; errors go as the number to the power {slopes['sigmoid']:.2f}"
    if at_20 < 0.5 and max(slopes.values()) < -0.8:
        return Judgement("agrees", f"{words}, with ReLUs {slopes['relu']:.2f}")
    return Judgement("disagrees", f"{words}: it does not become arbitrarily small")


def picture_rectangles(numbers: Numbers) -> Picture:
    """Picture Figure 2.3 and section 2.2.2."""
    curves = [
        Curve("two sigmoids each", numbers["rectangles"], numbers["sigmoid"]),
        Curve("four ReLUs each", numbers["rectangles"], numbers["relu"]),
    ]
    return Picture(curves=curves, x="rectangles", y="largest error", log=True)


CLAIMS = [
    Claim(
        "linearity/section-2.1.1-convergence",
        "section 2.1.1",
        "The perceptron rule comes to a solution in finitely many steps where the classes are linearly separable.",
        measure=measure_convergence,
        judge=judge_cases(
            "classes of functions of four bits (it comes to an end where they are separable, and nowhere else)"
        ),
    ),
    Claim(
        "linearity/theorem-2.1.1",
        "Theorem 2.1.1",
        "A perceptron that is invariant under a group has weights that depend on the classes of predicates only.",
        measure=measure_invariance,
        judge=judge_cases("perceptrons of 2 to 4 bits that are invariant under rotation: equal weights have them"),
    ),
    Claim(
        "linearity/theorem-2.1.2",
        "Theorem 2.1.2",
        "A perceptron with two binary inputs cannot compute XOR.",
        measure=measure_xor,
        judge=judge_xor,
    ),
    Claim(
        "linearity/theorem-2.1.3",
        "Theorem 2.1.3",
        "Parity of R bits by a perceptron on masks (products of bits) needs all 2^R of them.",
        measure=measure_masks,
        judge=judge_cases("sets of masks (all of them, and each left out once)"),
        full="seconds",
    ),
    Claim(
        "linearity/equation-2.11",
        "eq. (2.11)",
        "The derivative of the squared error by an output is t - F.",
        printed="t - F",
        measure=measure_error_gradient,
        judge=judge_error_gradient,
        misprints=("linearity/equation-2.11",),
    ),
    Claim(
        "linearity/equation-2.23",
        "eq. (2.23)",
        "The rules of backpropagation give the derivatives of the error.",
        measure=measure_backpropagation,
        judge=judge_backpropagation,
    ),
    Claim(
        "linearity/figure-2.3",
        "Figure 2.3 and section 2.2.2",
        (
            "20 rectangles of 40 sigmoids approximate the sine; more make the error arbitrarily small, and so do "
            "ReLUs, four to a rectangle."
        ),
        printed="20 rectangles, 40 sigmoids, 4 ReLUs to a rectangle",
        measure=measure_rectangles,
        judge=judge_rectangles,
        picture=picture_rectangles,
        full="seconds",
    ),
    drawing("linearity/figure-2.1", "Figure 2.1", "Sigmoids and ReLUs as steps and as firing rates of neurons."),
    drawing("linearity/figure-2.2", "Figure 2.2", "The structure of a multilayer perceptron."),
]
