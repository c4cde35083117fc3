"""Chapter 4 of the dissertation, sections 4.1.3 and 4.2.1: radii and volumes by formula."""

from __future__ import annotations

from math import exp, log, sqrt

from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import count_failures, judge_cases, judge_rows, row, rows, rows_picture
from creases_reproduction.linearity.enclosures import enclosure, facet_distance, shell_volume
from creases_reproduction.linearity.printed_radii import PRINTED_RADII

#: Table 4.1, inner radii of expanded simplices of circumradius 1 in 2 to 10 dimensions.
PRINTED_INNER = (0.87, 0.71, 0.64, 0.58, 0.54, 0.5, 0.47, 0.45, 0.43)


def measure_facets(scale: Scale) -> Numbers:
    """Measure (4.6) against distances of the facets of expanded simplices, by vertices, in 2 to 10 dimensions."""
    holds = []
    for n in range(2, 11 if scale == "full" else 8):
        _, distances = enclosure("expanded simplex", n).facets()
        known = sorted({round(facet_distance(k, n), 9) for k in range(1, n + 1)})
        holds.append(sorted({round(float(d), 9) for d in distances}) == known)
        holds.append(abs(distances.min() - min(known)) < 1e-8)
    return count_failures(holds)


def measure_inner_radii(scale: Scale) -> Numbers:
    """Measure Table 4.1 and (4.10): inner radii of expanded simplices of circumradius 1."""
    values = [float(enclosure("expanded simplex", n).facets()[1].min()) for n in range(2, 11)]
    return {"rows": [row(f"n = {n}", PRINTED_INNER[n - 2], value) for n, value in enumerate(values, start=2)]}


def judge_inner_radii(numbers: Numbers) -> Judgement:
    """Judge Table 4.1."""
    off = [row for row in rows(numbers) if f"{row.measured:.2f}" != f"{row.printed:.2f}"]
    if not off:
        return Judgement("agrees", "all nine, to two places")
    words = ", ".join(f"{row.what}: {row.measured:.4f}, printed {row.printed}" for row in off)
    few = all(abs((row.measured or 0) - (row.printed or 0)) < 0.01 for row in off)
    return Judgement(
        "agrees in kind" if few else "disagrees", f"{9 - len(off)} of 9 to two places; {words} (the root is right)"
    )


def measure_limits(scale: Scale) -> Numbers:
    """Measure inner radius of the hyperoctahedron over that of the expanded simplex of equal circumradius.

    At growing n.
    """
    dimensions = [2**k for k in range(1, 17)]
    results = [1 / sqrt(n) / facet_distance((n + 1) // 2, n) for n in dimensions]
    return {"dimensions": dimensions, "hyperoctahedron over expanded simplex": results}


def judge_limits(numbers: Numbers) -> Judgement:
    """Judge eq. (4.13)."""
    last = numbers["hyperoctahedron over expanded simplex"][-1]
    if abs(last - sqrt(2)) < 0.01:
        return Judgement("agrees", f"the ratio tends to {last:.4f}")
    if abs(last - sqrt(0.5)) < 0.01:
        return Judgement(
            "disagrees",
            f"the ratio tends to {last:.4f}: it is rho_eS that is sqrt(2) rho_ho, as Fig. 4.3 shows at n = 2",
        )
    return Judgement("disagrees", f"the ratio tends to {last:.4f}")


def picture_limits(numbers: Numbers) -> Picture:
    """Picture eq. (4.13)."""
    name = "hyperoctahedron over expanded simplex"
    return Picture(curves=[Curve(name, numbers["dimensions"], numbers[name])], x="dimension", y="inner radii", log=True)


def measure_volumes(scale: Scale) -> Numbers:
    """Measure (4.16) with and without the power n against volumes between spheres; the ratio (4.17) over 2^(n/2)."""
    terms, limit = [], []
    for n in (2, 3, 4, 6, 8):
        outer, ball = 1 / facet_distance((n + 1) // 2, n), shell_volume(n, 2.0) / (2.0**n - 1)
        true = shell_volume(n, outer)
        terms.append([n, ball * (outer - 1) / true, ball * (outer**n - 1) / true])
    dimensions = (10, 100, 1000, 10_000)
    for n in dimensions:  # logarithms: the volumes themselves are too large
        simplex = n / 2 * log((n * (n + 2)) / (2 * (n + 1)))
        limit.append(exp(n / 2 * log(n) - simplex - n / 2 * log(2)))
    return {"printed and with the power over true": terms, "dimensions": dimensions, "(4.17) over 2^(n/2)": limit}


def judge_volumes(numbers: Numbers) -> Judgement:
    """Judge eq. (4.16)."""
    worst = max(abs(printed - 1) for _, printed, _ in numbers["printed and with the power over true"])
    right = max(abs(power - 1) for *_, power in numbers["printed and with the power over true"])
    if worst < 1e-9:
        return Judgement("agrees", "the volumes are as printed")
    if right < 1e-9:
        words = f"the root lacks the power n (printed volumes are up to {worst:.0%} off); with it they are right"
        return Judgement("disagrees", words)
    return Judgement("disagrees", "neither the printed volume nor that with the power n is right")


def judge_limit_of_volumes(numbers: Numbers) -> Judgement:
    """Judge eq. (4.17), section 4.3."""
    last = numbers["(4.17) over 2^(n/2)"][-1]
    if abs(last - 1) < 0.01:
        return Judgement("agrees", "the ratio tends to 2^(n/2)")
    if abs(last - exp(-0.5)) < 0.01:
        return Judgement(
            "disagrees", f"it grows as 2^(n/2), with a factor: it tends to {last:.3f} = e^(-1/2) times that"
        )
    return Judgement("disagrees", f"it is {last:.3f} times 2^(n/2) at last")


def measure_ball_to_gap(scale: Scale) -> Numbers:
    """Measure (4.20): the gap between spheres of radius 1 and sqrt(n) over the ball."""
    dimensions = (2, 3, 4, 8)
    balls = [shell_volume(n, 2.0) / (2.0**n - 1) for n in dimensions]
    return {
        "rows": [
            row(f"n = {n}", n ** (n / 2) - 1, shell_volume(n, sqrt(n)) / ball)
            for n, ball in zip(dimensions, balls, strict=True)
        ]
    }


def measure_areas(scale: Scale) -> Numbers:
    """Measure areas of the circle, the gap and the annulus with the printed radii, over that of the circle."""
    _, second, third = (radius / PRINTED_RADII[0] for radius in PRINTED_RADII)
    return {"rows": [row("gap over circle", 1, second**2 - 1), row("annulus over circle", 1, third**2 - second**2)]}


def judge_areas(numbers: Numbers) -> Judgement:
    """Judge section 4.2.1."""
    all_rows = rows(numbers)
    words = ", ".join(f"{row.what} {row.measured:.2g}" for row in all_rows)
    if all(abs((row.measured or 0) - 1) < 1e-9 for row in all_rows):
        return Judgement("agrees", words)
    return Judgement("disagrees", f"{words}; equal areas need r_3 = sqrt(3) r_1, not 2 r_1")


CLAIMS = [
    Claim(
        "linearity/equation-4.6",
        "eqs. (4.6) to (4.11)",
        "Facets of the expanded simplex are at sqrt((n + 1) / (2 (k n - k (k - 1)))), nearest for k about n / 2.",
        measure=measure_facets,
        judge=judge_cases("checks of 2 to 10 dimensions, by the vertices"),
        full="seconds",
        misprints=("linearity/equation-4.6",),
    ),
    Claim(
        "linearity/table-4.1",
        "Table 4.1",
        "Inner radii of the expanded simplex of circumradius one.",
        printed="0.87, 0.71, 0.64, 0.58, 0.54, 0.5, 0.47, 0.45, 0.43",
        measure=measure_inner_radii,
        judge=judge_inner_radii,
        picture=rows_picture("inner radius"),
        misprints=("linearity/table-4.1",),
    ),
    Claim(
        "linearity/equation-4.13",
        "eq. (4.13)",
        "For equal outer radius sqrt(2) rho_eS approaches rho_ho.",
        printed="rho_ho = sqrt(2) rho_eS",
        measure=measure_limits,
        judge=judge_limits,
        picture=picture_limits,
        misprints=("linearity/equation-4.13",),
    ),
    Claim(
        "linearity/equation-4.16",
        "eq. (4.16)",
        "The volume of the shell around an expanded simplex.",
        measure=measure_volumes,
        judge=judge_volumes,
        misprints=("linearity/equation-4.16",),
    ),
    Claim(
        "linearity/equation-4.17",
        "eq. (4.17), section 4.3",
        "The ratio of both shells' volumes approaches 2^(n/2).",
        printed="2^(n/2)",
        measure=measure_volumes,
        judge=judge_limit_of_volumes,
        misprints=("linearity/equation-4.17",),
    ),
    Claim(
        "linearity/equation-4.20",
        "eqs. (4.18) to (4.20)",
        "Between ball and shell there is n^(n/2) - 1 times the ball's volume.",
        printed="n^(n/2) - 1",
        measure=measure_ball_to_gap,
        judge=judge_rows(1e-6),
        picture=rows_picture("gap over ball", log=True),
    ),
    Claim(
        "linearity/section-4.2.1-areas",
        "section 4.2.1",
        "With r_2 = sqrt(2) r_1 and r_3 = sqrt(2) r_2 circle, gap and annulus have the same area.",
        printed="1, 1",
        measure=measure_areas,
        judge=judge_areas,
        picture=rows_picture("over the circle's area"),
        misprints=("linearity/section-4.2.1-areas",),
    ),
]
