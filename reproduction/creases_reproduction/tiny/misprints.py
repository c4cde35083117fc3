"""Misprints of the TINY paper."""

from __future__ import annotations

from creases_reproduction.misprints import Misprint

MISPRINTS = [
    Misprint(
        "tiny/proposition-3.3",
        "Proposition 3.3",
        "omega = N alpha",
        "omega = N' alpha, as appendix B.4 has it",
        "",
        "tests/growth/methods/tiny/test_bottleneck.py::test_the_units_solve_the_generalised_eigenproblem",
        character=True,
    ),
    Misprint(
        "tiny/cross-term",
        "first-order change of the loss",
        "-sigma'(0) / eta times the sum of lambda_k^2",
        "with the term <V(theta), V_0*> / n besides, which vanishes only where the best move of present weights is 0",
        "",
        "reproduction/tests/test_misprints.py::test_the_paper_drops_a_term_of_the_first_order_change",
    ),
    Misprint(
        "tiny/tau",
        "section 3.2, after the first-order change of the loss",
        "a neuron is added only if lambda_k^2 L(f) > tau",
        "only if lambda_k^2 > tau L(f): if it takes more than a share tau off the loss",
        "To first order a neuron takes lambda_k^2 / eta off the loss (Proposition 3.2). The same problem with c times "
        "the loss and eta / c has the same neurons and lambda_k, and the share lambda_k^2 / (eta L) is the same; the "
        "printed product is c times as large, so that the unit of the loss decides what is added. And as the loss "
        "falls in training, neurons that take the same share off it are left out in the end.",
        "reproduction/tests/test_misprints.py::"
        "test_the_printed_threshold_changes_with_the_unit_of_the_loss_and_the_share_of_a_unit_does_not",
    ),
    Misprint(
        "tiny/corollary-1",
        "first corollary of section 3.2",
        "dW* of Proposition 3.1 minimises (4) over both dW and the new neurons",
        "it minimises (4) without new neurons; chosen together, dW and a neuron leave less",
        "What enters the neurons is correlated with what the layer has already.",
        "reproduction/tests/test_tiny.py::test_move_and_unit_chosen_together_leave_less_than_one_after_the_other",
    ),
    Misprint(
        "tiny/variance",
        "section 3.4",
        "the variance of the directions grows as sqrt(p) and falls as sqrt(N)",
        "their standard deviation does",
        "",
        "reproduction/tests/test_tiny.py::test_the_variance_of_a_unit_falls_with_the_samples_not_with_their_root",
    ),
]
