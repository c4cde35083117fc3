"""What a page offers is what the library has."""

import pytest

from creases import problems
from creases.growth import GrowthConfig
from creases.growth.methods import METHODS
from creases.show.studio._limits import Limits
from creases.show.studio._page_input import choices, make_config


def test_every_problem_but_the_large_ones_and_every_method_is_offered_once_with_a_label():
    offered = choices()
    assert sorted(name for name, _ in offered["problems"]) == sorted(set(problems.names()) - {"mnist", "cifar10"})
    assert sorted(name for name, _ in offered["methods"]) == sorted(METHODS)
    for part in offered.values():
        labels = [label for _, label in part]
        assert len(set(labels)) == len(labels)
        assert all(label[0].isupper() for label in labels)


@pytest.mark.parametrize("part", ["where", "when"])
def test_policies_are_settings(part):
    for value, _ in choices()[part]:
        config = make_config({part: value}, Limits())
        assert str(getattr(config, part)).replace(" ", "-") == value


def test_what_a_page_preselects_comes_first():
    usual, offered = GrowthConfig(), choices()
    assert offered["problems"][0][0] == "xor_circles"
    for part, chosen in (("methods", usual.how), ("where", usual.where), ("when", usual.when)):
        assert offered[part][0][0] == chosen
