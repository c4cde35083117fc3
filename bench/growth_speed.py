"""Time growth: GrowingClassifier against MLPClassifier on a table, alone on a large one, and proposals for MNIST.

    OMP_NUM_THREADS=1 python bench/growth_speed.py
    OMP_NUM_THREADS=1 python bench/growth_speed.py --rows 2000 --large 0 --pictures 2000 --seeds 1

All on one thread, in processor seconds, in one run, after a short fit of each that loads their libraries:

- 10,000 x 50 (scikit-learn's make_classification, 4 classes): a fit of each with nothing set but its seed
  (GrowingClassifier(); MLPClassifier on standardized columns) and the accuracy on 5,000 other rows, three
  seeds in turn; ± is the standard error.
- 100,000 x 50: a fit of GrowingClassifier.
- 54,000 x 784 (MNIST): one proposal of at most 10 units by fold, and one by tiny, for the first layer of 784-64-64-10
  after one epoch, all pictures given, beside the epoch of training itself.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from creases import GrowingClassifier
from creases.growth import Proposal
from creases.growth._budget import count_cost
from creases.growth.methods import fold, tiny
from creases.network import places
from creases.problems import mnist
from record import note

TEST, COLUMNS, CLASSES = 5000, 50, 4

loss = nn.CrossEntropyLoss()


def table(rows: int, seed: int) -> tuple[NDArray[Any], ...]:
    """Return X, y to train with, and X, y of other rows to test with."""
    X, y = make_classification(
        rows + TEST, n_features=COLUMNS, n_informative=15, n_redundant=10, n_classes=CLASSES, random_state=seed
    )
    return X[TEST:], y[TEST:], X[:TEST], y[:TEST]


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an MLP that has not converged within 200 iterations says so
        run()
    return time.process_time() - start


def describe(values: list[float], digits: int) -> str:
    """Return the mean with its standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f}"


def compare_fits(rows: int, seeds: int) -> None:
    makers = {
        "growing": lambda seed: GrowingClassifier(random_state=seed),
        "mlp": lambda seed: make_pipeline(StandardScaler(), MLPClassifier(random_state=seed)),
    }
    took: dict[str, list[float]] = {name: [] for name in makers}
    scores: dict[str, list[float]] = {name: [] for name in makers}
    widths = []
    X, y, *_ = table(200, 0)
    for make in makers.values():
        make(0).fit(X, y)
    for seed in range(seeds):
        X, y, X_test, y_test = table(rows, seed)
        for name, make in makers.items():
            model = make(seed)
            took[name].append(seconds(lambda model=model, X=X, y=y: model.fit(X, y)))
            scores[name].append(float(model.score(X_test, y_test)))
            if isinstance(model, GrowingClassifier):
                widths.append("-".join(map(str, model.hidden_)))
    print(f"{rows} x {COLUMNS}, seeds 0 to {seeds - 1}")
    for name in makers:
        print(f"  {name:<8} fit {describe(took[name], 1)} CPU-s, accuracy {describe(scores[name], 3)}")
    ratio = np.divide(took["growing"], took["mlp"])
    note("rows", f"{rows:,}")
    note("columns", str(COLUMNS))
    note("classes", str(CLASSES))
    note("seeds", str(seeds))
    for name, suffix in {"growing": "", "mlp": "_mlp"}.items():
        note("grown" if name == "growing" else name, f"{describe(took[name], 1)} s")
        note(f"accuracy{suffix}", describe(scores[name], 3))
    note("ratio", describe(list(ratio), 2))
    print(f"  growing takes {describe(list(ratio), 2)} times as long; hidden widths {', '.join(widths)}", flush=True)


def fit_large(rows: int) -> None:
    X, y, X_test, y_test = table(rows, 0)
    model = GrowingClassifier(random_state=0)
    took = seconds(lambda: model.fit(X, y))
    note("more_rows", f"{rows:,}")
    note("more_grown", f"{took:.1f} s")
    note("more_accuracy", f"{model.score(X_test, y_test):.3f}")
    print(f"{rows} x {COLUMNS}, seed 0")
    print(
        f"  growing  fit {took:.1f} CPU-s, accuracy {model.score(X_test, y_test):.4f}, hidden {model.hidden_}",
        flush=True,
    )


def train_epoch(model: nn.Module, X: Tensor, y: Tensor) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for rows in torch.randperm(len(X)).split(128):
        optimizer.zero_grad()
        loss(model(X[rows]), y[rows]).backward()
        optimizer.step()


def time_proposals(pictures: int) -> None:
    images = mnist("train")
    X = torch.from_numpy(images.images.reshape(len(images.images), -1)[:pictures]).float() / 255
    y = torch.from_numpy(images.labels[:pictures]).long()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    train_epoch(deepcopy(model), X[:128], y[:128])  # imports what the optimizer needs
    epoch = seconds(lambda: train_epoch(model, X, y))
    print(f"{pictures} x 784, MNIST, seed 0\n  an epoch of training {epoch:.2f} CPU-s")
    note("images", f"{pictures:,}")
    place = places(model)[0]
    batches = list(zip(X.split(1000), y.split(1000), strict=True))
    proposals: dict[str, Callable[[], Proposal]] = {
        "fold": lambda: fold(model, place, X, y, count=10),
        "tiny": lambda: tiny(model, place, batches, loss, count=10),
    }
    for name, propose in proposals.items():
        start = time.process_time()
        with count_cost() as cost:
            proposal = propose()
        took = time.process_time() - start
        share = f"{took / epoch:.1f} epochs' time"
        note(f"{name}_units", str(proposal.count))
        note(name, f"{took:.1f} s")
        note(f"{name}_epochs", f"{took / epoch:.1f}")
        print(f"  {name}: {proposal.count} units in {took:.2f} CPU-s ({share}), {cost.multiply_adds:.2e} multiply-adds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000, help="of the table for both, 0 to leave it out")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--large", type=int, default=100_000, help="rows of the large table, 0 to leave it out")
    parser.add_argument("--pictures", type=int, default=54_000, help="of MNIST, 0 to leave them out")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        if options.rows:
            compare_fits(options.rows, options.seeds)
        if options.large:
            fit_large(options.large)
        if options.pictures:
            time_proposals(options.pictures)


if __name__ == "__main__":
    main()
