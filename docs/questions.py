"""Fill the tables on the pages of the open questions from the stored results: ``python docs/questions.py``.

A table stands between ``<!-- NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import Any

from creases_reproduction.results import stored_result

PAGES = Path(__file__).parent / "questions"

_PROBLEMS = ("sine", "quadratic", "circle", "overlapping_quadratic")


def growth_table() -> str:
    """Return mean losses and the fractions that solve the problem, by method and problem."""
    results = {problem: numbers(f"xng/growth-{problem}")["methods"] for problem in _PROBLEMS}
    rows = [["", *(problem.replace("_", " ") for problem in _PROBLEMS)]]
    for method in results["sine"]:
        cells = [results[problem].get(method) for problem in _PROBLEMS]
        rows.append([method, *("" if cell is None else f"{cell['loss']:.3f} ({cell['rate']:.0%})" for cell in cells)])
    return format_table(rows)


def rules_table() -> str:
    """Return mean losses of the rules and rates of success at several limits, by problem."""
    rows = [["", "mean loss", *(f"within {near}" for near in (0.01, 0.05, 0.1, 0.2))]]
    for problem, methods in numbers("xng/slide-29")["problems"].items():
        for method, result in methods.items():
            rates = [f"{rate:.0%}" for rate in result["rates"].values()]
            name = f"{problem.replace('_', ' ')}, {method}"
            rows.append([name, f"{result['loss']:.3f} ± {result['error']:.3f}", *rates])
    return format_table(rows)


def recycling_table() -> str:
    """Return mean losses on sine and the fractions that solve it, by method, without and with recycling."""
    methods = numbers("xng/growth-sine")["methods"]
    rows = [["", "no recycling", "recycling"]]
    for name, title in (("random", "random unit"), ("tiny", "TINY"), ("fold", "fold")):
        cells = [methods[f"{group} {name}"] for group in ("A", "B")]
        rows.append([title, *(f"{cell['loss']:.3f} ± {cell['error']:.3f}, {cell['rate']:.0%}" for cell in cells)])
    return format_table(rows)


def gap_table() -> str:
    """Return gaps to the optimum, by initialisation and target."""
    results = numbers("splines/initialisation-gap")
    rows = [["initialisation", *results]]
    for method in next(iter(results.values())):
        if method == "optimum":
            continue
        cells = [result[method] for result in results.values()]
        rows.append([method, *(f"{cell['gap']:.2g} ({cell['low']:.2g} to {cell['high']:.2g})" for cell in cells)])
    rows.append(["*error of the optimum*", *(f"{result['optimum']:.2g}" for result in results.values())])
    return format_table(rows)


def amplitude_table() -> str:
    """Return training losses by the size of new units: means, with the least and the most."""
    rows = [["size", "right after growth", "after 200 steps"]]
    for size, losses in numbers("tiny/section-3.3")["losses"].items():
        after = losses["after"]
        at_once = f"{mean(losses['at once']):.2f}"
        rows.append([size, at_once, f"{mean(after):.2f} ({min(after):.2f} to {max(after):.2f})"])
    return format_table(rows)


def pruned_table() -> str:
    """Return the CKA of coefficients, and the agreement of predictions, of pairs of networks."""
    results = numbers("linearity/section-2.3.5-pruned")
    rows = [["", "CKA", "same prediction"]]
    for kinship in ("same", "independent"):
        for pair, cell in results[kinship].items():
            name = pair if kinship == "same" else f"{pair} (independent)"
            low, high = cell["interval"]
            rows.append([name, f"{cell['cka']:.2f} ({low:.2f} to {high:.2f})", f"{cell['agree']:.0%}"])
    return format_table(rows)


def numbers(claim: str) -> Any:
    """Return the numbers of the stored result of a claim."""
    result = stored_result(claim)
    assert result is not None, claim
    return result.numbers


def format_table(rows: list[list[str]]) -> str:
    """Return rows as a Markdown table; the first row is its head."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


TABLES = {
    "growth": growth_table,
    "rules": rules_table,
    "recycling": recycling_table,
    "gap": gap_table,
    "amplitude": amplitude_table,
    "pruned": pruned_table,
}


def fill_tables(text: str) -> str:
    """Return a page with its tables as the results have them."""
    for name, make_table in TABLES.items():
        start, end = f"<!-- {name} -->", "<!-- end -->"
        before, marker, rest = text.partition(start)
        if marker:
            _, _, after = rest.partition(end)
            text = f"{before}{start}\n{make_table()}\n{end}{after}"
    return text


def main() -> None:
    for page in sorted(PAGES.glob("*.md")):
        page.write_text(fill_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
