"""Docstrings as the reference shows them: an extension of griffe, which ``mkdocs.yml`` names.

They are written for a Python prompt. Here what its page would run together becomes what it is: an example stands in a
section of its own, columns are a list, a role is the name it holds, and ``#:`` says what a field is.
"""

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:func|class|meth|mod|attr):`~?([^`]+)`")
_SECTION = re.compile(r"^(?:Parameters|Returns|Yields|Raises|Examples|Attributes|Notes)\n-{3,}$", re.MULTILINE)
_ROW = re.compile(r"^(\S(?:\S| (?! ))*) {2,}(\S.*)$")


def _listed(text: str) -> str:
    """Two columns, the second under itself where it goes on, as a list."""
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


def readable(text: str) -> str:
    """A docstring for griffe's reader of NumPy's style."""
    text = _ROLE.sub(r"`\1`", text)
    first = _SECTION.search(text)
    head, rest = (text[: first.start()], text[first.start() :]) if first else (text, "")
    before, prompt, example = head.partition("\n>>> ")
    if prompt:
        example = f"\n\nExamples\n--------\n>>> {example.rstrip()}\n\n"
    return _listed(before) + example + rest


class Docstrings(griffe.Extension):
    """Makes every docstring readable on a page."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        said = re.search(r"#: (.*)$", attr.source, re.MULTILINE) if attr.docstring is None else None
        if said:
            attr.docstring = griffe.Docstring(readable(said[1]), parent=attr)

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)
