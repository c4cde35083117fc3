"""What commands advise to type next works as it is printed: each is run."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pandas as pd
import pytest

#: Commands to begin with; what they print leads to others.
STARTS = (
    "fit homes.csv --target price --out run",
    "grow homes.csv --target rich --budget 30 --out net",
    "predict run homes.csv",
    "map fold.npz",
    "map wide.npz --axes 0,3 --out axes.png",
    "explain fold.npz 0.3,0.4",
    "explain net --row 3",
    "prune fold.npz",
    "prune net --data homes.csv --target rich --out small.onnx",
    "compare fold.npz other.npz --data points.csv",
    "spline homes.csv --x area --target price --pieces 3",
    "report run --out run.html",
    "problems",
    "verify fold.npz property.vnnlib",
)

PROPERTY = """(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(assert (>= X_0 0)) (assert (<= X_0 1)) (assert (>= X_1 0)) (assert (<= X_1 1)) (assert (>= Y_0 9))
"""

#: Generations of advice that are followed.
DEPTH = 3


@pytest.fixture
def files(tmp_path, fold, wide, weights):
    rng = np.random.default_rng(0)
    area, age = rng.uniform(40, 200, 80).round(), rng.uniform(0, 90, 80).round()
    price = (3 * area - age + rng.normal(0, 5, 80)).round()
    homes = pd.DataFrame({"area": area, "age": age, "price": price, "rich": np.where(price > 300, "yes", "no")})
    homes.to_csv(tmp_path / "homes.csv", index=False)
    homes.head(5).to_csv(tmp_path / "new.csv", index=False)
    np.savez(tmp_path / "other.npz", **weights | {"b1": np.array([-0.4])})
    np.savetxt(tmp_path / "points.csv", rng.normal(size=(30, 2)), delimiter=",", header="a,b", comments="")
    (tmp_path / "property.vnnlib").write_text(PROPERTY)


def advice_in(text: str) -> list[str]:
    """Return the commands that a text advises to run."""
    found = re.findall(r"^(?:Next:|New rows:) +(creases .*?)(?:  #.*)?$", text, flags=re.MULTILINE)
    return [command.removeprefix("creases ") for command in found]


@pytest.mark.thorough
def test_every_command_that_is_advised_works(run, files, tmp_path):
    done: list[str] = []
    commands = [(command, 0) for command in STARTS]
    while commands:
        command, depth = commands.pop(0)
        if command in done or command.startswith(("studio", "predict out/moons")):  # new.csv is another table
            continue
        done.append(command)
        (tmp_path / "predictions.csv").unlink(missing_ok=True)  # a file is never overwritten without --force
        result = run(*shlex.split(command))
        assert result.exit_code == 0, f"{command}:\n{result.output}"
        commands += [(text, depth + 1) for text in advice_in(result.stdout) if depth < DEPTH]
    assert len(done) > len(STARTS) + 10
