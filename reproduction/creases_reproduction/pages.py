"""Write the documentation pages "Reproduction" and "Misprints" from the stored results.

    python -m creases_reproduction.pages

judges the stored results again, draws their figures and writes ``docs/reproduction.md``, ``docs/reproduction/*`` and
``docs/misprints.md``.
"""

from __future__ import annotations

import re
from collections import Counter
from io import BytesIO
from pathlib import Path

from PIL import Image

from creases._files import write_atomically
from creases_reproduction.catalogue import list_claims
from creases_reproduction.changes import REMOVED, VERDICT_CHANGES, VerdictChange
from creases_reproduction.changes_by_source import SOURCE_CHANGES
from creases_reproduction.changes_by_statement import STATEMENT_CHANGES
from creases_reproduction.claim import FAMILIES, Claim, Row
from creases_reproduction.figures.claims import claim_figure
from creases_reproduction.misprints import Misprint, list_misprints
from creases_reproduction.results import (
    NOT_COMPUTABLE,
    STORED_RESULTS,
    VERDICTS,
    Result,
    data_note,
    full_command,
    full_cost,
    judge_again,
    read_result,
    stored_result,
    stored_verdict,
    write_result,
)
from creases_reproduction.source_measures import SOURCE_MEASURES
from creases_reproduction.source_parts import PARTS, Part
from creases_reproduction.withdrawals import WITHDRAWALS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = DOCS / "reproduction"

_CHANGES = (*VERDICT_CHANGES, *SOURCE_CHANGES, *STATEMENT_CHANGES)

#: At most so many rows make a table if none of them has a printed number.
MAX_MEASURED_ROWS = 12

_NOTICE = "<!-- Written by python -m creases_reproduction.pages from the stored results; edit those, or the claims. -->"
_VERDICTS = """\
- **agrees**: the statement holds as the source makes it: the printed numbers lie within the measured spread, the
  theorem holds in every case tried, or what is said without numbers holds;
- **agrees in kind**: the statement holds as the source makes it, but printed numbers lie outside the measured spread,
  or a part of what it speaks of, which is named, was not tried; a table without words states the order of its numbers;
- **disagrees**: the statement as the source makes it does not hold, be it in one part only or by a misprint; what was
  measured, what does hold and, if known, the reason are given;
- **not comparable**: the set-up here is another one than the source's in seeds, time, width or data, or the source's
  words do not say what would have to be measured; what was measured is given, and shows nothing of the claim;
- **not computable here**: the reason is given.
"""

_TRANSCRIBED = """\
The sources were read as transcribed text: figures are missing, and single characters of formulas and tables may be
artefacts of the transcription. A figure is judged by what its caption and the text say of it."""


def main() -> None:
    """Update the stored verdicts, the pages and the figures."""
    for path in sorted(STORED_RESULTS.rglob("*.json")):
        result = read_result(path)
        judged = judge_again(result)
        if judged != result:
            write_result(judged, STORED_RESULTS)
    PAGES.mkdir(exist_ok=True)
    texts = page_texts()
    for path, text in texts.items():
        with write_atomically(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    current = {*_draw_figures(), *texts}
    for path in PAGES.rglob("*.*"):
        if path not in current:
            path.unlink()


def page_texts() -> dict[Path, str]:
    """Return the text of every page."""
    texts = {DOCS / "reproduction.md": _index_page(), DOCS / "misprints.md": _misprints_page()}
    return texts | {PAGES / f"{family}.md": _family_page(family) for family in FAMILIES}


def claims_with_figure() -> list[tuple[Claim, Result]]:
    """Return the claims that have a figure, with their results."""
    pairs = [(claim, stored_result(claim.id)) for claim in list_claims() if claim.picture is not None]
    return [(claim, result) for claim, result in pairs if result is not None]


def figure_path(claim: Claim) -> Path:
    """Return where a claim's figure is."""
    return PAGES / f"{claim.id}.png"


def _draw_figures() -> list[Path]:
    paths = []
    for claim, result in claims_with_figure():
        assert claim.picture is not None
        data = BytesIO()
        claim_figure(claim.picture(result.numbers), f"{claim.id}: {claim.place}").savefig(data, dpi=90)
        image = Image.open(data).convert("RGB").quantize(64, Image.Quantize.MAXCOVERAGE)  # half the size
        path = figure_path(claim)
        path.parent.mkdir(exist_ok=True)
        with write_atomically(path) as temporary:
            image.save(temporary, optimize=True)
        paths.append(path)
    return paths


def _index_page() -> str:
    counts = {family: Counter(stored_verdict(claim) for claim in list_claims(family)) for family in FAMILIES}
    total = sum(counts.values(), Counter())
    verdicts = [name for name in (*VERDICTS, "not run") if name in VERDICTS or total[name]]
    rows = [
        [
            f"[{family}](reproduction/{family}.md): {_cell(name)}",
            *(str(counts[family][verdict]) for verdict in verdicts),
        ]
        for family, name in FAMILIES.items()
    ]
    rows.append(["**all**", *(f"**{total[verdict]}**" for verdict in verdicts)])
    lists = "\n\n".join(f"## {family}: {name}\n\n{_claims_table(family)}" for family, name in FAMILIES.items())
    computable = total.total() - total[NOT_COMPUTABLE]
    return f"""{_NOTICE}

# Reproduction of the sources

creases is built on four works ([bibliography](bibliography.md)). Together they make {total.total()} claims in tables,
figures, theorems and numbers, of which {computable} can be computed here. All of these were run at full scale with the
functions of the library. The pages below show each result next to the printed one. A verdict goes by the measure that
the source itself uses, which is named with every experiment.

{_TRANSCRIBED}

`creases reproduce --list` lists the claims. `creases reproduce ID --scale full` repeats a stored run; `--scale quick`
takes seconds but uses few seeds and small stand-ins for image data, so its verdict says less
([how to reproduce a claim](how-to/reproduce.md)). Misprints in the sources have a [page of their own](misprints.md).

{_VERDICTS}
{_table(["source", *verdicts], rows)}

## What runs in the library

Each source describes methods and systems. Those that the library has are called by the names below; the others run
only as claims of the reproduction.

{_table(["source", "method or system", "in the library", "what differs"], [_part_cells(part) for part in PARTS])}

{lists}

## Verdicts that changed

Every statement was read as the source makes it: one that holds in a part only, by one measure of two or with another
formula than the printed one disagrees. Each row has the passage that it rests on.

{_table(["claim", "before", "after", "reason", "passage"], [_change_cells(change) for change in STATEMENT_CHANGES])}

Before that all claims were read beside the sources by another rule: a verdict names the measure by which the *source*
judged, and a set-up that differs in seeds, time or width is not comparable, unless it was scaled on purpose, with the
reason. Some of these changed again above.

{_table(["claim", "before", "after", "reason", "passage"], [_change_cells(change) for change in SOURCE_CHANGES])}

An earlier audit of set-ups, limits and judges changed these; some of them changed again above.

{_table(["claim", "before", "after", "reason"], [_change_cells(change) for change in VERDICT_CHANGES])}
"""


def _change_cells(change: VerdictChange) -> list[str]:
    family = change.id.partition("/")[0]
    removed = change.id in {each.id for each in _CHANGES if each.after == REMOVED}
    link = change.id if removed else f"[{change.id}](reproduction/{family}.md#{_anchor(change.id)})"
    passage = [_cell(change.passage)] if change.passage else []
    return [link, change.before, change.after, _cell(change.why), *passage]


def _part_cells(part: Part) -> list[str]:
    names = ", ".join(f"`{name}`" for name in part.names)
    links = ", ".join(f"[{id}](reproduction/{part.family}.md#{_anchor(f'{part.family}/{id}')})" for id in part.claims)
    return [part.family, _cell(part.what), names or f"only as claims: {links}", _cell(part.differs)]


def _claims_table(family: str) -> str:
    rows = [
        [f"[{claim.id}](reproduction/{family}.md#{_anchor(claim.id)})", _cell(claim.says), stored_verdict(claim)]
        for claim in list_claims(family)
    ]
    return _table(["claim", "statement", "verdict"], rows)


def _family_page(family: str) -> str:
    sections = [_claim_section(claim) for claim in list_claims(family)]
    counts = Counter(stored_verdict(claim) for claim in list_claims(family))
    words = ", ".join(f"{counts[name]} {name}" for name in (*VERDICTS, "not run") if counts[name])
    return (
        f"{_NOTICE}\n\n# {family}: {FAMILIES[family]}\n\n{len(sections)} claims: {words}. The verdicts are "
        f"explained in the [overview](../reproduction.md).\n\n{_TRANSCRIBED}\n\n" + "\n".join(sections)
    )


def _claim_section(claim: Claim) -> str:
    """Return the section of a claim: what is printed, what is measured, how to run it."""
    result = stored_result(claim.id)
    lines = [f"## {claim.id} {{ #{_anchor(claim.id)} }}", "", f"*{_sentence(claim.place)}* {_escape(claim.says)}", ""]
    if claim.printed:
        lines += [f"**Printed:** {_escape(claim.printed)}", ""]
    if claim.id in SOURCE_MEASURES:
        lines += [f"**The source judges by** {_sentence(SOURCE_MEASURES[claim.id], capital=False)}", ""]
    if claim.measure is None:
        return "\n".join([*lines, f"**Not computable here.** {_sentence(claim.cannot)}", ""])
    if result is None:
        return "\n".join([*lines, f"Not run yet: `creases reproduce {claim.id} --scale full`", ""])
    lines += [f"**{result.verdict.capitalize()}.** {_sentence(result.why)}", ""]
    if claim.picture is not None:
        rows = claim.picture(result.numbers).rows
        if any(row.printed is not None for row in rows) or 0 < len(rows) <= MAX_MEASURED_ROWS:
            lines += [_table(["", "printed", "measured", "95 % interval"], [_row_cells(row) for row in rows]), ""]
        lines += [f"![{claim.id}]({claim.id}.png)", ""]
    if note := data_note(claim, result):
        lines += [note, ""]
    if claim.misprints:
        links = ", ".join(f"[{misprint}](../misprints.md#{_anchor(misprint)})" for misprint in claim.misprints)
        lines += [f"Misprints: {links}.", ""]
    return "\n".join([*lines, _describe_run(claim, result), ""])


def _describe_run(claim: Claim, result: Result) -> str:
    """Return how to run a claim, and how the stored numbers were computed."""
    command, cost = full_command(claim), full_cost(claim, result)
    takes = f" ({_escape(cost)})" if cost else ""
    by = "" if result.command == command else f" by `{result.command}`"
    time = f" in {_format_seconds(result.seconds)}" if result.seconds else ""
    versions = ", ".join(f"{name} {number}" for name, number in result.versions.items()) or "unknown versions"
    return f"Run: `{command}`{takes}. These numbers were computed{by}{time} on {_escape(result.machine)}; {versions}."


def _format_seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 0.1 else "less than 0.1 s"


def _misprints_page() -> str:
    parts = []
    for family, name in FAMILIES.items():
        sections = "\n".join(_misprint_section(misprint) for misprint in list_misprints(family))
        parts.append(f"## {family}: {name}\n\n{sections}")
    withdrawn = [[_cell(f"{item.id.partition('/')[0]}, {item.place}"), *map(_cell, item[2:])] for item in WITHDRAWALS]
    return f"""{_NOTICE}

# Misprints in the sources

The sources contain {len(list_misprints())} misprints and errors that matter for the results. Each is listed with its
correction and the test that demonstrates it. The library uses the corrected versions.

{_TRANSCRIBED} Where a correction is one of a single character, it is said; the correction holds, but the slip may be
the transcription's and not the source's.

{chr(10).join(parts)}
## Taken back

Corrections that an earlier version of this list had, and that do not hold or are no corrections.

{_table(["place", "what was said", "why it was taken back"], withdrawn)}
"""


_CHARACTER = "A single character: it may be an artefact of the transcription. "


def _misprint_section(misprint: Misprint) -> str:
    why = f" {_escape(misprint.why)}" if misprint.why else ""
    return (
        f"### {_escape(misprint.place)} {{ #{_anchor(misprint.id)} }}\n\n"
        f"- printed: {_escape(misprint.printed)}\n- right: {_escape(misprint.right)}\n\n{why.strip()}\n\n"
        f"{_CHARACTER if misprint.character else ''}Shown by `{misprint.test}`.\n"
    ).replace("\n\n\n\n", "\n\n")


def _table(heads: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [heads, ["---"] * len(heads), *rows])


def _row_cells(row: Row) -> list[str]:
    numbers = ["" if number is None else f"{number:.4g}" for number in (row.printed, row.measured)]
    interval = "" if row.low is None or row.high is None else f"{row.low:.4g} to {row.high:.4g}"
    return [_cell(row.what), *numbers, interval]


def _anchor(id: str) -> str:
    """Return an id as the anchor of a heading: letters, digits and hyphens."""
    return re.sub(r"[^0-9A-Za-z]+", "-", id).lower()


def _escape(text: str) -> str:
    """Return text that neither Markdown nor HTML interprets."""
    return re.sub(r"([\\`*_\[\]#$])", r"\\\1", text).replace("<", "&lt;")


def _sentence(text: str, *, capital: bool = True) -> str:
    """Return escaped text as a sentence: a capital first (unless a single letter begins it) and a full stop."""
    text = text.strip()
    first = text.split()[0] if text else ""
    if capital and first.isalpha() and len(first) > 1:
        text = text[:1].upper() + text[1:]
    return _escape(text if text.endswith(".") else f"{text}.")


def _cell(text: str) -> str:
    return _escape(text).replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    main()
