"""The nearest change of decision: right against all patterns of sides, and how long it takes. One thread.

    python bench/nearest.py brute [--networks 1000] [--seed 0]
    python bench/nearest.py tables [--rows 3] [--budget 10]
    python bench/nearest.py grown [--units 10] [--rows 40] [--budget 10]
    python bench/nearest.py wide [--rows 6] [--budget 6]
    python bench/nearest.py large [--budget 60]

``brute``: random small networks (ReLU, leaky, clamp, abs-like and steep leaks; some with ties, dead units, weights of
few values, inputs on creases), every pattern of sides tried with a linear program or a projection of its own. Counts
distances that differ by more than 1e-7, and proofs of bounds above the truth.
``tables``: networks for iris, wine, breast cancer and a made-up credit table, standardized columns, some rows each:
share proved, median and worst processor seconds of the search, of mixed-integer programs, and of both together.
``grown``: networks of :class:`creases.GrowingClassifier` for these tables and one made up like the penguins of Palmer
Station, with every test row; sex and island of the penguins change as categories.
``wide``: three networks of 5 columns that grow from 50 to 200 units, held-out rows: proved within the budget.
``large``: random networks of the shape of ACAS Xu (5-50x6-5) and 784-256-256-10: bounds when the time is over.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise, product
from typing import Any

import numpy as np
import torch
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import train_test_split
from torch import nn

import creases
from creases.certify import nearest
from creases.certify.proofs import check_proof
from creases.regions.geometry import nearest_point, region_polytope
from record import note, note_table

NORMS = ("l1", "l2", "linf")
NAMES = {"l1": "L1", "l2": "L2", "linf": "Linf"}
TIGHT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
BENDS = {
    "relu": nn.ReLU,
    "leaky": lambda: nn.LeakyReLU(0.2),
    "clamp": nn.ReLU6,
    "folding": lambda: nn.LeakyReLU(-0.5),
    "steep": lambda: nn.LeakyReLU(2.0),
}


# -- against all patterns ---------------------------------------------------------------------------------------------


def small_network(seed: int) -> tuple[creases.Network, Any]:
    """A random network of few units and an input; some with ties, dead units and weights of few values."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    d, m, kind = int(rng.integers(1, 4)), int(rng.integers(1, 4)), list(BENDS)[rng.integers(len(BENDS))]
    most = 2 if kind == "clamp" else 3  # a clamp is two units
    widths = [int(h) for h in rng.integers(1, most + 1, size=rng.integers(0, 3))]
    layers: list[nn.Module] = []
    for before, after in zip([d, *widths], widths, strict=False):
        layers += [nn.Linear(before, after), BENDS[kind]()]
    model = nn.Sequential(*layers, nn.Linear([d, *widths][-1], m)).double()
    x = rng.uniform(-2, 2, size=d)
    with torch.no_grad():
        if seed % 3 == 0:
            x = np.round(x)
            for weight in model.parameters():
                weight.copy_(torch.round(weight * 3) / 2)
        if seed % 5 == 0 and widths:
            model[0].bias[0] = -50.0
    return creases.read(model, (d,)), x


def brute_force(net: creases.Network, x: Any, lo: float, hi: float) -> dict[str, float]:
    """The least distance in each norm over all patterns of sides."""
    z, d = net(x), len(x)
    predicted = int(z[0] > 0) if len(z) == 1 else int(z.argmax())
    counts = [k for k, units in zip(net.candidates, np.diff(net.unit_starts), strict=True) for _ in range(units)]
    best = dict.fromkeys(NORMS, np.inf)
    box, box_ends = np.vstack([np.eye(d), -np.eye(d)]), np.append(np.full(d, hi), np.full(d, -lo))
    for sides in product(*map(range, counts)):
        part = region_polytope(net, np.array(sides, np.int16))
        real = part.Q.any(axis=1)
        if (part.p[~real] < 0).any():
            continue
        J, y = (part.J, part.y) if len(z) > 1 else (np.vstack([0 * part.J, part.J]), np.append(0.0, part.y))
        for j in set(range(len(y))) - {predicted}:
            N = np.vstack([part.Q[real], J[predicted] - J[j], box])
            s = np.concatenate([part.p[real], [y[j] - y[predicted]], box_ends]) - N @ x
            if not N[len(N) - 2 * d - 1].any() and s[len(N) - 2 * d - 1] < 0:
                continue
            if linprog(np.zeros(d), N, s, bounds=(None, None), options=TIGHT).status != 2:
                for norm in NORMS:
                    best[norm] = min(best[norm], least_distance(N, s, norm))
    return best


def least_distance(N: Any, s: Any, norm: str) -> float:
    """The distance of the origin from ``N u <= s``."""
    d = N.shape[1]
    if norm == "l2":
        size = np.linalg.norm(N, axis=1)
        near = nearest_point(N[size > 0] / size[size > 0, None], s[size > 0] / size[size > 0])
        return np.inf if near is None else float(np.linalg.norm(near))
    if norm == "l1":
        done = linprog(np.ones(2 * d), np.hstack([N, -N]), s, options=TIGHT)
    else:
        ones, none = np.ones((d, 1)), np.zeros((len(N), 1))
        A = np.block([[N, none], [np.eye(d), -ones], [-np.eye(d), -ones]])
        limits = [(None, None)] * d + [(0, None)]
        done = linprog(np.eye(1, d + 1, d)[0], A, np.append(s, np.zeros(2 * d)), bounds=limits, options=TIGHT)
    return float(done.fun) if done.status == 0 else np.inf


def run_brute(networks: int, seed: int) -> None:
    """Compare with all patterns, and check some proofs."""
    wrong = false_proofs = unproved = answers = checked = verified = 0
    for number in range(seed, seed + networks):
        net, x = small_network(number)
        truth = brute_force(net, x, -3.0, 3.0)
        for norm in NORMS:
            change = nearest(net, x, norm=norm, box=(-3, 3))
            right = abs(change.distance - truth[norm]) <= 1e-7 or np.isinf([change.distance, truth[norm]]).all()
            answers, wrong, unproved = answers + 1, wrong + (not right), unproved + (not change.proved)
            false_proofs += change.lower_bound > truth[norm] + 1e-7
            if not right or not change.proved:
                print(f"  network {number} {net}, {norm}: {change}, truth {truth[norm]:.9g}")
            if number % 10 == 0:
                checked += 1
                verified += change.proof is not None and bool(check_proof(change.proof, net))
        done = number + 1 - seed
        if done % 50 == 0 or done == networks:
            print(f"{done} networks, {answers} answers: {wrong} wrong distances, {false_proofs} false bounds, ", end="")
            print(f"{unproved} unproved; {verified} of {checked} proofs verified", flush=True)


# -- tables -----------------------------------------------------------------------------------------------------------


def credit_table(rows: int = 1000) -> tuple[Any, Any]:
    """A made-up table: income, loan, months, age, years employed, earlier defaults, savings; repaid or not."""
    rng = np.random.default_rng(0)
    income, loan = rng.lognormal(7.8, 0.4, rows), rng.lognormal(8.5, 0.7, rows)
    months, age = rng.integers(6, 72, rows), rng.integers(19, 75, rows)
    employed, defaults = np.minimum(rng.exponential(6, rows), age - 18), rng.poisson(0.3, rows)
    savings = rng.exponential(3000, rows)
    burden = loan / months / income
    score = 2 - 5 * burden - 1.2 * defaults + 0.08 * employed + 0.0002 * savings - 0.0008 * (age - 45) ** 2
    repaid = score + rng.logistic(0, 0.5, rows) > 0
    return np.column_stack([income, loan, months, age, employed, defaults, savings]), repaid.astype(int)


def penguins_table(rows: int = 344) -> tuple[Any, Any]:
    """A made-up table: bill length and depth, flipper length, mass, sex and island as 0 and 1; the species."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, rows, p=[0.44, 0.2, 0.36])
    female = rng.integers(0, 2, rows)
    means = np.array([[38.8, 18.3, 190, 3700], [48.8, 18.4, 196, 3730], [47.5, 15.0, 217, 5080]])
    smaller, spread = np.array([3.4, 1.3, 6, 650]), np.array([2.1, 0.75, 5.8, 310])
    measures = means[y] + (0.5 - female)[:, None] * smaller + spread * rng.normal(size=(rows, 4))
    island = np.where(y == 0, rng.integers(0, 3, rows), np.where(y == 1, 1, 0))
    return np.column_stack([measures, 1 - female, female, np.eye(3)[island]]), y


def load_tables() -> dict[str, tuple[Any, Any]]:
    """Columns in units of their standard deviation, those of categories as 0 and 1, and classes."""
    loaders = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
    data = {name: load(return_X_y=True) for name, load in loaders.items()}
    data |= {"credit": credit_table(), "penguins": penguins_table()}
    for X, _ in data.values():
        numbers = [j for j in range(X.shape[1]) if len(np.unique(X[:, j])) > 2]
        X[:, numbers] = (X[:, numbers] - X[:, numbers].mean(axis=0)) / X[:, numbers].std(axis=0)
    return data


def train(X: Any, y: Any, widths: list[int]) -> creases.Network:
    """A network trained on standardized columns."""
    torch.manual_seed(0)
    sizes, layers = [X.shape[1], *widths], []
    for before, after in zip(sizes, widths, strict=False):
        layers += [nn.Linear(before, after), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(sizes[-1], int(y.max()) + 1)).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4)
    inputs, targets = torch.from_numpy(X), torch.from_numpy(y).long()
    for _ in range(300):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    return creases.read(model, (X.shape[1],))


def run_tables(rows: int, budget: float, tables: list[str]) -> None:
    """Print share proved, median and worst seconds for each table, size and norm."""
    data = load_tables()
    print(f"{rows} rows, at most {budget:g} s each: proved, median and worst processor seconds")
    for name in tables:
        X, y = data[name]
        which = np.random.default_rng(0).choice(len(X), rows, replace=False)
        for label, widths in {"10": [10], "30": [30], "100": [100], "2x32": [32, 32]}.items():
            net = train(X, y, widths)
            for norm in NORMS:
                line = f"{name:14s} {label:6s} {norm:5s}"
                proved, seconds = 0, []
                for i in which:
                    start = time.process_time()
                    proved += nearest(net, X[i], norm=norm, budget=budget).proved
                    seconds.append(time.process_time() - start)
                line += f"{proved:6d}/{rows:<2d} {np.median(seconds):6.2f} {max(seconds):6.2f}"
                print(line, flush=True)


def run_grown(rows: int, budget: float, tables: list[str], units: list[int]) -> None:
    """Print share proved, median and worst seconds of all test rows for each table, size and norm."""
    data, table, answers = load_tables(), [], []
    print(f"{rows} test rows, at most {budget:g} s each: proved, median and worst processor seconds")
    for name in tables:
        X, y = data[name]
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=rows, stratify=y, random_state=0)
        one_hot = [[4, 5], [6, 7, 8]] if name == "penguins" else []
        for most in units:
            model = creases.GrowingClassifier(max_units=most, random_state=0).fit(X_train, y_train)
            shape = "-".join(map(str, model.hidden_))
            line = f"{name:14s} at most {most:3d}: {shape:5s} accuracy {model.score(X_test, y_test):.3f}"
            cells = [name, shape, f"{model.score(X_test, y_test):.3f}"]
            for norm in NORMS:
                proved, seconds = 0, []
                for row in X_test:
                    start = time.process_time()
                    proved += nearest(model.network_, row, norm=norm, one_hot=one_hot, budget=budget).proved
                    seconds.append(time.process_time() - start)
                answers += [proved, rows]
                cells.append(f"{np.median(seconds):.3f} {max(seconds):.2f}")
                line += f"  {norm} {proved}/{rows} {np.median(seconds):.3f} {max(seconds):.3f}"
            print(line, flush=True)
            table.append(cells)
    note_table("grown", ["table", "units", "accuracy", *NAMES.values()], table)
    note("limits", ", ".join(map(str, units)))
    note("test_rows", str(rows))
    note("within", f"{budget:g} s")
    note("proved", f"{sum(answers[::2]):,}")
    note("answers", f"{sum(answers[1::2]):,}")


def wave_table(seed: int, rows: int = 1500) -> tuple[Any, Any]:
    """A made-up table of 5 columns: two waves and a bowl, above or below a level."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    W = rng.normal(size=(2, 5)) / np.sqrt(5)
    return X, (np.sin(2 * X @ W[0]) + np.cos(2 * X @ W[1]) + 0.2 * (X**2).sum(axis=1) > 1.2).astype(int)


def run_wide(rows: int, budget: float) -> None:
    """Print how many questions about networks of 200 units are proved, for each norm."""
    nets = []
    for seed in range(3):
        X, y = wave_table(seed)
        options: Any = {"hidden": (50,), "max_units": 200, "early_stopping": False, "growth_patience": None}
        model = creases.GrowingClassifier(budget=60, growth_share=0.5, random_state=seed, **options)
        nets.append((model.fit(X[:-rows], y[:-rows]).network_, X[-rows:]))
    shapes = ", ".join(str(net.n_units) for net, _ in nets)
    print(f"{rows} rows of each of three networks of {shapes} units, at most {budget:g} s each")
    table = []
    for norm in NORMS:
        nearest(nets[0][0], nets[0][1][0], norm=norm, budget=0.1)  # compiles
        answers = []
        for net, X in nets:
            for row in X:
                start = time.process_time()
                change = nearest(net, row, norm=norm, budget=budget)
                answers.append((change.proved, time.process_time() - start))
        proved, seconds = sum(done for done, _ in answers), [spent for _, spent in answers]
        table.append([NAMES[norm], f"{proved} of {len(answers)}", f"{np.median(seconds):.3f}", f"{max(seconds):.2f}"])
        print("  ".join(table[-1]), flush=True)
    note("wide_units", shapes)
    note("wide_budget", f"{budget:g} s")
    note_table("wide", ["norm", "proved", "median, s", "worst, s"], table)


def run_large(budget: float) -> None:
    """Print both bounds of random large networks."""
    rng = np.random.default_rng(0)
    acas, digits = [5, *[50] * 6, 5], [784, 256, 256, 10]
    for name, sizes, box in (("5-50x6-5", acas, (-1, 1)), ("784-256-256-10", digits, (0, 1))):
        layers = [(rng.normal(size=(b, a)) * np.sqrt(2 / a), 0.1 * rng.normal(size=b)) for a, b in pairwise(sizes)]
        net, x = creases.read(layers), rng.uniform(*box, size=sizes[0])
        for norm in NORMS:
            start = time.perf_counter()
            change = nearest(net, x, norm=norm, box=box, budget=budget)
            spent, gap = time.perf_counter() - start, 1 - change.lower_bound / change.distance
            print(f"{name:15s} {norm:5s} {change.lower_bound:9.5f} <= distance <= {change.distance:9.5f}", end="")
            print(f"  gap {gap:6.1%}  {change.nodes:6d} nodes  {spent:5.1f} s", flush=True)


def main() -> None:
    """Run one of the parts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=["brute", "tables", "grown", "wide", "large"])
    parser.add_argument("--networks", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, help="3 for tables, 40 for grown")
    parser.add_argument("--budget", type=float, default=10.0)
    parser.add_argument("--tables", nargs="+", help="all by default")
    parser.add_argument("--units", nargs="+", type=int, default=[10], help="the most units of networks that grow")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.part == "brute":
        run_brute(asked.networks, asked.seed)
    elif asked.part == "tables":
        run_tables(asked.rows or 3, asked.budget, asked.tables or ["iris", "wine", "breast cancer", "credit"])
    elif asked.part == "grown":
        run_grown(asked.rows or 40, asked.budget, asked.tables or list(load_tables()), asked.units)
    elif asked.part == "wide":
        run_wide(asked.rows or 6, min(asked.budget, 6.0))
    else:
        run_large(asked.budget)


if __name__ == "__main__":
    main()
