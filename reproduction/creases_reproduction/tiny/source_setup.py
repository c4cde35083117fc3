"""The set-up of the TINY paper's experiments on MNIST, as printed, and how runs here differ from it."""

from __future__ import annotations

from collections.abc import Callable

from creases_reproduction.claim import Numbers
from creases_reproduction.tiny.growth_schedule import FIFTEEN, GROWN

SOURCE_SEEDS = 20  #: "repeated 20 times" (section 4), "performed 20 times" (appendix C)
OPTIMAL, RANDOM = "optimal units", "random units"

#: Final widths that the source prints (appendices C.1, C.3 and C.4).
PRINTED_WIDTHS = {GROWN: (222, 71), FIFTEEN: (929, 141), OPTIMAL: (110, 51)}

SECONDS_OF_ONE_CORE = "seconds are of one core, the source's of 7"
SECTION_4 = f"section 4 prints neither the number of growth steps nor the final widths; {SECONDS_OF_ONE_CORE}"


def describe_difference(*names: str, also: str, widths: bool = True) -> Callable[[Numbers], str]:
    """Return a function that says in which seeds, final widths and times runs differ from the source's."""

    def difference(numbers: Numbers) -> str:
        parts = []
        for name in names:
            run = numbers["runs"].get(name)
            if run is None:
                parts.append(f"{name}: no run")
                continue
            if run["seeds"] < SOURCE_SEEDS:
                parts.append(f"{name}: {run['seeds']} seeds, the source {SOURCE_SEEDS}")
            if widths and name in PRINTED_WIDTHS:
                parts += _other_widths(name, run["widths"])
        return f"Another set-up than the source's ({'; '.join([*parts, also])})"

    return difference


def describe_few_seeds(numbers: Numbers) -> str:
    """Say how the runs of 15 growth steps differ from the source's."""
    parts = [f"{numbers['seeds']} seeds, the source {SOURCE_SEEDS}", *_other_widths(FIFTEEN, numbers["widths"])]
    return f"Another set-up than the source's ({'; '.join(parts)})"


def _other_widths(name: str, widths: list[float]) -> list[str]:
    """Return in words that runs end at other widths than printed; nothing where they end at the same."""
    here, printed = [round(width) for width in widths], list(PRINTED_WIDTHS[name])
    return [] if here == printed else [f"{name}: widths {here}, printed {printed}"]
