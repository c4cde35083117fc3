"""Numbers for the judges of chapter 6 of the dissertation."""

from __future__ import annotations

from altered_numbers import FAILS, STORED, as_printed, far_off

SHARE = "share of the outputs' variance"


def of_kind(name, value, *kinds):
    """A measure with other values for networks of some kinds."""
    return lambda n: {
        **n,
        name: [value if network.split()[0] in kinds else own for own, network in zip(n[name], n["names"], strict=True)],
    }


def regions(sgd, adamw):
    """Two networks with each optimizer, of other numbers of regions."""
    return {"optimizer": ["sgd", "sgd", "adamw", "adamw"], "regions": [*sgd, *adamw]}


def nearest(*classes):
    """The nearest three images, of given classes in every split."""
    return lambda n: {
        **n,
        **{split: {**n[split], "any classes": {**n[split]["any classes"], "classes": list(classes)}}
           for split in ("test", "train")},
    }  # fmt: skip


def pretrained(**values):
    """Measures with other values for pretrained networks."""

    def change(n):
        here = [name.startswith("pretrained") for name in n["names"]]
        changed = {
            name: [value if own else before for own, before in zip(here, n[name], strict=False)]
            for name, value in values.items()
        }
        return {**n, **changed}

    return change


#: By id: numbers as printed, and numbers that contradict.
CASES = {
    "linearity/section-6.1-images": (as_printed, far_off),
    "linearity/figure-6.4": (lambda n: {**n, "sides": {"6": n["solved"]}}, {"closed": 0}),
    "linearity/section-6.2-smallest": (STORED, {"solved": [0, 3, 5, 7]}),
    "linearity/figure-6.5": (STORED, {"solved": 0}),
    "linearity/figure-6.6": (STORED, {"solved": 0}),
    "linearity/figure-6.7": (STORED, {"corners by layer": {"1": 2}}),
    "linearity/section-6.2-bottom-up": (
        STORED,
        lambda n: {**n, "changed, by layer": [own[::-1] for own in n["changed, by layer"]]},
    ),
    "linearity/equation-6.2": (STORED, FAILS),
    "linearity/section-6.3-comparisons": ({"of p": 1.5}, {"of p": 4.0, "of the points": 2.0}),
    "linearity/figure-6.12": (
        lambda n: {**n, "seen": [n["regions"]] * 5, "counted": [n["regions"]] * 5, "of two creases": [4] * 5},
        STORED,
    ),
    "linearity/table-6.1": (as_printed, far_off),
    "linearity/table-6.1-pretrained": (
        {"accuracy, %": {"mnist": {"sgd": 91.5, "adamw": 91.3}, "cifar10": {"sgd": 77.0, "adamw": 77.0}}},
        {"accuracy, %": {"mnist": {"sgd": 91.5, "adamw": 91.3}, "cifar10": {"sgd": 60.0, "adamw": 77.0}}},
    ),
    "linearity/section-6.4-imagenet": (
        pretrained(outside=9.0, eigenvalues=[1.0] * 5),
        pretrained(outside=0.0, eigenvalues=[1.0] * 5),
    ),
    "linearity/figure-6.8": (nearest(0, 0, 4), nearest(1, 1, 1)),
    "linearity/figure-6.9": (nearest(0, 0, 0), nearest(1, 1, 1)),
    "linearity/section-6.1-linear": (STORED, lambda n: {**n, "rows": [{**one, "measured": 50.0} for one in n["rows"]]}),
    "linearity/figure-6.3": (
        of_kind("outside", 0.0, "simple", "complex"),
        of_kind("outside", 1.0, "simple", "complex"),
    ),
    "linearity/figure-6.10": (regions((2000, 1500), (1000, 300)), regions((2000, 500), (1000, 300))),
    "linearity/figure-6.11": (regions((500, 400), (300, 200)), regions((500, 30), (100, 20))),
    "linearity/figure-6.13": (STORED, lambda n: {**n, "by_coefficients": n["by_pattern"]}),
    "linearity/figure-6.14": (STORED, lambda n: {**n, "roughness": [0.5] * len(n["names"])}),
    "linearity/figure-6.15": (STORED, {SHARE: {"mnist": {"sgd": 0.1, "adamw": 0.2}}}),
    "linearity/figure-6.16": (STORED, lambda n: {**n, "eigenvalues": [[1.0] * 5] * len(n["names"])}),
    "linearity/figure-6.17": (STORED, lambda n: {**n, "roughness": [0.5] * len(n["names"])}),
    "linearity/figure-6.18": (
        {SHARE: {"mnist": {"sgd": 0.6, "adamw": 0.5}, "cifar10": {"sgd": 0.4, "adamw": 0.3}}},
        {SHARE: {"mnist": {"sgd": 0.3, "adamw": 0.2}, "cifar10": {"sgd": 0.4, "adamw": 0.3}}},
    ),
    "linearity/figure-6.19": (STORED, lambda n: {**n, "eigenvalues": [[1.0] * 5] * len(n["names"])}),
}

#: Judged by another network than the source's.
IN_KIND = {"linearity/table-6.1-pretrained", "linearity/section-6.4-imagenet"}
