"""Misprints of the XNG slides."""

from __future__ import annotations

from creases_reproduction.misprints import Misprint

MISPRINTS = [
    Misprint(
        "xng/theorem-2",
        "Theorem 2, slide 11",
        "deep ReLU networks are replicable by ones with a single hidden layer",
        "true for one input; from two inputs on, one hidden layer bends along whole lines only",
        "The crease of a unit in a second layer changes direction where it meets the first layer's creases.",
        "reproduction/tests/test_misprints.py::test_creases_of_a_second_layer_change_direction",
    ),
    Misprint(
        "xng/lemma-2",
        "Lemma 2, slide 23",
        "dL/dx = (W_B s' W_A)' dL/dy + (w_B . dL/dy) w_A",
        "the second term times the new unit's own slope, 1 where it is active and 0 elsewhere",
        "",
        "reproduction/tests/test_misprints.py::test_an_inactive_new_unit_adds_nothing_to_the_gradient_at_the_input",
    ),
    Misprint(
        "xng/slide-27",
        "slide 27, Fold Point Search",
        "the boundary is where W x + b is a uniform vector",
        "where the two classes in question tie and no other is above them",
        "For two classes it is the same. With three or more, all outputs are equal at hardly any point of a boundary; "
        "the slides' own definition of a decision boundary compares two of them.",
        "tests/growth/methods/fold/test_fold_point.py::test_where_a_third_class_is_above_the_foot_the_nearest_point_below_it_is_taken",
    ),
    Misprint(
        "xng/slide-29-rows",
        "slide 29, Hidden Layer Broaden",
        "W_A x_f + b_A = 0 for the whole new matrix",
        "for its new row alone",
        "The old units are not zero at the fold point.",
        "reproduction/tests/test_misprints.py::test_old_units_are_not_zero_at_the_fold_point",
    ),
    Misprint(
        "xng/slide-29-zero",
        "slide 29, Hidden Layer Broaden",
        "the new outgoing weights are 0",
        "small, not 0, as Lemma 5 says",
        "",
        "reproduction/tests/test_misprints.py::test_zero_outgoing_weights_let_no_gradient_through",
    ),
]
