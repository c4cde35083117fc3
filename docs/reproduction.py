"""Make the pages "Reproduction" and "Misprints" out of the results that come with the package.

    python docs/reproduction.py

judges the stored results again, draws their pictures and writes ``reproduction.md``, ``reproduction/*.md`` and
``misprints.md``.
"""

from __future__ import annotations

import re
from collections import Counter
from io import BytesIO
from pathlib import Path

from PIL import Image

from creases._files import write_atomically
from creases_reproduction.catalogue import list_claims
from creases_reproduction.claim import FAMILIES, Claim, Row
from creases_reproduction.figures.claims import claim_figure
from creases_reproduction.misprints import Misprint, list_misprints
from creases_reproduction.results import (
    NOT_COMPUTABLE,
    STORED_RESULTS,
    VERDICTS,
    Result,
    judge_again,
    read_result,
    stored_result,
    stored_verdict,
    write_result,
)

HERE = Path(__file__).parent
PAGES = HERE / "reproduction"

#: Rows without a printed number that still make a table.
FEW = 12

_MADE = "<!-- Made by docs/reproduction.py out of the stored results; change those, or the claims. -->"
_MEANING = """\
- **agrees**: the printed numbers lie within the measured spread, or the theorem holds at every case tried;
- **agrees in kind**: what is said of the numbers holds, the numbers themselves differ;
- **disagrees**: it does not hold; the measured value and, where it is known, the reason are given;
- **not computable here**: the reason is given.
"""


def main() -> None:
    """Bring everything up to date."""
    for path in sorted(STORED_RESULTS.glob("*.json")):
        result = read_result(path)
        again = judge_again(result)
        if again != result:
            write_result(again, STORED_RESULTS)
    PAGES.mkdir(exist_ok=True)
    texts = pages()
    for path, text in texts.items():
        with write_atomically(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    wanted = {path.name for path in _draw_all()} | {path.name for path in texts}
    for path in PAGES.iterdir():
        if path.name not in wanted:
            path.unlink()


def pages() -> dict[Path, str]:
    """Every page's text."""
    texts = {HERE / "reproduction.md": _index(), HERE / "misprints.md": _misprints()}
    return texts | {PAGES / f"{source}.md": _source(source) for source in FAMILIES}


def pictures() -> list[tuple[Claim, Result]]:
    """Claims that have a picture, with their results."""
    found = [(claim, stored_result(claim.id)) for claim in list_claims() if claim.picture is not None]
    return [(claim, result) for claim, result in found if result is not None]


def _draw_all() -> list[Path]:
    made = []
    for claim, result in pictures():
        assert claim.picture is not None
        path = PAGES / f"{claim.id}.png"
        data = BytesIO()
        claim_figure(claim.picture(result.numbers), f"{claim.id}: {claim.place}").savefig(data, dpi=90)
        few = Image.open(data).convert("RGB").quantize(64, Image.Quantize.MAXCOVERAGE)  # half of the size
        with write_atomically(path) as temporary:
            few.save(temporary, optimize=True)
        made.append(path)
    return made


def _index() -> str:
    found = {source: Counter(stored_verdict(claim) for claim in list_claims(source)) for source in FAMILIES}
    total = sum(found.values(), Counter())
    names = [name for name in (*VERDICTS, "not run") if name in VERDICTS or total[name]]
    rows = [
        [f"[{source}](reproduction/{source}.md): {_cell(name)}", *(str(found[source][one]) for one in names)]
        for source, name in FAMILIES.items()
    ]
    rows.append(["**all**", *(f"**{total[one]}**" for one in names)])
    lists = "\n\n".join(f"## {source}: {name}\n\n{_listed(source)}" for source, name in FAMILIES.items())
    run = total.total() - total[NOT_COMPUTABLE]
    return f"""{_MADE}

# The sources, beside what we find

What the four sources claim in tables, figures, theorems and numbers: {total.total()} claims, of which {run} can be
computed here. These were run at full scale through the library's own functions; the results come with the package, and
the pages show them beside what is printed. `creases reproduce --list` lists the claims, `creases reproduce --list ID`
tells all about one, `creases reproduce ID --scale full` runs it again; `--scale quick` takes seconds, with few seeds
and small stand-ins for image data, and its verdict says less. What is misprinted in the sources is
[listed apart](misprints.md).

{_MEANING}
{_table(["source", *names], rows)}

{lists}
"""


def _listed(source: str) -> str:
    rows = [
        [f"[{claim.id}](reproduction/{source}.md#{_anchor(claim.id)})", _cell(claim.says), stored_verdict(claim)]
        for claim in list_claims(source)
    ]
    return _table(["claim", "what it says", "verdict"], rows)


def _source(source: str) -> str:
    parts = [_claim(claim) for claim in list_claims(source)]
    found = Counter(stored_verdict(claim) for claim in list_claims(source))
    told = ", ".join(f"{found[name]} {name}" for name in (*VERDICTS, "not run") if found[name])
    return (
        f"{_MADE}\n\n# {source}: {FAMILIES[source]}\n\n{len(parts)} claims: {told}. What the verdicts mean, and the "
        "other sources: [The sources, beside what we find](../reproduction.md).\n\n" + "\n".join(parts)
    )


def _claim(claim: Claim) -> str:
    """A claim's section: what is printed, what we find, how to run it."""
    result = stored_result(claim.id)
    lines = [f"## {claim.id} {{ #{_anchor(claim.id)} }}", "", f"*{_sentence(claim.place)}* {_plain(claim.says)}", ""]
    if claim.printed:
        lines += [f"**Printed:** {_plain(claim.printed)}", ""]
    if claim.measure is None:
        return "\n".join([*lines, f"**Not computable here.** {_sentence(claim.cannot)}", ""])
    if result is None:
        return "\n".join([*lines, f"Not run yet: `creases reproduce {claim.id} --scale full`", ""])
    lines += [f"**{result.verdict.capitalize()}.** {_sentence(result.why)}", ""]
    if claim.picture is not None:
        rows = claim.picture(result.numbers).rows
        if any(row.printed is not None for row in rows) or 0 < len(rows) <= FEW:
            lines += [_table(["", "printed", "here", "95 % interval"], [_words(row) for row in rows]), ""]
        lines += [f"![{claim.id}]({claim.id}.png)", ""]
    if claim.misprints:
        links = ", ".join(f"[{one}](../misprints.md#{_anchor(one)})" for one in claim.misprints)
        lines += [f"Misprints: {links}.", ""]
    return "\n".join([*lines, _how(claim, result), ""])


def _how(claim: Claim, result: Result) -> str:
    """How to run a claim, and how the stored numbers came about."""
    command = f"creases reproduce {claim.id} --scale full"
    takes = f" ({_plain(claim.full)})" if claim.full else ""
    made = "" if result.command == command else f" by `{result.command}`"
    took = f" in {result.seconds:.1f} s" if result.seconds else ""
    versions = ", ".join(f"{name} {number}" for name, number in result.versions.items()) or "versions were not kept"
    return f"Run: `{command}`{takes}. These numbers were made{made}{took} on {_plain(result.machine)}; {versions}."


def _misprints() -> str:
    parts = []
    for source, name in FAMILIES.items():
        own = "\n".join(_misprint(one) for one in list_misprints(source))
        parts.append(f"## {source}: {name}\n\n{own}")
    count = len(list_misprints())
    return f"""{_MADE}

# Misprints in the sources

{count} places where a source prints something that is not right, each with the correction and the test that shows it.
The library follows the corrections.

{chr(10).join(parts)}"""


def _misprint(one: Misprint) -> str:
    why = f" {_plain(one.why)}" if one.why else ""
    return (
        f"### {_plain(one.place)} {{ #{_anchor(one.id)} }}\n\n"
        f"- printed: {_plain(one.printed)}\n- right: {_plain(one.right)}\n\n{why.strip()}\n\nShown by `{one.test}`.\n"
    ).replace("\n\n\n\n", "\n\n")


def _table(heads: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [heads, ["---"] * len(heads), *rows])


def _words(row: Row) -> list[str]:
    numbers = ["" if number is None else f"{number:.4g}" for number in (row.printed, row.measured)]
    interval = "" if row.low is None or row.high is None else f"{row.low:.4g} to {row.high:.4g}"
    return [_cell(row.what), *numbers, interval]


def _anchor(id: str) -> str:
    """As a heading's id: letters, digits and hyphens, beginning with a letter."""
    return "c" + re.sub(r"[^0-9A-Za-z]+", "-", id).lower()


def _plain(text: str) -> str:
    """Text in which nothing is taken for Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]#$])", r"\\\1", text).replace("<", "&lt;")


def _sentence(text: str) -> str:
    """Such text as a sentence: it begins with a capital letter, but for a single one, and ends with a full stop."""
    text = text.strip().rstrip(".")
    first = text.split()[0] if text else ""
    return _plain((text[:1].upper() + text[1:] if first.isalpha() and len(first) > 1 else text) + ".")


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    main()
