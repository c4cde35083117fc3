"""What a training came to, beside the best function with as many breakpoints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from creases._typing import Floats
from creases.cli.spline._data import Data
from creases.cli.spline._training import Plan, Trained
from creases.splines import OptimalFit, Shallow, Spline, roughness, to_spline


@dataclass(frozen=True, eq=False)
class Result:
    """A trained network and the best fit with as many breakpoints, on the same data."""

    data: Data
    plan: Plan
    trained: Trained
    best: OptimalFit

    def summary(self) -> dict[str, Any]:
        """Numbers for machines; errors are mean squared ones, in the data's own units."""
        trained, data = self.trained, self.data
        first, net, best = (self._about(f) for f in (trained.first, trained.net, self.best))
        form = to_spline(trained.net)
        bound = self.best.lower_bound
        return {
            "data": {
                "name": data.name,
                "input": data.input,
                "output": data.output,
                "train": len(data.x),
                "test": len(data.test_x),
                "range": [float(data.x[0]), float(data.x[-1])],
            },
            "plan": asdict(self.plan),
            "first": first,
            "network": {**net, "at": form.beta.tolist(), "delta_slopes": form.mu.tolist()},
            "best_fit": {
                **best,
                "pieces": self.best.pieces.count,
                "at": self.best.knots.tolist(),
                "least_possible_error": None if bound is None else bound / len(data.x),
            },
            "gap": net["training_error"] - best["training_error"],
            "births": trained.history.births,
            "deaths": trained.history.deaths,
            "crossings": trained.history.crossings,
            "relocated": trained.moves,
            "halvings": trained.halvings,
        }

    def _about(self, function: Shallow | OptimalFit) -> dict[str, Any]:
        form: Spline = function.spline() if isinstance(function, OptimalFit) else to_spline(function)
        data = self.data
        inside = (form.beta > data.x[0]) & (form.beta < data.x[-1])
        return {
            "training_error": error(function, data.x, data.y),
            "test_error": error(function, data.test_x, data.test_y) if len(data.test_x) else None,
            "breakpoints": len(form.beta),
            "breakpoints_in_range": int(inside.sum()),
            "roughness": roughness(form),
        }


def error(function: Shallow | OptimalFit, x: Floats, y: Floats) -> float:
    """Mean squared error."""
    return float(((function(x) - y) ** 2).mean())


def rows(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """The summary for people: what it is, of the network at first and trained, of the best fit."""
    three = [summary[name] for name in ("first", "network", "best_fit")]
    table = [("training error", *(f"{one['training_error']:.3g}" for one in three))]
    if three[0]["test_error"] is not None:
        table.append(("test error", *(f"{one['test_error']:.3g}" for one in three)))
    table.append(("breakpoints among the data", *(str(one["breakpoints_in_range"]) for one in three)))
    table.append(("roughness", *(f"{one['roughness']:.3g}" for one in three)))
    return table


def remarks(summary: dict[str, Any]) -> list[str]:
    """What the table leaves out, in sentences."""
    gap, least = summary["gap"], summary["best_fit"]["training_error"]
    times = f", {gap / least + 1:.3g} times its error" if gap > 0 and least > 1e-12 * gap else ""
    moved = f"; relocated: {summary['relocated']}" if summary["plan"]["relocate"] else ""
    said = [
        f"Gap to the best fit, which has {summary['best_fit']['pieces']} pieces: {gap:.3g}{times}.",
        f"Breakpoints on their way crossed data {summary['crossings']:,} times; births: {summary['births']}, deaths: "
        f"{summary['deaths']}{moved}.",
    ]
    if summary["halvings"]:
        said.append(f"Halvings of the learning rate, where steps were too long: {summary['halvings']}.")
    return said
