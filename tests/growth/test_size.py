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


def test_without_stages_nothing_is_said():
    assert explain_size([], {"0": 4}, 0.1) == ""
