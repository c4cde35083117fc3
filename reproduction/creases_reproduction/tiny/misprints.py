"""Misprints of the TINY paper."""

from __future__ import annotations

from creases_reproduction.misprints import Misprint

MISPRINTS = [
    Misprint(
        "tiny/neurons",
        "the optimal neurons",
        "(L^-T u_k, v_k)",
        "(sqrt(lambda_k) L^-T u_k, sqrt(lambda_k) v_k)",
        "Only then do K neurons lower the lack of expressivity by the sum of lambda_k^2.",
        "tests/growth/methods/tiny/test_bottleneck.py::test_units_reduce_the_bottleneck_by_the_squares_of_the_singular_values",
    ),
    Misprint(
        "tiny/proposition-3.3",
        "Proposition 3.3",
        "omega = N alpha",
        "omega = N' alpha, as appendix B.4 has it",
        "",
        "tests/growth/methods/tiny/test_bottleneck.py::test_the_generalised_eigenproblem_has_the_same_units",
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
        "tiny/relu",
        "eq. (11)",
        "the gain with sigma'(0), also for ReLU and SELU",
        "where sigma has a bend at 0, the slope on each side counts for the samples on that side",
        "For ReLU the printed gain is too large.",
        "tests/growth/methods/tiny/test_tiny.py::test_the_gain_is_the_exact_slope_and_the_search_saw_the_grown_model",
    ),
    Misprint(
        "tiny/sign",
        "sections 2.3 and 3, the goal and the loss",
        "+ in the change of the loss; V_goal = eta grad",
        "-; V_goal = -eta grad",
        "The best move is downhill.",
        "tests/growth/methods/tiny/test_bottleneck.py::test_a_small_best_move_lowers_the_loss_as_predicted",
    ),
    Misprint(
        "tiny/index",
        "(4) and (5)",
        "dW_l",
        "dW_(l+1), the layer behind the new neurons; sigma'(0) does not multiply it",
        "",
        "tests/growth/methods/first_order/test_statistics.py::test_what_is_left_is_orthogonal_to_the_units_and_n_from_sums_is_that_of_two_passes",
    ),
    Misprint(
        "tiny/batch",
        "size of the statistics sample",
        "an update that multiplies n_mb at every growth",
        "n_mb = 100 sqrt(max(n_(l-1), n_(l+1)))",
        "Read as cumulative it explodes.",
        "tests/growth/methods/tiny/test_tiny.py::test_samples_grow_with_the_square_root_of_the_widths",
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
