"""TINY's closed forms: the best move without new units, the expressivity bottleneck, the optimal units, their noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from creases.growth._integrations import _ranks as ranks
from creases.growth._proposal import weight_of
from creases.growth.methods._first_order.observation import Observation
from creases.growth.methods._first_order.route import Route, as_rows
from creases.growth.methods._first_order.statistics import Statistics
from creases.growth.methods._first_order.units import NewUnits


def ridge_squares(s: Tensor, ridge: float, *, constant: bool) -> Tensor:
    """Return what a ridge adds to the diagonal of S (d, d): the same for all inputs that vary, 0 for the constant.

    ``ridge`` is relative to the mean second moment of the inputs that vary; with ``constant`` the last one does not.
    """
    squares = s.diagonal().clone()
    if constant:
        squares[-1] = 0
    varying = squares > 0
    if not ridge or not bool(varying.any()):
        return torch.zeros_like(squares)
    return torch.where(varying, ridge * squares[varying].mean(), 0.0)


def degrees_of_freedom(s: Tensor, added: Tensor) -> float | None:
    """Return ``tr S (S + R)^-1`` for R = diag(added), the number of directions that units can use; None if singular."""
    active = (s.diagonal() > 0).nonzero()[:, 0]
    total = (s + torch.diag(added))[active][:, active]
    root, failed = torch.linalg.cholesky_ex(total)
    if int(failed):
        return None
    inverse = torch.linalg.solve_triangular(root, torch.eye(len(root)).to(root), upper=False)
    return len(active) - float((inverse.square().sum(0) * added[active]).sum())


MARGIN = 1.1  #: the largest lambda of one draw may lie above its mean


def noise_level(route: Route, projected: Sequence[Observation], rank: int, n: float) -> float:
    """Return the lambda^2 that the strongest unit would have on n samples if goals v and r inputs were independent.

    ``(sqrt(r c) + sqrt(tr C))^2 / n``, with C the covariance of v and c its largest eigenvalue, bounds the mean of the
    largest singular value of r x out normal numbers with such columns (Gordon). Positions of convolutions count as
    samples. ``MARGIN`` is added.
    """
    level = 0.0
    for consumer in route.consumers:
        path = consumer.link.path
        goals = [as_rows(consumer.goals(each.goals[path]).double()) for each in projected]
        weight = consumer.layer.weight
        sums = torch.zeros(len(weight), len(weight), dtype=torch.float64, device=weight.device)
        count = torch.zeros((), dtype=torch.float64)
        for part in goals:
            sums += part.T @ part
            count += len(part)
        ranks.sum_over_ranks([sums, count])
        covariance = sums / count
        largest = float(torch.linalg.eigvalsh(covariance)[-1].clamp_min(0))
        level += ((rank * largest) ** 0.5 + float(covariance.trace()) ** 0.5) ** 2
    return MARGIN**2 * level / n


_RELATIVE = 1e-7  # singular values below this, relative to the first, are rounding

#: Eigenvalues of S below this, relative to the largest, count as zero.
CUTOFF = 1e-10


def best_moves(sums: Statistics, *, scaled: bool = True) -> dict[str, Tensor]:
    """Return by consumer the best change of its weights, transposed: dW*' (m, out), Prop. 3.1 of the TINY paper.

    ``dW* = (1/n) V_goal B_l' ((1/n) B_l B_l')^+``. Where units barely vary it is huge: :func:`tiny` searches its size.
    Where inputs depend on each other, the smallest change is taken: in weights of inputs that are ``scaled`` to the
    same mean square, or as they are (the generalised inverse of the paper).
    """
    moves = {}
    for path, part in sums.consumers.items():
        white, back = _whiten(part.inputs, part.moves, scaled)
        moves[path] = back(white)
    return moves


def scale_moves(model: nn.Module, moves: dict[str, Tensor], factor: float) -> dict[str, Tensor]:
    """Return moves dW' (m, out) of the consumers' weights, times a factor, by parameter name."""
    change = {}
    for path, move in moves.items():
        layer = model.get_submodule(path)
        weight = weight_of(layer)
        inputs = weight[0].numel()
        change[f"{path}.weight"] = factor * move[:inputs].T.reshape(weight.shape)
        if layer.bias is not None:
            change[f"{path}.bias"] = factor * move[inputs]
    return change


def bottleneck(sums: Statistics) -> float:
    """Return the expressivity bottleneck ``|V_proj|^2 / n`` of a place's consumers (eq. 2, for one layer) [1]_.

    It measures the part of the desired change of the next layers' pre-activations that no change of their present
    weights can provide.

    References
    ----------
    .. [1] "Spotting Expressivity Bottlenecks and Fixing Them Optimally", anonymous, under review (a later version:
       Verbockhaven, Rudkiewicz, Chevallier, Charpiat, "Growing Tiny Networks", TMLR 2024).
    """
    lack = 0.0
    for path, moves in best_moves(sums).items():
        part = sums.consumers[path]
        lack += max(float(part.goal - (moves * part.moves).sum()), 0.0)
    return lack / float(sums.count)


def projected_pairs(sums: Statistics, moves: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return by consumer ``N = (1/n) B_{l-1} V_proj'`` as (out, d, *columns of one unit)."""
    return {
        path: (part.pairs - torch.tensordot(moves[path].T, part.cross, 1)) / sums.count
        for path, part in sums.consumers.items()
    }


def optimal_units(
    sums: Statistics,
    *,
    count: int | None = None,
    project: bool = True,
) -> NewUnits:
    """Return the optimal new units (Prop. 3.2, 3.3), at most ``count`` of them [1]_.

    With ``S = L L'`` and the SVD ``L^-1 N = sum lambda_k u_k v_k'``: ``alpha_k = sqrt(lambda_k) L^-T u_k`` and
    ``omega_k = sqrt(lambda_k) v_k``, so that to first order (slope 1 at 0) they reduce the lack of expressivity by
    ``sum lambda_k^2`` (eq. 10). Where S is singular, directions in which the inputs do not vary (after every
    input is scaled to 1) are left out.

    Parameters
    ----------
    sums
        The statistics of a place, see :func:`statistics`.
    count
        Number of units, at most; None for all.
    project
        Whether to approximate V_proj; otherwise V_goal.

    References
    ----------
    .. [1] "Spotting Expressivity Bottlenecks and Fixing Them Optimally", anonymous, under review (a later version:
       Verbockhaven, Rudkiewicz, Chevallier, Charpiat, "Growing Tiny Networks", TMLR 2024).
    """
    moves = best_moves(sums) if project else {}
    pairs = projected_pairs(sums, moves) if project else {p: s.pairs / sums.count for p, s in sums.consumers.items()}
    return solve_units(sums.features / sums.count, pairs, count=count)


def solve_units(s: Tensor, pairs: dict[str, Tensor], *, count: int | None, as_printed: bool = False) -> NewUnits:
    """Return the optimal new units for S (d, d) and, by consumer, N as (out, d, *columns of one unit).

    With ``as_printed`` inputs are not scaled, and every singular vector is a unit, be its lambda rounding alone: the
    printed widths of networks on MNIST have one for each of the ten classes, of which the softmax determines nine.
    """
    n = join_columns(pairs)
    white, back = _whiten(s, n, scaled=not as_printed)
    u, values, vh = torch.linalg.svd(white, full_matrices=False)
    limit = min(n.shape) if count is None else min(count, *n.shape)
    least = 0.0 if as_printed else _RELATIVE * float(values[:1].sum())
    k = int((values[:limit] > least).sum())
    root = values[:k].sqrt()
    return NewUnits(back(u[:, :k]) * root, split_columns(vh[:k] * root[:, None], pairs), values[:k], len(white))


def join_columns(pairs: dict[str, Tensor]) -> Tensor:
    """Return all consumers' (out, d, *columns of one unit) as one matrix (d, all columns)."""
    return torch.cat([part.movedim(1, 0).flatten(1) for part in pairs.values()], 1)


def split_columns(matrix: Tensor, like: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return a matrix (k, all columns) as the consumers' (out, k, *columns of one unit)."""
    shapes = [part[:, 0].shape for part in like.values()]
    parts = torch.split(matrix, [shape.numel() for shape in shapes], 1)
    each = zip(like, parts, shapes, strict=True)
    return {path: part.reshape(len(matrix), *shape).movedim(0, 1) for path, part, shape in each}


def whitening_matrix(s: Tensor) -> Tensor:
    """Return W (d, r) with W' S W = I where S is not (numerically) zero; L^-T where it has full rank."""
    return _whiten(s, torch.eye(len(s), dtype=s.dtype, device=s.device))[0].T


def _whiten(s: Tensor, x: Tensor, scaled: bool = True) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Return W' x (r, k) for x (d, k), and the function that applies W of :func:`whitening_matrix`.

    Which directions count as zero goes by inputs of the same mean square, or as they are if not ``scaled``.
    """
    size = s.diagonal().clamp_min(0).sqrt()
    active = (size > 0).nonzero()[:, 0]
    if not len(active):
        return x[:0], lambda y: y.new_zeros(len(s), y.shape[1])
    scale = (1 / size[active] if scaled else torch.ones_like(size[active]))[:, None]
    inner = s if len(active) == len(s) else s[active][:, active]
    correlation = (inner * scale).mul_(scale.T)
    root, failed = torch.linalg.cholesky_ex(correlation)
    if not int(failed) and float(root.diagonal().square().min()) > CUTOFF * float(correlation.trace()):
        white = torch.linalg.solve_triangular(root, x[active] * scale, upper=False)
        return white, lambda y: _scatter_rows(
            torch.linalg.solve_triangular(root.T, y, upper=True) * scale, active, len(s)
        )
    values, vectors = torch.linalg.eigh(correlation)
    good = values > CUTOFF * values[-1]
    w = scale * vectors[:, good] / values[good].sqrt()
    return w.T @ x[active], lambda y: _scatter_rows(w @ y, active, len(s))


def _scatter_rows(rows: Tensor, active: Tensor, d: int) -> Tensor:
    """Return d rows: the kept ones at their places, the others 0."""
    return rows if len(active) == d else rows.new_zeros(d, rows.shape[1]).index_copy_(0, active, rows)
