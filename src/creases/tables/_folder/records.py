"""Frozen dataclasses as plain data of files, and back, by the types of their fields and the shapes of their arrays.

The type of an array says its shape, ``Annotated[Floats, "h", "m"]``, and that of a tuple its length. A name stands for
one size within a record and the records in it. What else must hold, the record's ``check`` says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from creases._schema import expect, is_number
from creases._typing import Floats, Ints

Record = TypeVar("Record")

_hints: Callable[[Any], dict[str, Any]] = cache(partial(get_type_hints, include_extras=True))


def write_record(record: Any) -> dict[str, Any]:
    """Return a dataclass as plain data for JSON; what has its default is left out."""
    plain = {}
    for field in fields(record):
        value = getattr(record, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if isinstance(value, np.ndarray) or value != default:
            plain[field.name] = _write(value)
    return plain


def _write(value: Any) -> Any:
    if is_dataclass(value):
        return write_record(value)
    if isinstance(value, Mapping):
        return {str(key): _write(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_write(entry) for entry in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def read_record(cls: type[Record], value: Any, where: str, sizes: Mapping[str, int] | None = None) -> Record:
    """Return a dataclass of plain data; what is not of the types that it declares, or is unsound, raises ValueError.

    ``sizes`` are what names in shapes stand for already.
    """
    expect(isinstance(value, Mapping), f"{where} must be a record, got {value!r:.60}")
    entries: dict[str, Any] = {}
    known = dict(sizes or {})
    for field in fields(cls):  # type: ignore[arg-type]
        if field.name not in value:
            has_default = field.default is not MISSING or field.default_factory is not MISSING
            expect(has_default, f"{where} has no {field.name!r}")
            continue
        entry, name = value[field.name], f"the {field.name} of {where}"
        entries[field.name] = _read(_hints(cls)[field.name], entry, name, known)
    record = cls(**entries)
    if hasattr(record, "check"):
        record.check()
    return record


def _read(hint: Any, value: Any, where: str, sizes: dict[str, int]) -> Any:
    """Return a value of a type, if plain data are one; ``sizes`` gets what names in shapes stand for."""
    origin, kinds = get_origin(hint), get_args(hint)
    if origin is Annotated and kinds[0] in _ARRAYS:
        return _read_array(_ARRAYS[kinds[0]], kinds[1:], value, where, sizes)
    if origin is Annotated:
        entries = _read(kinds[0], value, where, sizes)
        length = sizes.setdefault(kinds[1], len(entries))
        expect(len(entries) == length, f"{where} must be {length}, got {len(entries)}")
        return entries
    if origin is UnionType:
        return None if value is None else _read(kinds[0], value, where, sizes)
    if origin is tuple:
        expect(isinstance(value, list | tuple), f"{where} is {value!r:.60}, not a list")
        kinds = kinds[:1] * len(value) if kinds[-1] is Ellipsis else kinds
        expect(len(value) == len(kinds), f"{where} must have {len(kinds)} entries, got {value!r:.60}")
        return tuple(_read(kind, entry, where, dict(sizes)) for kind, entry in zip(kinds, value, strict=True))
    if isinstance(hint, type) and is_dataclass(hint):
        return value if isinstance(value, hint) else read_record(hint, value, where, sizes)
    if origin is Counter or (isinstance(origin, type) and issubclass(origin, Mapping)):
        key, kind = (kinds[0], int) if origin is Counter else kinds
        expect(isinstance(value, Mapping), f"{where} must have names, got {value!r:.60}")
        entries = {key(name): _read(kind, entry, f"{name!r} in {where}", dict(sizes)) for name, entry in value.items()}
        return Counter(entries) if origin is Counter else entries
    if origin is Literal:
        words = f"one of {', '.join(map(repr, kinds))}"
        expect(value in kinds, f"{where} must be {words}, got {value!r:.60}")
        return value
    words, allows = _PLAIN[hint]
    expect(allows(value), f"{where} must be {words}, got {value!r:.60}")
    return hint(value)


def _read_array(kind: Any, shape: tuple[Any, ...], value: Any, where: str, sizes: dict[str, int]) -> Any:
    """Return an array of finite numbers of a shape, some sizes of which are known."""
    plain = np.asarray(value)
    if not plain.size:  # the shape of an empty list is not that of the array
        plain = np.zeros([sizes.get(size, 0) if isinstance(size, str) else size for size in shape], kind)
        plain = plain if not plain.size else np.zeros(0)
    is_kind = plain.dtype.kind in ("iu" if kind is np.int64 else "fiu") and plain.ndim == len(shape)
    fits = is_kind and bool(np.isfinite(plain).all())
    for size, length in zip(shape, plain.shape, strict=False):
        fits = fits and length == (sizes.setdefault(size, length) if isinstance(size, str) else size)
    words = " x ".join(str(sizes.get(size, size)) for size in shape)
    expect(fits, f"{where} must be {words} finite numbers, got {value!r:.60}")
    return plain.astype(kind)


#: Numbers of arrays by their types, which are looked up whole: what they are made of differs between versions of numpy.
_ARRAYS: dict[Any, Any] = {Floats: np.float64, Ints: np.int64}

_PLAIN: dict[type, tuple[str, Any]] = {
    bool: ("True or False", lambda value: isinstance(value, bool)),
    int: ("a count", lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63),
    float: ("a number", is_number),
    str: ("a string", lambda value: isinstance(value, str)),
}
