"""Fill the tables of the open questions' pages out of the results that come with the package.

    python docs/questions.py

replaces what stands between ``<!-- NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from creases._files import write_atomically
from creases_reproduction.results import stored_result

PAGES = Path(__file__).parent / "questions"

_PROBLEMS = ("sine", "quadratic", "circle", "overlapping_quadratic")


def growth() -> str:
    """Mean losses and shares solved, by method and problem."""
    found = {problem: numbers(f"xng/growth-{problem}")["methods"] for problem in _PROBLEMS}
    rows = [["", *(problem.replace("_", " ") for problem in _PROBLEMS)]]
    for method in found["sine"]:
        cells = [found[problem].get(method) for problem in _PROBLEMS]
        rows.append([method, *("" if one is None else f"{one['loss']:.3f} ({one['rate']:.0%})" for one in cells)])
    return table(rows)


def gap() -> str:
    """Gaps to the optimum, by how training began."""
    found = numbers("splines/initialisation-gap")
    rows = [["breakpoints begin", *found]]
    for how in next(iter(found.values())):
        if how == "optimum":
            continue
        cells = [own[how] for own in found.values()]
        rows.append([how, *(f"{one['gap']:.2g} ({one['low']:.2g} to {one['high']:.2g})" for one in cells)])
    rows.append(["*the optimum's own error*", *(f"{own['optimum']:.2g}" for own in found.values())])
    return table(rows)


def numbers(name: str) -> Any:
    """The numbers of a stored result."""
    result = stored_result(name)
    assert result is not None, name
    return result.numbers


def table(rows: list[list[str]]) -> str:
    """Rows as Markdown; the first has the heads."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


TABLES = {"growth": growth, "gap": gap}


def filled(text: str) -> str:
    """A page with its tables as the results have them."""
    for name, make in TABLES.items():
        start, end = f"<!-- {name} -->", "<!-- end -->"
        pattern = re.compile(f"{start}.*?{end}", re.S)
        if pattern.search(text):
            made = f"{start}\n{make()}\n{end}"
            text = pattern.sub(lambda _, made=made: made, text)
    return text


def main() -> None:
    """Bring the pages up to date."""
    for page in sorted(PAGES.glob("*.md")):
        with write_atomically(page) as temporary:
            temporary.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
