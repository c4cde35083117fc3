"""Statements that a user asks for: whether what a proof states is that, or more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from creases._files import read_text
from creases.certify.proofs._format import Statement
from creases.certify.proofs._store import parse_proof_text
from creases.certify.proofs._values import read_statement
from creases.errors import FileError, InputError

#: Inputs that show a part of a statement: any will do.
SHOWN_BY = ("point", "pair", "interior", "argmin", "argmax", "where")

#: Numbers of an answer: a proof may state a stronger one, larger (1) or smaller (-1).
STRONGER = {
    "low": 1,
    "high": -1,
    "minimum": -1,
    "maximum": 1,
    "lower": 1,
    "upper": -1,
    "lower_bound": 1,
    "distance": -1,
}


def load_statement(source: str | Path | Mapping[str, Any]) -> Statement:
    """Return a statement: a JSON file with what a proof file has as its ``statement``, or its content."""
    if isinstance(source, Mapping):
        try:
            return read_statement(dict(source))
        except ValueError as problem:
            raise InputError("statement", "be a statement as a proof file has it", str(problem)) from None
    path = Path(source)
    try:
        return read_statement(parse_proof_text(read_text(path).encode()))
    except FileNotFoundError:
        raise FileError(f"cannot read {path}: there is no such file") from None
    except (OSError, ValueError) as problem:
        raise FileError(f"cannot read {path} as a statement: {problem}") from None


def find_difference(stated: Any, asked: Any, name: str = "statement") -> str:
    """Return the first part in which what is stated is not what is asked for, nor stronger; "" if there is none."""
    if type(stated) is not type(asked) and (is_dataclass(stated) or is_dataclass(asked)):
        return name
    if is_dataclass(asked):
        for part in (each.name for each in fields(asked) if each.name not in SHOWN_BY):
            pair = getattr(stated, part), getattr(asked, part)
            different = "" if _is_stronger(part, *pair) else find_difference(*pair, f"{name}.{part}")
            if different:
                return different
        return ""
    if isinstance(asked, tuple | list):
        if not isinstance(stated, tuple | list) or len(stated) != len(asked):
            return name
        parts = (find_difference(a, b, f"{name}[{i}]") for i, (a, b) in enumerate(zip(stated, asked, strict=True)))
        return next((part for part in parts if part), "")
    return "" if _exact(stated) == _exact(asked) else name


def _is_stronger(part: str, stated: Any, asked: Any) -> bool:
    if part not in STRONGER or asked is None:
        return part in STRONGER
    return stated is not None and STRONGER[part] * (_exact(stated) - _exact(asked)) >= 0


def _exact(value: Any) -> Any:
    is_number = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    return value if not is_number or value in (inf, -inf) else Fraction(value)
