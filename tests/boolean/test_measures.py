"""Fourier coefficients, degree, influences, sensitivity and entropy, against their definitions."""

import numpy as np
import pytest

from creases import boolean


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_measures_are_those_of_the_definitions(n):
    functions = list(range(2 ** (2**n))) if n < 4 else np.random.default_rng(n).integers(0, 2 ** (2**n), 50).tolist()
    functions += [0, 2 ** (2**n) - 1, boolean.parity(n)]
    signs = 2 * boolean.all_inputs(n) - 1
    characters = np.array([[np.prod(x[s == 1]) for s in boolean.all_inputs(n)] for x in signs])  # (inputs, sets)
    found = boolean.measures(functions, n)
    for k, f in enumerate(functions):
        values = [2 * (f >> x & 1) - 1 for x in range(2**n)]
        assert (characters @ found.coefficients[k]).tolist() == values
        powers = {s: float(values @ characters[:, s] / 2**n) ** 2 for s in range(2**n)}
        changes = np.array([[values[x] != values[x ^ 1 << i] for i in range(n)] for x in range(2**n)])
        assert found.degree[k] == max((s.bit_count() for s in powers if powers[s]), default=0)
        assert found.influences[k].tolist() == changes.mean(axis=0).tolist()
        assert found.influence[k] == pytest.approx(sum(s.bit_count() * power for s, power in powers.items()))  # (3.6)
        assert found.sensitivity[k] == changes.sum(axis=1).max()
        assert found.entropy[k] == pytest.approx(-sum(p * np.log2(p) for p in powers.values() if p))  # (3.7)
