"""Tables larger than memory: time, memory and scores against the number of rows.

Parquet files of a table of 20 columns are made with a fixed seed, without compression. Fits and predictions run in a
process of their own, with two workers; its seconds and its largest memory are those of all its processes together.

    python bench/record.py --store bench/stream.py cost --rows 10000 100000 1000000 10000000
    python bench/record.py --store bench/stream.py large --rows 20000000
    python bench/record.py --store bench/stream.py rates

``rates`` measures one core: how many bytes of Parquet it reads and encodes in a second, and how many rows of 1,000
columns it adds to the sums of a Newton step; and what 10 billion rows would take at these rates.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from record import note, note_table

#: Rows of a file, and of a row group.
FILE, GROUP = 1_000_000, 250_000

#: Rows for each of the sample and the test table, and rows on which boosting is fitted at most.
SAMPLE, TEST, BOOSTED = 500_000, 200_000, 2_000_000

TOWNS = np.array(
    ["Aachen", "Berlin", "Bonn", "Bremen", "Essen", "Gera", "Hamm", "Jena", "Kiel", "Mainz", "Trier", "Ulm"]
)
KINDS = np.array(["flat", "house", "office", "shop"])


def make_table(n: int, seed: int) -> pa.Table:
    """Return n rows: 19 inputs (skewed and rounded numbers, counts, categories, yes/no, a date, gaps) and a price."""
    rng = np.random.default_rng([34, seed])
    area = rng.gamma(4, 25, n).round(1)
    rooms = np.clip(np.round(area / 28 + rng.normal(size=n)), 1, 12).astype(np.int64)
    year = rng.integers(1900, 2024, n)
    income = np.exp(rng.normal(10, 0.6, n)).round(-1)
    distance = rng.exponential(6, n).round(2)
    noise = rng.normal(55, 9, n).round(1)
    floor = rng.integers(0, 9, n)
    lat, lon = rng.uniform(47, 55, n).round(4), rng.uniform(6, 15, n).round(4)
    town = rng.integers(0, len(TOWNS), n)
    kind = rng.choice(len(KINDS), n, p=[0.6, 0.25, 0.1, 0.05])
    garden, lift = rng.random(n) < 0.3, rng.random(n) < 0.4
    months = rng.integers(0, 120, n)
    day = np.datetime64("2015-01-01") + (30 * months + rng.integers(0, 30, n)).astype("timedelta64[D]")
    energy = np.clip(260 - 0.1 * (year - 1900) ** 1.05 + rng.normal(0, 30, n), 20, 400).round(0)
    visits, agent = rng.poisson(4, n), rng.integers(0, 40, n)
    quiet, score = rng.normal(size=n).round(3), rng.beta(2, 5, n).round(3)
    price = (
        2.2 * np.sqrt(area) + 0.4 * np.minimum(rooms, 6) + 0.02 * np.maximum(year - 1990, 0)
        + 1.5 * np.log(income / 2e4) - 0.9 * np.log1p(distance) - 0.04 * np.maximum(noise - 60, 0)
        + 0.3 * np.sin(town) + np.array([0.0, 0.8, -0.5, 0.2])[kind] + 0.5 * (garden & (kind == 1))
        + 0.12 * floor * lift + 0.004 * months + 0.3 * np.sin(2 * lat) * np.cos(lon) - 0.004 * energy
        + 0.05 * visits + rng.normal(0, 1.2, n)
    ).round(3)  # fmt: skip
    gap = rng.random((3, n)) < [[0.08], [0.03], [0.02]]
    towns = pa.DictionaryArray.from_arrays(pa.array(np.where(gap[2], -1, town), mask=gap[2]), TOWNS).cast(pa.string())
    return pa.table({
        "area": area, "rooms": rooms, "year": year, "income": pa.array(income, mask=gap[0]), "distance": distance,
        "noise": noise, "floor": floor, "lat": lat, "lon": lon, "town": towns, "kind": KINDS[kind], "garden": garden,
        "lift": lift, "day": day, "energy": pa.array(energy, mask=gap[1]), "visits": visits, "agent": agent,
        "quiet": quiet, "score": score, "price": price,
    })  # fmt: skip


def write_files(folder: Path, n: int, seed: int = 0) -> None:
    """Write n rows as Parquet files."""
    unfinished = folder.with_name(f"{folder.name}-unfinished")  # so that a run that is stopped leaves no shorter table
    unfinished.mkdir(parents=True, exist_ok=True)
    for k, start in enumerate(range(0, n, FILE)):
        table = make_table(min(FILE, n - start), 1_000 * seed + k)
        name = unfinished / f"part-{k:03d}.parquet"
        pq.write_table(table, name, row_group_size=GROUP, compression="none", use_dictionary=False)
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


def fit(data: str, run: str, jobs: str, memory: str) -> dict[str, Any]:
    """Fit files into a folder."""
    import creases

    model = creases.fit_table(data, "price", n_jobs=int(jobs), max_memory=float(memory))
    kept = next(step for step in model.function.steps if step.is_kept)
    model.save(run)
    return {
        "stage": kept.stage,
        "bends": model.function.n_bends,
        "n_rows": sum(creases.tables.count_rows(model).values()),
    }


def boost(data: str, test: str) -> dict[str, Any]:
    """Fit boosted trees to as many rows as are allowed, and score them."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    def read(folder: str, n: int) -> tuple[Any, Any]:
        frame = ds.dataset(folder).head(n).to_pandas()
        frame["day"] = frame["day"].to_numpy("datetime64[D]").astype(np.int64)
        for name in ("town", "kind"):
            frame[name] = frame[name].astype("category")
        return frame.drop(columns="price"), frame["price"]

    X, y = read(data, BOOSTED)
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0).fit(X, y)
    return {"n_rows": len(X), "r2": model.score(*read(test, TEST))}


def predict(run: str, data: str, out: str, jobs: str) -> dict[str, Any]:
    """Predict files into a file."""
    import creases

    return {"n_rows": creases.load(run).write_predictions(data, out, n_jobs=int(jobs))["rows"]}


def score(run: str, test: str) -> dict[str, Any]:
    """Return R² on rows of another table."""
    import creases

    frame = ds.dataset(test).head(TEST).to_pandas()
    error = creases.load(run).predict(frame) - frame["price"].to_numpy()
    return {"r2": float(1 - (error**2).mean() / frame["price"].var(ddof=0))}


WORK = {"fit": fit, "boost": boost, "predict": predict, "score": score}


def watch_memory(most: list[int]) -> None:
    """Keep the largest memory of this process and its children together; what they share counts once (Linux)."""
    while True:
        most[0] = max(most[0], sum(map(_memory, _family(os.getpid()))))
        time.sleep(0.2)


def _family(process: int) -> list[int]:
    """Return a process and all that it started, by number."""
    try:
        tasks = Path(f"/proc/{process}/task").iterdir()
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # it has ended
        return []
    return [process, *(each for child in children for each in _family(child))]


def _memory(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return 1024 * int(next(line for line in lines if line.startswith("Pss:")).split()[1])


def measure(work: str, *arguments: str) -> dict[str, Any]:
    """Run work in a process of its own; return its result with seconds, CPU-seconds and gigabytes."""
    print("   ", work, *arguments, file=sys.stderr, flush=True)
    command = [sys.executable, __file__, "work", work, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print("       ", result, file=sys.stderr, flush=True)
    return result


def work(name: str, arguments: list[str]) -> None:
    """Do one kind of work and print what it took."""
    most = [0]
    threading.Thread(target=watch_memory, args=(most,), daemon=True).start()
    start = time.perf_counter()
    result = WORK[name](*arguments)
    seconds = time.perf_counter() - start
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(use.ru_utime + use.ru_stime for use in uses)
    print(json.dumps(result | {"seconds": seconds, "cpu_seconds": cpu, "memory": most[0] / 1e9}))


def run_rows(n: int, folder: Path, *, jobs: int, memory: float) -> dict[str, Any]:
    """Return what a fit and predictions take for a table of n rows, and the score of the model."""
    data, test = folder / f"rows-{n}", folder / "test"
    if not data.exists():
        write_files(data, n)
    if not test.exists():
        write_files(test, TEST, seed=1)
    fitted = measure("fit", str(data), str(folder / "run"), str(jobs), str(memory))
    fitted["r2"] = measure("score", str(folder / "run"), str(test))["r2"]
    predicted = measure("predict", str(folder / "run"), str(data), str(folder / "out.parquet"), str(jobs))
    size = sum(path.stat().st_size for path in data.iterdir()) / 1e9
    return {"rows": n, "gigabytes": size, "fit": fitted, "predict": predicted}


def note_cost(results: list[dict[str, Any]]) -> None:
    """Name the cost for each number of rows, and for each further million."""
    rows, before = [], None
    for each in results:
        n, cpu = each["rows"], each["fit"]["cpu_seconds"]
        more = "" if before is None else f"{(cpu - before[1]) / (n - before[0]) * 1e6:.1f}"
        before = n, cpu
        r2, memory = f"{each['fit']['r2']:.4f}", f"{each['fit']['memory']:.2f}"
        rows.append([f"{n:,}", f"{each['fit']['seconds']:.0f}", f"{cpu:.0f}", more, memory, r2])
    columns = ["rows", "seconds", "CPU-s", "CPU-s for each further million", "GB of memory", "R² on other rows"]
    note_table("cost", columns, rows)


def note_large(large: dict[str, Any], sample: dict[str, Any], boosting: dict[str, Any]) -> None:
    """Name what the largest table takes beside a sample of it and boosted trees."""
    fitted, predicted = large["fit"], large["predict"]
    models = [("all rows, in blocks", fitted), ("a sample", sample), ("HistGradientBoosting", boosting)]
    rows = [
        [name, f"{each['n_rows']:,}", f"{each['seconds'] / 60:.1f}", f"{each['cpu_seconds']:.0f}",
         f"{each['memory']:.2f}", f"{each['r2']:.4f}"]
        for name, each in models
    ]  # fmt: skip
    note_table("large", ["fitted to", "rows", "minutes", "CPU-s", "GB of memory", "R² on other rows"], rows)
    note("large_rows", f"{large['rows']:,}")
    note("large_gigabytes", f"{large['gigabytes']:.1f} GB")
    note("fit_rate", f"{large['rows'] / fitted['cpu_seconds']:,.0f}")
    note("predict_rate", f"{predicted['n_rows'] / predicted['cpu_seconds']:,.0f}")
    note("predict_minutes", f"{predicted['seconds'] / 60:.1f}")
    note("predict_memory", f"{predicted['memory']:.2f} GB")


def measure_rates(folder: Path) -> None:
    """Name the rates of one core, and what a table of 10 billion rows and 1,000 columns would take."""
    from functools import partial

    from creases._engines._local import Serial
    from creases.tables import CurveConfig
    from creases.tables._stages import penalized
    from creases.tables._stages.basis import Basis, CurveBasis
    from creases.tables._stages.rows import Rows
    from creases.tables._streaming import passes
    from creases.tables._streaming.files import find_files
    from creases.tables._streaming.table import open_table

    write_files(folder / "rates", FILE)
    reading = {"target": "price", "task": None, "inputs": None, "drop": (), "kinds": None, "missing": "indicate"}
    size = sum(path.stat().st_size for path in (folder / "rates").iterdir())
    with open_table(find_files(folder / "rates"), reading, CurveConfig(), engine="serial") as table:
        start = time.process_time()
        passes.sum_blocks(Serial(passes.sum_task), len, table.rows.reader)
        read_rate = size / (time.process_time() - start)
    columns, n = 1_000, 4_096
    X = np.random.default_rng(0).uniform(size=(n, columns))
    knots = [np.linspace(0, 1, 8 if j < 100 else 2) for j in range(columns)]
    basis = Basis(CurveBasis.from_rows(X, np.ones(n), knots, np.full(columns, -1)))
    p = len(basis.penalty)
    rows = Rows(X, X[:, :1], np.ones(n), np.ones(n), 0)
    fit = penalized.Fit(basis, np.zeros((p, 1)), np.zeros(1), np.ones(1), np.ones(1), 1.0, ())
    step = partial(penalized._step_sums, fit, None)
    step(rows)
    start = time.process_time()
    for _ in range(3):
        step(rows)
    step_rate = 3 * n / (time.process_time() - start)
    note_paper(read_rate, step_rate, columns, p)


def note_paper(read_rate: float, step_rate: float, columns: int, p: int) -> None:
    """Name what a table of 10 billion rows takes, by bytes and by rows of one core in a second."""
    many, passes, disk, cores = 10_000_000_000, 3, 2e9, 1_000
    size = many * columns * 8
    read_hours, step_hours = passes * size / read_rate / 3600, many / step_rate / 3600
    note("paper_rows", "10 billion")
    note("paper_columns", f"{columns:,}")
    note("paper_functions", f"{p:,}")
    note("paper_terabytes", f"{size / 1e12:.0f} TB")
    note("paper_passes", f"{passes}")
    note("read_rate", f"{read_rate / 1e6:.0f} MB/s")
    note("step_rate", f"{step_rate:,.0f}")
    note("paper_read_hours", f"{read_hours:,.0f}")
    note("paper_step_hours", f"{step_hours:,.0f}")
    note("paper_cores", f"{cores:,}")
    note("paper_wall_hours", f"{(read_hours + step_hours) / cores:.1f} hours")
    note("paper_disk_rate", f"{disk / 1e9:.0f} GB/s")
    note("paper_disk_hours", f"{passes * size / disk / 3600:.0f} hours")
    note("paper_disks", f"{passes * size / disk / 3600 / ((read_hours + step_hours) / cores):.0f}")
    note("paper_sum", f"{8 * p * p / 1e6:.0f} MB")


def main() -> None:
    """Measure, print and name the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cost", "large", "rates", "work"])
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--rows", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--memory", type=float, default=4e9, help="bytes")
    parser.add_argument("--folder", type=Path, help="where files are kept; default: a temporary folder")
    asked = parser.parse_args()
    if asked.what == "work":
        work(asked.arguments[0], asked.arguments[1:])
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        if asked.what == "rates":
            measure_rates(folder)
            return
        results = [run_rows(n, folder, jobs=asked.jobs, memory=asked.memory) for n in asked.rows]
        print(json.dumps(results, indent=1))
        if asked.what == "cost":
            note_cost(results)
            return
        few = folder / "sample"
        write_files(few, SAMPLE)
        sample = measure("fit", str(few), str(folder / "few"), str(asked.jobs), str(asked.memory))
        sample["r2"] = measure("score", str(folder / "few"), str(folder / "test"))["r2"]
        boosting = measure("boost", str(folder / f"rows-{asked.rows[-1]}"), str(folder / "test"))
    note_large(results[-1], sample, boosting)


if __name__ == "__main__":
    main()
