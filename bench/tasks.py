"""Run the tasks of a benchmark on several processes, and keep each result in a file as it comes.

A benchmark that was stopped goes on where it was: what the file has is not run again. So a file belongs to one state of
the code: use another one after a change.
"""

from __future__ import annotations

import argparse
import json
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of :func:`run_tasks` to a command line."""
    parser.add_argument("--jobs", type=int, default=1, help="tasks at a time, each on one core")
    parser.add_argument("--out", type=Path, help="a file (JSON) that keeps results; what it has is not run again")


def run_tasks(
    function: Callable[..., dict[str, Any]], tasks: Mapping[str, tuple[Any, ...]], jobs: int, out: Path | None
) -> dict[str, dict[str, Any]]:
    """Return ``function(*arguments)`` of every task by its name, or raise once all others have ended.

    The function is called in fresh processes; what it returns is written as JSON.
    """
    results = json.loads(out.read_text(encoding="utf-8")) if out is not None and out.exists() else {}
    failed = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(function, *tasks[name]): name for name in tasks if name not in results}
        for future in as_completed(waiting):
            name = waiting[future]
            try:
                results[name] = future.result()
            except Exception:
                failed.append(name)
                print(f"{name} failed\n{traceback.format_exc()}", flush=True)
                continue
            print(name, json.dumps(results[name])[:200], flush=True)
            if out is not None:
                out.parent.mkdir(parents=True, exist_ok=True)
                out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")
    return {name: results[name] for name in tasks}
