"""What is said of a result, as plain data: terminals, pages, notebooks and files each render it in their own way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: A part of a document as the viewer takes it (``web/PROTOCOL.md``): title, group, text, table, note, charts and more.
Section = dict[str, Any]


@dataclass(frozen=True)
class Document:
    """What is said of a result: a sentence, then sections; and the same for programs."""

    title: str
    lead: str = ""
    sections: Sequence[Section] = ()
    values: Mapping[str, Any] = field(default_factory=dict)  #: the result as plain values: what ``--json`` prints


def facts(title: str, pairs: Iterable[Sequence[object]], **more: Any) -> Section:
    """Return a section of names and what is said of each."""
    return {"title": title, **more, "table": {"columns": ["", ""], "rows": [[name, str(said)] for name, said in pairs]}}


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, detail: Sequence[str] = (), **more: Any
) -> Section:
    """Return a section with a table; ``detail`` are the columns that narrow views leave out."""
    content = {"columns": list(columns), "rows": [list(row) for row in rows]}
    return {"title": title, **more, "table": content | ({"detail": list(detail)} if detail else {})}


def group_sections(question: str, sections: Iterable[Section]) -> list[Section]:
    """Return sections under the question that they answer, without empty ones."""
    return [{**section, "group": question} for section in sections if section]
