"""Prepare docstrings for the reference pages: an extension of griffe, named in ``mkdocs.yml``.

Docstrings are written for a Python prompt. For a page, an example gets a section of its own, columns become a list,
a role becomes the name it holds, references become a list, and a comment ``#:`` becomes the docstring of a
field or constant.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import griffe

_ROLE = re.compile(r":(?:func|class|meth|mod|attr|data):`~?([^`]+)`")
_SECTIONS = "Parameters|Returns|Yields|Raises|Examples|Attributes|Notes|References"
_SECTION = re.compile(rf"^(?:{_SECTIONS})\n-{{3,}}$", re.MULTILINE)
_REFERENCE = re.compile(r"^\.\. \[(\d+)\] ", re.MULTILINE)
_CITATION = re.compile(r"\[(\d+)\]_")
_JOINT = re.compile(r"^(\w+(?:, \w+)+)\n((?: {4}.*(?:\n|$))+)", re.MULTILINE)
_ROW = re.compile(r"^(\S(?:\S| (?! ))*) {2,}(\S.*)$")


def _columns_to_list(text: str) -> str:
    """Turn two columns into a list; a line that is indented to the second column continues it."""
    lines, column = [], 0
    for line in text.splitlines():
        row = _ROW.match(line)
        if row and not line.startswith((">>>", "...", "|")):
            lines += [*([] if column else [""]), f"- **{row[1]}**: {row[2]}"]
            column = row.start(2)
        elif column and line.startswith(" " * column):
            lines.append("  " + line.strip())
        else:
            lines.append(line)
            column = 0
    return "\n".join(lines)


def to_page(text: str) -> str:
    """Return a docstring that griffe's parser of the NumPy style reads well."""
    text = _ROLE.sub(r"`\1`", text)
    text = _CITATION.sub(r"\[\1\]", _REFERENCE.sub(r"- \[\1\] ", text))
    first = _SECTION.search(text)
    head, rest = (text[: first.start()], text[first.start() :]) if first else (text, "")
    before, prompt, example = head.partition("\n>>> ")
    if prompt:
        example = f"Examples\n--------\n>>> {example.rstrip()}\n\n"
    return _columns_to_list(before).rstrip() + "\n\n" + example + _JOINT.sub(_split_names, rest)


def _split_names(entry: re.Match[str]) -> str:
    """Describe each of several parameters for itself: griffe gives all of them the type of the first."""
    return "".join(f"{name}\n{entry[2]}" for name in entry[1].split(", "))


def _comment(attribute: griffe.Attribute) -> str:
    """Return the text of the comments ``#:`` in the lines above an attribute, or behind it."""
    lines = attribute.lines_collection[attribute.filepath]
    start = (attribute.lineno or 1) - 1
    first = start
    while first > 0 and lines[first - 1].strip().startswith("#:"):
        first -= 1
    if first < start:
        return " ".join(line.strip().removeprefix("#:").strip() for line in lines[first:start])
    trailing = re.search(r"#: (.*)$", attribute.source, re.MULTILINE)
    return trailing[1] if trailing else ""


def _functions(parent: griffe.Module | griffe.Class) -> Iterator[griffe.Function]:
    """Yield all functions and methods of a module and its submodules."""
    for member in parent.members.values():
        if isinstance(member, griffe.Function):
            yield member
        elif isinstance(member, griffe.Module | griffe.Class):
            yield from _functions(member)


class Docstrings(griffe.Extension):
    """The extension: rewrites docstrings, and fills in the defaults and options that configurations have."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Show the value of a default such as ``GrowthConfig.lr``, which would be shown as ``lr``."""
        if pkg.name != "creases":
            return
        config = pkg["growth._config.GrowthConfig"]
        for function in _functions(pkg):
            for parameter in function.parameters:
                name, _, field = str(parameter.default).rpartition(".")
                if name == config.name:
                    parameter.default = config.all_members[field].value
                if (text := str(parameter.default)).startswith("option("):
                    parameter.default = ast.unparse(ast.parse(text, mode="eval").body.args[0])

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        """Take what a door imports for type checkers as its public names, of which it makes ``__all__``."""
        if "open_on_use" in mod.members:
            mod.exports = sorted(name for name, member in mod.members.items() if member.is_alias and not member.runtime)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Give an attribute without a docstring its comment."""
        comment = _comment(attr) if attr.docstring is None else ""
        if comment:
            attr.docstring = griffe.Docstring(to_page(comment), parent=attr)

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite a docstring; what it says of options is in their configuration."""
        if obj.docstring is not None:
            if "{options}" in obj.docstring.value:
                described = getattr(import_module(obj.module.path), obj.name)
                obj.docstring.value = inspect.getdoc(described) or ""
            obj.docstring.value = to_page(obj.docstring.value)
