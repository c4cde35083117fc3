"""Python script that repeats a run of the studio, bit for bit on the same kind of machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from creases.growth import GrowthConfig
from creases.show.studio._formula import parse
from creases.show.studio._problem_input import table_options

if TYPE_CHECKING:
    from creases.show.studio._live_run import LiveRun


def script(spec: Mapping[str, Any], live: LiveRun) -> str:
    """Return the script that repeats a run on the problem that a page specified."""
    imports, problem = _problem(spec, live)
    by_itself = live.history.ended and not live.by_hand and not live.undone and not live.budgets
    growth = "history = experiment.run()\n" if by_itself else _steered_growth(live)
    imports += ["from creases.growth import GrowthConfig", "from creases.tables import Experiment"]
    others = "import numpy as np\nimport torch\n" if "np." in problem else "import torch\n"
    return (
        f'"""Grow the network that the creases studio grew on {_plain(live.data.problem.name)}; needs creases."""\n\n'
        f"{others}\n{chr(10).join(sorted(imports))}\n\n"
        "torch.set_num_threads(1)  # as the studio does: sums of floats depend on it\n\n"
        f"{problem}"
        f"config = {_config(live.config)}\n"
        "experiment = Experiment.from_problem(problem, config)  # splits and scales the rows\n"
        f"{growth}\n"
        "print(history.explain(**experiment.data.names))\n"
        "net = experiment.network  # takes rows in the original units: net(problem.X)\n"
        'net.save("model.safetensors")\n'
    )


def _problem(spec: Mapping[str, Any], live: LiveRun) -> tuple[list[str], str]:
    """Return the imports and the lines that create the problem."""
    kind, problem = spec["kind"], live.data.problem
    if kind == "builtin":
        return ["from creases import problems"], f"problem = problems.get({spec['name']!r})\n"
    if kind == "csv":
        options = "".join(f", {name}={value!r}" for name, value in table_options(spec).items())
        read = f"read_table({live.settings.data!r}, {problem.target!r}{options})"
        return ["from creases.tables import read_table"], f"problem = {read}  # your file\n"
    parts = f"features={problem.features!r}, classes={problem.classes!r}"
    if kind == "draw":
        points = "\n".join(f"    {point}," for point in problem.X.tolist())
        lines = f"X = [\n{points}\n]\ny = {problem.y.tolist()}\n"
        return ["from creases.problems import Problem"], f'{lines}problem = Problem("drawn", X, y, {parts})\n'
    formula, n = parse(spec["formula"]), len(problem.X)
    noise = float(spec.get("noise", 0.0))
    moved = f"X = X + rng.normal(0.0, {noise!r}, X.shape)\n" if noise > 0 else ""
    lines = (
        f"rng = np.random.default_rng({int(spec.get('seed', 0))})\n"
        f"x, y = rng.uniform(-1, 1, (2, {n}))\n"
        f"labels = {formula.code}\n"
        f"X = np.stack([x, y], axis=1)\n{moved}"
    )
    return ["from creases.problems import Problem"], f"{lines}problem = Problem({problem.name!r}, X, labels, {parts})\n"


def _config(config: GrowthConfig) -> str:
    """Return the configuration as Python code, without defaults."""
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in config.to_dict().items()}
    return f"GrowthConfig({', '.join(f'{name}={value!r}' for name, value in options.items())})"


def _steered_growth(live: LiveRun) -> str:
    """Return the code that repeats a run with manual growth steps or undos, or one that has not ended."""
    budgets = f"budgets = {live.budgets!r}  # epochs after which training was extended, and the new total\n"
    extend = "    if trained in budgets:\n        run.extend(budgets[trained])\n"
    if not live.budgets:
        budgets = extend = ""
    return f"""{budgets}by_hand = {live.by_hand!r}  # epochs after which "grow now" was pressed, undone ones counted too
undone = {sorted(live.undone)!r}  # epochs whose growth step was undone by hand
run = experiment.create_run()
run.start()
for trained in range({live.turn + 1}):
    if trained:
        run.epoch(grow=trained not in undone)
{extend}    for _ in range(by_hand.count(trained)):
        run.grow_now()
history = run.history
if history.ended:
    experiment.finish(run)  # the network that was best on validation data
"""


def _plain(name: str) -> str:
    """Return a name without characters that would end a docstring."""
    return "".join(letter for letter in name if letter not in '"\\\n')[:80]
