"""Public functions with wrong arguments: an error of creases, or an answer; never an obscure one from inside."""

from __future__ import annotations

import inspect
import warnings
from importlib import import_module
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import creases
from api_calls import all_calls
from creases.errors import CreasesError
from wrong_values import wrong_values

CALLS = all_calls()

#: Numbers that are right, but ask for more than can be computed.
TOO_MUCH = {
    ("more than 64 bits", "parity_network", "depth"),
    ("more than 64 bits", "splines.fit", "steps"),
    ("more than 64 bits", "grow", "budget"),
    ("a huge number", "grow", "budget"),
}

#: Public functions that no call is made of: why.
NO_CALLS = {
    "takes results of other functions": """
        animate apply certify_model describe_piece explain explain_row
        find_changes measure
        model_graphs plot_curves
        plot_disagreement plot_gradients plot_growth
        plot_pieces plot_tracks
        report save_figure""",
    "reads or writes files, or reads packages, and has tests of its own": """
        cifar10 fit_table load load_checkpoint load_fit load_run lock_folder mnist plane_tiles
        prepare_folder read_columns resolve_data sweep""",
    "is a part of a run, on a table or in a loop, and has tests of its own": """
        baseline_warnings baselines block_losses check_explanations compare_losses compare_models
        count_rows data_box describe_stages drive fit_settings grow_table grow_units
        has_scores load_settings metrics_summary model_baselines model_words name_result open_run scored_model
        ways_to_improve""",
    "takes a function, or no arguments, or is a part of others": """
        active_theme amount_colormap apply_theme class_color compile_kernels
        get_axes make_problem mark_points names new_figure new_grid
        plane_height readable_color short_names style_context tint""",
}


def outcome(name: str, changes: dict[str, Any]) -> Exception | None:
    """Call a function with other arguments, and return what it raised."""
    call = CALLS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call.function(**call.arguments | changes)
        except Exception as error:
            return error
        finally:
            plt.close("all")
    return None


def obscure_errors(name: str, count: int | None) -> list[str]:
    """Try wrong values for each argument, some of them or all, and return what was not an error of creases."""
    rng = np.random.default_rng(sum(name.encode()))
    found = []
    for argument, right in CALLS[name]().arguments.items():
        values = list(wrong_values(right))
        chosen = values if count is None else [values[i] for i in rng.choice(len(values), count, replace=False)]
        for what, value in chosen:
            if (what, name, argument) in TOO_MUCH:
                continue
            error = outcome(name, {argument: value})
            if error is not None and not isinstance(error, CreasesError):
                found.append(f"{name}({argument}={what}): {type(error).__name__}: {error}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_refused_in_words_of_creases(name):
    assert outcome(name, {}) is None
    assert not obscure_errors(name, 1)


@pytest.mark.thorough
@pytest.mark.parametrize("name", CALLS)
def test_every_wrong_argument_is_refused_in_words_of_creases(name):
    assert not obscure_errors(name, None)


@pytest.mark.thorough
@pytest.mark.parametrize("name", CALLS)
def test_a_view_with_negative_strides_is_as_good_as_its_copy(name):
    for argument, value in CALLS[name]().arguments.items():
        if isinstance(value, np.ndarray) and value.ndim:
            view, copy = (outcome(name, {argument: array}) for array in (value[::-1], value[::-1].copy()))
            assert type(view) is type(copy), f"{argument}: {view}"


def test_every_public_function_is_called_or_says_why_not():
    rooms = ["creases", *(f"creases.{room}" for room in creases._SUBMODULES if room != "errors")]
    public = {
        name
        for room in map(import_module, rooms)
        for name in room.__all__
        if inspect.isfunction(inspect.unwrap(getattr(room, name)))
    }
    called = {name.split(".")[-1].split()[0] for name in CALLS}
    excused = {name for names in NO_CALLS.values() for name in names.split()}
    assert public - called == excused


def test_a_tensor_without_data_is_no_array_of_numbers():
    with pytest.raises(CreasesError, match="x must be an array of numbers"):
        creases.read(torch.nn.Linear(2, 1))(torch.empty(3, 2, device="meta"))
