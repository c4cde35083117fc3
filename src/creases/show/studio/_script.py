"""A studio's run as a Python script that makes the same network, bit for bit on one kind of machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from creases.growth.experiment import Settings
from creases.show.studio._formula import parse
from creases.show.studio._given import table_options

if TYPE_CHECKING:
    from creases.show.studio._live import Live

_TIMES = {"plateau": "Plateau()", "converged": "Converged()"}


def script(given: Mapping[str, Any], live: Live) -> str:
    """The script of a run on the problem that a page gave."""
    imports, problem = _problem(given, live)
    steered = bool(live.by_hand or live.undone or not live.history.ended)
    growth = _steered(live) if steered else "model, history = creases.grow(model, **options(settings, data))\n"
    if steered:
        imports = [*imports, f"from creases.grow import {_time(live.settings.when)[0]}, Run"]
    ours = [
        "from creases.growth.experiment._split import divide",
        "from creases.growth.experiment._run import options, start",
    ]
    ours = sorted([*imports, *ours, "from creases.growth.experiment._settings import Settings"])
    others = "import numpy as np\nimport torch\n" if "np." in problem else "import torch\n"
    return (
        f'"""Grow the network that the creases studio grew on {_plain(live.data.problem.name)}; needs creases."""\n\n'
        f"{others}\nimport creases\n{chr(10).join(ours)}\n\n"
        "torch.set_num_threads(1)  # as the studio does: sums of floats depend on it\n\n"
        f"{problem}"
        f"settings = {_settings(live.settings)}\n"
        "data = divide(problem, settings)  # rows to train on, to stop by and to test with; and the scaling\n"
        "model = start(settings, data)\n"
        f"{growth}\n"
        "print(history.explain(**data.names))\n"
        "net = creases.read(data.scaling.fold_into(model))  # takes the data's own units: net(problem.X)\n"
        'net.save("model.safetensors")\n'
    )


def _problem(given: Mapping[str, Any], live: Live) -> tuple[list[str], str]:
    """Imports, and the lines that make the problem."""
    kind, problem = given["kind"], live.data.problem
    if kind == "builtin":
        return ["from creases import problems"], f"problem = problems.get({given['name']!r})\n"
    if kind == "csv":
        options = "".join(f", {name}={value!r}" for name, value in table_options(given).items())
        read = f"problems.read_table({live.settings.data!r}, {problem.target!r}{options})"
        return ["from creases import problems"], f"problem = {read}  # your file\n"
    parts = f"features={problem.features!r}, classes={problem.classes!r}"
    if kind == "draw":
        points = "\n".join(f"    {point}," for point in problem.X.tolist())
        lines = f"X = [\n{points}\n]\ny = {problem.y.tolist()}\n"
        return ["from creases.problems import Problem"], f'{lines}problem = Problem("drawn", X, y, {parts})\n'
    formula, n = parse(given["formula"]), len(problem.X)
    noise = float(given.get("noise", 0.0))
    moved = f"X = X + rng.normal(0.0, {noise!r}, X.shape)\n" if noise > 0 else ""
    lines = (
        f"rng = np.random.default_rng({int(given.get('seed', 0))})\n"
        f"x, y = rng.uniform(-1, 1, (2, {n}))\n"
        f"labels = {formula.code}\n"
        f"X = np.stack([x, y], axis=1)\n{moved}"
    )
    return ["from creases.problems import Problem"], f"{lines}problem = Problem({problem.name!r}, X, labels, {parts})\n"


def _settings(settings: Settings) -> str:
    """The settings that are not the usual ones."""
    usual = Settings(settings.data)
    changed = {field.name: getattr(settings, field.name) for field in fields(settings)}
    given = [f"{name}={value!r}" for name, value in changed.items() if value != getattr(usual, name)]
    return f"Settings({', '.join([repr(settings.data), *given])})"


def _time(when: str) -> tuple[str, str]:
    """The policy's class, and how it is made."""
    made = _TIMES.get(when, f"Every(epochs={when})")
    return made.partition("(")[0], made


def _steered(live: Live) -> str:
    """The growth of a run that was steered by hand, or has not ended."""
    return f"""by_hand = {live.by_hand!r}  # epochs after which "grow now" was pressed
undone = {sorted(live.undone)!r}  # epochs whose own growth step was taken back
usual = {_time(live.settings.when)[1]}
asked = options(settings, data)
asked["when"] = lambda state: len(state.history.epochs) not in undone and usual(state)
run = Run.of(model, **asked)
history = run.history
run.start()
while True:
    for _ in range(by_hand.count(len(history.epochs))):
        run.grow_now()
    if history.ended or len(history.epochs) == {len(live.history.epochs)}:
        break
    run.epoch()
if history.ended:
    run.finish()  # the network that was best on validation data
"""


def _plain(name: str) -> str:
    """A name within a docstring."""
    return "".join(letter for letter in name if letter not in '"\\\n')[:80]
