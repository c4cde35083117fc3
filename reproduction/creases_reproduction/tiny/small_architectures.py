"""Figure 9 of the TINY paper: small grown networks beside networks of the same architecture.

The section is called "small architecture" and says no more than "same plot as 6 but with others architecture". Here
networks grow two to six times instead of eight, by the printed rule, and each is compared with a network of its final
widths from random weights, after as many steps of Adam.
"""

from __future__ import annotations

import numpy as np

from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.images import STAND_IN, note_stand_in
from creases_reproduction.statistics import mean_interval
from creases_reproduction.tiny.growth_schedule import STEPS, mnist_setup, run, start
from creases_reproduction.tiny.schedule_numbers import digit_data

ROUNDS = (2, 4, 6)
SLACK = 0.5  #: points by which means of accuracies may differ and still be called similar


def measure_small(scale: Scale) -> Numbers:
    """Measure the test accuracy of grown networks and of their twins, by number of growth steps."""
    quick = scale == "quick"
    data = digit_data() if quick else mnist_setup(14, 500, 2.0).data
    seeds, steps, all_rounds = (2, 200, ROUNDS[:1]) if quick else (10, 1000, ROUNDS)
    rows = {}
    for rounds in all_rounds:
        grown = [
            run(start([1, 1], seed, data[0][0].shape[1]), data, "grown", seed, steps=steps, rounds=rounds)
            for seed in range(seeds)
        ]
        twins = [
            run(start(item.widths, seed, data[0][0].shape[1]), data, "twin", seed, steps=steps)
            for seed, item in enumerate(grown)
        ]
        at, others = ([100 * item.accuracy for item in group] for group in (grown, twins))
        early, others_early = ([100 * dict(item.by_steps)[STEPS[1]] for item in group] for group in (grown, twins))
        rows[str(rounds)] = {
            "widths": np.mean([item.widths for item in grown], axis=0).tolist(),
            "grown": float(np.mean(at)),
            "twin": float(np.mean(others)),
            "difference": mean_interval(np.subtract(at, others)),
            "early difference": mean_interval(np.subtract(early, others_early)),
        }
    return {"data": STAND_IN if quick else "MNIST, 14 x 14", "seeds": seeds, "steps": steps, "by growth steps": rows}


@note_stand_in
def judge_small(numbers: Numbers) -> Judgement:
    """Judge whether small grown networks are better than or similar to their twins."""
    words, similar = [], True
    for rounds, found in numbers["by growth steps"].items():
        low, high = found["difference"]
        similar &= high >= 0 or found["grown"] > found["twin"] - SLACK
        first, last = found["early difference"]
        words.append(
            f"{rounds} growth steps, widths {[round(width) for width in found['widths']]}: {found['grown']:.1f} % "
            f"against {found['twin']:.1f} % (difference {low:+.1f} to {high:+.1f}; after {STEPS[1]} steps "
            f"{first:+.1f} to {last:+.1f})"
        )
    text = f"{numbers['data']}, {numbers['seeds']} seeds, after {numbers['steps']} steps each: {'; '.join(words)}"
    if similar:
        return Judgement("agrees in kind", f"{text}; the source's architectures and numbers are in a picture only")
    return Judgement("disagrees", text)


CLAIMS = [
    Claim(
        "tiny/figure-9",
        "appendix C.2, Figure 9",
        "Figure 6 with other, small architectures: grown networks do as well as networks of their final architecture.",
        measure=measure_small,
        judge=judge_small,
        incomparable=(
            "Another set-up than the source's (its architectures are in a picture; here images of 14 x 14 pixels, "
            "10 seeds "
            "for its 20, and as many steps where it has as many seconds)"
        ),
        full="a few minutes of one core; needs the image files",
    ),
]
