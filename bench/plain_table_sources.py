"""Plain tables, made by rules: the ways real columns come, named before any model was fitted to them.

Each is a function of a generator and a number of rows that returns a DataFrame whose last column is the target ``y``.
``TABLES`` has them by name, with the task, the rows to fit to, and whether the rule is exact, so that a model can be
right on every row. ``read`` says how a person would turn a column of text into numbers in one line, for models that do
not read text; other columns of text are categories to them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

#: Rows that are held out, of every table.
TEST_ROWS = 1000

Draw = Callable[[np.random.Generator, int], Any]


@dataclass(frozen=True)
class PlainTable:
    """A table by its rule."""

    name: str
    draw: Draw  #: returns a DataFrame, or one to fit to and one to score
    task: str
    rows: int  #: to fit to
    is_exact: bool  #: whether a model can be right on every row
    read: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)  #: by column; a number or several
    codes: tuple[str, ...] = ()  #: numbers that are names of things; one-hot in a linear model

    @property
    def about(self) -> str:
        """The rule in words."""
        return (self.draw.__doc__ or "").strip()

    def split(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return rows to fit to and others to score, drawn at random."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        drawn = self.draw(rng, self.rows + TEST_ROWS)
        if isinstance(drawn, tuple):
            return drawn
        order = rng.permutation(len(drawn))
        train, test = order[: self.rows], order[self.rows :]
        return drawn.iloc[np.sort(train)].reset_index(drop=True), drawn.iloc[np.sort(test)].reset_index(drop=True)


TABLES: dict[str, PlainTable] = {}


def table(task: str, *, rows: int = 2000, exact: bool = False, **encoding: Any) -> Callable[[Draw], Draw]:
    """Add a table to the list."""

    def add(draw: Draw) -> Draw:
        name = draw.__name__
        TABLES[name] = PlainTable(name, draw, task, rows, exact, **encoding)
        return draw

    return add


def frame(y: Any, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({**columns, "y": y})


def numbers(rng: np.random.Generator, n: int, names: str, low: float = 0.0, high: float = 1.0) -> dict[str, Any]:
    return {name: rng.uniform(low, high, n) for name in names.split()}


def words(flags: Any, no: str = "no", yes: str = "yes") -> Any:
    return np.where(flags, yes, no)


def noise(rng: np.random.Generator, n: int, scale: float) -> Any:
    return rng.normal(0, scale, n)


# -- tables that were reported to go wrong, and two that did not -------------------------------------------------------


@table("classification", exact=True)
def differ(rng: np.random.Generator, n: int) -> Any:
    """Two yes/no columns; the class is whether they differ."""
    a, b = rng.integers(2, size=(2, n)) > 0
    return frame(words(a != b, "same", "different"), a=words(a), b=words(b))


@table("classification", exact=True)
def differ_three(rng: np.random.Generator, n: int) -> Any:
    """Three yes/no columns; the class is whether an odd number is yes."""
    a, b, c = rng.integers(2, size=(3, n)) > 0
    return frame(words(a ^ b ^ c, "even", "odd"), a=words(a), b=words(b), c=words(c))


@table("regression")
def trend(rng: np.random.Generator, n: int) -> Any:
    """Rows in the order of t = 1, 2, ..., a trend and a slow wave in t, and a column of no use."""

    def draw(t: Any) -> pd.DataFrame:
        return frame(0.002 * t + np.sin(t / 150) + noise(rng, len(t), 0.15), t=t, x=rng.normal(size=len(t)))

    times = np.arange(1, n - TEST_ROWS + 1)
    return draw(times), draw(rng.choice(times, TEST_ROWS))


@table("regression", codes=("store",))
def stores(rng: np.random.Generator, n: int) -> Any:
    """Store number 1 to 50, an effect for each, and a price."""
    store, price = rng.integers(1, 51, n), rng.uniform(1, 5, n)
    return frame(rng.normal(0, 2, 51)[store] - 0.3 * price + noise(rng, n, 0.4), store=store, price=price)


def hours(text: str) -> float:
    h, m = text.split(":")
    return int(h) + int(m) / 60


@table("regression", read={"at": hours})
def clock(rng: np.random.Generator, n: int) -> Any:
    """Times of day such as "08:30", with two rush hours, and a temperature."""
    minute, temperature = rng.integers(0, 24 * 60, n), rng.normal(12, 8, n)
    hour = minute / 60
    y = 3 * np.exp(-((hour - 8) ** 2) / 2) + 4 * np.exp(-((hour - 17.5) ** 2) / 4) + 0.03 * temperature
    at = [f"{m // 60:02d}:{m % 60:02d}" for m in minute]
    return frame(y + noise(rng, n, 0.3), at=at, temperature=temperature.round(1))


def leading_number(text: str) -> float:
    return float(text.split()[0])


@table("regression", read={"weight": leading_number, "energy": leading_number})
def unit_texts(rng: np.random.Generator, n: int) -> Any:
    """Numbers with a unit: "61.5 kg", "12 kWh"."""
    weight, energy = rng.normal(70, 12, n).round(1), rng.integers(1, 200, n)
    y = 0.05 * weight + np.sqrt(energy) + noise(rng, n, 0.3)
    return frame(y, weight=[f"{w} kg" for w in weight], energy=[f"{e} kWh" for e in energy])


@table("regression")
def fast_wave(rng: np.random.Generator, n: int) -> Any:
    """sin(10 x) for x from -3 to 3."""
    x = rng.uniform(-3, 3, n)
    return frame(np.sin(10 * x) + noise(rng, n, 0.1), x=x)


@table("regression")
def two_hills(rng: np.random.Generator, n: int) -> Any:
    """Two hills over latitude and longitude."""
    a, b = rng.uniform(47, 55, n), rng.uniform(6, 15, n)
    y = 3 * np.exp(-((a - 49) ** 2 + (b - 9) ** 2)) + 2 * np.exp(-((a - 53) ** 2) / 2 - (b - 12) ** 2 / 3)
    return frame(y + noise(rng, n, 0.1), latitude=a, longitude=b)


@table("regression")
def jump(rng: np.random.Generator, n: int) -> Any:
    """A jump at age 18 and a slope after it."""
    age, income = rng.integers(0, 90, n), rng.lognormal(3, 0.5, n)
    return frame(2.0 * (age >= 18) + 0.01 * age + noise(rng, n, 0.1), age=age, income=income)


@table("regression", rows=300)
def wide(rng: np.random.Generator, n: int) -> Any:
    """300 rows of 500 numbers, of which five matter."""
    X = rng.normal(size=(n, 500))
    y = X[:, [3, 77, 200, 311, 499]] @ [2.0, -1.5, 1.0, 1.0, 0.8] + noise(rng, n, 0.6)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(500)]).assign(y=y)


@table("regression", rows=3000)
def customers(rng: np.random.Generator, n: int) -> Any:
    """300 customers as text, about ten rows each, an effect for each, and an amount."""
    who = rng.permutation(np.resize(np.arange(300), n))
    amount = rng.uniform(0, 1, n)
    y = rng.normal(0, 1, 300)[who] + amount + noise(rng, n, 0.5)
    return frame(y, customer=[f"C{100 + k:04d}" for k in who], amount=amount)


@table("regression", rows=3000)
def oblique_wave(rng: np.random.Generator, n: int) -> Any:
    """sin(6 (a + b + c)) + d e f."""
    c = numbers(rng, n, "a b c d e f")
    y = np.sin(6 * (c["a"] + c["b"] + c["c"])) + c["d"] * c["e"] * c["f"]
    return frame(y + noise(rng, n, 0.1), **c)


@table("regression")
def product(rng: np.random.Generator, n: int) -> Any:
    """x1 x2, of two normal columns."""
    a, b = rng.normal(size=(2, n))
    return frame(a * b, x1=a, x2=b)


@table("regression")
def friedman1(rng: np.random.Generator, n: int) -> Any:
    """Friedman's first function of five columns, and five of no use."""
    c = numbers(rng, n, " ".join(f"x{j}" for j in range(10)))
    y = 10 * np.sin(np.pi * c["x0"] * c["x1"]) + 20 * (c["x2"] - 0.5) ** 2 + 10 * c["x3"] + 5 * c["x4"]
    return frame(y + noise(rng, n, 1), **c)


# -- further ones: numbers ---------------------------------------------------------------------------------------------


@table("regression", codes=("code",))
def codes(rng: np.random.Generator, n: int) -> Any:
    """Codes between 1000 and 9999, 40 of them in use, an effect for each, and an age."""
    used = np.sort(rng.choice(np.arange(1000, 10000), 40, replace=False))
    k, age = rng.integers(40, size=n), rng.integers(18, 80, n)
    return frame(rng.normal(0, 1, 40)[k] + 0.02 * age + noise(rng, n, 0.3), code=used[k], age=age)


@table("regression")
def coordinates(rng: np.random.Generator, n: int) -> Any:
    """Prices by coordinates: they fall with the distance to a centre, and are lower beyond a river; rooms."""
    lat, lon, rooms = rng.uniform(48.0, 48.3, n), rng.uniform(11.3, 11.8, n), rng.integers(1, 7, n)
    far = np.hypot((lat - 48.14) * 111, (lon - 11.57) * 74)
    y = 9 - 1.2 * np.log1p(far) - 0.8 * (lon > 11.6) + 0.4 * rooms
    return frame(y + noise(rng, n, 0.2), lat=lat.round(5), lon=lon.round(5), rooms=rooms)


@table("regression")
def zero_inflated(rng: np.random.Generator, n: int) -> Any:
    """Amounts of which seven in ten are 0: having any counts, and its logarithm."""
    amount = np.where(rng.random(n) < 0.7, 0, rng.lognormal(4, 1.2, n)).round(2)
    age = rng.integers(18, 80, n)
    y = 2 * (amount > 0) + 0.5 * np.log1p(amount) + 0.01 * age
    return frame(y + noise(rng, n, 0.2), amount=amount, age=age)


@table("regression")
def copied(rng: np.random.Generator, n: int) -> Any:
    """A column that is there three times, once in other units."""
    a, b = rng.uniform(0, 10, n), rng.uniform(0, 1, n)
    y = np.sqrt(a) + b + noise(rng, n, 0.1)
    return frame(y, length=a, length_again=a, length_cm=100 * a, b=b)


@table("regression")
def leak(rng: np.random.Generator, n: int) -> Any:
    """A column that is the target with noise, and three of its causes."""
    c = numbers(rng, n, "a b c")
    y = 3 * c["a"] + np.sin(6 * c["b"]) + c["c"] + noise(rng, n, 0.3)
    return frame(y, **c, estimate=y + noise(rng, n, 0.05))


@table("classification")
def rare_class(rng: np.random.Generator, n: int) -> Any:
    """One row in a hundred is of the second class: those of a large sum of two columns."""
    c = numbers(rng, n, "a b c d")
    z = c["a"] + c["b"] + noise(rng, n, 0.02)
    return frame(words(z > 1.85, "good", "bad"), **c)


@table("regression")
def heavy_tails(rng: np.random.Generator, n: int) -> Any:
    """Columns of Cauchy and Pareto distributions, which act through their middle."""
    a, b = rng.standard_cauchy(n), rng.pareto(1, n)
    return frame(np.arctan(a) + np.log1p(b) + noise(rng, n, 0.2), a=a, b=b)


@table("regression")
def outliers(rng: np.random.Generator, n: int) -> Any:
    """One cell in a hundred is 1e9, which means nothing."""
    c = numbers(rng, n, "a b c")
    y = 4 * (c["a"] - 0.5) ** 2 + c["b"] + noise(rng, n, 0.1)
    return frame(y, **{name: np.where(rng.random(n) < 0.01, 1e9, x) for name, x in c.items()})


@table("regression")
def hundred_useless(rng: np.random.Generator, n: int) -> Any:
    """Three columns that matter and a hundred that do not."""
    c = numbers(rng, n, " ".join(f"x{j}" for j in range(103)))
    y = 3 * c["x10"] + 2 * np.abs(c["x50"] - 0.5) + c["x90"] * c["x10"]
    return frame(y + noise(rng, n, 0.2), **c)


@table("regression")
def missing_tells(rng: np.random.Generator, n: int) -> Any:
    """An income that is missing in a third of the rows, which says something by itself."""
    income, age = rng.lognormal(10, 0.5, n), rng.integers(18, 80, n)
    gone = rng.random(n) < 1 / 3
    y = np.where(gone, -1, np.log(income) - 9.5) + 0.02 * age
    return frame(y + noise(rng, n, 0.2), income=np.where(gone, np.nan, income.round()), age=age)


@table("regression")
def ratio(rng: np.random.Generator, n: int) -> Any:
    """One column over another, as a body mass index is."""
    weight, height = rng.normal(72, 14, n), rng.normal(1.72, 0.1, n)
    return frame(weight / height**2 + noise(rng, n, 0.3), weight=weight, height=height)


@table("regression")
def skewed_target(rng: np.random.Generator, n: int) -> Any:
    """A target that is the exponential of a sum, as prices are."""
    c = numbers(rng, n, "a b c", -1, 1)
    return frame(np.exp(1.2 * c["a"] + c["b"] + 0.5 * c["c"] + noise(rng, n, 0.15)), **c)


@table("regression")
def counts(rng: np.random.Generator, n: int) -> Any:
    """Counts of a Poisson distribution whose mean is a product of the effects of two columns."""
    c = numbers(rng, n, "a b", -1, 1)
    return frame(rng.poisson(np.exp(2 + c["a"] + np.sin(3 * c["b"]))).astype(float), **c)


@table("regression")
def nothing(rng: np.random.Generator, n: int) -> Any:
    """Five columns of no use, and nothing else."""
    return frame(rng.normal(size=n), **numbers(rng, n, "a b c d e"))


@table("regression")
def record_number(rng: np.random.Generator, n: int) -> Any:
    """A record number that is different in every row and of no use, and two columns of use."""
    c = numbers(rng, n, "a b")
    return frame(np.sin(5 * c["a"]) + c["b"] + noise(rng, n, 0.2), record_id=rng.permutation(10 * n)[:n] + 100000, **c)


# -- further ones: rules -----------------------------------------------------------------------------------------------


@table("classification", exact=True)
def parity_among_others(rng: np.random.Generator, n: int) -> Any:
    """Eight columns of 0 and 1; the class is the parity of three of them."""
    bits = rng.integers(2, size=(8, n))
    return frame(words(bits[1] ^ bits[4] ^ bits[6], "even", "odd"), **{f"b{j}": row for j, row in enumerate(bits)})


@table("classification", exact=True)
def constant_by_group(rng: np.random.Generator, n: int) -> Any:
    """Twelve regions, each with one class; a column of no use."""
    region = rng.integers(12, size=n)
    classes = np.array(["red", "green", "blue"])[rng.integers(3, size=12)]
    return frame(classes[region], region=[f"region {'ABCDEFGHIJKL'[k]}" for k in region], x=rng.normal(size=n))


@table("regression", exact=True)
def tariff(rng: np.random.Generator, n: int) -> Any:
    """Prices that follow from zone and class of a ticket, without noise."""
    zone, grade = rng.integers(1, 7, n), rng.integers(2, size=n)
    prices = rng.integers(20, 200, size=(7, 2)) / 10
    return frame(prices[zone, grade], zone=zone, grade=words(grade, "second", "first"))


@table("classification", exact=True)
def either_rule(rng: np.random.Generator, n: int) -> Any:
    """Ten yes/no columns; the class is (a and b) or (c and not d)."""
    bits = rng.integers(2, size=(10, n)) > 0
    named = {name: words(row) for name, row in zip("abcdefghij", bits, strict=True)}
    return frame(words((bits[0] & bits[1]) | (bits[2] & ~bits[3]), "refused", "granted"), **named)


@table("classification")
def nearest_town(rng: np.random.Generator, n: int) -> Any:
    """Eight classes: the nearest of eight towns, by coordinates."""
    towns, here = rng.uniform(0, 10, (8, 2)), rng.uniform(0, 10, (n, 2))
    near = np.linalg.norm(here[:, None] - towns, axis=2).argmin(axis=1)
    return frame(np.array([f"town {k}" for k in "ABCDEFGH"])[near], east=here[:, 0], north=here[:, 1])


@table("regression")
def slopes_by_group(rng: np.random.Generator, n: int) -> Any:
    """A slope for each of five groups."""
    group, x = rng.integers(5, size=n), rng.uniform(-1, 1, n)
    y = np.array([-2, -1, 0, 1, 3])[group] * x + noise(rng, n, 0.2)
    return frame(y, group=np.array(["oak", "ash", "elm", "fir", "yew"])[group], x=x)


@table("classification", rows=2, exact=True)
def two_rows(rng: np.random.Generator, n: int) -> Any:
    """Two rows, one of each class; scored on rows like them."""
    rows = frame(["a", "b"], x=[1.0, 2.0], kind=["old", "new"])
    return rows, rows.iloc[rng.integers(2, size=TEST_ROWS)].reset_index(drop=True)


@table("classification")
def equal_rows(rng: np.random.Generator, n: int) -> Any:
    """All rows are equal but for the class; nothing can beat the more frequent one."""
    return frame(words(rng.random(n) < 0.3), x=np.full(n, 3.5), kind=np.full(n, "usual"))


# -- further ones: texts -----------------------------------------------------------------------------------------------


def duration_hours(text: str) -> float:
    found = re.fullmatch(r"(?:(\d+) h ?)?(?:(\d+)(?: min)?)?", text)
    assert found, text
    return int(found[1] or 0) + int(found[2] or 0) / 60


@table("regression", read={"took": duration_hours})
def durations(rng: np.random.Generator, n: int) -> Any:
    """Durations such as "1 h 30", "45 min" and "2 h"."""
    minutes, distance = 5 * rng.integers(1, 72, n), rng.uniform(0, 10, n)
    took = [f"{m} min" if m < 60 else f"{m // 60} h" + (f" {m % 60}" if m % 60 else "") for m in minutes]
    return frame(np.sqrt(minutes / 60) * 2 + 0.1 * distance + noise(rng, n, 0.2), took=took, distance=distance)


def lower_end(text: str) -> float:
    return float(text.rstrip("+").split("-")[0])


@table("regression", read={"age": lower_end, "staff": lower_end})
def intervals(rng: np.random.Generator, n: int) -> Any:
    """Intervals such as "10-20" and "65+"."""
    ages = np.array(["0-17", "18-24", "25-34", "35-44", "45-54", "55-64", "65+"])
    sizes = np.array([*(f"{10 * k}-{10 * k + 10}" for k in range(25)), "250+"])
    a, s = rng.integers(len(ages), size=n), rng.integers(len(sizes), size=n)
    y = 0.5 * a - 0.08 * (a - 3) ** 2 + 2 * np.tanh(s / 8)
    return frame(y + noise(rng, n, 0.3), age=ages[a], staff=sizes[s])


GRADES = ("very low", "low", "medium", "high", "very high")
SIZES = ("S", "M", "L", "XL")


@table("classification", read={"risk": GRADES.index, "size": SIZES.index})
def ordinals(rng: np.random.Generator, n: int) -> Any:
    """Words in order: "low", "medium", "high"; "S", "M", "L", "XL"."""
    risk, size = rng.integers(5, size=n), rng.integers(4, size=n)
    z = 1.2 * (risk - 2) - 0.8 * (size - 1.5)
    return frame(words(z + rng.logistic(size=n) > 0), risk=np.array(GRADES)[risk], size=np.array(SIZES)[size])


@table("regression", read={"month": lambda text: (12 * int(text[:4]) + int(text[5:]), int(text[5:]))})
def year_months(rng: np.random.Generator, n: int) -> Any:
    """Months such as "2021-03": a trend and a season."""
    m, x = rng.integers(0, 120, n), rng.normal(size=n)
    y = 0.02 * m + np.sin(2 * np.pi * m / 12) + 0.3 * x
    return frame(y + noise(rng, n, 0.2), month=[f"{2012 + k // 12}-{k % 12 + 1:02d}" for k in m], x=x)


@table("regression", read={"share": lambda text: float(text.rstrip(" %"))})
def percentages(rng: np.random.Generator, n: int) -> Any:
    """Percentages such as "12.5 %"."""
    share, x = rng.beta(2, 5, n).round(3), rng.uniform(size=n)
    y = 3 * (share - 0.3) ** 2 + share + 0.2 * x
    return frame(y + noise(rng, n, 0.05), share=[f"{100 * s:.1f} %" for s in share], x=x)


def day_parts(text: str) -> tuple[int, ...]:
    day = pd.Timestamp(text)
    return day.toordinal(), day.month, day.dayofyear, day.dayofweek


@table("regression", read={"day": day_parts})
def dates(rng: np.random.Generator, n: int) -> Any:
    """Days of three years such as "2023-05-17": weekends, a season, and a price."""
    day = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1095, n), unit="D")
    price = rng.uniform(1, 3, n)
    y = 2.0 * (day.dayofweek >= 5) + np.sin(2 * np.pi * day.dayofyear / 365) - 0.5 * price
    return frame(np.asarray(y) + noise(rng, n, 0.3), day=day.strftime("%Y-%m-%d"), price=price)


@table("regression", read={"paid": lambda text: float(text.rstrip(" €").replace(".", "").replace(",", "."))})
def currencies(rng: np.random.Generator, n: int) -> Any:
    """Amounts of money with decimal commas such as "1.234,50 €"."""
    paid, x = rng.lognormal(6, 1, n).round(2), rng.uniform(size=n)
    text = [f"{p:,.2f} €".translate(str.maketrans(",.", ".,")) for p in paid]
    return frame(np.log(paid) + x + noise(rng, n, 0.2), paid=text, x=x)


@table("regression")
def postcodes(rng: np.random.Generator, n: int) -> Any:
    """Postcodes with leading zeros as text, 150 of them; their first digit counts most."""
    used = [f"{k:05d}" for k in rng.choice(100000, 150, replace=False)]
    effect = rng.normal(0, 1, 10)[[int(code[0]) for code in used]] + rng.normal(0, 0.3, 150)
    k, x = rng.integers(150, size=n), rng.uniform(size=n)
    return frame(effect[k] + x + noise(rng, n, 0.3), postcode=np.array(used)[k], x=x)


@table("classification")
def text_id(rng: np.random.Generator, n: int) -> Any:
    """A text that is different in every row and of no use, and two columns of use."""
    c = numbers(rng, n, "a b", -1, 1)
    serial = [f"SN-{k:06d}" for k in rng.permutation(10 * n)[:n]]
    return frame(words(c["a"] + c["b"] ** 2 + rng.logistic(0, 0.1, n) > 0.3, "low", "high"), serial=serial, **c)


@table("regression")
def ticket_sizes(rng: np.random.Generator, n: int) -> Any:
    """Whole numbers of few values, one of which stands for "unknown" (99)."""
    people, x = rng.integers(1, 9, n), rng.uniform(size=n)
    unknown = rng.random(n) < 0.1
    return frame(np.sqrt(people) + x + noise(rng, n, 0.1), people=np.where(unknown, 99, people), x=x)
