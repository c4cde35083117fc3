"""How the theorems and formulas of the lecture on splines (source 003) are judged and drawn."""

from __future__ import annotations

from collections.abc import Callable

from creases_reproduction.claim import Curve, Judgement, Numbers, Picture, Row


def judge_conversion(numbers: Numbers) -> Judgement:
    """Conversions are exact; the jump's sign is told."""
    worst = max(numbers[name] for name in ("spline", "pieces", "back"))
    told = f"{numbers['cases']} networks become splines, pieces and networks again to {worst:.1g}"
    return Judgement(
        "agrees" if worst < 1e-12 else "disagrees",
        (
            f"{told}. The slope jumps by s mu = |w| v, not by mu: the sign is the other one at "
            f"{numbers['jump is -mu']:.0%} of the units."
        ),
    )


def judge_density(what: str) -> Callable[[Numbers], Judgement]:
    """For one of the laws: Kolmogorov's test at both choices of the deviations."""

    def judge(numbers: Numbers) -> Judgement:
        tests = [part[what] for name, part in numbers.items() if name != "draws"]
        least, most = min(one["p"] for one in tests), max(one["distance"] for one in tests)
        told = f"Kolmogorov's distance is at most {most:.1g} over {numbers['draws']} draws, p at least {least:.2g}"
        return Judgement("agrees" if least > 0.001 else "disagrees", f"{told}, at two choices of the deviations.")

    return judge


def judge_roughness(numbers: Numbers) -> Judgement:
    """Means within four standard errors, tails within the bound."""
    laws = numbers["laws"].values()
    off = max(abs(one["mean"] - one["printed"]) / one["error"] for one in laws)
    bound = all(seen <= most for one in laws for seen, most in zip(one["tail"], one["bound"], strict=True))
    told = (
        f"means are within {off:.1f} standard errors of the printed ones ({numbers['draws']} draws); "
        f"the tail bound {'holds' if bound else 'fails'}"
    )
    return Judgement("agrees" if off < 4 and bound else "disagrees", f"Initial roughness: {told}.")


def roughness_rows(numbers: Numbers) -> Picture:
    """Mean roughness by law."""
    rows = [
        Row(
            f"{name} units",
            one["printed"],
            one["mean"],
            one["mean"] - 1.96 * one["error"],
            one["mean"] + 1.96 * one["error"],
        )
        for name, one in numbers["laws"].items()
    ]
    return Picture(rows=rows, x="mean roughness", log=True)


def judge_gaussian(numbers: Numbers) -> Judgement:
    """Kurtosis falls to that of a Gaussian."""
    found = {int(width): value for width, value in numbers["kurtosis"].items()}
    told = ", ".join(f"{value:.2f} at width {width}" for width, value in found.items())
    falls = abs(found[400]) < 0.15 * found[4]
    return Judgement(
        "agrees" if falls else "disagrees",
        f"Excess kurtosis of the value at a point over draws: {told}; a Gaussian process has 0.",
    )


def judge_critical(numbers: Numbers) -> Judgement:
    """The gradient vanishes."""
    return Judgement(
        "agrees" if numbers["gradient"] < 1e-12 else "disagrees",
        (
            f"At {numbers['cases']} functions that are the least-squares line of the data in every piece "
            f"the gradient is {numbers['gradient']:.1g}."
        ),
    )


def judge_gram(numbers: Numbers) -> Judgement:
    """The Hessian is the Gram matrix, without negative eigenvalues."""
    told = (
        f"At {numbers['cases']} critical points the Hessian is the Gram matrix to {numbers['off gram']:.1g}, "
        f"and no eigenvalue is below {-numbers['negative']:.1g}"
    )
    return Judgement("agrees" if max(numbers["off gram"], numbers["negative"]) < 1e-9 else "disagrees", f"{told}.")


def judge_definite(numbers: Numbers) -> Judgement:
    """It is never definite."""
    return Judgement(
        "disagrees",
        f"The network's Hessian is never positive definite: at {numbers['cases']} critical points "
        "without any of the five "
        f"flaws it has at least {numbers['zeros per unit']:.0f} zero eigenvalue for each unit (w and "
        "b may be scaled up and v "
        f"down). In the spline's own coordinates it is definite at {numbers['spline definite']:.0%} of them.",
    )


def judge_types(numbers: Numbers) -> Judgement:
    """Every type but b = 0 adds zero eigenvalues."""
    extra = numbers["extra"]
    told = "; ".join(f"{name}: {value}" for name, value in extra.items())
    right = all(extra[name] > 0 for name in extra if name[0] in "1234" or name in ("5 v = 0", "5 w = 0"))
    return Judgement(
        "agrees in kind" if right and extra["5 b = 0"] == 0 else "disagrees",
        f"Zero eigenvalues beyond the gauge: {told}. b = 0 adds none, complementary patterns are "
        "missing in the list; the "
        f"exact rank agrees at {numbers['rank agrees']:.0%} of {numbers['cases']} random networks.",
    )


def judge_lonely(numbers: Numbers) -> Judgement:
    """Interpolation and the count of lonely partitions."""
    holds = numbers["interpolation"] < 1e-9 and numbers["wrong counts"] == 0
    return Judgement(
        "agrees" if holds else "disagrees",
        f"A lonely partition's function goes through all data (error {numbers['interpolation']:.1g}), "
        "so its loss is 0; "
        f"enumeration finds C(H + 1, N) lonely partitions without exception ({numbers['wrong counts']} wrong).",
    )


def judge_probability(numbers: Numbers) -> Judgement:
    """Printed, corrected and drawn probabilities."""
    rows = numbers["rows"]
    fits = all(abs(one["formula"] - one["drawn"]) < 4 * one["error"] for one in rows.values())
    told = "; ".join(
        f"{name}: printed {one['printed']:.3f}, drawn {one['drawn']:.3f}, corrected formula {one['formula']:.3f}"
        for name, one in rows.items()
    )
    return Judgement(
        "disagrees",
        (
            f"{told}. The printed one falls with more breakpoints; the corrected one "
            f"{'agrees' if fits else 'disagrees'} with the draws."
        ),
    )


def probability_rows(numbers: Numbers) -> Picture:
    """Printed and drawn probabilities."""
    rows = [
        Row(name, one["printed"], one["drawn"], one["drawn"] - 1.96 * one["error"], one["drawn"] + 1.96 * one["error"])
        for name, one in numbers["rows"].items()
    ]
    return Picture(rows=rows, x="probability that all data are lonely")


def judge_velocities(numbers: Numbers) -> Judgement:
    """The laws are autograd's, the middle terms are not."""
    worst = max(numbers["beta"], numbers["mu"])
    return Judgement(
        "agrees in kind" if worst < 1e-9 else "disagrees",
        f"The laws are autograd's to {worst:.1g} with e = f - y. The middle terms, -dl/dbeta and "
        "-dl/dmu, are something else "
        f"(off by {numbers['as printed']:.0%} in the median); with the metric P in front they are "
        f"equal to {numbers['metric']:.1g}.",
    )


def judge_derivatives(numbers: Numbers) -> Judgement:
    """Gradient and Hessian are autograd's."""
    worst = max(numbers["gradient"], numbers["hessian"])
    return Judgement(
        "agrees" if worst < 1e-9 else "disagrees",
        f"Gradient and full Hessian are autograd's to {worst:.1g} at {numbers['cases']} networks.",
    )


def judge_active(numbers: Numbers) -> Judgement:
    """Activity is a change of slope."""
    pair = numbers["cancelling pair"]
    told = (
        f"{numbers['breakpoints']} breakpoints of {numbers['networks']} deep networks: "
        f"{numbers['wrong']} where activity and a change of slope differ"
    )
    right = numbers["wrong"] == 0 and pair == {"active": 2, "bends": 0}
    return Judgement(
        "agrees" if right else "disagrees", f"{told}. Two degenerate ones that cancel: both active, no bend."
    )


def judge_slices(numbers: Numbers) -> Judgement:
    """Slices are exact; what is said of curvature and of both coordinates is not."""
    told = ", ".join(f"type {name} {share:.1%}" for name, share in numbers["types"].items() if name != "one-sided")
    return Judgement(
        "agrees in kind" if numbers["deviation"] < 1e-9 else "disagrees",
        f"Slices are the loss to {numbers['deviation']:.1g}, with knots at the data ({told}). Not "
        "every piece has positive "
        f"curvature (it is 0 beyond the last datum a unit sees: {numbers['with a flat part']:.0%} of "
        "slices), and the loss is "
        "quartic, not quadratic, in beta and mu jointly.",
    )


def judge_least_norm(numbers: Numbers) -> Judgement:
    """Descent ends at the least norm."""
    return Judgement(
        "agrees" if numbers["deviation"] < 0.02 else "disagrees",
        (
            f"Gradient descent from 0 ends at the solution of least norm to {numbers['deviation']:.1g} "
            f"({numbers['cases']} cases)."
        ),
    )


def judge_responses(numbers: Numbers) -> Judgement:
    """Deviations halve with the spacing."""
    worst, halves = 0.0, True
    for one in numbers["deviation"].values():
        values = list(one.values())
        worst = max(worst, values[-1])
        halves = halves and (values[-1] < 1e-9 or values[-1] < 0.6 * values[-2])
    return Judgement(
        "agrees" if halves else "disagrees",
        (
            f"From function to density and back: off by {worst:.2g} at the finest spacing, halved with "
            "the spacing (one dimension)."
        ),
    )


def response_curves(numbers: Numbers) -> Picture:
    """Deviations against the spacing."""
    curves = [
        Curve(name, [float(h) for h in one], [max(value, 1e-17) for value in one.values()])
        for name, one in numbers["deviation"].items()
    ]
    return Picture(curves=curves, x="spacing", y="deviation", log=True)


def judge_splines(numbers: Numbers) -> Judgement:
    """Whether each response gives the natural spline of its degree."""
    names = {"1": "step: straight lines", "2": "ReLU: cubic", "3": "ReLU^2: quintic"}
    told = ", ".join(f"{names[lam]} {value:.1g}" for lam, value in numbers["distance"].items())
    return Judgement(
        "agrees" if max(numbers["distance"].values()) < 0.02 else "disagrees",
        f"Largest distance of {numbers['units']} units' least-norm fit to the natural spline: {told}.",
    )
