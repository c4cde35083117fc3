"""Check that texts users meet have no phrases that sound translated.

    python tools/check_words.py [FOLDER ...]

Read are the string literals and docstrings of Python files, and all of Markdown and TypeScript files. Each phrase comes
with what to write instead. Case does not matter, and a phrase may run over the end of a line.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FOLDERS = ("src/creases", "web/src", "docs", "README.md")

SUFFIXES = (".py", ".md", ".ts", ".tsx", ".js", ".html")

#: Pages that quote the sources (claims and misprints), and pictures, with the words of when they were drawn.
SKIPPED = ("docs/reproduction", "docs/reproduction.md", "docs/misprints.md", "docs/pictures", "docs/gallery")

PHRASES = {
    # what was added, and why
    "taken for": "misclassified as",
    "neighbourhood there": "the N rows around them",
    "bettered": "improved; brought no improvement in",
    "mended": "corrected",
    "anew": "again; reinitialise",
    "folded at before": "an earlier crease there did not help",
    "what the loss asks for": "the desired output change",
    "change that the loss asks for": "the desired output change",
    "how new units are set": "growth method",
    "grow spare units": "replace redundant units",
    "units that leave the model are no place": "output units cannot be widened",
    # data
    "put for": "filled with",
    "to see when to stop": "validation rows",
    "to test with, never seen": "held-out test rows",
    "never seen before": "held-out",
    "held out to judge by": "held-out",
    "share of the rows that tells": "fraction of rows held out for early stopping",
    "some must count": "must have at least one positive entry",
    "every row has another": "different in every row",
    # results
    "told apart": "separated",
    "tell them apart": "separate the classes",
    "to be told": "(say what it is)",
    "whatever changes": "no change alters",
    "the time was over": "time limit reached",
    "in the time that was given": "within the time limit",
    "its own piece is": "in this region",
    "falls short of it is a number": "you can measure how far it falls short",
    "which counts, is told beside": "is shown alongside",
    "learned nothing that holds": "learned nothing that generalizes",
    # options
    "most parameters that": "maximum number of parameters",
    "most units that": "maximum number of units",
    "how much must stay": "fraction of the original accuracy to preserve",
    "must stay": "must remain; preserve",
    "what no input of a box can tell": "units that provably cannot affect the output anywhere in the box",
    "networks of one input as splines": "one-dimensional networks as linear splines",
    "goes on where it was": "rerun it to resume",
    # the studio and the submodules
    "beside those to come": "pin this view for comparison",
    "those to come": "(name them)",
    "go dark": "clear highlight",
    "of another start of": "belongs to an earlier session",
    "when first asked for": "imported lazily",
    "rooms with more": "submodules",
}


class Pattern(NamedTuple):
    """A phrase with variants."""

    text: str
    hint: str  #: a word that every match contains, in lower case
    instead: str


PATTERNS = [
    Pattern(r"(?:^|[\">])Go on(?:$|[\"<])", "go", "Resume"),
    Pattern(r"\b(?:misclassified|mispredicted|that|every|each|all|any|\d+) instances?\b", "instance", "row, or sample"),
    Pattern(
        r"\b(?:rows|points|samples|images|digits) (?:is |are |were |get |got )?right\b",
        "right",
        "accuracy; classified correctly",
    ),
    Pattern(r"\b(?:is|are) right now\b", "right", "now correct"),
    Pattern(
        r"\b(?<!there\s)is no (?:text|list|number|count|command|statement|linear term|place)\b", "is", "is not a ..."
    ),
]


def compile_rules() -> list[tuple[str, re.Pattern[str], str]]:
    """Return what to look for, as a word that is cheap to find and as a pattern, and what to write instead."""
    phrases = [(phrase, rf"\b{phrase}\b", instead) for phrase, instead in PHRASES.items()]
    patterns = [(pattern.hint, pattern.text, pattern.instead) for pattern in PATTERNS]
    return [
        (hint.split()[0], re.compile(text.replace(" ", r"\s+"), re.IGNORECASE), instead)
        for hint, text, instead in [*phrases, *patterns]
    ]


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of everything in a file that is read."""
    content = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield 1, content
        return
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def violations(path: Path) -> Iterator[str]:
    """Yield every phrase of a file that sounds translated."""
    for line, text in texts(path):
        lower = text.lower()
        for hint, pattern, instead in RULES:
            for found in pattern.finditer(text) if hint in lower else ():
                words = " ".join(found.group().split())
                yield f"{path}:{line + text.count(chr(10), 0, found.start())}: {words!r}; write: {instead}"


def files(names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files to read, without those that are skipped."""
    skipped = [ROOT / name for name in SKIPPED]
    for name in names:
        place = ROOT / name
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.suffix in SUFFIXES and not {path, *path.parents}.intersection(skipped):
                yield path


RULES = compile_rules()


def main() -> int:
    """Print what is wrong, and return the exit code."""
    problems = [problem for path in files(tuple(sys.argv[1:]) or FOLDERS) for problem in violations(path)]
    print(*problems, sep="\n", end="\n" if problems else "")
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main())
