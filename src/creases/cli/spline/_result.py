"""The result of ``creases spline`` as numbers, table and sentences."""

from __future__ import annotations

from typing import Any

from creases._text import plural
from creases.cli.spline._data import Data
from creases.splines import OptimalFit, Shallow, SplineFit, roughness, to_spline


def summarize(fit: SplineFit, data: Data, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers as JSON has them; errors are mean squared errors in the units of the data."""
    net, best = to_spline(fit.net), fit.best
    return {
        "data": {
            "name": data.name,
            "input": data.input,
            "output": data.output,
            "train": len(data.x),
            "test": len(data.test_x),
            "range": [float(data.x[0]), float(data.x[-1])],
        },
        "plan": settings,
        "first": _measures(fit.initial, fit.initial_error, data),
        "network": {
            **_measures(fit.net, fit.error, data),
            "at": net.beta.tolist(),
            "delta_slopes": net.mu.tolist(),
        },
        "best_fit": {
            **_measures(best, fit.best_error, data),
            "pieces": best.pieces.count,
            "at": best.knots.tolist(),
            "least_possible_error": best.lower_bound / len(data.x),
            "is_optimal": best.is_optimal,
        },
        "gap": fit.gap,
        "births": fit.births,
        "deaths": fit.deaths,
        "crossings": fit.crossings,
        "relocated": fit.n_relocated,
        "halvings": fit.n_halvings,
    }


def _measures(function: Shallow | OptimalFit, training_error: float, data: Data) -> dict[str, Any]:
    form = function.spline() if isinstance(function, OptimalFit) else to_spline(function)
    inside = (form.beta > data.x[0]) & (form.beta < data.x[-1])
    return {
        "training_error": training_error,
        "test_error": float(((function(data.test_x) - data.test_y) ** 2).mean()) if len(data.test_x) else None,
        "breakpoints": len(form.beta),
        "breakpoints_in_range": int(inside.sum()),
        "roughness": roughness(form),
    }


def table_rows(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows of the printed table: a name, then the initial network, the trained one and the best fit."""
    columns = [summary[name] for name in ("first", "network", "best_fit")]
    table = [("training error", *(f"{column['training_error']:.3g}" for column in columns))]
    if columns[0]["test_error"] is not None:
        table.append(("test error", *(f"{column['test_error']:.3g}" for column in columns)))
    table.append(("breakpoints within the data", *(str(column["breakpoints_in_range"]) for column in columns)))
    table.append(("roughness", *(f"{column['roughness']:.3g}" for column in columns)))
    return table


def remarks(summary: dict[str, Any]) -> list[str]:
    """Return sentences about what the table leaves out."""
    gap, least = summary["gap"], summary["best_fit"]["training_error"]
    ratio = f", {gap / least + 1:.3g} times its error" if gap > 0 and least > 1e-12 * gap else ""
    relocated = f", relocated: {summary['relocated']}" if summary["plan"]["relocate"] else ""
    sentences = [
        f"Gap to the best fit ({plural(summary['best_fit']['pieces'], 'piece')}): {gap:.3g}{ratio}.",
        f"Breakpoints crossed a sample {plural(summary['crossings'], 'time')}; births: {summary['births']}, deaths: "
        f"{summary['deaths']}{relocated}.",
    ]
    if summary["halvings"]:
        sentences.append(f"The learning rate was halved {plural(summary['halvings'], 'time')} because the error rose.")
    return sentences
