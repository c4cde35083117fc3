"""The order in which a network sees its samples: a permutation for each seed and epoch, place by place.

Every place of a permutation is computed on its own, without memory, so that any engine gives the same order: a
bijection of ``[0, 2^bits)`` made of rounds ``x -> m x + c`` (m odd) and ``x -> x xor (x >> half)`` with numbers from
the seed and the epoch, repeated until the result lies in ``[0, n)`` ("cycle walking": the way of Kensler, Correlated
multi-jittered sampling, 2013, and of format-preserving encryption).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

#: Rounds of the bijection.
ROUNDS = 4

_MASK = np.uint64(2**32 - 1)


@numba.njit
def _mix(z: Any) -> Any:
    """Apply the finaliser of splitmix64, which turns any 64 bits into random-looking ones."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@numba.njit
def bits_of(n: Any) -> Any:
    """Return the number of bits, at least 1, that n different numbers need."""
    bits = 1
    while (1 << bits) < n:
        bits += 1
    return bits


@numba.njit
def set_keys(seed: Any, epoch: Any, keys: Any, lane: Any) -> None:
    """Write the numbers of the rounds, m and c alternating, into a column of ``keys`` (2 ROUNDS, lanes), uint32."""
    state = _mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)) ^ _mix(np.uint64(epoch))
    for k in range(ROUNDS):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        word = _mix(state)
        keys[2 * k, lane] = np.uint32(word & _MASK) | np.uint32(1)
        keys[2 * k + 1, lane] = np.uint32(word >> np.uint64(32))


@numba.njit
def places(position: Any, n: Any, bits: Any, keys: Any, samples: Any) -> None:
    """Write the sample at a position of each lane's order into ``samples`` (lanes,), uint32."""
    mask, half = np.uint32((1 << bits) - 1), np.uint32((bits + 1) // 2)
    for lane in range(len(samples)):
        samples[lane] = _round(np.uint32(position), lane, keys, mask, half)
    outside = n < (1 << bits)
    while outside:
        count = 0
        for lane in range(len(samples)):  # without branches: one instruction for many lanes
            x = samples[lane]
            further = _round(x, lane, keys, mask, half)
            samples[lane] = further if x >= n else x
            count += samples[lane] >= n
        outside = count > 0


@numba.njit(forceinline=True)
def _round(x: Any, lane: Any, keys: Any, mask: Any, half: Any) -> Any:
    for k in range(ROUNDS):
        x = np.uint32(x * keys[2 * k, lane] + keys[2 * k + 1, lane]) & mask
        x ^= x >> half
    return x


def order(seed: int, epoch: int, n: int) -> Any:
    """Return the order (n,) of n samples in an epoch, counted from 0."""
    keys, sample = np.empty((2 * ROUNDS, 1), np.uint32), np.empty(1, np.uint32)
    set_keys(seed, epoch, keys, 0)
    result = np.empty(n, np.int64)
    for position in range(n):
        places(position, n, bits_of(n), keys, sample)
        result[position] = sample[0]
    return result
