"""Write the reference pages when the site is built: a hook of mkdocs, named in ``mkdocs.yml``.

A room of the library has an index with a line for each public name. Each function or class of ``creases`` and of a room
has a page; those of a sub-module share a page with what is defined in the same file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
FOLDER = "reference"
SECTION = "Reference"
ROOMS = (
    "network",
    "regions",
    "certify",
    "explain",
    "growth",
    "tables",
    "prune",
    "compare",
    "splines",
    "boolean",
    "lab",
    "problems",
    "show",
)


@dataclass
class Page:
    """One reference page: its source path, its title in the navigation, its heading, and the names it describes."""

    path: str
    title: str
    heading: str
    names: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the page as Markdown: a directive of mkdocstrings for each name."""
        if len(self.names) == 1:
            return _directive(self.names[0], 1)
        return "\n\n".join([f"# {self.heading}", *(_directive(name, 2) for name in self.names)])


@dataclass
class Room:
    """One room: the pages of its names, and its index."""

    name: str
    index: str
    pages: list[Page]


def build_rooms(package: griffe.Module) -> list[Room]:
    """Return all rooms with their pages; a name that several doors export is described once, by its shortest path."""
    page_of: dict[str, Page] = {}
    rooms = []
    for name in ["creases", *ROOMS]:
        top = package if name == "creases" else package[name]
        pages: dict[str, Page] = {}
        doors = [top] if top is package else list(_doors(top))
        for door in doors:
            for public, target in _members(door):
                if target.path not in page_of and not target.is_attribute:
                    page = _page(f"{FOLDER}/{name}", door, public, target, pages)
                    page.names.append(f"{door.path}.{public}")
                    page_of[target.path] = page
        index = "\n\n".join(part for door in doors for part in _index(door, name, page_of, door is top))
        rooms.append(Room(name, index, list(pages.values())))
    return rooms


def _page(folder: str, door: griffe.Module, public: str, target: griffe.Object, pages: dict[str, Page]) -> Page:
    """Return the page for a name, a new one where there is none: names that differ in case only share one."""
    if door.path.count(".") < 2:
        page = Page(f"{folder}/{public}.md", public, public)
    else:
        inner, file = door.path.split(".")[2:], target.module.name.lstrip("_")
        heading = _first_sentence(target.module).rstrip(".")
        page = Page(f"{folder}/{'-'.join([*inner, file])}.md", f"{'.'.join(inner)}: {file.replace('_', ' ')}", heading)
    return pages.setdefault(page.path.lower(), page)


def _index(door: griffe.Module, room: str, page_of: dict[str, Page], first: bool) -> Iterator[str]:
    """Yield the parts of an index: what the module says of itself, a table of its names, its constants."""
    yield _directive(door.path, 1 if first else 2, "members: false")
    rows, constants = [], []
    for public, target in _members(door):
        if target.is_attribute:
            constants.append(_directive(f"{door.path}.{public}", 4))
        else:
            page = page_of[target.path]
            anchor = next(name for name in page.names if name.endswith(f".{target.name}"))
            link = _relative(page.path) + (f"#{anchor}" if len(page.names) > 1 else "")
            rows.append(f"| [`{public}`]({link}) | {_first_sentence(target)} |")
    if rows:
        yield "\n".join(["| name | what it is |", "|---|---|", *rows])
    if constants:
        yield "\n\n".join(["**Constants**", *constants])


def _members(door: griffe.Module) -> Iterator[tuple[str, griffe.Object]]:
    """Yield the public names of a door with what they stand for, without sub-modules: functions first, then classes."""
    for name in sorted((str(export) for export in door.exports or []), key=lambda name: (name[0].isupper(), name)):
        member: Any = door[name]
        target = member.final_target if member.is_alias else member
        if not target.is_module:
            yield name, target


def _doors(module: griffe.Module) -> Iterator[griffe.Module]:
    """Yield a package and the packages in it that are public, outermost first."""
    yield module
    for name, member in module.members.items():
        if not member.is_alias and member.is_module and member.is_init_module and not name.startswith("_"):
            yield from _doors(member)  # type: ignore[arg-type]


def _directive(name: str, level: int, *options: str) -> str:
    lines = [f"::: {name}", "    options:", f"      heading_level: {level}", *(f"      {option}" for option in options)]
    return "\n".join(lines)


def _first_sentence(target: griffe.Object) -> str:
    """Return the first paragraph of a docstring on one line, fit for a table."""
    text = target.docstring.value if target.docstring else ""
    text = re.sub(r" \\\[\d+\\\]", "", " ".join(text.split("\n\n")[0].split()))  # without citations
    plain_and_code = text.replace("|", "\\|").split("`")
    plain_and_code[::2] = [part.replace("[", "&#91;") for part in plain_and_code[::2]]  # no link
    return "`".join(plain_and_code)


def _relative(path: str) -> str:
    return path.removeprefix(f"{FOLDER}/")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, and list them in the navigation below their rooms."""
    extensions = griffe.load_extensions(ROOT / "docs" / "docstrings.py")
    package = griffe.load("creases", search_paths=[ROOT / "src"], resolve_aliases=True, extensions=extensions)
    assert isinstance(package, griffe.Module)
    entries: list[Any] = []
    for room in build_rooms(package):
        index = f"{FOLDER}/{room.name}.md"
        texts = {index: room.index} | {page.path: page.text() for page in room.pages}
        for path, text in texts.items():
            files.append(File.generated(config, path, content=text))
        entries.append({room.name: [{"Overview": index}, *({page.title: page.path} for page in room.pages)]})
    for section in config.nav or []:
        if SECTION in section:
            section[SECTION] = [*entries, *section[SECTION]]
    return files
