"""Proofs as JSON values and files, driven by the types of the format: whatever does not fit is refused.

A file is JSON, compressed if its name ends in .gz.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, BinaryIO, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from creases._files import open_regular, parse_json, write_atomically
from creases._schema import expect, is_count, is_number
from creases._versions import version
from creases.certify.proofs._format import (
    STATEMENTS,
    ClaimProof,
    Extended,
    Leaf,
    Lemma,
    ModelMark,
    Multipliers,
    Number,
    Proof,
    Split,
    Statement,
    Tree,
)
from creases.errors import FileError

FORMAT, VERSION = "creases proof", 3

#: A fraction as text; Python refuses to read integers of more than 4300 digits.
_FRACTION = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")


# -- numbers ----------------------------------------------------------------------------------------------------------


def read_number(value: Any, where: str, *, infinite: bool = False) -> float | Fraction:
    """Return a number of a file: a JSON number, a text ``p/q``, or ``inf`` and ``-inf`` where that is allowed."""
    if isinstance(value, str):
        if infinite and value in ("inf", "-inf"):
            return float(value)
        expect(_FRACTION.fullmatch(value) is not None, f'{where} must be a number or a text "p/q", got {value[:40]!r}')
        denominator = value.partition("/")[2]
        expect(denominator.strip("0") != "" or "/" not in value, f"{where} must not divide by 0, got {value[:40]!r}")
        return Fraction(value)
    expect(is_number(value), f"{where} must be a number, got {type(value).__name__}")
    if isinstance(value, int):
        return float(value) if abs(value) <= 2**53 else Fraction(value)
    expect(math.isfinite(value), f"{where} must be finite, got {value}")
    return float(value)


def write_number(value: Any) -> float | str:
    """Return a number as JSON has it."""
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    number = float(value)
    if isinstance(value, int) and number != value:
        return str(value)
    return number if math.isfinite(number) else str(number)


# -- any part ---------------------------------------------------------------------------------------------------------


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def read_part(kind: Any, value: Any, where: str) -> Any:
    """Return a JSON value as a part of the format; ValueError says where it does not fit."""
    if kind in (Number, Extended):
        return read_number(value, where, infinite=kind == Extended)
    if kind is int:
        expect(is_count(value), f"{where} must be a whole number from 0, got {value!r:.40}")
        return value
    if kind is str:
        expect(isinstance(value, str), f"{where} must be a text")
        return value
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        expect(isinstance(value, str) and value in arguments, f"{where} must be one of {arguments}, got {value!r:.40}")
        return value
    if origin in (Union, UnionType):  # of a part and None
        return None if value is None else read_part(arguments[0], value, where)
    if origin is tuple:
        expect(isinstance(value, list), f"{where} must be a list")
        if arguments[-1] is Ellipsis:
            return tuple(read_part(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(value))
        expect(len(value) == len(arguments), f"{where} must have {len(arguments)} entries, got {len(value)}")
        return tuple(read_part(part, value[i], f"{where}[{i}]") for i, part in enumerate(arguments))
    if origin is Mapping:
        fits = isinstance(value, list) and len(value) == 2
        expect(fits, f"{where} must be a list of numbers and one of their values")
        indices, numbers = (read_part(tuple[part, ...], value[i], where) for i, part in enumerate(arguments))  # type: ignore[valid-type]
        expect(len(indices) == len(numbers), f"{where} has {len(indices)} numbers but {len(numbers)} values")
        expect(len(set(indices)) == len(indices), f"{where} names a number twice")
        return dict(zip(indices, numbers, strict=True))
    expect(is_dataclass(kind) and isinstance(value, dict), f"{where} must be an object")
    return kind(**_read_fields(kind, value, where))


def _read_fields(kind: Any, value: dict[str, Any], where: str) -> dict[str, Any]:
    known = {each.name: each for each in fields(kind)}
    strange = sorted(value.keys() - known.keys())
    expect(not strange, f"{where} has an unknown entry {strange[:1]}")
    needed = [name for name, each in known.items() if each.default is MISSING and each.default_factory is MISSING]
    missing = [name for name in needed if name not in value]
    expect(not missing, f"{where} has no {missing[:1]}")
    return {name: read_part(_hints(kind)[name], part, f"{where}.{name}") for name, part in value.items()}


def write_part(value: Any) -> Any:
    """Return a part of the format as a JSON value."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.ndarray):
        return write_part(value.tolist())
    if isinstance(value, tuple | list):
        return [write_part(item) for item in value]
    if isinstance(value, Mapping):
        return [write_part(tuple(value)), write_part(tuple(value.values()))]
    if is_dataclass(value):
        return {each.name: write_part(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, int | np.integer):
        return int(value)
    return write_number(value)


# -- trees ------------------------------------------------------------------------------------------------------------


def _write_multipliers(multipliers: Multipliers) -> dict[str, Any]:
    parts = {each.name: getattr(multipliers, each.name) for each in fields(multipliers)}
    return {name: write_part(part) for name, part in parts.items() if len(part)}


def _write_node(node: Split | Leaf) -> dict[str, Any]:
    if isinstance(node, Split):
        place: list[Any] = [node.kind, int(node.index)]
        record: dict[str, Any] = {"split": [*place, write_number(node.at)] if node.kind == "input" else place}
    else:
        record = {"by": node.by} | _write_multipliers(node.multipliers)
    if node.cuts:
        record["cuts"] = [_write_multipliers(cut) for cut in node.cuts]
    if node.lemmas:
        record["lemmas"] = [
            {"unit": int(lemma.unit), "end": lemma.end} | _write_multipliers(lemma.multipliers) for lemma in node.lemmas
        ]
    return record


def _read_node(value: Any, where: str) -> Split | Leaf:
    expect(isinstance(value, dict), f"{where} must be an object")
    record = dict(value)
    lemmas = record.pop("lemmas", [])
    expect(isinstance(lemmas, list), f"{where}.lemmas must be a list")
    tightened = tuple(_read_lemma(lemma, f"{where}.lemmas[{i}]") for i, lemma in enumerate(lemmas))
    cuts = record.pop("cuts", [])
    planes = read_part(tuple[Multipliers, ...], cuts, f"{where}.cuts")
    if "split" not in record:
        by = read_part(_hints(Leaf)["by"], record.pop("by", None), f"{where}.by")
        return Leaf(by, read_part(Multipliers, record, where), tightened, planes)
    expect(set(record) == {"split"}, f"{where} must be either a split or a leaf")
    place = record["split"]
    is_input = isinstance(place, list) and place[:1] == ["input"] and len(place) == 3
    is_unit = isinstance(place, list) and place[:1] == ["unit"] and len(place) == 2
    expect(is_input or is_unit, f'{where}.split must be ["input", number, value] or ["unit", number]')
    index = read_part(int, place[1], f"{where}.split")
    at = read_number(place[2], f"{where}.split") if is_input else 0.0
    return Split(place[0], index, at, tightened, planes)


def _read_lemma(value: Any, where: str) -> Lemma:
    expect(isinstance(value, dict) and {"unit", "end"} <= value.keys(), f"{where} must have unit and end")
    rest = {name: part for name, part in value.items() if name not in ("unit", "end")}
    expect("rows" not in rest, f"{where} must have no rows")
    end = read_part(_hints(Lemma)["end"], value["end"], f"{where}.end")
    return Lemma(read_part(int, value["unit"], f"{where}.unit"), end, read_part(Multipliers, rest, where))


# -- proofs -----------------------------------------------------------------------------------------------------------


def proof_to_json(proof: Proof, creases: str) -> dict[str, Any]:
    """Return a proof as a JSON value; ``creases`` is the version that writes it."""
    kind = next(name for name, each in STATEMENTS.items() if isinstance(proof.statement, each))
    return {
        "format": FORMAT,
        "version": VERSION,
        "creases": creases,
        "model": write_part(proof.model),
        "other": write_part(proof.other),
        "statement": {"kind": kind} | write_part(proof.statement),
        "proofs": [
            {"claim": write_part(list(each.claim)), "tree": [_write_node(node) for node in each.tree]}
            for each in proof.proofs
        ],
    }


def proof_from_json(value: Any) -> Proof:
    """Return the proof of a JSON value; ValueError says what does not fit."""
    expect(isinstance(value, dict) and value.get("format") == FORMAT, f'it is not a "{FORMAT}"')
    expect(
        value.get("version") == VERSION, f"its version is {value.get('version')!r:.40}; this creases reads {VERSION}"
    )
    names = {"format", "version", "creases", "model", "other", "statement", "proofs"}
    expect(value.keys() == names, f"it must have the entries {sorted(names)}")
    statement = read_statement(value["statement"])
    expect(isinstance(value["proofs"], list), "proofs must be a list")
    proofs = tuple(_read_claim(part, f"proofs[{i}]") for i, part in enumerate(value["proofs"]))
    return Proof(
        read_part(ModelMark, value["model"], "model"),
        statement,
        proofs,
        read_part(ModelMark | None, value["other"], "other"),
    )


def read_statement(value: Any) -> Statement:
    """Return the statement of a JSON value; ValueError says what does not fit."""
    expect(isinstance(value, dict), "statement must be an object")
    kind = value.get("kind")
    expect(isinstance(kind, str) and kind in STATEMENTS, f"statement.kind must be one of {list(STATEMENTS)}")
    rest = {name: part for name, part in value.items() if name != "kind"}
    statement: Statement = read_part(STATEMENTS[kind], rest, "statement")
    return statement


def _read_claim(value: Any, where: str) -> ClaimProof:
    expect(isinstance(value, dict) and value.keys() == {"claim", "tree"}, f"{where} must have claim and tree")
    claim, tree = value["claim"], value["tree"]
    fits = isinstance(claim, list) and all(isinstance(part, str) or is_count(part) for part in claim)
    expect(fits, f"{where}.claim must be a list of words and whole numbers")
    expect(isinstance(tree, list), f"{where}.tree must be a list")
    nodes: Tree = tuple(_read_node(node, f"{where}.tree[{i}]") for i, node in enumerate(tree))
    return ClaimProof(tuple(claim), nodes)


# -- files ------------------------------------------------------------------------------------------------------------


#: A file with more bytes than this, unpacked, is refused.
MAX_BYTES = 2**31

#: A compressed file of more bytes than these, unpacked, and more than so many times its own is refused; it is counted
#: block by block.
_SMALL, _RATIO, _BLOCK = 2**26, 50, 2**20


def save_proof(proof: Proof, path: str | Path) -> Path:
    """Write a proof as JSON; compressed if the name ends in ``.gz``.

    Parameters
    ----------
    proof
        As a result of :mod:`creases.certify` carries it.
    path
        ``proof.json`` or ``proof.json.gz``. An existing file is replaced.
    """
    path = Path(path)
    try:
        value = proof_to_json(proof, version("creases"))
        proof_from_json(value)
        data = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except ValueError as problem:
        raise FileError(f"cannot write {path}: the proof is not valid: {problem}") from None
    with write_atomically(path) as temporary:
        temporary.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def load_proof(path: str | Path) -> Proof:
    """Read a proof from a JSON file, compressed or not.

    Everything in the file is checked: a file that is damaged or not a proof raises a
    :class:`creases.errors.FileError`. Whether the proof is right is what :func:`check_proof` decides.
    """
    path = Path(path)
    try:
        return proof_from_json(parse_proof_text(_read_bytes(path)))
    except FileNotFoundError:
        raise FileError(f"cannot read {path}: there is no such file") from None
    except (OSError, EOFError, zlib.error, ValueError) as problem:
        raise FileError(f"cannot read {path} as a proof: {problem}") from None


def _read_bytes(path: Path) -> bytes:
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        is_packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if is_packed:
            _check_unpacked_size(file, size)
        elif size > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES / 1e9:.0f} GB")
        return gzip.GzipFile(fileobj=file).read() if is_packed else file.read()


def _check_unpacked_size(file: BinaryIO, size: int) -> None:
    """Refuse a compressed file that unpacks to too much, before more than a block of it is held."""
    limit = min(MAX_BYTES, max(_SMALL, _RATIO * size))
    unpacked, stream = 0, gzip.GzipFile(fileobj=file)
    while block := stream.read(_BLOCK):
        unpacked += len(block)
        if unpacked > limit:
            raise ValueError(f"its {size / 1e6:.3g} MB unpack to more than {limit / 1e6:,.0f} MB: no proof does")
    file.seek(0)


def parse_proof_text(data: bytes) -> Any:
    """Return the value of a JSON text in which no object names an entry twice and all numbers are finite."""

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) != len(pairs):
            raise ValueError("an object names an entry twice")
        return record

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not a number")

    return parse_json(data, object_pairs_hook=build, parse_constant=refuse)
