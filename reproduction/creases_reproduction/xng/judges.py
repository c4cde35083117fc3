"""How the claims of the XNG slides (source 000) are judged and drawn."""

from __future__ import annotations

from typing import Any

from creases_reproduction.claim import Judgement, Numbers, Picture, Row

#: What the slides count: networks of 1000 that solve their problem.
PRINTED = {"random 2-3-2": 65, "A slides": 360}


def beside(numbers: Numbers) -> Picture:
    """Rates of success, where the slides print theirs."""
    rows = [
        Row(
            name,
            PRINTED[name] / 10 if name in PRINTED else None,
            100 * one["rate"],
            100 * one["low"],
            100 * one["high"],
        )
        for name, one in numbers["methods"].items()
    ]
    return Picture(rows=rows, x="networks that solve it, % (printed: on data that are not given)")


def rates(numbers: Numbers) -> Picture:
    """Rates of success by method."""
    found = numbers["methods"].items()
    rows = [Row(name, None, 100 * one["rate"], 100 * one["low"], 100 * one["high"]) for name, one in found]
    return Picture(rows=rows, x="networks that solve it, %")


def spoken_rates(numbers: Numbers, *names: str) -> str:
    """Rates of success with their intervals, in words."""
    found = numbers["methods"]
    return ", ".join(
        f"{name} {found[name]['rate']:.1%} ({found[name]['low']:.1%} to {found[name]['high']:.1%})" for name in names
    )


def judge_count(numbers: Numbers) -> Judgement:
    """Slide 36: the printed counts beside ours."""
    drawn, grown = (numbers["methods"][name] for name in PRINTED)
    told = f"Of {numbers['networks']} networks on sine: {spoken_rates(numbers, *PRINTED, 'A fold')}"
    inside = all(
        one["low"] <= PRINTED[name] / 1000 <= one["high"] for name, one in zip(PRINTED, (drawn, grown), strict=True)
    )
    if inside:
        return Judgement("agrees", f"{told}.")
    if grown["rate"] > drawn["rate"]:
        return Judgement("agrees in kind", f"{told}. Growth succeeds more often; the slides' data set is not given.")
    return Judgement("disagrees", f"{told}.")


def judge_growth(numbers: Numbers) -> Judgement:
    """Whether grown networks end below those from random weights."""
    found = numbers["methods"]
    drawn = found["random 2-3-2"]
    told = spoken_rates(numbers, "random 2-3-2", "A slides", "A fold")
    mean = f"mean loss {drawn['loss']:.3f}, {found['A slides']['loss']:.3f} and {found['A fold']['loss']:.3f}"
    better = [name for name in ("A slides", "A fold") if below(found[name], drawn)]
    if "A slides" in better and found["A slides"]["high"] < drawn["low"]:
        return Judgement(
            "agrees in kind", f"Grown networks end lower ({mean}), but the slides' rule solves it less often: {told}."
        )
    if "A slides" in better:
        return Judgement("agrees", f"Grown networks end lower: {mean}; solved: {told}.")
    if better:
        return Judgement(
            "agrees in kind", f"The slides' rule is not clearly lower, the fold as worked out is: {mean}; {told}."
        )
    return Judgement("disagrees", f"Not clearly lower with {numbers['networks']} networks: {mean}; solved: {told}.")


def below(one: Any, other: Any) -> bool:
    """Whether a mean loss is below another one by two standard errors."""
    return bool(other["loss"] - one["loss"] > 2 * (one["error"] ** 2 + other["error"] ** 2) ** 0.5)


def judge_gradmax(numbers: Numbers) -> Judgement:
    """Whether GradMax's networks end above folded ones."""
    found = numbers["methods"]
    grown, drawn = found["A gradmax"], found["A random"]
    told = (
        f"mean losses: GradMax {grown['loss']:.3f}, random growth {drawn['loss']:.3f}, folding "
        f"{found['A fold']['loss']:.3f}"
    )
    if below(found["A fold"], grown):
        return Judgement(
            "agrees in kind",
            f"GradMax's networks end higher than folded ones ({told}) and solve their problem as often: "
            f"{spoken_rates(numbers, 'A gradmax', 'A fold')}. What is meant by stable is not said.",
        )
    return Judgement("disagrees", f"No clear difference with {numbers['networks']} networks: {told}.")


def judge_direction(numbers: Numbers) -> Judgement:
    """Milestone 1: how much of the best direction's gain the slides' has."""
    grown = numbers["grown"]["methods"]
    told = (
        f"the direction x_t - x_f has {numbers['ratio']:.0%} of the best direction's predicted gain (median of "
        f"{numbers['cases']}), {numbers['angle']:.0f} degrees away; on sine, mean loss after training with it "
        f"{grown['A aligned']['loss']:.3f}, with the best {grown['A fold']['loss']:.3f}"
    )
    return Judgement("agrees" if numbers["ratio"] < 0.9 else "disagrees", f"At trained networks {told}.")


def judge_foot(numbers: Numbers) -> Judgement:
    """Milestone 2: how many closed-form fold points are of no use."""
    grown = numbers["grown"]["methods"]
    told = (
        f"Of {numbers['cases']} typical mis-predictions {numbers['no_foot']} lie in a piece that does not tell the "
        f"classes apart and {numbers['off']} have their foot off the boundary: {numbers['useless']:.0%} in all. A "
        f"point of the effective boundary is found for all but {numbers['found'].get('none', 0)}. Mean loss after "
        f"training on sine: foot {grown['A foot']['loss']:.3f}, effective point {grown['A fold']['loss']:.3f}."
    )
    return Judgement("agrees" if numbers["useless"] > 0 else "disagrees", told)


def judge_closed_form(numbers: Numbers) -> Judgement:
    """Milestone 3: the closed form beside a constrained optimiser."""
    told = (
        f"The closed form has {numbers['median']:.1%} (median of {numbers['cases']}; least "
        f"{numbers['least']:.1%}) of the "
        "gain that a constrained optimiser finds from many starts"
    )
    if numbers["median"] > 0.9:
        return Judgement(
            "agrees in kind", f"{told}: the difficulty can be avoided, the constraint is built into the unit."
        )
    return Judgement("agrees", f"{told}: it stays difficult.")


def judge_shallow(numbers: Numbers) -> Judgement:
    """Theorem 2: exact for one input, false from two on."""
    told = (
        f"One input: {numbers['cases']} networks of 3 layers written with one hidden layer, deviation "
        f"{numbers['deviation']:.1g}. Two inputs: {numbers['bent']:.0%} of networks of two layers have a crease that "
        "changes direction; one hidden layer bends along whole lines only"
    )
    return Judgement("disagrees", f"{told}, so the theorem fails from two inputs on.")


def judge_majority(numbers: Numbers) -> Judgement:
    """Theorem 1: whether most networks predict more than half of the data right."""
    found = numbers["problems"]
    told = ", ".join(
        f"{name} {one['mean']:.0%} right ({one['majority']:.0%} of networks)" for name, one in found.items()
    )
    return Judgement(
        "agrees" if all(one["majority"] > 0.5 for one in found.values()) else "disagrees",
        f"More than half right: {told}.",
    )


def judge_regions(numbers: Numbers) -> Judgement:
    """Observation 1: whether folds make more regions."""
    told = (
        f"{numbers['cases']} folds: {numbers['before']:.2f} regions before, {numbers['after']:.2f} after; "
        f"more in {numbers['more']:.0%}, fewer in {numbers['fewer']:.0%}"
    )
    return Judgement("agrees" if numbers["more"] > 0.95 and not numbers["fewer"] else "disagrees", f"{told}.")


def judge_span(numbers: Numbers) -> Judgement:
    """Lemma 1: constant on the crease in the span, and not outside."""
    inside, outside = numbers["in the span"], numbers["least spread outside"]
    told = (
        f"over {numbers['cases']} cases w . x varies by {inside:.1g} on the crease for w in the span, "
        f"else by {outside:.1g} or more"
    )
    return Judgement("agrees" if inside < 1e-12 < outside else "disagrees", f"Holds: {told}.")


def judge_lemma2(numbers: Numbers) -> Judgement:
    """Lemma 2: right where the new unit is active."""
    told = (
        f"Where the new unit is active the formula is autograd's to {numbers['active']:.1g}; where it is not, the "
        f"second term must be left out (as printed it is wrong by up to {numbers['inactive, as printed']:.0%})"
    )
    return Judgement(
        "agrees in kind" if numbers["active"] < 1e-12 else "disagrees",
        f"{told}: a factor for the unit's side is missing.",
    )


def judge_lemma4(numbers: Numbers) -> Judgement:
    """Lemma 4: changes within their bound."""
    changes, shares = numbers["largest_change"], numbers["share_of_bound"]
    told = ", ".join(f"{change:.2g} for eps = {eps}" for eps, change in changes.items())
    fits = max(shares.values()) < 1 + 1e-9
    return Judgement(
        "agrees" if fits else "disagrees",
        f"Largest change of an output over {numbers['cases']} folds: {told}; never above the bound.",
    )


def judge_lemma5(numbers: Numbers) -> Judgement:
    """Lemma 5: no gradient at zero, some beyond."""
    zero, small = numbers["zero outgoing weights"], numbers["small ones, at least"]
    holds = zero == 0 and small > 0
    return Judgement(
        "agrees" if holds else "disagrees",
        (
            f"Over {numbers['cases']} folds the gradient is {zero:g} for zero outgoing weights, at least "
            f"{small:.1g} for small ones."
        ),
    )


def judge_svd(numbers: Numbers) -> Judgement:
    """Slide 7: no other choice has a larger gradient."""
    best = numbers["largest ratio"]
    told = f"{numbers['cases']} random choices reach at most {best:.0%} of it, {numbers['mean ratio']:.0%} in the mean"
    return Judgement(
        "agrees" if best <= 1 + 1e-9 else "disagrees",
        f"The squared gradient is largest at the first singular vector: {told}.",
    )


def judge_dead(numbers: Numbers) -> Judgement:
    """Slide 30: whether dead layers occur."""
    told = ", ".join(f"{name} {share:.1%}" for name, share in numbers["shares"].items())
    return Judgement(
        "agrees" if max(numbers["shares"].values()) > 0 else "disagrees",
        f"Of {numbers['networks']} trained networks without an active unit: {told}.",
    )


def judge_nearest(numbers: Numbers) -> Judgement:
    """Slide 28: whether the instance chosen is always a mis-predicted one."""
    told = (
        f"The instance nearest to the centroid is predicted right in {numbers['share']:.0%} of {numbers['cases']} cases"
    )
    if numbers["right"]:
        return Judgement("disagrees", f"{told}; the nearest mis-predicted one must be taken.")
    return Judgement("agrees", f"{told}.")


def judge_location(numbers: Numbers) -> Judgement:
    """Theorem 5: the bias has a say in where the crease meets the boundary."""
    told = (
        f"With b = -w . x_f the crease meets the boundary {numbers['with the bias']:.1g} from the "
        "fold point, whatever w is; "
        f"with b = 0 {numbers['with none']:.2g} from it (median of {numbers['cases']})"
    )
    return Judgement("agrees in kind", f"{told}: weights and bias together determine it.")
