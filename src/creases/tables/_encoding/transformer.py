"""scikit-learn's transformers of a table: fitted to its rows, or restored from what was fitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._typing import Floats
from creases.tables._reading.columns import Column
from creases.tables._reading.kinds import MAX_LEVELS, ColumnKind

if TYPE_CHECKING:
    import pandas as pd

    from creases.tables._encoding.column_encoding import ColumnEncoding

#: A value is rare in fewer rows than this and than a hundredth of them.
RARE = 10

#: Largest mean that is stored: sums of larger ones would not be finite.
LARGEST = 1e300


def fit(columns: Sequence[tuple[Column, ColumnKind]], missing: str) -> list[dict[str, Any]]:
    """Fit the transformers to the input columns; return what they learned, as plain data for each column."""
    if not columns:
        return []
    kinds = [kind for _, kind in columns]
    frame = _frame([column for column, _ in columns], kinds)
    transformer = _create(kinds, missing, (), min_frequency=min(RARE, len(frame) // 100), max_categories=MAX_LEVELS)
    with np.errstate(over="ignore"):
        fitted = transformer.fit(frame).named_transformers_
    means = iter(np.clip(fitted["numbers"].statistics_, -LARGEST, LARGEST).tolist() if "numbers" in fitted else ())
    levels = iter(_learned_levels(fitted["categories"]) if "categories" in fitted else ())
    learned: list[dict[str, Any]] = []
    for k, kind in enumerate(kinds):
        if kind.kind == "category":
            texts = frame[str(k)].tolist()
            known, rare = next(levels)
            common = _most_frequent(texts)
            rare = tuple(level for level in rare if level != common)
            learned.append({"n_missing": texts.count(""), "levels": known, "rare": rare, "common": common})
        else:
            names = _names(k, kind)
            gaps = int(frame[names[0]].isna().sum())
            learned.append({"n_missing": gaps, "means": tuple(next(means) for _ in names)})
    return learned


def restore(columns: Sequence[ColumnEncoding], missing: str) -> Callable[[Sequence[Column]], Floats]:
    """Return the function that encodes columns, as it was fitted.

    The transformers are fitted to a few rows made up for the purpose: a mean is the mean of itself, and a value is rare
    if it occurs once where all others occur twice. So what they do depends on the stored data alone, to the last bit.
    """
    kinds = [column.kind for column in columns]
    indicated = [k for k, column in enumerate(columns) if column.n_missing and not column.is_category]
    indicated = indicated if missing == "indicate" else []
    transformer = _create(kinds, missing, indicated, min_frequency=2, max_categories=None)
    example = _example(columns)
    order = _order(columns, indicated)
    if transformer.fit(example).transform(example).shape[1] != len(order):
        raise ValueError("values or means of columns are missing or repeated")

    def encode(raw: Sequence[Column]) -> Floats:
        if not len(raw[0].values):
            return np.zeros((0, len(order)))
        X: Floats = np.asarray(transformer.transform(_frame(raw, kinds)), np.float64)[:, order]
        return X

    return encode


def _create(kinds: Sequence[ColumnKind], missing: str, indicated: Sequence[int], **pooling: Any) -> Any:
    """Return the transformers: means for missing numbers, columns that indicate them, columns for categories."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    numbers = [name for k, kind in enumerate(kinds) if kind.kind != "category" for name in _names(k, kind)]
    categories = [str(k) for k, kind in enumerate(kinds) if kind.kind == "category"]
    if pooling["min_frequency"] < 2:
        pooling["min_frequency"] = None
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", sparse_output=False, **pooling)
    if missing == "mean":
        encoder = make_pipeline(SimpleImputer(missing_values="", strategy="most_frequent"), encoder)
    gaps = MissingIndicator(features="all", error_on_new=False)
    parts = [
        ("numbers", SimpleImputer(strategy="mean", keep_empty_features=True), numbers),
        ("missing", gaps, [_names(k, kinds[k])[0] for k in indicated]),
        ("categories", encoder, categories),
    ]
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0)


def _learned_levels(categories: Any) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the values of every category, and which of them are rare."""
    encoder = categories[-1] if hasattr(categories, "steps") else categories
    pairs = zip(encoder.categories_, encoder.infrequent_categories_, strict=True)
    return [(tuple(map(str, known)), () if rare is None else tuple(map(str, rare))) for known, rare in pairs]


def _names(k: int, kind: ColumnKind) -> list[str]:
    """Return the names, in the frame, of the numbers of column k."""
    return [f"{k}.{part}" for part in range(1 if kind.date is None else len(kind.date.parts))]


def _frame(columns: Sequence[Column], kinds: Sequence[ColumnKind]) -> pd.DataFrame:
    """Return the cells as numbers with NaN, and categories as text with "" for what is missing."""
    import pandas as pd

    data: dict[str, Any] = {}
    for k, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        if kind.kind == "category":
            data[str(k)] = pd.Series(kind.texts(column), dtype=object)
        else:
            numbers = kind.date.numbers(kind.date.parse(column)) if kind.date else kind.numbers(column)[:, None]
            data |= dict(zip(_names(k, kind), numbers.T, strict=True))
    return pd.DataFrame(data)


def _example(columns: Sequence[ColumnEncoding]) -> pd.DataFrame:
    """Return rows that the transformers learn the same from as from the table."""
    import pandas as pd

    texts: dict[str, list[str]] = {}
    means: dict[str, float] = {}
    for k, column in enumerate(columns):
        if column.is_category:
            frequent = [level for level in column.levels if level not in column.rare]
            texts[str(k)] = [*column.levels, *frequent, column.common]
        else:
            means |= dict(zip(_names(k, column.kind), column.means, strict=True))
    length = max([1, *map(len, texts.values())])
    data: dict[str, Any] = {name: [mean] + [np.nan] * (length - 1) for name, mean in means.items()}
    for name, values in texts.items():
        data[name] = pd.Series(values + [values[-1]] * (length - len(values)), dtype=object)
    return pd.DataFrame(data)


def _order(columns: Sequence[ColumnEncoding], indicated: Sequence[int]) -> list[int]:
    """Return where the features of each column, in the table's order, are in the transformers' output."""
    value, gap = 0, sum(len(column.means) for column in columns)
    level = gap + len(indicated)
    order: list[int] = []
    for k, column in enumerate(columns):
        if column.is_category:
            count = len(column.levels) - len(column.rare) + bool(column.rare)
            order += range(level, level + count)
            level += count
        else:
            order += range(value, value + len(column.means))
            value += len(column.means)
            if k in indicated:
                order.append(gap)
                gap += 1
    return order


def _most_frequent(texts: Sequence[str]) -> str:
    """Return the most frequent text that is not missing, the first of equals in sorted order."""
    counts = Counter(text for text in texts if text)
    return min(counts, key=lambda text: (-counts[text], text)) if counts else ""
