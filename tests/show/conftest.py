import numpy as np
import pytest

import creases


@pytest.fixture(autouse=True)
def _closed_figures():
    """Figures that pyplot keeps are closed after every test."""
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.fixture
def fold():
    """The partition of [-1, 1]^2 by f = relu(x1) - 0.5: two regions, one crease at 0, the boundary at 0.5."""
    net = creases.read([(np.array([[1.0, 0.0]]), np.zeros(1)), (np.ones((1, 1)), np.array([-0.5]))])
    return creases.plane(net, box=[(-1, 1), (-1, 1)])
