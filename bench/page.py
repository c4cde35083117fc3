"""Write pages of figures from templates and the stored results: ``python bench/page.py``.

``bench/benchmarks.md`` becomes ``docs/benchmarks.md``, ``bench/scale.md`` becomes ``docs/concepts/scale.md``; in
``docs/attacks.md`` the tables between comments are written again.

In the template ``{{NAME.KEY}}`` is a number of ``bench/results/NAME.json``, ``{{table NAME.KEY}}`` a table of it, and
``{{provenance}}`` says how every result was measured, ``{{commits}}`` from which commits they are. The template itself
has no figures.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from record import PROVENANCE, ROOT, read_results

TEMPLATE = Path(__file__).with_name("benchmarks.md")
PAGE = ROOT / "docs" / "benchmarks.md"

#: Every template with its page.
PAGES = {TEMPLATE: PAGE, Path(__file__).with_name("scale.md"): ROOT / "docs" / "concepts" / "scale.md"}

#: A page with stored tables between ``<!-- table NAME.KEY -->`` and ``<!-- end of table -->``.
ATTACKS = ROOT / "docs" / "attacks.md"

_NOTICE = "<!-- Written by make benchmarks-page from a template in bench and bench/results; edit those. -->\n\n"


def render(template: str, results: dict[str, list[dict[str, Any]]]) -> str:
    """Return a template with the stored numbers and tables in their places."""

    def fill(match: re.Match[str]) -> str:
        kind, name, key = match["kind"], match["name"], match["key"]
        if match["all"]:
            return provenance_table(results) if match["all"] == "provenance" else describe_commits(results)
        found = [run[f"{kind or 'number'}s"][key] for run in results[name] if key in run[f"{kind or 'number'}s"]]
        if len(found) != 1:
            raise KeyError(f"{match[0]}: {len(found)} runs have it")
        return format_table(found[0]["columns"], found[0]["rows"]) if kind else str(found[0])

    return _NOTICE + re.sub(
        r"\{\{(?:(?P<all>provenance|commits)|(?:(?P<kind>table) )?(?P<name>\w+)\.(?P<key>\w+))\}\}", fill, template
    )


def renew_tables(page: str, results: dict[str, list[dict[str, Any]]]) -> str:
    """Return a page whose tables between comments are the stored ones, each with the run that it is of."""

    def fill(match: re.Match[str]) -> str:
        run = next(run for run in results[match["name"]] if match["key"] in run["tables"])
        table = run["tables"][match["key"]]
        words = f"`{run['command']}` at commit `{run['commit'][:8]}`, {run['date'][:10]}, {run['machine']}."
        return f"{match['head']}\n{format_table(table['columns'], table['rows'])}\n\n{words}\n{match['end']}"

    parts = r"(?P<head><!-- table (?P<name>\w+)\.(?P<key>\w+) -->)\n.*?(?P<end><!-- end of table -->)"
    return re.sub(parts, fill, page, flags=re.DOTALL)


def describe_commits(results: dict[str, list[dict[str, Any]]]) -> str:
    """Return a sentence with the first and the last day on which results were measured, and their commits."""
    runs = [run for each in results.values() for run in each]
    dated = sorted((run for run in runs if run["date"][:4].isdigit()), key=lambda run: run["date"])
    commits = dict.fromkeys(f"`{run['commit'][:8]}`" for run in dated)
    others = [name for name, each in results.items() if any(run not in dated for run in each)]
    words = f"Measured from {dated[0]['date'][:10]} to {dated[-1]['date'][:10]}, at commits {', '.join(commits)}"
    return f"{words}; older: {', '.join(others)}." if others else f"{words}."


def provenance_table(results: dict[str, list[dict[str, Any]]]) -> str:
    """Return how every stored result was measured."""
    rows = []
    for name, runs in results.items():
        for run in runs:
            versions = run["versions"]
            words = (
                versions
                if isinstance(versions, str)
                else ", ".join(f"{key} {value}" for key, value in versions.items())
            )
            cells = {**run, "command": f"`{run['command']}`", "commit": run["commit"][:12], "versions": words}
            rows.append([name, *(cells[field] for field in PROVENANCE)])
    return format_table(["result", *PROVENANCE], rows)


def format_table(columns: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |") for cells in lines)


def main() -> None:
    for template, page in PAGES.items():
        page.write_text(render(template.read_text(encoding="utf-8"), read_results()), encoding="utf-8")
    ATTACKS.write_text(renew_tables(ATTACKS.read_text(encoding="utf-8"), read_results()), encoding="utf-8")


if __name__ == "__main__":
    main()
