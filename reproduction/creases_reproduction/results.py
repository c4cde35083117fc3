"""Results of claims: numbers, verdict, and how they were computed, as small JSON files.

``judge`` and ``picture`` of a claim receive the numbers as JSON returns them, so that a stored result is judged like a
fresh one: keys are text, tuples and arrays are lists, and numbers that are not finite are None.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from creases._files import write_json
from creases.errors import FileError, ReadError
from creases_reproduction.catalogue import find_claim
from creases_reproduction.claim import Claim
from creases_reproduction.experiment import Scale

#: The results at full scale that come with the package, a file FAMILY/NAME.json for each claim.
STORED_RESULTS = Path(__file__).with_name("results") / "claims"

#: The verdict on a claim that cannot be computed here.
NOT_COMPUTABLE = "not computable here"

#: The verdict on numbers of another set-up than the source's, see ``Claim.incomparable``.
NOT_COMPARABLE = "not comparable"

#: What is said beside every claim on CIFAR-10.
CIFAR_NOTE = "CIFAR-10 here was re-encoded as JPEG: numbers of the original files may differ."

#: Every verdict, best first.
VERDICTS = ("agrees", "agrees in kind", "disagrees", NOT_COMPARABLE, NOT_COMPUTABLE)


@dataclass(frozen=True)
class Result:
    """The outcome of a claim, and how it was computed."""

    id: str
    scale: Scale
    command: str
    versions: dict[str, str]
    machine: str  #: its processors, in words
    seconds: float
    numbers: dict[str, Any]
    verdict: str  #: one of VERDICTS
    why: str
    code: str = ""  #: digest of the code and tables that it was computed with, see fingerprint.py; "" if unknown


@dataclass(frozen=True)
class Failure:
    """A claim whose computation ended with an error."""

    id: str
    error: str  #: the traceback


def judge_numbers(claim: Claim, numbers: Mapping[str, Any]) -> tuple[str, str]:
    """Return the verdict on a claim's numbers and the reason for it."""
    if claim.measure is None or claim.judge is None:
        return NOT_COMPUTABLE, claim.cannot
    verdict, why = claim.judge(numbers)
    reason = claim.incomparable(numbers) if callable(claim.incomparable) else claim.incomparable
    if not reason:
        return verdict, why
    return NOT_COMPARABLE, f"{reason.rstrip('.')}. Measured all the same: {why}"


def judge_again(result: Result) -> Result:
    """Return a result whose stored numbers are judged by the current judge."""
    verdict, why = judge_numbers(find_claim(result.id), result.numbers)
    return replace(result, verdict=verdict, why=why)


def count_verdicts(results: Iterable[Result | Failure]) -> dict[str, int]:
    """Count the claims with each verdict, and those that failed to run."""
    counts = Counter("failed" if isinstance(result, Failure) else result.verdict for result in results)
    return {name: counts[name] for name in (*VERDICTS, "failed") if name in VERDICTS or counts[name]}


def stored_result(id: str) -> Result | None:
    """Return the result at full scale that comes with the package, if there is one."""
    path = result_path(STORED_RESULTS, id)
    return read_result(path) if path.is_file() else None


def stored_verdict(claim: Claim) -> str:
    """Return the verdict of the stored result, or "not run" if there is none."""
    if claim.measure is None:
        return NOT_COMPUTABLE
    result = stored_result(claim.id)
    return "not run" if result is None else result.verdict


def full_cost(claim: Claim, result: Result | None) -> str:
    """Return what a full run costs, in words: where the stored run tells the time, only what else it needs."""
    if result is None or result.command != full_command(claim):
        return claim.full
    return "; ".join(part for part in claim.full.split("; ") if part.startswith("needs"))


def full_command(claim: Claim) -> str:
    """Return the command that runs a claim at full scale."""
    return f"creases reproduce {claim.id} --scale full"


def data_note(claim: Claim, result: Result | None) -> str:
    """Return what to know of the data of a claim: that CIFAR-10 here is not as published; "" for other data."""
    text = [claim.place, claim.says, claim.printed, "" if result is None else json.dumps(result.numbers)]
    return CIFAR_NOTE if claim.measure is not None and "cifar" in " ".join(text).lower() else ""


def result_path(folder: str | Path, id: str, suffix: str = ".json") -> Path:
    """Return where a claim's result is in a folder: FAMILY/NAME.json."""
    return Path(folder) / f"{id}{suffix}"


def write_result(result: Result, folder: str | Path) -> Path:
    """Write a result as FAMILY/NAME.json into a folder."""
    path = result_path(folder, result.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = asdict(result)
    return write_json(fields if result.code else {name: fields[name] for name in fields if name != "code"}, path)


def read_result(path: str | Path) -> Result:
    """Read a file that :func:`write_result` wrote."""
    path = Path(path)
    try:
        return Result(**json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError) as error:
        raise ReadError(f"cannot read {path} as the result of a claim: {error}") from None


def to_json(value: Any) -> Any:
    """Return a value as JSON would return it: text keys, lists, None for numbers that are not finite; 8 digits."""
    if isinstance(value, np.ndarray):
        return to_json(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): to_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(part) for part in value]
    if isinstance(value, np.generic):
        return to_json(value.item())
    if isinstance(value, float):
        return float(f"{value:.8g}") if isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"a claim's numbers are numbers, text, lists and mappings; got {type(value).__name__}")
