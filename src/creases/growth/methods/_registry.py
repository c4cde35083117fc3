"""The growth methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from creases.errors import InputError
from creases.growth.methods._evidence import GrowthMethod
from creases.growth.methods._fold.crease_search import CreaseSearch
from creases.growth.methods._fold.fold import Fold
from creases.growth.methods._gradmax import GradMax
from creases.growth.methods._random import Random
from creases.growth.methods._split import Split, SteepestSplit
from creases.growth.methods._tiny.tiny import Tiny

#: Growth methods by name, each created with its default options.
METHODS: Mapping[str, Callable[[], GrowthMethod]] = {
    "tiny": Tiny,
    "fold": Fold,
    "gradmax": GradMax,
    "random": Random,
    "split": Split,
    "steepest_split": SteepestSplit,
    "search": CreaseSearch,
}


def resolve_method(how: str | GrowthMethod) -> GrowthMethod:
    """Return the method of that name; a method itself is returned as it is."""
    if callable(how) and not isinstance(how, type):
        return how
    if not isinstance(how, str) or how not in METHODS:
        raise InputError("how", f"be a function or one of {', '.join(map(repr, METHODS))}", repr(how))
    return METHODS[how]()
