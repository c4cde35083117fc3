"""Run claims: measure, judge, and store the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from creases._validation import check_count
from creases._versions import version, versions
from creases.errors import FileError
from creases_reproduction.catalogue import find_claim
from creases_reproduction.claim import Claim
from creases_reproduction.experiment import Scale, check_scale, describe_machine
from creases_reproduction.fingerprint import fingerprint
from creases_reproduction.results import Failure, Result, judge_numbers, read_result, result_path, to_json, write_result


def run_claim(
    claim: Claim, scale: Scale = "quick", *, folder: str | Path | None = None, overwrite: bool = False
) -> Result:
    """Measure a claim and judge the numbers.

    Parameters
    ----------
    scale
        "full" as in the source, "quick" in seconds.
    folder
        Where the result is written as FAMILY/NAME.json. A result that is already there, of the same scale and the same
        version of creases, computed with the same code and tables, is not measured again, only judged.
    overwrite
        Whether to measure again what is already there.
    """
    result, is_new = _measure(claim, scale, folder, overwrite)
    if is_new and folder is not None:
        write_result(result, folder)
    return result


def _measure(claim: Claim, scale: Scale, folder: str | Path | None, overwrite: bool) -> tuple[Result, bool]:
    """Return the result of a claim, and whether it was measured now."""
    check_scale(scale)
    code = fingerprint(claim)
    previous = None if folder is None or overwrite else _previous_result(result_path(folder, claim.id), scale, code)
    if previous is not None:
        verdict, why = judge_numbers(claim, previous.numbers)
        return replace(previous, verdict=verdict, why=why), False
    start = perf_counter()
    numbers = {} if claim.measure is None else to_json(claim.measure(scale))
    seconds = perf_counter() - start
    verdict, why = judge_numbers(claim, numbers)
    result = Result(
        id=claim.id,
        scale=scale,
        command=f"creases reproduce {claim.id} --scale {scale}",
        versions=versions("creases", "torch", "numpy"),
        machine=describe_machine(),
        seconds=float(f"{seconds:.3g}"),
        numbers=numbers,
        verdict=verdict,
        why=why,
        code=code,
    )
    return result, True


def run_claims(
    claims: Sequence[Claim], scale: Scale, *, folder: str | Path, n_jobs: int = 1, overwrite: bool = False
) -> Iterator[Result | Failure]:
    """Run many claims and yield each result when it is done; a claim that fails does not stop the others.

    Parameters
    ----------
    n_jobs
        How many processes to use; 1 runs the claims one after the other in this process.
    """
    check_scale(scale)
    check_count(n_jobs, "n_jobs")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot write {folder}: {error.strerror}") from None
    if n_jobs == 1 or len(claims) <= 1:
        for claim in claims:
            yield _try_claim(claim.id, scale, str(folder), overwrite)
        return
    with _process_pools(min(n_jobs, len(claims))) as pools:
        yield from _run_in_lanes(pools, _group_claims(claims), scale, str(folder), overwrite)


def _run_in_lanes(
    pools: Sequence[Any], groups: list[list[Claim]], scale: Scale, folder: str, overwrite: bool
) -> Iterator[Result | Failure]:
    """Run each group of claims in one process; a process with no group left takes the last claims of another's."""
    from concurrent.futures import FIRST_COMPLETED, Future, wait

    waiting = list(groups)
    lanes: list[list[Claim]] = [[] for _ in pools]
    running: dict[Future[Result | Failure], int] = {}

    def start_next(lane: int) -> None:
        if not lanes[lane] and waiting:
            lanes[lane] = list(waiting.pop(0))
        longest = max(lanes, key=len)
        if lanes[lane] or longest:
            claim = lanes[lane].pop(0) if lanes[lane] else longest.pop()
            running[pools[lane].submit(_try_claim, claim.id, scale, folder, overwrite)] = lane

    for lane in range(len(pools)):
        start_next(lane)
    while running:
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for job in done:
            start_next(running.pop(job))
            yield job.result()


def _group_claims(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Return claims by the module that measures them, as those of one module often share networks they train once."""
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        measure: Any = claim.measure
        groups.setdefault(getattr(measure, "func", measure).__module__ if measure else "", []).append(claim)
    return list(groups.values())


def _previous_result(path: Path, scale: Scale, code: str) -> Result | None:
    """Return the result in a file, unless it is of another scale, another version of creases or other code."""
    if not path.is_file():
        return None
    result = read_result(path)
    same = (result.scale, result.versions.get("creases"), result.code) == (scale, version("creases"), code)
    return result if same else None


def _try_claim(id: str, scale: Scale, folder: str, overwrite: bool) -> Result | Failure:
    """Return the result of a claim, or the error that ended it; what cannot be written ends the whole run."""
    from traceback import format_exc

    try:
        result, is_new = _measure(find_claim(id), scale, folder, overwrite)
    except Exception:
        return Failure(id, format_exc())
    if is_new:
        write_result(result, folder)
    return result


@contextmanager
def _process_pools(n_jobs: int) -> Iterator[list[Any]]:
    """Yield pools of one process with one thread each, killed where the caller stops early."""
    import signal

    from loky import ProcessPoolExecutor

    pools = [
        ProcessPoolExecutor(
            1,
            timeout=60,  # where this process is killed, they end by themselves
            env={"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),  # Ctrl-C reaches this process, which ends them
        )
        for _ in range(n_jobs)
    ]
    try:
        yield pools
    finally:
        for pool in pools:
            pool.shutdown(kill_workers=True)
