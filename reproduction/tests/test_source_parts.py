"""The table of what runs in the library, compared with the library's doors."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import creases
from creases_reproduction.catalogue import find_claim
from creases_reproduction.source_parts import PARTS, TITLES

#: What docstrings call a source that their room's docstring cites.
SHORT = {"linearity": "the dissertation"}

PACKAGE = Path(creases.__file__).parent


def doors():
    """The public names of every door, as the table writes them, with what they name."""
    for path in PACKAGE.rglob("__init__.py"):
        parts = path.parent.relative_to(PACKAGE).parts
        if not any(part.startswith("_") for part in parts):
            door = import_module(".".join(("creases", *parts)))
            yield from ((".".join((*parts, name)), getattr(door, name)) for name in getattr(door, "__all__", []))


def test_what_the_table_names_is_public_and_what_it_leaves_to_claims_is_computed_there():
    public = dict(doors())
    for part in PARTS:
        assert set(part.names) <= set(public), part
        assert bool(part.names) != bool(part.claims), part
        assert all(find_claim(f"{part.family}/{id}") for id in part.claims)


def test_every_public_name_whose_docstring_cites_a_source_is_in_the_table():
    named = {family: {name for part in PARTS if part.family == family for name in part.names} for family in TITLES}
    known = {family: {id(thing) for name, thing in doors() if name in named[family]} for family in TITLES}
    missing = {
        name: family
        for name, thing in doors()
        for family, title in TITLES.items()
        if callable(thing) and id(thing) not in known[family]
        if any(text in " ".join((thing.__doc__ or "").split()) for text in (title, SHORT.get(family, title)))
    }
    assert missing == {}
