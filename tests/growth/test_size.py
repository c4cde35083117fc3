"""Why a network has its size, in words."""

from __future__ import annotations

from creases.growth._records import explain_size


def stage(factor, before, after, pays, losses):
    widths = {"widths_before": {"0": before}, "widths": {"0": after}}
    return {"factor": factor, "pays": pays, "loss_training_on": losses[0], "loss_grown": losses[1], **widths}


def test_the_sizes_next_to_it_are_named_with_their_losses():
    stages = [stage(4, 8, 32, True, (0.4, 0.2)), stage(4, 32, 128, False, (0.19, 0.18))]
    assert explain_size(stages, {"0": 32}, 0.2) == (
        "The network has 32 hidden units. With 8 the held-out loss was 0.4, with these 0.2. "
        "With 128 it was 0.18, with these 0.19: too little gained for a larger network. "
        "Finding the size took 20% of the budget."
    )


def test_a_network_that_was_narrowed_is_compared_with_the_wider_one():
    stages = [stage(0.25, 64, 16, True, (0.3, 0.31)), stage(0.25, 16, 4, False, (0.3, 0.5))]
    said = explain_size(stages, {"0": 16}, None)
    assert "With 4 the held-out loss was 0.5, with these 0.3." in said
    assert "With 64 it was 0.3, with these 0.31: too little gained" in said


def test_without_stages_nothing_is_said():
    assert explain_size([], {"0": 4}, 0.1) == ""


def test_where_dead_units_were_removed_the_size_that_was_chosen_is_explained():
    said = explain_size([stage(4.0, 8, 32, True, (0.4, 0.2))], {"0": 31}, None)
    assert said.startswith(
        "The network has 31 hidden units: 32 were chosen, and dead ones removed. With 8 the held-out"
    )


def test_where_a_smaller_network_was_no_worse_it_is_said_that_nothing_was_measured_between_them():
    narrowed = {**stage(0.25, 32, 8, False, (0.2, 0.19)), "error": 0.03}
    said = explain_size([stage(16.0, 2, 32, True, (0.4, 0.2)), narrowed], {"0": 32}, None)
    assert "0.19, with these 0.2 (± 0.03: no difference, where wider networks had been better before)." in said
