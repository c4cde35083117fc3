"""Proof files: JSON, compressed if the name ends in .gz."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from creases._files import open_regular, write_atomically
from creases._versions import version
from creases.certify.proofs._format import Proof
from creases.certify.proofs._values import proof_from_json, proof_to_json
from creases.errors import FileError

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

    try:
        return json.loads(data, object_pairs_hook=build, parse_constant=refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
