"""Follow the printed text of a card of points, as a reader does: it knows the text and the cells of a row alone."""

from __future__ import annotations

import calendar
import re
from datetime import datetime
from itertools import pairwise
from typing import Any


class PrintedCard:
    """The text of a card, block by block."""

    def __init__(self, text: str) -> None:
        self.opening, *blocks, self.notes = [block.splitlines() for block in text.split("\n\n")]
        self.means = {}
        for line in self.notes:
            if line.startswith("A missing number counts as its mean: "):
                pairs = line.removesuffix(".").split(": ", 1)[1].split(", ")
                self.means = {name: value for name, _, value in (pair.rpartition(" as ") for pair in pairs)}
        self.rare = {}
        for line in self.notes:
            if share := re.fullmatch(r"A missing (.+) counts (\S+) % as .+, the rest as .+\.", line):
                self.means[share[1]] = share[2]
            if rare := re.fullmatch(r"Other values of (.+?): (.+)\.", line):
                self.rare[rare[1]] = rare[2].split("; ")
        self.blocks = [_Block(block) for block in blocks]

    def sums(self, row: dict[str, Any]) -> dict[str, float]:
        """Return the sum of points by what it is for."""
        row = {name: "other values" if cell in self.rare.get(name, ()) else cell for name, cell in row.items()}
        total: dict[str, float] = {}
        for block in self.blocks:
            for name, points in block.add(row, self.means).items():
                total[name] = total.get(name, 0.0) + points
        return total

    def decide(self, row: dict[str, Any]) -> str:
        """Return the class that the card predicts."""
        sums = self.sums(row)
        if len(sums) > 1:
            return max(sums, key=lambda name: sums[name])
        line = next(line for line in self.opening if " is predicted, else " in line)
        bound, yes, no = re.search(r"above (\S+) (.+) is predicted, else (.+?)\. 10", line).groups()
        return yes if sums["points"] > _number(bound) else no


class _Block:
    def __init__(self, lines: list[str]) -> None:
        self.title = lines[0].removesuffix(", in proportion between")
        self.tables: list[tuple[str, list[str], dict[str, list[float]]]] = []
        head, places = "", []
        for line in lines[1:]:
            name, *cells = re.split(r" {2,}", line.strip())
            if not cells:
                head = name
            elif name == "at":
                places = cells
                if not self.tables or self.tables[-1][0] != head:
                    self.tables.append((head, [], {}))
                self.tables[-1][1].extend(cells)
                rows = self.tables[-1][2]
            else:
                rows.setdefault(name, []).extend(map(_number, cells))
                assert len(cells) == len(places)

    def add(self, row: dict[str, Any], means: dict[str, str]) -> dict[str, float]:
        pair = re.fullmatch(r"(.+) \(rows\) and (.+) \(columns\) together", self.title)
        result = {}
        for head, places, rows in self.tables:
            if pair is None:
                weights = _weights(self.title, places, row, means)
                for name, points in rows.items():
                    result[name] = sum(w * p for w, p in zip(weights, points, strict=True))
                continue
            weights = _weights(pair[2], places, row, means)
            names = list(rows)
            shares = _weights(pair[1], names, row, means)
            name = head.removeprefix("for ") or "points"
            result[name] = sum(
                share * w * p
                for share, own in zip(shares, names, strict=True)
                for w, p in zip(weights, rows[own], strict=True)
            )
        return result


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _weights(title: str, places: list[str], row: dict[str, Any], means: dict[str, str]) -> list[float]:
    """Return the share of each place."""
    if title == "start":
        return [1.0]
    if places == ["yes", "no"] and title not in row:  # "distance is missing", "income is -999"
        column, _, code = title.rpartition(" is ")
        is_so = row[column] in (None, "") if code == "missing" else str(row[column]) == code
        return [float(is_so), float(not is_so)]
    part, _, name = title.partition(" of ")
    part = part if part in ("month", "weekday", "hour") and name in row else ""
    column = name if part else max((each for each in row if title == each or title.startswith(f"{each} (")), key=len)
    cell, extra = row[column], column
    if cell in (None, ""):
        if "missing" in places:
            return [float(place == "missing") for place in places]
        key = next((key for key in means if key == column or key.startswith((f"{column} ", f"{column}="))), None)
        if key is None:
            extra = "a new value" if "a new value" in places else "anything else"
            return [float(place == extra) for place in places]
        raise AssertionError(f"{column} is missing, and the table has no missing values there")
    if part:
        cell = _part(part, datetime.fromisoformat(cell), places)
    cell = f"code {cell}" if f"code {cell}" in places else cell
    if str(cell) in places:
        return [float(place == str(cell)) for place in places]
    numbers = [_position(place) for place in places]
    x = _position(str(cell))
    if x is None or all(number is None for number in numbers):
        extra = "a new value" if "a new value" in places else "anything else"
        return [float(place == extra) for place in places]
    known = [(number, k) for k, number in enumerate(numbers) if number is not None]
    weights = [0.0] * len(places)
    if x <= known[0][0]:
        weights[known[0][1]] = 1.0
    elif x >= known[-1][0]:
        weights[known[-1][1]] = 1.0
    for (a, i), (b, j) in pairwise(known):
        if a < x < b or (x == a and a > known[0][0]):
            weights[i], weights[j] = (b - x) / (b - a), (x - a) / (b - a)
    return weights


def _part(part: str, moment: datetime, places: list[str]) -> str:
    """Return the part of a date as the card asks for it: a name, or a number."""
    hours = moment.hour + moment.minute / 60 + moment.second / 3600
    if part == "weekday":
        return calendar.day_name[moment.weekday()]
    if part == "hour":
        return repr(hours)
    if "January" in places:
        return calendar.month_name[moment.month]
    length = calendar.monthrange(moment.year, moment.month)[1]
    return repr(moment.month + (moment.day - 1 + hours / 24) / length)


def _position(text: str) -> float | None:
    """Return the number, the hours of a time, or the days of a date; None for words."""
    if clock := re.fullmatch(r"(\d+):(\d\d)", text):
        return int(clock[1]) + int(clock[2]) / 60
    try:
        return _number(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).timestamp() / 86_400
    except ValueError:
        return None
