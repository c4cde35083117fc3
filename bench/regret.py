"""Measure how much accuracy growth with nothing set loses against the best fixed width: its regret.

    python bench/regret.py prepare --folder out/regret
    python bench/regret.py run --folder out/regret --out out/regret/fixed.json --part fixed --jobs 16
    python bench/regret.py run --folder out/regret --out out/regret/grow.json --part grow --jobs 16
    python bench/regret.py run --folder out/regret --out out/regret/loop.json --part loop --jobs 16
    python bench/regret.py show --out out/regret/fixed.json,out/regret/grow.json
    python bench/regret.py show --out out/regret/fixed.json,out/regret/loop.json --part loop

Eight data sets (``bench/regret_sets.py``), networks of two hidden layers, three seeds, and the same CPU-seconds for
every run (15 by default: 432 fixed runs are 6,500). Accuracies are of test rows that no run sees.

fixed  Widths 16, 32, ..., 512, each with three learning rates. AdamW with weight decay 0.01 and a cosine over the
       seconds; the weights with the best accuracy on 15 % of the training rows (of equal ones the lowest loss), looked
       at up to 40 times, are kept. The rate of a width is the one with the best mean accuracy over the seeds on those
       rows. Needs torch and scikit-learn alone.
grow   ``creases.grow(model, rows, "classification", budget="15 s")`` and nothing else, from layers of 1, 8 and 64
       units. Its seconds are of the clock: run no more jobs than there are idle cores.
loop   ``Grower`` in a training loop of one's own, with defaults, from the same starts: AdamW with a learning rate of
       0.003 for all data sets and widths, weight decay 0.01, batches and a cosine over the seconds as for fixed widths,
       and ``grower.step()`` after every epoch; of the epochs after growth, the weights with the best accuracy on the
       rows held out are kept.
gromo  gromo 0.1 from the same starts, as in ``growth_mnist.py``, without convolutions (``pip install gromo``).

``show`` prints the regret in points: the mean accuracy of the best fixed width less that of growth from a start, mean
over seeds; then the share of runs whose size (the geometric mean of the widths that growth has chosen, or of those that
are left when dead units are removed; fixed networks keep theirs) is within a factor of two of the
smallest fixed width whose accuracy is within one standard error of the best (that of a mean of three seeds, pooled over
widths; where that width is 16, the smallest, smaller networks count if they are within it too), and the share of the
budget that was spent before the final size was there. ``--out`` takes several files of results.
``--datasets gray`` runs a data set that was kept aside, ``--datasets residual`` a residual network with batch norm.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: a process has one thread

import numpy as np

from record import describe_run, note, note_table
from regret_runs import LOOP_RATE, measure
from regret_sets import CONVOLUTIONAL, DATASETS, OTHERS, prepare_images

WIDTHS, RATES, STARTS, SEEDS = (16, 32, 64, 128, 256, 512), (0.01, 0.003, 0.001), (1, 8, 64), 3
SECONDS = 15.0

Results = dict[str, dict[str, Any]]


# -- all of them ------------------------------------------------------------------------------------------------------


def plan(part: str, names: list[str]) -> Iterator[tuple[str, str, tuple, int]]:
    """Return (key, data set, choice, seed) of every run, all of a seed before the next."""
    names = [name for name in names if part != "gromo" or name not in CONVOLUTIONAL]
    choices = [(w, r) for w in WIDTHS for r in RATES] if part == "fixed" else [(start,) for start in STARTS]
    for seed in range(SEEDS):
        for name in names:
            for choice in choices:
                yield f"{name}/{part}/{'/'.join(map(str, choice))}/{seed}", name, choice, seed


def run_part(options: argparse.Namespace) -> None:
    """Make the runs that the file of results does not have, as long as another one fits into the limit."""
    results = json.loads(options.out.read_text()) if options.out.exists() else {"runs": [], "results": {}}
    commit = os.environ.get("CREASES_COMMIT")
    command = f"python bench/regret.py run --part {options.part} --seconds {options.seconds:g}"
    results["runs"].append(describe_run(command, commit))
    done: Results = results["results"]
    todo = [job for job in plan(options.part, options.datasets) if "accuracy" not in done.get(job[0], {})]
    begin, waiting, total = time.monotonic(), {}, len(todo)
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        while todo or waiting:
            if time.monotonic() - begin + 1.4 * options.seconds > options.limit:
                todo = []
            while todo and len(waiting) < options.jobs:
                key, name, choice, seed = todo.pop(0)
                waiting[pool.submit(measure, options.part, options.folder, name, choice, seed, options.seconds)] = key
            ended = wait(waiting, return_when=FIRST_COMPLETED).done if waiting else ()
            for future in ended:
                key = waiting.pop(future)
                done[key] = future.result()
                print(key, json.dumps({k: v for k, v in done[key].items() if k != "stages"}), flush=True)
            write(options.out, results)
    print(f"{sum('accuracy' in each for each in done.values())} results, {total} were to do")


def write(path: Path, results: dict[str, Any]) -> None:
    """Write the results, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1))
    part.replace(path)


# -- what they say ----------------------------------------------------------------------------------------------------


def fixed_accuracies(results: Results, name: str) -> dict[int, list[float]]:
    """Return the accuracies over the seeds of every width, with the rate that was best on held-out rows."""
    found = {}
    for width in WIDTHS:
        runs = [[results.get(f"{name}/fixed/{width}/{rate}/{seed}", {}) for seed in range(SEEDS)] for rate in RATES]
        full = [each for each in runs if all("accuracy" in run for run in each)]
        if full:
            best = max(full, key=lambda each: np.mean([run["held_out_accuracy"] for run in each]))
            found[width] = [run["accuracy"] for run in best]
    return found


def chosen_widths(run: dict[str, Any]) -> list[int]:
    """Return the widths that growth has chosen, before dead units were removed."""
    stages = run.get("stages")
    return list(stages[-1]["widths" if stages[-1]["pays"] else "widths_before"].values()) if stages else run["widths"]


def is_right_size(widths: list[int], enough: int, is_good: bool) -> bool:
    """Return whether a size is within a factor of two of what is enough; below the smallest, whether it is as good."""
    size = float(np.exp(np.mean(np.log(widths))))
    within = enough / 2 * (1 - 1e-9) <= size <= 2 * enough * (1 + 1e-9)
    return within or (enough == WIDTHS[0] and size < enough and is_good)


def relative_speed(results: Results, names: list[str], part: str) -> float:
    """Return how many more steps per second runs made after growth than fixed networks of the same width: a median.

    Other than 1 says that the machines, or what else they did, differed. Steps of the race are among those of a run, so
    that it is too high by up to a tenth; networks that were retrained say nothing.
    """
    ratios = []
    for key, run in results.items():
        name, kind, *_ = key.split("/")
        if name not in names or kind != part or "stages" not in run or "retrained" in run["ended"]:
            continue
        fixed = [results.get(f"{name}/fixed/{chosen_widths(run)[0]}/{rate}/0", {}).get("steps") for rate in RATES]
        if all(fixed):
            ratios.append(run["steps"] / (1 - run["finding"]) / float(np.mean(fixed)))
    return float(np.median(ratios)) if ratios else float("nan")


def judge(results: Results, name: str, part: str) -> tuple[list[str], list[dict[str, float]]] | None:
    """Return the cells of a data set in the table, and regret, size and share of every run of a part."""
    fixed = fixed_accuracies(results, name)
    if not fixed:
        return None
    means = {width: float(np.mean(each)) for width, each in fixed.items()}
    best = max(means, key=means.__getitem__)
    error = math.sqrt(np.mean([np.var(each, ddof=1) for each in fixed.values()]) / SEEDS)
    enough = min(width for width, mean in means.items() if mean >= means[best] - error)
    cells = [name, f"{100 * means[best]:.2f} ± {100 * error:.2f}", f"{best}", f"{enough}"]
    runs = []
    for start in STARTS:
        each = [results.get(f"{name}/{part}/{start}/{seed}", {}) for seed in range(SEEDS)]
        each = [run for run in each if "accuracy" in run]
        if not each:
            cells += ["-", "-"]
            continue
        accuracy = float(np.mean([run["accuracy"] for run in each]))
        cells += [f"{100 * (means[best] - accuracy):+.2f}", " ".join("-".join(map(str, r["widths"])) for r in each)]
        for run in each:
            is_good = run["accuracy"] >= means[best] - error
            chosen, left = (is_right_size(widths, enough, is_good) for widths in (chosen_widths(run), run["widths"]))
            runs.append(
                {
                    "regret": 100 * (means[best] - run["accuracy"]),
                    "mean": 100 * (means[best] - accuracy),
                    "right": float(chosen),
                    "right_left": float(left),
                    "finding": run["finding"],
                }
            )
    return cells, runs


def show(results: Results, names: list[str], part: str) -> None:
    """Print the regrets of a part of the runs, and note them for the page."""
    heads = ["", "best fixed", "width", "enough"]
    heads += [text for start in STARTS for text in (f"regret from {start}", f"found from {start}")]
    judged = [each for name in names if (each := judge(results, name, part))]
    rows, runs = [cells for cells, _ in judged], [run for _, each in judged for run in each]
    label = "_".join([part, *(OTHERS[name] for name in names if name in OTHERS)])
    note_table(label, heads, rows)
    print(*(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows]), sep="\n")
    if not runs:
        return
    values = {key: np.array([run[key] for run in runs]) for key in runs[0]}
    lines = {
        "mean": f"{values['regret'].mean():.2f}",
        "worst": f"{values['mean'].max():.2f}",
        "worst_run": f"{values['regret'].max():.2f}",
        "right": f"{values['right'].mean():.0%}",
        "right_left": f"{values['right_left'].mean():.0%}",
        "finding": f"{values['finding'].mean():.0%}",
        "finding_most": f"{values['finding'].max():.0%}",
        "runs": f"{len(runs)}",
        "speed": f"{relative_speed(results, names, part):.1f}",
    }
    if label == "grow":
        note("seconds", f"{SECONDS:g}")
        note("starts", ", ".join(map(str, STARTS)))
        note("widths", ", ".join(map(str, WIDTHS)))
        note("fixed_runs", f"{sum('/fixed/' in key and 'accuracy' in run for key, run in results.items())}")
    if label == "loop":
        note("loop_rate", f"{LOOP_RATE:g}")
    for key, value in lines.items():
        note(f"{label}_{key}", value)
    print(
        f"{part}: {lines['runs']} runs; regret {lines['mean']} points in the mean, {lines['worst']} for the worst "
        f"start of a data set, {lines['worst_run']} for the worst run; size within a factor of two in "
        f"{lines['right']} ({lines['right_left']} without dead units); {lines['finding']} of the budget before the "
        f"final size, {lines['finding_most']} at most; {lines['speed']} times the steps per second of fixed networks"
    )


def main() -> None:
    """Prepare, run or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prepare", "run", "show"])
    parser.add_argument("--folder", type=Path, default=Path("out/regret"), help="of the pictures")
    parser.add_argument("--out", default="out/regret/results.json", help="file of results; of show, several")
    parser.add_argument("--part", choices=["fixed", "grow", "loop", "gromo"], default="grow")
    parser.add_argument("--datasets", type=lambda text: text.split(","), default=list(DATASETS))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="CPU-seconds of a run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds of the clock")
    options = parser.parse_args()
    if options.what == "prepare":
        path = prepare_images(options.folder)
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    elif options.what == "run":
        options.out = Path(options.out)
        run_part(options)
    else:
        files = [json.loads(Path(path).read_text())["results"] for path in options.out.split(",")]
        show({key: run for each in files for key, run in each.items()}, options.datasets, options.part)


if __name__ == "__main__":
    main()
