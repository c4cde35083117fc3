"""Correct calls of the public functions that change, generate or draw something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import creases
from api_objects import BOX, Call, X, Y, batch, call, line, model, net, optimum, plane, shallow, space, x1, y1
from creases import boolean, certify, growth, lab, problems, prune, show, splines, tables


def change_calls() -> dict[str, Callable[[], Call]]:
    """Return calls of ``growth``, ``prune`` and ``lab``."""
    sample = torch.from_numpy(X)
    labels = torch.from_numpy(Y)
    kept = {"model": model(2, 4, 3), "X": sample, "y": labels}
    classified = {"model": batch()[0], "X": X, "y": (batch()[0].outputs(X)[0, :, 0] > 0).astype(int)}
    return {
        "grow": lambda: call(
            creases.grow,
            model=model(2, 4, 3).float(),
            data=(X, Y),
            loss="cross_entropy",
            how="random",
            budget=1,
            when=1,
            where="all",
            growth_share=0.2,
            max_units=9,
            max_parameters=99,
            growth_patience=2,
            validation=0.25,
            optimizer="adamw",
            lr=0.01,
            schedule="cosine",
            weight_decay=0.1,
            batch_size=4,
            keep="last",
            seed=0,
        ),
        "GrowthConfig": lambda: call(growth.GrowthConfig, how="random", budget=1, lr=0.1, seed=0),
        "objective": lambda: call(growth.objective, loss="cross_entropy", weighted=False),
        "InMemorySamples": lambda: call(growth.InMemorySamples, X=sample, y=labels),
        "Scaling.from_data": lambda: call(growth.Scaling.from_data, X=X, y=Y),
        "channels": lambda: call(prune.channels, **kept, min_accuracy=0.0, per_step=4, max_samples=9),
        "magnitude": lambda: call(prune.magnitude, **kept, min_accuracy=0.0, sparsities=(0.1, 0.5)),
        "exact": lambda: call(
            prune.exact, model=model(2, 4, 3), box=BOX, input_shape=(2,), tolerance=1e-6, n_samples=9, seed=0
        ),
        "exhaustive": lambda: call(prune.exhaustive, model=batch()[0], X=X, y=Y % 2, epochs=2, lr=0.1),
        "iterative": lambda: call(prune.iterative, **classified, restarts=1, epochs=1, lr=0.1, seed=0),
        "prune.check_samples": lambda: call(prune.check_samples, **kept),
        "evaluate": lambda: call(prune.evaluate, **kept),
        "tuner": lambda: call(prune.tuner, X=sample, y=labels, epochs=1, optimizer="sgd", lr=0.1, batch_size=4),
        "Batch.initial": lambda: call(lab.Batch.initial, widths=[2, 3, 1], count=3, seed=0),
        "train": lambda: call(
            lab.train,
            batch=batch(),
            X=X,
            y=Y % 2,
            epochs=2,
            loss="binary_cross_entropy",
            optimizer="adam",
            lr=0.1,
            betas=(0.9, 0.99),
            eps=1e-8,
            batch_size=4,
            seed=0,
            until_accuracy=1.0,
            until_loss=0.0,
        ),
    }


def boolean_calls() -> dict[str, Callable[[], Call]]:
    return {
        "all_inputs": lambda: call(boolean.all_inputs, n=2),
        "canonical_form": lambda: call(boolean.canonical_form, f=6, n=2),
        "class_changes": lambda: call(boolean.class_changes, f=6, n=2, weights=[1, 2]),
        "class_swaps": lambda: call(boolean.class_swaps, n=2, n_jobs=1),
        "deep_network": lambda: call(boolean.deep_network, f=6, n=2, width=3, leak=0.0),
        "from_truth_table": lambda: call(boolean.from_truth_table, table=[0, 1, 1, 0]),
        "margin": lambda: call(boolean.margin, model=boolean.wide_network(6, 2), f=6, n=2),
        "measures": lambda: call(boolean.measures, f=6, n=2),
        "npn_classes": lambda: call(boolean.npn_classes, n=2),
        "parity": lambda: call(boolean.parity, n=2),
        "parity_network": lambda: call(boolean.parity_network, n=2, width=3, depth=1, leak=0.0),
        "subset_sum_orderings": lambda: call(boolean.subset_sum_orderings, n=2),
        "swaps": lambda: call(boolean.swaps, f=6, n=2),
        "truth_table": lambda: call(boolean.truth_table, f=6, n=2),
        "wide_network": lambda: call(boolean.wide_network, f=6, n=2, leak=0.0, sharp=True),
    }


def problem_calls() -> dict[str, Callable[[], Call]]:
    toys = ("circle", "moons", "overlapping_quadratic", "quadratic", "sine", "spirals", "xor", "xor_circles", "shells")
    toy = {"n": 20, "seed": 0, "noise": 0.1, "standardize": True}
    text = "a,b,c\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n"
    table = {"target": "c", "missing": "drop", "header": True, "inputs": ["a"], "drop": [], "kinds": {"a": "number"}}
    return {name: lambda name=name: call(problems.get, name=name, **toy) for name in toys} | {
        "circle_annulus": lambda: call(problems.get, name="circle_annulus", radii=(0.5, 0.7, 0.8), **toy),
        "curve": lambda: call(problems.curve, target="sine", n=9, seed=0, noise=0.0, spaced=False),
        "get": lambda: call(problems.get, name="moons", n=9),
        "match_outputs": lambda: call(problems.match_outputs, problem=problems.get("moons", n=20), outputs=2),
        "parse_table": lambda: call(tables.parse_table, text=text, name="it.csv", **table),
        "read_table": lambda: call(tables.read_table, path=_frame(text), **table),
        "Problem": lambda: call(problems.Problem, name="p", X=X, y=Y, features=("a", "b")),
    }


def _frame(text: str) -> Any:
    from io import StringIO

    import pandas as pd

    return pd.read_csv(StringIO(text))


def spline_calls() -> dict[str, Callable[[], Call]]:
    one = model(1, 5, 1)
    return {
        "breakpoints": lambda: call(splines.breakpoints, model=one),
        "deep_breakpoints": lambda: call(splines.deep_breakpoints, model=model(1, 3, 3, 1)),
        "splines.fit": lambda: call(
            splines.fit, x=x1, y=y1, width=4, steps=3, lr=0.1, init="torch", relocate=False, seed=0
        ),
        "from_module": lambda: call(splines.from_module, model=one),
        "initialise": lambda: call(
            splines.initialise, model=model(1, 5, 1), x=x1, method="uniform", y=y1, seed=0, kappa=2.0
        ),
        "optimal_fit": lambda: call(splines.optimal_fit, x=x1, y=y1, pieces=2, weights=x1 + 2),
        "relocate": lambda: call(splines.relocate, net=shallow(), x=x1, y=y1, max_moves=1, ridge=1e-5, gain=0.01),
        "to_hyperplanes": lambda: call(splines.to_hyperplanes, model=model(2, 4, 1)),
        "to_module": lambda: call(splines.to_module, function=shallow()),
        "to_shallow": lambda: call(splines.to_shallow, spline=optimum().spline(), gauge="unit", skip=True),
        "to_spline": lambda: call(splines.to_spline, shallow=shallow()),
        "Shallow": lambda: call(splines.Shallow, w=[1.0], b=[0.0], v=[1.0], c0=0.0, leak=0.0),
        "Spline": lambda: call(splines.Spline, o0=0.0, o1=1.0, beta=[0.0], mu=[1.0], s=[1]),
    }


def show_calls() -> dict[str, Callable[[], Call]]:
    names = {"names": ("a", "b"), "classes": ("u", "v", "w")}
    return {
        "plot_plane": lambda: call(
            show.plot_plane, partition=plane(), color="regions", X=X, y=Y, classes=("u", "v", "w")
        ),
        "plot_line": lambda: call(show.plot_line, partition=line()),
        "plot_cell": lambda: call(show.plot_cell, cell=creases.cell(net(), X[0], box=BOX)),
        "plot_space": lambda: call(show.plot_space, partition=space(), gap=0.1),
        "plot_surface": lambda: call(show.plot_surface, partition=plane(), output=0),
        "plot_dual": lambda: call(show.plot_dual, pieces=plane(), output=0, color="bias"),
        "plot_effect": lambda: call(show.plot_effect, effect=tables.effects(net(), X, 0, **names), output=0),
        "plot_importance": lambda: call(show.plot_importance, importance=tables.importance(net(), X, **names)),
        "plot_network": lambda: call(
            show.plot_network, model=model(2, 4, 3), newest=[0], features=("a", "b"), max_nodes=5
        ),
        "plot_safety_map": lambda: call(
            show.plot_safety_map, picture=certify.safety_map(net(), BOX, resolution=8), X=X, y=Y
        ),
        "plot_similarity": lambda: call(
            show.plot_similarity, values=np.eye(2), names=("a", "b"), accuracy=[0.5, 0.5], order=[1, 0]
        ),
        "plot_spline": lambda: call(show.plot_spline, model=shallow(), data=(x1, y1), window=None),
        "plot_images": lambda: call(show.plot_images, images=[[np.eye(3)]], rows=["a"], columns=["b"]),
        "theme": lambda: call(lambda name: show.theme(name).__enter__(), name="light"),
    }
