"""Running claims: measure, judge, and keep the result as a small JSON file.

``judge`` and ``picture`` of a claim are given the numbers as JSON gives them back, so that a result that was kept is
judged as a fresh one: keys are text, tuples and arrays are lists, and what is not finite is None.
"""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from creases._files import write_json
from creases._versions import version, versions
from creases.errors import FileError, ReadError
from creases_reproduction.catalogue import find
from creases_reproduction.claim import Claim, Judged
from creases_reproduction.measured import Scale, check_scale

#: The results at full scale that come with the package, a file for each claim.
STORED = Path(__file__).with_name("results") / "claims"

#: The verdict on a claim that cannot be computed here.
NOT_HERE = "not computable here"

#: Every verdict, best first.
VERDICTS = ("agrees", "agrees in kind", "disagrees", NOT_HERE)


@dataclass(frozen=True)
class Result:
    """What came of running a claim, and how it was run."""

    id: str
    scale: Scale
    command: str
    versions: dict[str, str]
    machine: str  #: its processors, in words
    seconds: float
    numbers: dict[str, Any]
    verdict: str  #: one of VERDICTS
    why: str


@dataclass(frozen=True)
class Failure:
    """A claim that could not be run to its end."""

    id: str
    error: str  #: the traceback


def run(claim: Claim, scale: Scale = "quick", *, folder: str | Path | None = None, again: bool = False) -> Result:
    """Measure a claim and judge what comes out.

    Parameters
    ----------
    scale
        "full" as in the source, "quick" in seconds.
    folder
        Where ``<id>.json`` is written; a result that lies there, of the same scale and the same version of creases,
        is not measured again, only judged.
    again
        Whether to measure also what lies there.
    """
    check_scale(scale)
    kept = None if folder is None or again else _kept(Path(folder) / f"{claim.id}.json", scale)
    if kept is not None:
        verdict, why = judged(claim, kept.numbers)
        return replace(kept, verdict=verdict, why=why)
    start = perf_counter()
    numbers = {} if claim.measure is None else plain(claim.measure(scale))
    seconds = perf_counter() - start
    verdict, why = judged(claim, numbers)
    result = Result(
        id=claim.id,
        scale=scale,
        command=f"creases reproduce {claim.id} --scale {scale}",
        versions=versions("creases", "torch", "numpy"),
        machine=machine(),
        seconds=round(seconds, 2),
        numbers=numbers,
        verdict=verdict,
        why=why,
    )
    if folder is not None:
        write(result, folder)
    return result


def judged(claim: Claim, numbers: Mapping[str, Any]) -> tuple[str, str]:
    """The verdict on a claim's numbers, with its reason."""
    if claim.measure is None or claim.judge is None:
        return NOT_HERE, claim.cannot
    found: Judged = claim.judge(numbers)
    return found.verdict, found.why


def judged_again(result: Result) -> Result:
    """A result whose numbers are judged as they would be now."""
    verdict, why = judged(find(result.id), result.numbers)
    return replace(result, verdict=verdict, why=why)


def run_all(
    claims: Sequence[Claim], scale: Scale, *, folder: str | Path, processes: int = 1, again: bool = False
) -> Iterator[Result | Failure]:
    """Run many claims, each result as it is done; one that fails does not stop the rest.

    Parameters
    ----------
    processes
        1: in this process, one after the other.
    """
    check_scale(scale)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if processes <= 1 or len(claims) <= 1:
        for claim in claims:
            yield _tried(claim.id, scale, str(folder), again)
        return
    from loky import as_completed

    with _pool(processes) as pool:
        jobs = [pool.submit(_tried, claim.id, scale, str(folder), again) for claim in claims]
        for job in as_completed(jobs):
            yield job.result()


def counts(results: Iterable[Result | Failure]) -> dict[str, int]:
    """How many claims have each verdict, and how many failed to run."""
    found = Counter("failed" if isinstance(result, Failure) else result.verdict for result in results)
    return {name: found[name] for name in (*VERDICTS, "failed") if name in VERDICTS or found[name]}


def stored(id: str) -> Result | None:
    """The result at full scale that comes with the package, if there is one."""
    path = STORED / f"{id}.json"
    return read(path) if path.is_file() else None


def status(claim: Claim) -> str:
    """The verdict of the stored result; "not run" where there is none."""
    if claim.measure is None:
        return NOT_HERE
    found = stored(claim.id)
    return "not run" if found is None else found.verdict


def write(result: Result, folder: str | Path) -> Path:
    """Write a result as ``<id>.json`` into a folder."""
    return write_json(asdict(result), Path(folder) / f"{result.id}.json")


def read(path: str | Path) -> Result:
    """Read what :func:`write` wrote."""
    path = Path(path)
    try:
        return Result(**json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError) as error:
        raise ReadError(f"{path}: is no result of a claim: {error}") from None


def plain(value: Any) -> Any:
    """A value as JSON would give it back: keys are text, sequences lists, what is not finite None; 8 digits."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return float(f"{value:.8g}") if isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"a claim's numbers are numbers, text, lists and mappings; got {type(value).__name__}")


def machine() -> str:
    """The processors, in words: "Intel Xeon 2.20 GHz, 2 cores", with the accelerator if there is one."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        models = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        name = models[0] if models else name
    words = f"{name}, {os.cpu_count()} cores"
    import torch

    return f"{words}; {torch.cuda.get_device_name()}" if torch.cuda.is_available() else words


def _kept(path: Path, scale: Scale) -> Result | None:
    if not path.is_file():
        return None
    found = read(path)
    return found if found.scale == scale and found.versions.get("creases") == version("creases") else None


def _tried(id: str, scale: Scale, folder: str, again: bool) -> Result | Failure:
    """A claim's result, or why there is none."""
    from traceback import format_exc

    try:
        return run(find(id), scale, folder=folder, again=again)
    except Exception:
        return Failure(id, format_exc())


@contextmanager
def _pool(processes: int) -> Iterator[Any]:
    """Processes of one thread each, ended at once where the caller stops early."""
    import signal

    from loky import ProcessPoolExecutor

    pool = ProcessPoolExecutor(
        processes,
        timeout=60,  # where this process is killed, they end by themselves
        env={"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),  # Ctrl-C is for this process, which ends them
    )
    try:
        yield pool
    finally:
        pool.shutdown(kill_workers=True)
