"""Integrated gradients, exactly: along a line the gradient is constant in each of finitely many regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from creases._program import pattern_gradients
from creases._schema import optional, sequence
from creases._typing import Floats, Ints
from creases._validation import check_arguments, check_finite, check_index, check_numbers, check_vector
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network
from creases.regions import line

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Attributions:
    """What each input adds to an output on the way from a baseline, as :func:`attributions` returns it."""

    values: Floats  #: (d,) attribution of each input; they sum to ``value - start`` up to rounding
    names: tuple[str, ...]  #: (d,) of the inputs
    x: Floats  #: (d,)
    baselines: Floats  #: (k, d)
    weights: Floats  #: (m,) of the outputs: what is attributed is ``weights . f``
    value: float  #: ``weights . f`` at ``x``
    start: float  #: mean of ``weights . f`` over the baselines
    n_regions: int  #: regions that the lines from the baselines to ``x`` pass through, in all

    @property
    def completeness_error(self) -> float:
        """What is missing from ``values.sum() == value - start``: rounding only."""
        return float(self.values.sum() - (self.value - self.start))

    @property
    def ranked(self) -> Ints:
        """Inputs (d,) by the magnitude of their attribution, largest first."""
        return np.argsort(-np.abs(self.values), kind="stable")

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each input, largest attribution first."""
        import pandas as pd

        order = self.ranked
        columns = {"value": self.x, "baseline": self.baselines.mean(axis=0), "attribution": self.values}
        index = pd.Index([self.names[j] for j in order], name="input")
        return pd.DataFrame({name: column[order] for name, column in columns.items()}, index=index)

    def __str__(self) -> str:
        lines = [f"{self.start:.6g} at the baseline, {self.value:.6g} at x; contribution of each input:"]
        width = max(map(len, self.names), default=0)
        lines += [f"  {self.names[j]:<{width}}  {self.values[j]:+.6g}" for j in self.ranked]
        return "\n".join(lines)


@check_arguments(names=optional(sequence()))
def attributions(
    net: NetworkLike,
    x: Any,
    *,
    baseline: Any = None,
    output: int | tuple[int, int] | Any = None,
    names: Sequence[str] | None = None,
) -> Attributions:
    """Divide the change of an output between a baseline and an input among the inputs, exactly.

    Integrated gradients [1]_: input j gets ``(x_j - baseline_j)`` times the mean of the output's slope in j along the
    line from the baseline to ``x``. The slope is constant in each region of the line, so the mean is a finite sum and
    the attributions add up to the change of the output (completeness) to rounding, without a number of steps to choose.

    Parameters
    ----------
    net
        A network, torch module or file name; computed in float64.
    x
        One input, in the model's input shape or flattened.
    baseline
        The input to compare with: what "nothing" is, a typical row, or one that has a different decision. Zeros by
        default. Several, (k, d): the mean of the attributions for each (expected gradients [2]_).
    output
        The number of an output, a pair ``(i, j)`` for output i minus output j, or weights (m,) of the outputs. By
        default the largest output at ``x``.
    names
        Names of the inputs, (d,); ``x[0]``, ``x[1]``, ... by default.

    References
    ----------
    .. [1] Sundararajan, Taly, Yan, "Axiomatic Attribution for Deep Networks", ICML 2017.
    .. [2] Erion, Janizek, Sturmfels, Lundberg, Lee, "Improving performance of deep learning models with axiomatic
       attribution priors and expected gradients", Nature Machine Intelligence 3, 2021.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
    >>> result = attributions(net, [3.0], baseline=[-1.0], names=["speed"])
    >>> print(result)
    1 at the baseline, 3 at x; contribution of each input:
      speed  +2
    >>> result.n_regions
    2
    """
    work = as_network(net).to("cpu").to(torch.float64)
    point = _flat_points(work, x, "x")
    if len(point) != 1:
        raise InputError("x", "be a single input", f"{len(point)}", "call it once for each row")
    starts = np.zeros((1, work.n_in)) if baseline is None else _flat_points(work, baseline, "baseline")
    if not len(starts):
        raise InputError("baseline", "have at least one input", "none")
    at_x = work(point).reshape(-1)
    weights = _output_weights(output, at_x)
    parts = [_along_line(work, start, point[0], weights) for start in starts]
    return Attributions(
        values=np.mean([values for values, _ in parts], axis=0),
        names=_input_names(names, work.input_shape),
        x=point[0],
        baselines=starts,
        weights=weights,
        value=float(weights @ at_x),
        start=float(np.mean(work(starts).reshape(len(starts), -1) @ weights)),
        n_regions=sum(count for _, count in parts),
    )


def _along_line(net: Network, start: Floats, stop: Floats, weights: Floats) -> tuple[Floats, int]:
    """Return the attributions (d,) from ``start`` to ``stop``, and the number of regions between them."""
    if (start == stop).all():
        return np.zeros(len(stop)), 1
    partition = line(net, start, stop)
    lengths = np.diff(partition.ends)
    gradients = pattern_gradients(partition.net, partition.patterns, weights)
    return (stop - start) * (lengths @ gradients), partition.count


def _flat_points(net: Network, points: Any, name: str) -> Floats:
    """Return inputs, in the model's shape or flattened, as finite points (n, d)."""
    array = check_numbers(points, name)
    check_finite(array, name)
    batch, _ = net.as_batch(array, name)
    return np.asarray(batch.flatten(1).numpy(), np.float64)


def _output_weights(output: Any, at_x: Floats) -> Floats:
    """Return the weights (m,) of the outputs that ``output`` stands for."""
    identity = np.eye(len(at_x))
    if output is None:
        return np.asarray(identity[at_x.argmax()])
    if isinstance(output, int | np.integer):
        return np.asarray(identity[check_index(output, len(at_x), "output")])
    if isinstance(output, tuple) and len(output) == 2:
        first, second = (check_index(number, len(at_x), "output") for number in output)
        return np.asarray(identity[first] - identity[second])
    return check_vector(output, "output", len(at_x))


def _input_names(names: Sequence[str] | None, shape: Sequence[int]) -> tuple[str, ...]:
    """Return one name for each input."""
    if names is None:
        return tuple(f"x[{', '.join(map(str, index))}]" for index in np.ndindex(*shape))
    count = int(np.prod(shape))
    if isinstance(names, str) or len(names) != count:
        raise InputError("names", f"have one entry for each of the {count} inputs", f"{len(names)}")
    return tuple(map(str, names))
