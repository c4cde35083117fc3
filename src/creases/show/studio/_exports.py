"""Exports of the studio: the network, a report, an animation, a Python script that repeats the run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from creases._typing import Progress
from creases.errors import RequestError
from creases.show.studio._formula import parse
from creases.show.studio._limits import scratch_folder
from creases.show.studio._page_input import table_options

if TYPE_CHECKING:
    from creases.show.studio._live_run import LiveRun


#: Pictures of an animation.
PICTURES = 80


class Export(NamedTuple):
    """A file to download."""

    name: str
    media: str  #: its media type
    content: bytes


#: By the name of an export: the suffix of its file, its media type, and the function that writes the file.
Formats = Mapping[str, tuple[str, str, Callable[..., Any]]]


def make_export(formats: Formats, what: Any, name: str, *arguments: Any) -> Export:
    """Return a file of one of the formats, whose writer gets its path and the arguments."""
    if not isinstance(what, str) or what not in formats:
        raise RequestError(f"unknown export {str(what)[:40]!r}; choose one of: {', '.join(formats)}")
    suffix, media, write = formats[what]
    file = (re.sub(r"[^\w-]+", "_", name).strip("_")[:60] or "model") + suffix
    with scratch_folder() as folder:
        write(folder / file, *arguments)
        return Export(file, media, (folder / file).read_bytes())


def export(what: Any, spec: Mapping[str, Any], live: LiveRun, sign: Callable[[], None] = lambda: None) -> Export:
    """Export a run on the problem that a page specified; ``sign`` is called regularly meanwhile."""
    return make_export(_FORMATS, what, live.data.problem.name, spec, live, lambda *_: sign())


def _write_onnx(path: Path, spec: Mapping[str, Any], live: LiveRun, progress: Progress) -> None:
    if find_spec("onnx") is None:
        raise RequestError(
            "ONNX export needs the onnx package; on the machine that runs the studio: pip install 'creases[onnx]'"
        )
    live.net.save(path)


def _write_report(path: Path, spec: Mapping[str, Any], live: LiveRun, progress: Progress) -> None:
    """Write the report that ``creases report`` writes."""
    from creases.show.report._growth import write_run_report

    again, model = script(spec, live), f"{path.stem}.safetensors"
    write_run_report(live.saved_run(), path, model=model, again=again, progress=progress)


def _write_animation(path: Path, spec: Mapping[str, Any], live: LiveRun, progress: Progress) -> None:
    """Write the animation of the run on the first slice, with its curves and the network."""
    from creases.show.report import animate_run

    cut = next((cut for cut in live.slices[:1] if cut.name), None)
    animate_run(live.saved_run(), path, cut=cut, frames=PICTURES, progress=progress)


_FORMATS: Formats = {
    "model": (".safetensors", "application/octet-stream", lambda path, spec, live, progress: live.net.save(path)),
    "onnx": (".onnx", "application/octet-stream", _write_onnx),
    "report": (".html", "text/html", _write_report),
    "animation": (".gif", "image/gif", _write_animation),
    "code": (
        ".py",
        "text/x-python",
        lambda path, spec, live, progress: path.write_text(script(spec, live), encoding="utf-8"),
    ),
}


# Python script that repeats a run of the studio, bit for bit on the same kind of machine.


def script(spec: Mapping[str, Any], live: LiveRun) -> str:
    """Return the script that repeats a run on the problem that a page specified."""
    imports, problem = _problem(spec, live)
    by_itself = live.history.ended and all(done is True for done in live.log)
    growth = "history = experiment.run()\n" if by_itself else _steered_growth(live)
    imports += ["from creases.growth import GrowthConfig", "from creases.tables import Experiment"]
    chosen = live.settings.config.to_dict().items()
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in chosen}
    config = ", ".join(f"{name}={value!r}" for name, value in options.items())  # without defaults
    title = "".join(letter for letter in live.data.problem.name if letter not in '"\\\n')[:80]  # they end a docstring
    others = "import numpy as np\nimport torch\n" if "np." in problem else "import torch\n"
    return (
        f'"""Grow the network that the creases studio grew on {title}; needs creases."""\n\n'
        f"{others}\n{chr(10).join(sorted(imports))}\n\n"
        "torch.set_num_threads(1)  # as the studio does: sums of floats depend on it\n\n"
        f"{problem}"
        f"config = GrowthConfig({config})\n"
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


def _steered_growth(live: LiveRun) -> str:
    """Return the code that repeats a run with manual growth steps or undos, or one that has not ended."""
    runs = [(done, len(list(same))) for done, same in groupby(live.log, lambda done: (type(done), done))]
    steps = " + ".join(f"[{done!r}] * {count}" if count > 1 else f"[{done!r}]" for (_, done), count in runs)
    return f"""# True: an epoch; False: one whose growth step was undone; "grow": grow now; a number: epochs in all
steps = {steps or "[]"}
run = experiment.create_run()
run.start()
for step in steps:
    if step == "grow":
        run.grow_now()
    elif isinstance(step, bool):
        run.epoch(grow=step)
    else:
        run.extend(step)
history = run.history
if history.ended:
    experiment.finish(run)  # the network that was best on validation data
"""
