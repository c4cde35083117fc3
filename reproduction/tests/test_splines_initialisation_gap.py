"""Which initialisation closes the gap to the optimal fit."""

from creases_reproduction.splines.initialisation_gap import HOWS, gaps_by_initialisation, judge


def test_no_initialisation_comes_as_near_to_the_optimum_as_relocation():
    found = gaps_by_initialisation(["sine"], seeds=3, steps=2000)["sine"]
    assert set(found.gaps) == {*HOWS, "relocation"}
    assert min(min(gaps) for gaps in found.gaps.values()) >= 0  # as many units as the optimum has breakpoints
    assert max(found.gaps["relocation"]) < min(sum(found.gaps[how]) / 3 for how in HOWS)


def numbers(torch, uniform):
    spread = {"gap": 0.0, "closed": 0.0}
    one = {how: spread | {"low": 0.0, "high": 1.0} for how in (*HOWS, "relocation")}
    one["torch"] = spread | {"low": torch, "high": torch}
    one["uniform"] = spread | {"low": uniform, "high": uniform, "closed": 0.5}
    return {"sine": one}


def test_a_rescue_is_one_beyond_the_intervals():
    assert judge(numbers(torch=1.0, uniform=0.5)).verdict == "agrees"
    assert judge(numbers(torch=0.5, uniform=1.0)).verdict == "disagrees"
