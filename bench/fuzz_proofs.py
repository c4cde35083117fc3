"""Compare what creases proves about random networks with brute force over activation patterns in rational arithmetic.

    python bench/fuzz_proofs.py [--kinds NAME ...] [--seed 0] [--count N] [--seconds S] [--verdicts N] [--jobs 1]
                                [--budget 5] [--limit 1500] [--proofs] [--quiet] [--json FILE] [--list]
    python bench/fuzz_proofs.py --written 1000 [--seed 0]

Networks have 2 to 8 inputs and up to 20 units: columns in units of 1e-8 to 1e8, boxes a millionth wide away from 0,
leaks and clamps, ties, duplicates, dead units. Each verdict (a bound, "holds", "violated", a nearest change) is
compared with all regions of the box, whose values are integers times powers of two. Prints, for each kind, verdicts,
those that are false by any amount, those that are false by more than rounding, and the share of "unknown": of all, at
ordinary scales, and there without limits that are within rounding of what is reached ("clear"). Each false one has its
seed: `--seed SEED --count 1` asks again. The exit status is 1 if any is false. `--proofs` checks the certificate of
each verdict that carries one. `creases` is imported from PYTHONPATH.

`--written N` instead asks every search that can write a proof until it has N of them: networks with convolutions,
pooling, maxima, clamps, leaks, residual sums and layers beside each other, inputs in units of 1e-12 to 1e12. Counts
proofs that the check refuses, and answers that have none and do not say why.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

#: A verdict that is false by more than this, relative to the size of its quantity, is not rounding.
GROSS = 1e-9

#: Seeds that one task tries.
PART = 2


def try_seed(seed: int, kinds: list[str], budget: float, limit: int, proofs: bool) -> dict[str, Any]:
    """Ask all questions about one case; return records, errors of the library, and seconds for each kind."""
    import torch

    from proof_cases import random_case
    from proof_judge import Judge
    from proof_questions import judge
    from rational_regions import TooManyRegionsError

    torch.set_num_threads(1)
    case = random_case(seed)
    result: dict[str, Any] = {"seed": seed, "records": [], "errors": [], "skipped": [], "seconds": {}}
    try:
        asked = Judge(case, budget, limit, proofs=proofs)
        asked.regions  # noqa: B018 - is the case small enough?
    except TooManyRegionsError:
        result["skipped"] = list(kinds)
        return result
    for kind in kinds:
        begin = time.process_time()
        try:
            for record in judge(asked, kind):
                record = _check(record) if proofs else record
                result["records"].append(replace(record, proof=None, nets=()))
        except TooManyRegionsError:
            result["skipped"].append(kind)
        except Exception as problem:
            place = traceback.extract_tb(problem.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            result["errors"].append((kind, seed, f"{type(problem).__name__}: {str(problem)[:200]} at {where}"))
        result["seconds"][kind] = time.process_time() - begin
    return result


def _check(record: Any) -> Any:
    """Return a record, false where its certificate is refused; read from JSON, as a file would be."""
    if record.proof is None:
        return record
    from creases.certify.proofs import check_proof, load_proof, save_proof

    with tempfile.TemporaryDirectory() as folder:
        save_proof(record.proof, Path(folder, "proof.json"))
        answer = check_proof(load_proof(Path(folder, "proof.json")), *record.nets)
    if answer:
        return replace(record, detail=record.detail + " [certificate verified]")
    return replace(record, false=f"certificate refused: {answer}", error=1.0)


def try_seeds(seeds: list[int], *options: Any) -> list[dict[str, Any]]:
    return [try_seed(seed, *options) for seed in seeds]


@dataclass
class Counts:
    """The verdicts of a kind."""

    verdicts: int = 0
    false: int = 0
    gross: int = 0
    certificates: int = 0
    seconds: float = 0.0
    status: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)  #: by scale
    scales: Counter[str] = field(default_factory=Counter)
    clear: Counter[str] = field(default_factory=Counter)  #: verdicts whose limit is no question of rounding, by scale
    clear_unknown: Counter[str] = field(default_factory=Counter)

    def add(self, record: Any) -> None:
        self.verdicts += 1
        self.false += record.is_false
        self.gross += record.is_false and record.error > GROSS
        self.certificates += "[certificate verified]" in record.detail
        self.status[record.status] += 1
        self.scales[record.scale] += 1
        self.unknown[record.scale] += record.status == "unknown"
        self.clear[record.scale] += not record.is_edge
        self.clear_unknown[record.scale] += record.status == "unknown" and not record.is_edge

    def as_json(self) -> dict[str, Any]:
        shares = {scale: round(self.unknown[scale] / count, 5) for scale, count in self.scales.items()}
        clear = {scale: round(self.clear_unknown[scale] / max(n, 1), 5) for scale, n in self.clear.items()}
        return {
            "verdicts": self.verdicts,
            "false": self.false,
            "gross": self.gross,
            "certificates verified": self.certificates,
            "status": dict(self.status),
            "verdicts by scale": dict(self.scales),
            "unknown share": round(self.status["unknown"] / max(self.verdicts, 1), 5),
            "unknown share by scale": shares,
            "unknown share by scale, limits beyond rounding": clear,
            "CPU-seconds": round(self.seconds, 1),
        }


def fuzz(options: argparse.Namespace, kinds: list[str]) -> dict[str, Any]:
    """Try seeds until there are enough, with all processes at work."""
    counts = {kind: Counts() for kind in kinds}
    false: list[Any] = []
    errors: list[Any] = []
    skipped: Counter[str] = Counter()
    cases, written = 0, time.time()

    def report() -> dict[str, Any]:
        return {
            "cases": cases,
            "too large": dict(skipped),
            "kinds": {kind: count.as_json() for kind, count in counts.items()},
            "errors": errors,
            "false": [
                {
                    "kind": r.kind,
                    "seed": r.seed,
                    "scale": r.scale,
                    "false": r.false,
                    "error": r.error,
                    "detail": r.detail,
                }
                for r in sorted(false, key=lambda r: -r.error)
            ],
        }

    for result in results(options, kinds, lambda: [k for k in kinds if counts[k].verdicts < options.verdicts]):
        cases += 1
        for record in result["records"]:
            counts[record.kind].add(record)
            if record.is_false:
                false.append(record)
                if not options.quiet:
                    print(f"FALSE {describe(record)}", file=sys.stderr, flush=True)
        for kind, seconds in result["seconds"].items():
            counts[kind].seconds += seconds
        for error in result["errors"]:
            errors.append(error)
            print(f"ERROR {error}", file=sys.stderr, flush=True)
        skipped.update(result["skipped"])
        if options.json and time.time() > written + 20:  # what is known if the run is stopped
            Path(options.json).write_text(json.dumps(report(), indent=1, default=str))
            written = time.time()
    return report()


def results(options: argparse.Namespace, kinds: list[str], missing: Any) -> Iterator[dict[str, Any]]:
    """Yield the results of seeds as they come; kinds with enough verdicts are left out."""
    end = time.time() + options.seconds
    seed, last = options.seed, options.seed + options.count
    if options.jobs == 1:
        while seed < last and time.time() < end and (open_kinds := missing()):
            yield try_seed(seed, open_kinds, options.budget, options.limit, options.proofs)
            seed += 1
        return
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        running: set[Future[Any]] = set()
        while True:
            while len(running) < 2 * options.jobs and seed < last and time.time() < end and (open_kinds := missing()):
                seeds = list(range(seed, min(seed + PART, last)))
                running.add(pool.submit(try_seeds, seeds, open_kinds, options.budget, options.limit, options.proofs))
                seed = seeds[-1] + 1
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield from future.result()


def describe(record: Any) -> str:
    return (
        f"{record.kind}, seed {record.seed} ({record.scale}): {record.false}; error {record.error:.3g}; {record.detail}"
    )


def main() -> int:
    from proof_questions import KINDS

    options = parse_options()
    if options.list:
        print(json.dumps(list(KINDS)))
        return 0
    if options.written:
        return count_written(options.written, options.seed)
    kinds = [k for k in KINDS if not options.kinds or any(k.startswith(name) for name in options.kinds)]
    report = fuzz(options, kinds)
    report["options"] = {key: value for key, value in vars(options).items() if value is not None}
    text = json.dumps(report, indent=1, default=str)
    if options.json:
        Path(options.json).write_text(text)
    width = max(map(len, kinds))
    print(f"{'kind':{width}} verdicts  false  gross  unknown  ordinary   clear  CPU-s")
    for kind, row in report["kinds"].items():
        ordinary = row["unknown share by scale"].get("ordinary", 0.0)
        clear = row["unknown share by scale, limits beyond rounding"].get("ordinary", 0.0)
        print(
            f"{kind:{width}} {row['verdicts']:8} {row['false']:6} {row['gross']:6} {100 * row['unknown share']:7.2f}% "
            f"{100 * ordinary:8.2f}% {100 * clear:6.2f}% {row['CPU-seconds']:6.0f}"
        )
    print(f"{report['cases']} cases, {len(report['errors'])} errors; too large: {report['too large']}")
    if not options.json:
        print(text)
    note_report(report, options.budget)
    return int(any(row["false"] for row in report["kinds"].values()))


def note_report(report: dict[str, Any], budget: float) -> None:
    """Give the numbers that the page of the benchmarks quotes their names."""
    from record import note, note_table

    rows = report["kinds"].items()
    note_table(
        "by_kind",
        ["verdicts of", "compared", "certificates verified", "unknown"],
        [
            [kind, f"{row['verdicts']:,}", f"{row['certificates verified']:,}", f"{100 * row['unknown share']:.1f} %"]
            for kind, row in rows
        ],
    )
    refused = sum("certificate refused" in str(case["false"]) for case in report["false"])
    numbers = {
        "verdicts": sum(row["verdicts"] for _, row in rows),
        "kinds": len(rows),
        "false": sum(row["false"] for _, row in rows) - refused,
        "certificates": sum(row["certificates verified"] for _, row in rows),
        "refused": refused,
    }
    for name, value in numbers.items():
        note(name, f"{value:,}")
    note("budget", f"{budget:g} s")
    note("inputs", "2 to 8")
    note("scales", "1e-8 to 1e8")


def count_written(wanted: int, seed: int) -> int:
    """Ask every search until so many proofs are written; print what became of them."""
    from record import note, note_table
    from written_proofs import IMAGES, NETWORKS, ask

    counts, kinds = dict[str, Counter[str]](), (*NETWORKS, *IMAGES, "beside")
    begin = time.process_time()
    while sum(row["proofs"] for row in counts.values()) < wanted:
        for answer in ask(seed, kind=kinds[seed % len(kinds)]):
            row, problem = counts.setdefault(answer.kind, Counter()), answer.problem
            row["answers"] += 1
            row["proofs"] += answer.proof is not None
            row["refused"] += answer.proof is not None and bool(problem)
            row["none, with a note"] += answer.proof is None and bool(answer.note)
            row["none, without a word"] += answer.proof is None and bool(problem)
            if problem:
                print(f"seed {seed}, {answer.kind}: {problem}", flush=True)
        seed += 1
    total: Counter[str] = sum(counts.values(), Counter())
    columns = ("answers", "proofs", "refused", "none, with a note", "none, without a word")
    rows = [[kind, *(str(row[name]) for name in columns)] for kind, row in [*counts.items(), ("all", total)]]
    for line in [["kind", *columns], *rows]:
        print(" | ".join(line))
    print(f"{time.process_time() - begin:.0f} CPU-seconds")
    note_table("written proofs", ["question", *columns], rows)
    for name in columns:
        note(f"written proofs {name}", str(total[name]))
    return int(total["refused"] + total["none, without a word"] > 0)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="*", help="kinds of verdicts, or how their names begin")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10**9, help="cases")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no case after so long")
    parser.add_argument("--verdicts", type=int, default=10**9, help="stop asking a kind after so many verdicts")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--budget", type=float, default=5.0, help="seconds for each question")
    parser.add_argument("--limit", type=int, default=1500, help="leave out cases with more regions")
    parser.add_argument("--proofs", action="store_true", help="check certificates")
    parser.add_argument("--written", type=int, default=0, help="ask every search until it wrote so many proofs")
    parser.add_argument("--quiet", action="store_true", help="print no false verdict before the end")
    parser.add_argument("--json", help="file for the report")
    parser.add_argument("--list", action="store_true", help="print the kinds as JSON")
    return parser.parse_args()


if __name__ == "__main__" and main():
    raise SystemExit(1)
