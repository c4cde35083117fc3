"""Tables as people have them, made by rules: cells that need work before a model can use them.

They were named before the first fit. Each is a function of a generator and a number of rows that returns a DataFrame
whose last column is the target ``y``. The first ones are those of a report (several of them share a row there), the
others are twenty more. ``prepare`` gives the columns as a person would who has looked at them: numbers, and categories.
``TABLES`` has them by name. A table has as many draws as one likes: every number gives other rows and other effects by
the same rule.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

#: Rows that are scored, of every table without a time.
TEST_ROWS = 4000

Draw = Callable[[np.random.Generator, int], pd.DataFrame]
Prepare = Callable[[pd.DataFrame], dict[str, Any]]


@dataclass(frozen=True)
class RawTable:
    """A table by its rule."""

    name: str
    draw: Draw
    prepare: Prepare  #: columns for other models; those of text are categories
    task: str = "regression"
    rows: int = 2000  #: to fit to
    test_rows: int = TEST_ROWS
    time: str | None = None  #: the column by whose order rows come; the last fifth of them is scored
    series: int = 1  #: tables for a draw, where one path says little about others
    is_rare: bool = False  #: scored by the area under the ROC curve
    is_own: bool = True  #: not of the report

    @property
    def about(self) -> str:
        """The rule in words."""
        return (self.draw.__doc__ or "").strip()

    def split(self, draw: int, series: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return rows to fit to and others to score: drawn at random, or later ones."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), draw, series])
        if self.time is not None:
            table = self.draw(rng, self.rows + self.rows // 4)
        else:
            table = self.draw(rng, self.rows + self.test_rows)
        return table[: self.rows].reset_index(drop=True), table[self.rows :].reset_index(drop=True)


TABLES: dict[str, RawTable] = {}


def table(prepare: Prepare | None = None, **fields: Any) -> Callable[[Draw], Draw]:
    """Add a table to the list; ``prepare`` is by default to take the columns as they are."""

    def add(draw: Draw) -> Draw:
        name = draw.__name__
        as_is = prepare or (lambda rows: {column: rows[column] for column in rows.columns.drop("y")})
        TABLES[name] = RawTable(name, draw, as_is, **fields)
        return draw

    return add


def noise(rng: np.random.Generator, n: int, scale: float) -> Any:
    return rng.normal(0, scale, n)


def frame(y: Any, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({**columns, "y": y})


def read(rows: pd.DataFrame, **readers: Callable[[str], Any]) -> dict[str, Any]:
    """Return the columns of a table, of which some are read by a function of a cell: a value or several."""
    columns: dict[str, Any] = {}
    for name in rows.columns.drop("y"):
        if name not in readers:
            columns[name] = rows[name]
            continue
        cells = pd.DataFrame([np.atleast_1d(np.array(readers[name](cell), object)) for cell in rows[name]])
        columns |= {f"{name} {k}": cells[k].infer_objects() for k in cells}
    return columns


def day_parts(when: pd.Series) -> dict[str, Any]:
    return {
        "days": (when - pd.Timestamp("2020-01-01")).dt.total_seconds() / 86400,
        "hour": when.dt.hour + when.dt.minute / 60,
        "weekday": when.dt.dayofweek.astype(str),
        "month": when.dt.month.astype(str),
    }


def season(rng: np.random.Generator, day: Any) -> Any:
    """Return a trend, a wave of a year and a weekend, for days of the years from 2020."""
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(day, unit="D")
    wave = np.sin(2 * np.pi * (np.asarray(day) / 365.25 + rng.uniform()))
    return wave + rng.uniform(0.5, 1) * np.asarray(when.dayofweek >= 5) + 0.001 * np.asarray(day)


# -- the report's ------------------------------------------------------------------------------------------------------


@table(rows=20_000, is_own=False)
def customers(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """1,000 customers with an effect each, 20 rows of each on average, and a price."""
    who, price = rng.integers(1000, size=n), rng.uniform(1, 5, n)
    y = noise(rng, 1000, 1)[who] - 0.3 * price + noise(rng, n, 0.5)
    return frame(y, customer=np.char.add("C", (10_000 + 7 * who).astype(str)), price=price)


def read_moment(rows: pd.DataFrame) -> dict[str, Any]:
    return day_parts(pd.to_datetime(rows["at"])) | {"x": rows["x"]}


@table(read_moment, rows=3000, is_own=False)
def working_hours(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Timestamps such as "2024-03-05 14:30"; two rush hours, on working days only."""
    minutes = rng.integers(0, 365 * 24 * 60, n)
    at = pd.Timestamp("2023-01-02") + pd.to_timedelta(minutes, unit="min")
    hour, works, x = np.asarray(at.hour + at.minute / 60), np.asarray(at.dayofweek < 5), rng.uniform(size=n)
    rush = 3 * np.exp(-((hour - 8) ** 2) / 2) + 4 * np.exp(-((hour - 17.5) ** 2) / 4)
    return frame(works * rush + x + noise(rng, n, 0.3), at=at.strftime("%Y-%m-%d %H:%M"), x=x)


def read_footnote(cell: str) -> float:
    return float(cell.strip("~* ").removesuffix("(est.)"))


@table(lambda rows: read(rows, dose=read_footnote), is_own=False)
def footnotes(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Numbers of which 15 % have a mark: "12.5*", "~12.5", "12 (est.)"."""
    dose, x = rng.uniform(0, 30, n).round(1), rng.uniform(size=n)
    marks = np.array(["{}", "{}*", "~{}", "{} (est.)"])[rng.choice(4, n, p=[0.85, 0.05, 0.05, 0.05])]
    cells = [mark.format(value) for mark, value in zip(marks, dose, strict=True)]
    return frame(3 * np.sin(dose / 6) + x + noise(rng, n, 0.4), dose=cells, x=x)


def read_suffix(cell: str) -> float:
    return float(cell[:-1]) * {"k": 1e3, "M": 1e6}[cell[-1]]


@table(lambda rows: read(rows, revenue=read_suffix), is_own=False)
def suffixes(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Amounts such as "1.5M" and "200k"; what counts is their logarithm."""
    amount, x = rng.lognormal(13, 1.2, n), rng.uniform(size=n)
    cells = [f"{a / 1e6:.2f}M" if a >= 1e6 else f"{a / 1e3:.0f}k" for a in amount]
    return frame(np.log(amount) + x + noise(rng, n, 0.3), revenue=cells, x=x)


def read_coordinate(cell: str) -> float:
    degrees, minutes = cell[:-2].split("°")
    return (int(degrees) + int(minutes) / 60) * (-1 if cell[-1] in "SW" else 1)


@table(lambda rows: read(rows, lat=read_coordinate, lon=read_coordinate), is_own=False)
def coordinates(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Coordinates such as "48°12'N" and "3°41'W", a trend to the north and a hill."""
    lat, lon = rng.uniform(36, 60, n), rng.uniform(-9, 25, n)
    y = -0.5 * (lat - 48) + 6 * np.exp(-((lat - 46) ** 2 + ((lon - 8) / 1.5) ** 2) / 18) + noise(rng, n, 0.5)

    def write(value: float, names: str) -> str:
        minutes = round(float(abs(value)) * 60)
        return f"{minutes // 60}°{minutes % 60:02d}'{names[int(value < 0)]}"

    return frame(y, lat=[write(v, "NS") for v in lat], lon=[write(v, "EW") for v in lon])


def read_accounting(cell: str) -> float:
    return float(cell.strip("()").replace(",", "")) * (-1 if cell.startswith("(") else 1)


@table(lambda rows: read(rows, balance=read_accounting), is_own=False)
def parentheses(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Balances such as "(1,234.50)", which is negative."""
    balance, x = rng.normal(500, 2000, n).round(2), rng.uniform(size=n)
    cells = [f"({-b:,.2f})" if b < 0 else f"{b:,.2f}" for b in balance]
    y = np.where(balance < 0, balance / 500, balance / 2000) + x + noise(rng, n, 0.3)
    return frame(y, balance=cells, x=x)


@table(lambda rows: read(rows, size=lambda cell: [float(k) for k in cell[:-3].split("x")]), is_own=False)
def dimensions(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Sizes such as "10x20x30 cm"; weight by volume."""
    size = rng.integers(5, 40, (n, 3))
    y = size.prod(axis=1) / 4000 + 0.02 * size[:, 2] + noise(rng, n, 0.3)
    return frame(y, size=[f"{a}x{b}x{c} cm" for a, b, c in size], x=rng.uniform(size=n))


TAGS = ["red", "blue", "green", "large", "small", "new", "used", "sale", "gift", "rare", "heavy", "light"]


@table(lambda rows: read(rows, tags=lambda cell: [float(tag in cell.split(";")) for tag in TAGS]), is_own=False)
def tags(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Tags such as "red;blue" of twelve, one to five in a cell; two act together."""
    has = np.array([rng.permutation(12) < k for k in rng.integers(1, 6, n)])
    y = has @ noise(rng, 12, 1) + 2 * has[:, 0] * has[:, 5] + noise(rng, n, 0.5)
    return frame(y, tags=[";".join(rng.permutation(np.array(TAGS)[row])) for row in has], x=rng.uniform(size=n))


WORDS = "the house was sold with some damage near station garden quiet street old roof new kitchen view".split()  # noqa: SIM905


@table(lambda rows: read(rows, remarks=lambda cell: [float(word in cell.split()) for word in WORDS]), is_own=False)
def remarks(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Remarks of three to nine words, of which three count: a text to be left out with what to do."""
    has = np.array([rng.permutation(17) < k for k in rng.integers(3, 10, n)])
    x = rng.uniform(size=n)
    y = 2.0 * has[:, 11] - 1.5 * has[:, 6] + has[:, 9] + 2 * x + noise(rng, n, 0.3)
    return frame(y, remarks=[" ".join(rng.permutation(np.array(WORDS)[row])) for row in has], x=x)


def read_epoch(unit: str, origin: str) -> Prepare:
    return lambda rows: day_parts(pd.to_datetime(rows["at"], unit=unit, origin=origin)) | {"x": rows["x"]}


@table(read_epoch("s", "unix"), rows=3000, is_own=False)
def epoch_seconds(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Seconds since 1970; a trend, a year's wave, weekends and hours."""
    day, x = rng.uniform(0, 1095, n), rng.uniform(size=n)
    at = (1_577_836_800 + 86_400 * day).astype(np.int64)
    y = season(rng, np.floor(day)) + np.sin(2 * np.pi * day) + x + noise(rng, n, 0.3)
    return frame(y, at=at, x=x)


def read_excel_days(rows: pd.DataFrame) -> dict[str, Any]:
    when = pd.to_datetime(rows["order_date"], unit="D", origin="1899-12-30")
    return day_parts(when) | {"x": rows["x"]}


@table(read_excel_days, rows=3000, is_own=False)
def excel_days(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Days of a spreadsheet such as 44197; a trend, a year's wave and weekends."""
    day, x = rng.integers(0, 1095, n), rng.uniform(size=n)
    return frame(season(rng, day) + x + noise(rng, n, 0.3), order_date=43_831 + day, x=x)


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@table(lambda rows: read(rows, postcode=lambda cell: [cell[:2], cell.split()[0]]), rows=3000, is_own=False)
def postcodes(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Codes such as "SW1A 1AA", nearly all different: 20 areas of two letters, and districts within them, count."""
    areas = rng.permutation([a + b for a in LETTERS for b in LETTERS])[:20]
    effect = noise(rng, 20, 1)[:, None] + noise(rng, (20, 9), 0.4)
    a, d, x = rng.integers(20, size=n), rng.integers(9, size=n), rng.uniform(size=n)
    ends = rng.integers(26, size=(n, 2))
    cells = [
        f"{areas[i]}{j + 1} {rng.integers(1, 10)}{LETTERS[k]}{LETTERS[m]}"
        for i, j, (k, m) in zip(a, d, ends, strict=True)
    ]
    return frame(effect[a, d] + x + noise(rng, n, 0.3), postcode=cells, x=x)


@table(lambda rows: read(rows, phone=lambda cell: cell.split()[:2]), rows=3000, is_own=False)
def phones(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Telephone numbers such as "+43 664 123456": the country counts, and the prefix."""
    countries, effect = rng.choice(np.arange(30, 99), 12, replace=False), noise(rng, (12, 8), 0.7)
    effect = effect + noise(rng, 12, 1)[:, None]
    prefixes = rng.integers(100, 999, (12, 8))
    c, p, x = rng.integers(12, size=n), rng.integers(8, size=n), rng.uniform(size=n)
    cells = [f"+{countries[i]} {prefixes[i, j]} {rng.integers(100_000, 999_999)}" for i, j in zip(c, p, strict=True)]
    return frame(effect[c, p] + x + noise(rng, n, 0.3), phone=cells, x=x)


def read_address(cell: str) -> list[str]:
    parts = cell.split(".")
    return [parts[0], ".".join(parts[:2])]


@table(lambda rows: read(rows, ip=read_address), rows=3000, is_own=False)
def addresses(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """IP addresses: their first number counts, and the first two."""
    first = rng.choice(np.arange(1, 224), 15, replace=False)
    second, effect = rng.integers(0, 256, (15, 8)), noise(rng, 15, 1)[:, None] + noise(rng, (15, 8), 0.5)
    a, b, x = rng.integers(15, size=n), rng.integers(8, size=n), rng.uniform(size=n)
    cells = [f"{first[i]}.{second[i, j]}.{rng.integers(256)}.{rng.integers(256)}" for i, j in zip(a, b, strict=True)]
    return frame(effect[a, b] + x + noise(rng, n, 0.3), ip=cells, x=x)


def draw_wide(rng: np.random.Generator, n: int, d: int) -> pd.DataFrame:
    X = rng.normal(size=(n, d))
    y = X[:, :6] @ rng.uniform(0.3, 0.8, 6) + np.abs(X[:, 6]) + (X[:, 7] > 0.5) + X[:, 8] * X[:, 9] * 0.7
    names = [f"m{k}" for k in range(d)]
    return pd.DataFrame(X, columns=names).assign(y=y + noise(rng, n, 0.7))


@table(is_own=False, test_rows=2000)
def wide_500(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """500 columns of which ten count: six lines, a bend, a step and a product."""
    return draw_wide(rng, n, 500)


@table(is_own=False, test_rows=2000)
def wide_1000(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """1,000 columns of which ten count: six lines, a bend, a step and a product."""
    return draw_wide(rng, n, 1000)


def read_day(rows: pd.DataFrame) -> dict[str, Any]:
    parts = day_parts(pd.to_datetime(rows["day"]))
    return {name: parts[name] for name in parts if name != "hour"} | {"price": rows["price"]}


@table(read_day, rows=1000, time="day", series=10, is_own=False)
def later_days(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """One row a day, a trend, months, weekends and a price; later days are to be predicted."""
    day, price = np.arange(n), rng.uniform(1, 3, n)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(day, unit="D")
    months, slope = noise(rng, 12, 0.7), rng.choice([-1, 1]) * rng.uniform(0.002, 0.006)
    y = slope * day + months[np.asarray(when.month) - 1] + 0.8 * np.asarray(when.dayofweek >= 5) - 0.5 * price
    return frame(y + noise(rng, n, 0.4), day=when.strftime("%Y-%m-%d"), price=price)


@table(rows=4000, is_own=False)
def skewed_noise(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """A curve and a line with exponential noise whose size differs: low quantiles are close together."""
    a, b = rng.uniform(size=(2, n))
    return frame(2 * np.sin(4 * a) + b + (0.3 + b) * rng.exponential(1, n), a=a, b=b)


@table(rows=10_000, task="classification", is_rare=True, test_rows=30_000, is_own=False)
def frauds(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """About 34 frauds in 10,000 rows: large amounts at night."""
    amount, hour, x = rng.lognormal(4, 1, n), rng.uniform(0, 24, n), rng.normal(size=n)
    score = -8.2 + 1.2 * np.maximum(np.log(amount) - 4.5, 0) + 2.0 * (hour < 5) + 0.3 * x
    is_fraud = rng.random(n) < 1 / (1 + np.exp(-score))
    return frame(np.where(is_fraud, "fraud", "usual"), amount=amount.round(2), hour=hour.round(2), x=x.round(3))


@table(rows=8000, task="classification", is_own=False)
def fifty_classes(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """50 classes in clouds of six columns."""
    centers, k = noise(rng, (50, 6), 1.6), rng.integers(50, size=n)
    X = centers[k] + rng.normal(size=(n, 6))
    return pd.DataFrame(X, columns=list("abcdef")).assign(y=np.char.add("k", k.astype(str)))


@table(rows=50_000, is_own=False)
def many_levels(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """50,000 rows of 10,000 users with an effect each, and two numbers."""
    who, a, b = rng.integers(10_000, size=n), rng.uniform(size=n), rng.uniform(size=n)
    y = noise(rng, 10_000, 1)[who] + np.sin(5 * a) + b + noise(rng, n, 0.5)
    return frame(y, user=np.char.add("u", who.astype(str)), a=a, b=b)


# -- twenty more -------------------------------------------------------------------------------------------------------


def read_quarter(cell: str) -> list[Any]:
    year, quarter = (cell[:4], cell[-1])
    return [int(year) + int(quarter) / 4, quarter]


@table(lambda rows: read(rows, quarter=read_quarter))
def quarters(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Quarters such as "2014Q3" of twelve years: a bent trend, a season, and a price."""
    k, price = rng.integers(48, size=n), rng.uniform(1, 3, n)
    y = 0.05 * np.minimum(k, 30) + noise(rng, 4, 0.6)[k % 4] - 0.5 * price + noise(rng, n, 0.3)
    return frame(y, quarter=[f"{2008 + i // 4}Q{i % 4 + 1}" for i in k], price=price)


def read_weight(cell: str) -> float:
    value, unit = cell.split()
    return float(value) * {"g": 0.001, "kg": 1}[unit]


@table(lambda rows: read(rows, weight=read_weight))
def mixed_units(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Weights such as "1.25 kg" and "850 g", in one column."""
    kg, x = rng.gamma(2, 0.8, n).round(3) + 0.05, rng.uniform(size=n)
    is_gram = rng.random(n) < np.where(kg < 1, 0.9, 0.1)
    cells = [f"{1000 * w:.0f} g" if g else f"{w:.3f} kg" for w, g in zip(kg, is_gram, strict=True)]
    return frame(2 * np.sqrt(kg) + x + noise(rng, n, 0.2), weight=cells, x=x)


def read_range(cell: str) -> float:
    low, high = cell.replace("$", "").replace("k", "").split("-") if "-" in cell else (cell[1:-2], cell[1:-2])
    return (float(low) + float(high)) / 2


@table(lambda rows: read(rows, income=read_range), task="classification")
def income_ranges(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Ranges such as "$50k-$75k" and "$200k+", and an age; who buys."""
    ends = [0, 15, 25, 35, 50, 75, 100, 150, 200]
    names = [*(f"${a}k-${b}k" for a, b in pairwise(ends)), "$200k+"]
    income, age = rng.lognormal(4, 0.7, n), rng.integers(18, 80, n)
    k = np.searchsorted(ends, income, side="right") - 1
    score = 2.0 * np.log(income / 55) - ((age - 45) / 15) ** 2 + 0.7
    return frame(np.where(rng.logistic(0, 0.6, n) < score, "yes", "no"), income=np.array(names)[k], age=age)


def read_half_day(cell: str) -> float:
    clock, half = cell.split()
    hour, minute = map(int, clock.split(":"))
    return hour % 12 + 12 * (half == "pm") + minute / 60


@table(lambda rows: read(rows, start=read_half_day))
def night_shifts(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Times such as "8:30 pm": a high from ten at night to four in the morning, and a temperature."""
    minute, degrees = rng.integers(24 * 60, size=n), rng.normal(10, 8, n).round(1)
    away = np.minimum(np.abs(minute - 60), 1440 - np.abs(minute - 60)) / 60
    y = 3 * np.exp(-((away / 3) ** 4)) + 0.05 * degrees + noise(rng, n, 0.3)
    cells = [f"{(m // 60 - 1) % 12 + 1}:{m % 60:02d} {'pm' if m >= 720 else 'am'}" for m in minute]
    return frame(y, start=cells, temperature=degrees)


def read_commas(cell: Any) -> float:
    return float(cell.replace(".", "").replace(",", ".")) if isinstance(cell, str) else np.nan


@table(lambda rows: read(rows, rent=read_commas))
def decimal_commas(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Amounts with decimal commas such as "1.234,50", 5 % of them empty, and a number of rooms."""
    rent, rooms, is_empty = rng.lognormal(6.8, 0.6, n).round(2), rng.integers(1, 7, n), rng.random(n) < 0.05
    cells = np.array([f"{r:,.2f}".translate(str.maketrans(",.", ".,")) for r in rent], object)
    y = np.where(is_empty, 6.4, np.log(rent)) + 0.3 * np.sqrt(rooms) + noise(rng, n, 0.15)
    return frame(y, rent=np.where(is_empty, None, cells), rooms=rooms)


def read_stay(rows: pd.DataFrame) -> dict[str, Any]:
    start, end = (pd.to_datetime(rows[name], dayfirst=True) for name in ("arrival", "departure"))
    parts = day_parts(start)
    return {"nights": (end - start).dt.days, "month": parts["month"], "days": parts["days"], "people": rows["people"]}


@table(read_stay)
def stays(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Days of arrival and departure: what counts are the nights between them, the month, and the people."""
    day, nights, people = rng.integers(0, 730, n), rng.integers(1, 22, n), rng.integers(1, 7, n)
    start = pd.Timestamp("2022-01-01") + pd.to_timedelta(day, unit="D")
    end = start + pd.to_timedelta(nights, unit="D")
    y = 0.3 * nights + noise(rng, 12, 0.7)[np.asarray(start.month) - 1] + 0.4 * people + noise(rng, n, 0.4)
    return frame(y, arrival=start.strftime("%d.%m.%Y"), departure=end.strftime("%d.%m.%Y"), people=people)


@table(lambda rows: read(rows, pressure=lambda cell: [int(k) for k in cell.split("/")]), task="classification")
def blood_pressure(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Pressures such as "120/80" and an age; ill or well."""
    high, age = rng.normal(128, 18, n).round().astype(int), rng.integers(20, 90, n)
    low = (0.5 * high + rng.normal(16, 8, n)).round().astype(int)
    score = np.maximum(high - 130, 0) / 10 + np.maximum(low - 85, 0) / 6 + (age - 60) / 20 - 0.5
    ill = rng.logistic(0, 0.5, n) < score
    return frame(np.where(ill, "ill", "well"), pressure=[f"{a}/{b}" for a, b in zip(high, low, strict=True)], age=age)


@table(lambda rows: read(rows, result=lambda cell: [int(k) for k in cell.split(":")]))
def match_results(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Results such as "3:1": what counts is how far the first is ahead."""
    goals, x = rng.poisson(1.6, (n, 2)), rng.uniform(size=n)
    lead = goals[:, 0] - goals[:, 1]
    y = np.where(lead > 0, 2.0, np.where(lead == 0, 1.0, 0.0)) + 0.2 * lead + x + noise(rng, n, 0.3)
    return frame(y, result=[f"{a}:{b}" for a, b in goals], x=x)


@table(lambda rows: read(rows, version=lambda cell: [float(k) for k in cell.split(".")]))
def versions(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Versions such as "2.4.11": the first number counts most, then the first two."""
    major, minor, patch = rng.integers(1, 6, n), rng.integers(0, 8, n), rng.integers(0, 30, n)
    y = noise(rng, 6, 1)[major] + noise(rng, (6, 8), 0.5)[major, minor] + (x := rng.uniform(size=n))
    return frame(
        y + noise(rng, n, 0.3), version=[f"{a}.{b}.{c}" for a, b, c in zip(major, minor, patch, strict=True)], x=x
    )


AGREE = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]


@table(lambda rows: read(rows, food=AGREE.index, room=AGREE.index, staff=AGREE.index), task="classification")
def survey_answers(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Three answers from "strongly disagree" to "strongly agree"; who comes again."""
    answers = np.clip(rng.normal(2.2, 1.2, (n, 3)).round(), 0, 4).astype(int)
    score = answers @ [0.8, 0.4, 0.6] - 4 - 1.0 * (answers.min(axis=1) == 0)
    named = {name: np.array(AGREE)[answers[:, j]] for j, name in enumerate(("food", "room", "staff"))}
    return frame(np.where(rng.logistic(0, 0.6, n) < score, "again", "never"), **named)


def read_age(cell: str) -> float:
    words = cell.split()
    return int(words[0]) + (int(words[2]) / 12 if len(words) > 2 else 0)


@table(lambda rows: read(rows, age=read_age))
def ages_in_words(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Ages such as "3 years 4 months", and whether a child is a girl; height."""
    months, girl = rng.integers(12, 216, n), rng.integers(2, size=n) > 0
    y = 75 + 6.5 * np.minimum(months, 160) / 12 - 3 * girl + noise(rng, n, 4)
    cells = [f"{m // 12} years {m % 12} months" for m in months]
    return frame(y, age=cells, sex=np.where(girl, "girl", "boy"))


@table(lambda rows: read(rows, crp=lambda cell: float(cell.lstrip("<>"))), task="classification")
def lab_limits(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Measurements such as "3.4", of which those out of the range are "<0.5" and ">100"; an infection."""
    crp, x = rng.lognormal(1.5, 1.8, n), rng.normal(size=n)
    cells = np.where(crp < 0.5, "<0.5", np.where(crp > 100, ">100", np.char.mod("%.1f", crp)))
    ill = rng.logistic(0, 0.6, n) < 1.3 * np.log(np.clip(crp, 0.5, 100) / 8) + 0.5 * x
    return frame(np.where(ill, "yes", "no"), crp=cells, x=x.round(3))


@table(lambda rows: read(rows, change=lambda cell: float(cell.rstrip(" %"))))
def percent_changes(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Changes such as "+3.4 %" and "-12.0 %"; losses count twice, up to a limit."""
    change, x = rng.normal(1, 8, n).round(1), rng.uniform(size=n)
    y = np.where(change < 0, 2 * np.maximum(change, -10), change) / 5 + x + noise(rng, n, 0.3)
    return frame(y, change=[f"{c:+.1f} %" for c in change], x=x)


def read_sentinels(rows: pd.DataFrame) -> dict[str, Any]:
    return {"income": rows["income"].where(rows["income"] < 99_999), "age": rows["age"].where(rows["age"] >= 0)}


@table(read_sentinels)
def sentinels(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Numbers of which 8 % are -9 and 5 % are 99999, which are none; these rows are different."""
    income, age = rng.uniform(10, 90, n).round(), rng.integers(18, 80, n)
    y = income / 20 + np.abs(age - 50) / 15 + noise(rng, n, 0.3)
    hidden, unknown = rng.random(n) < 0.05, rng.random(n) < 0.08
    y = np.where(hidden, y + 1, y)
    return frame(y, income=np.where(hidden, 99_999, income), age=np.where(unknown, -9, age))


@table(rows=5000)
def users_items(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Ratings of 200 films by 400 users; an effect for each of both."""
    user, item = rng.integers(400, size=n), rng.integers(200, size=n)
    y = 3 + noise(rng, 400, 0.7)[user] + noise(rng, 200, 0.7)[item] + noise(rng, n, 0.6)
    return frame(y, user=np.char.add("u", user.astype(str)), film=np.char.add("film ", item.astype(str)))


@table(lambda rows: read(rows, department=lambda cell: cell.strip().lower().rstrip(".")))
def spellings(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Departments written in several ways: "Sales", "sales", "SALES ", "Sales."; years of work."""
    names = ["Sales", "Finance", "Research", "Support", "Legal", "Design", "Logistics", "Press"]
    ways = [str, str, str, str.lower, str.upper, lambda name: name + " ", lambda name: name + "."]
    k, w, years = rng.integers(8, size=n), rng.integers(7, size=n), rng.integers(0, 30, n)
    y = noise(rng, 8, 1)[k] + 0.05 * np.minimum(years, 15) + noise(rng, n, 0.4)
    return frame(y, department=[ways[j](names[i]) for i, j in zip(k, w, strict=True)], years=years)


@table(lambda rows: read(rows, article=lambda cell: [cell[:2], cell[:5]]), rows=3000)
def article_codes(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Articles such as "AB-10-4711", nearly all different: the letters count, and the number behind them."""
    groups = rng.permutation([a + b for a in LETTERS for b in LETTERS])[:15]
    effect = noise(rng, 15, 1)[:, None] + noise(rng, (15, 6), 0.5)
    g, k, x = rng.integers(15, size=n), rng.integers(6, size=n), rng.uniform(size=n)
    cells = [f"{groups[i]}-{10 * (j + 1)}-{rng.integers(1000, 9999)}" for i, j in zip(g, k, strict=True)]
    return frame(effect[g, k] + x + noise(rng, n, 0.3), article=cells, x=x)


def read_date(rows: pd.DataFrame) -> dict[str, Any]:
    return {"days": day_parts(pd.to_datetime(rows["date"]))["days"], "x": rows["x"]}


@table(read_date, rows=400, time="date", series=40)
def random_walks(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """One row a day of a random walk, and a line in another column; later days are to be predicted."""
    when, x = pd.Timestamp("2021-03-01") + pd.to_timedelta(np.arange(n), unit="D"), rng.normal(size=n)
    return frame(np.cumsum(noise(rng, n, 0.2)) + 0.5 * x + noise(rng, n, 0.2), date=when.strftime("%Y-%m-%d"), x=x)


@table(read_date, rows=400, time="date", series=40)
def saturating_trends(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """One row a day of a growth that ends, and a line in another column; later days are to be predicted."""
    when, x = pd.Timestamp("2021-03-01") + pd.to_timedelta(np.arange(n), unit="D"), rng.normal(size=n)
    growth = 5 * (1 - np.exp(-np.arange(n) / rng.uniform(60, 200)))
    return frame(growth + 0.5 * x + noise(rng, n, 0.4), date=when.strftime("%Y-%m-%d"), x=x)


@table()
def wide_spread(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Noise that grows fivefold with one column, which says nothing else, beside a curve of another."""
    a, b = rng.uniform(size=(2, n))
    return frame(2 * np.sin(5 * a) + (0.2 + 0.8 * b) * rng.normal(size=n), a=a, b=b)
