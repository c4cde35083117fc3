"""The growth methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import nn

from creases.errors import InputError
from creases.growth.methods._auto import Auto
from creases.growth.methods._evidence import GrowthMethod, PlaceCheck
from creases.growth.methods._fold.crease_search import CreaseSearch
from creases.growth.methods._fold.fold import Fold
from creases.growth.methods._gradmax import GradMax
from creases.growth.methods._random import Random
from creases.growth.methods._split import Split
from creases.growth.methods._steepest_split import SteepestSplit
from creases.growth.methods._tiny.tiny import Tiny
from creases.network.surgery import Place, copy_sharing_parameters, unwrap_module

#: Growth methods by name, each created with its default options.
METHODS: Mapping[str, Callable[[], GrowthMethod]] = {
    "auto": Auto,
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


def refusal(how: str | GrowthMethod, model: nn.Module, place: Place) -> str:
    """Return why a method can never grow a place, in one sentence, without looking at data; "" where it may.

    A function of the user's own has no check, and is asked when it is time to grow.
    """
    method = resolve_method(how)
    return method.check(copy_sharing_parameters(unwrap_module(model)), place) if isinstance(method, PlaceCheck) else ""
