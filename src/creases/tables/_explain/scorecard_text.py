"""A scorecard as text and as HTML."""

from __future__ import annotations

from html import escape
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from creases._text import format_number, plural
from creases.tables._explain.terms import deviation_text, input_name, largest_terms

if TYPE_CHECKING:
    from creases.tables._explain.scorecard import Scorecard, ScorecardRegion

#: Width of the text in characters.
WIDTH = 100

#: Alternatives of one region that are written.
MAX_ALTERNATIVES = 3

#: From this many conditions on, those that occur more than once get letters.
MIN_CONDITIONS = 6

#: A coefficient is compared with the linear model's if its term differs by this share of the largest.
NOTEWORTHY = 0.1


def scorecard_text(card: Scorecard) -> str:
    """Return the whole scorecard as plain text."""
    blocks = [_wrap(opening_text(card), "")]
    if card.questions:
        lines = [_wrap(f"{letter}: {text}", "     ", "  ") for letter, text in card.questions.items()]
        blocks.append("\n".join(["The regions are separated by:", *lines]))
    blocks += ["\n".join(_region_lines(card, region)) for region in card.listed]
    if card.others:
        blocks.append(_wrap(others_text(card), ""))
    return "\n\n".join(blocks)


def _wrap(text: str, indent: str, first: str = "") -> str:
    return fill(text, WIDTH, initial_indent=first, subsequent_indent=indent, break_long_words=False)


def opening_text(card: Scorecard) -> str:
    """Return what the scorecard is of, in a few sentences."""
    n, k, classes = len(card.table.X), len(card.regions), card.table.classes
    one = f"{plural(n, 'row')} in 1 region: over these rows the network is one linear function."
    text = one if k == 1 else f"{plural(n, 'row')} in {k} regions; in each the network is a linear function."
    if classes is not None and len(card.outputs) == 1:
        text += f" Log-odds above 0 mean {classes[1]}, below 0 {classes[0]}."
    elif classes is not None:
        text += " The class with the largest score is predicted."
    if any("=" in name for name in card.table.names):
        text += " A term in [brackets] applies only to rows of that category."
    return text


def heading_text(card: Scorecard, region: ScorecardRegion) -> str:
    """Return the rows of a region, and its classes: ``210 rows (63 %): no 200, yes 10; accuracy 0.952``."""
    parts = [f"{plural(len(region.rows), 'row')} ({format_number(100 * len(region.rows) / len(card.table.X))} %)"]
    if region.counts is not None and card.table.classes is not None:
        order = np.argsort(-region.counts, kind="stable")
        present = [f"{card.table.classes[c]} {region.counts[c]}" for c in order if region.counts[c]]
        more = f", {len(present) - 6} more classes" if len(present) > 6 else ""
        parts.append(f"{'predicted ' if card.by_prediction else ''}{', '.join(present[:6])}{more}")
    text = ": ".join(parts)
    if region.score is not None:
        text += f"; {'accuracy' if card.table.classes is not None else 'RMSE'} {format_number(region.score)}"
    return text


def when_text(card: Scorecard, region: ScorecardRegion) -> str:
    """Return when a row is in a region, in words; "" where that is not known or always so."""
    alternatives = []
    for conditions, texts in zip(region.conditions or (), card.condition_texts(region), strict=True):
        words = [
            _question(card, text) + ("" if part.neighbor is None else f" (else region {part.neighbor + 1})")
            for part, text in zip(conditions, texts, strict=True)
        ]
        alternatives.append(" and ".join(words))
    shown = alternatives[:MAX_ALTERNATIVES]
    hidden = len(alternatives) - len(shown)
    if hidden or (region.conditions and not region.complete):
        shown.append("in further parts of the input space")
    return "; or ".join(shown)


def name_questions(card: Scorecard) -> dict[str, str]:
    """Return the conditions of the listed regions, by letters, where writing each one out would say much twice.

    A condition and its opposite are the same question.
    """
    texts = [text for region in card.listed for part in card.condition_texts(region) for text in part]
    different = list(dict.fromkeys(_as_less(text) for text in texts))
    if len(texts) < MIN_CONDITIONS or len(different) == len(texts):
        return {}
    ranked = sorted(different, key=lambda text: -sum(_as_less(other) == text for other in texts))
    return {_letter(k): text for k, text in enumerate(ranked)}


def _letter(k: int) -> str:
    return chr(ord("A") + k) if k < 26 else f"A{k - 25}"


def _as_less(text: str) -> str:
    """Return a condition or, of one that asks for more than a limit, its opposite."""
    return " < ".join(text.rsplit(" > ", 1))


def _question(card: Scorecard, text: str) -> str:
    """Return a condition by its letter, if it has one: ``A``, ``not A``."""
    for letter, question in card.questions.items():
        if question == _as_less(text):
            return letter if text == question else f"not {letter}"
    return text


def difference_text(card: Scorecard, region: ScorecardRegion) -> str:
    """Return the mean of a region's outputs, and how it differs from the linear model of all rows."""
    if len(card.outputs) > 1:
        if len(card.regions) == 1:
            return ""
        worst = int(region.difference.argmax())
        size = f"{format_number(float(region.difference[worst]))} ({card.outputs[worst]})"
        return f"differs from one linear model for all rows by at most {size}"
    text = f"on average {format_number(float(region.mean[0]))}"
    if len(card.regions) == 1:
        return text
    text += f"; differs from one linear model for all rows by {format_number(float(region.difference[0]))}"
    J, linear, spread = region.coefficients[0], card.linear[0][0], card.table.spread
    change = np.abs(J - linear) * spread
    largest = max(float((np.abs(J) * spread).max()), float((np.abs(linear) * spread).max()))
    numbers = [k for k, name in enumerate(card.table.names) if "=" not in name and change[k] > NOTEWORTHY * largest]
    if not numbers:
        return text
    k = max(numbers, key=lambda j: change[j])
    return f"{text} ({card.table.names[k]}: {format_number(J[k])}, there {format_number(linear[k])})"


def others_text(card: Scorecard) -> str:
    """Return the regions that are not listed alone, in a sentence."""
    rows = sum(len(region.rows) for region in card.others)
    share = format_number(100 * rows / len(card.table.X))
    holds = "region holds" if len(card.others) == 1 else "regions hold"
    text = f"{len(card.others)} more {holds} the other {plural(rows, 'row')} ({share} %)."
    if 2 * rows > len(card.table.X):
        text += " That is too many to read: a network of fewer units has fewer regions."
    return text


def _region_lines(card: Scorecard, region: ScorecardRegion) -> list[str]:
    lines = [f"Region {region.number}: {heading_text(card, region)}"]
    when = when_text(card, region)
    if when:
        words = when.split("; or ")
        lines += [_wrap(text, "    ", "  or " if k else "  when ") for k, text in enumerate(words)]
    if len(card.outputs) == 1:
        lines.append(_wrap(f"{card.outputs[0]} = {card.function_text(region)}", "    ", "  "))
    else:
        lines += ["  " + line for line in _format_table(score_rows(card, region))]
    difference = difference_text(card, region)
    return [*lines, _wrap(difference, "    ", "  ")] if difference else lines


def score_rows(card: Scorecard, region: ScorecardRegion) -> list[list[str]]:
    """Return the functions of several outputs as rows of text: a header, the offset, a row for each of the inputs."""
    table, J = card.table, region.coefficients
    size = np.sqrt((J**2).mean(axis=0))
    inputs, rest = largest_terms(size, table.spread, card.max_terms)
    sums = table.X[region.rows][:, rest] @ J[:, rest].T  # (rows, q)
    offset = region.offset + sums.mean(axis=0)
    rows = [["", *card.outputs], ["offset", *map(format_number, offset.tolist())]]
    rows += [[input_name(table.names[k]), *map(format_number, J[:, k].tolist())] for k in inputs]
    if len(rest):
        spread = [f"± {deviation_text(values)}" for values in sums.T]
        rows.append([plural(len(rest), "smaller term"), *spread])
    return rows


def _format_table(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]


# -- HTML -------------------------------------------------------------------------------------------------------------


def scorecard_html(card: Scorecard) -> str:
    """Return the scorecard as a piece of HTML for a notebook."""
    parts = [f"<p>{escape(opening_text(card))}</p>"]
    if card.questions:
        entries = "".join(f"<li>{letter}: {escape(text)}</li>" for letter, text in card.questions.items())
        parts.append(f"<p>The regions are separated by:</p><ul>{entries}</ul>")
    parts += [_region_html(card, region) for region in card.listed]
    parts += [f"<p>{escape(others_text(card))}</p>"] if card.others else []
    return f'<div class="creases-scorecard">{"".join(parts)}</div>'


def _region_html(card: Scorecard, region: ScorecardRegion) -> str:
    head = f"<p><strong>Region {region.number}</strong>: {escape(heading_text(card, region))}"
    when = when_text(card, region)
    head += f"<br>when <em>{escape(when)}</em></p>" if when else "</p>"
    if len(card.outputs) == 1:
        body = f"<p>{escape(card.outputs[0])} = <code>{escape(str(card.function_text(region)))}</code></p>"
    else:
        first, *rows = score_rows(card, region)
        cells = "".join(f"<th>{escape(cell)}</th>" for cell in first)
        lines = "".join(
            f"<tr><th>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>"
            for row in rows
        )
        body = f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"
    difference = difference_text(card, region)
    return f"<section>{head}{body}{f'<p>{escape(difference)}</p>' if difference else ''}</section>"
