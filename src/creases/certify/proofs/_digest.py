"""A digest of a network, by which a proof knows what it is about."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from creases.certify.proofs._checker.parts import Dyadic, to_fractions
from creases.certify.proofs._checker.plain import PlainNetwork, to_plain
from creases.certify.proofs._checker.program import Affine, Choice, Relu, build_machine
from creases.certify.proofs._checker.runs import affine_forms
from creases.certify.proofs._format import ClaimProof, ModelMark, Proof, Statement
from creases.errors import InputError

if TYPE_CHECKING:
    from creases.network import NetworkLike

#: Most entries of all steps' matrices of a network whose affine parts are multiplied out.
MAX_ENTRIES = 2**22


def as_plain(net: NetworkLike | PlainNetwork) -> PlainNetwork:
    """Return a network as the checker reads it."""
    if isinstance(net, PlainNetwork):
        return net
    from creases.network import as_network

    return to_plain(as_network(net))


def network_digest(net: NetworkLike | PlainNetwork) -> str:
    """Return the SHA-256 of a network's bends and of the affine functions between them, in exact arithmetic.

    So it does not depend on how affine parts are written as steps, as exported files write them otherwise. Of networks
    too large for that it is the SHA-256 of the steps in float64: operation, inputs, shape, options, bytes of weights.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    >>> network_digest(net) == network_digest(creases.read([([[1.0], [-1.0]], [0.0, 1e-9]), ([[1.0, 1.0]], [0.0])]))
    False
    """
    work = as_plain(net)
    return _function_digest(work) or _step_digest(work)


@lru_cache(maxsize=4)
def _function_digest(work: PlainNetwork) -> str | None:
    """Return the digest of a network's function; None if it is too large to multiply its affine parts out."""
    if work.entries > MAX_ENTRIES:
        return None
    try:
        machine = build_machine(work)
        forms = affine_forms(machine)
    except (OverflowError, InputError):
        return None
    digest = hashlib.sha256()
    bends = [step for step in machine.steps if not isinstance(step, Affine)]
    _add(digest, {"n_in": machine.n_in, "bends": len(bends)})
    for k, (matrices, constant) in enumerate(forms):
        for source in sorted(matrices):
            _add_numbers(digest, {"bend": k, "source": source}, matrices[source])
        if constant is not None:
            _add_numbers(digest, {"bend": k, "constant": True}, constant)
        if k < len(bends):
            bend = bends[k]
            kind = {"choices": bend.K} if isinstance(bend, Choice) else {}
            _add(digest, {"bend": k, "size": bend.size, **kind})
            if isinstance(bend, Relu):
                _add_numbers(digest, {"bend": k, "leak": True}, np.asarray(bend.leak, float))
    return digest.hexdigest()


def _add_numbers(digest: hashlib._Hash, what: dict[str, object], numbers: Dyadic | NDArray[np.float64]) -> None:
    """Add exact numbers, unless all are 0: the nearest floats, and what each of them is away."""
    rest: dict[int, str] = {}
    if isinstance(numbers, np.ndarray):
        floats = numbers
    else:
        exact = numbers.fractions()
        floats = np.array([_nearest(value) for value in exact.flat], float).reshape(exact.shape)
        away = exact.reshape(-1) - to_fractions(floats).reshape(-1)
        rest = {int(i): str(away[i]) for i in np.flatnonzero(away != 0)}
    if floats.any() or rest:
        _add(digest, {**what, "shape": list(floats.shape), "rest": rest})
        digest.update((floats + 0.0).astype("<f8").tobytes())  # -0 as 0


def _nearest(value: Fraction) -> float:
    """Return the nearest float of any number: 0 beyond their range, so that all of it is left."""
    try:
        return float(value)
    except OverflowError:
        return 0.0


def _step_digest(work: PlainNetwork) -> str:
    digest = hashlib.sha256()
    _add(digest, {"input_shape": list(work.input_shape), "steps": len(work.steps)})
    for step in work.steps:
        _add(digest, {"op": step.op, "inputs": list(step.inputs), "shape": list(step.shape), "options": step.options})
        for name in sorted(step.arrays):
            values = step.arrays[name]
            little = values.astype(values.dtype.newbyteorder("<"), copy=False)
            _add(digest, {"name": name, "dtype": str(values.dtype), "shape": list(values.shape)})
            digest.update(little.tobytes())
    return digest.hexdigest()


def _add(digest: hashlib._Hash, part: dict[str, object]) -> None:
    digest.update(json.dumps(part, sort_keys=True, separators=(",", ":")).encode() + b"\n")


def mark_model(net: NetworkLike) -> ModelMark:
    """Return what a proof says about the network it is for."""
    work = as_plain(net)
    return ModelMark(network_digest(work), work.n_in, work.n_out)


def make_proof(
    statement: Statement, proofs: tuple[ClaimProof, ...] = (), *, net: NetworkLike, other: NetworkLike | None = None
) -> Proof:
    """Return a proof of a statement about a network, or about two."""
    return Proof(mark_model(net), statement, tuple(proofs), None if other is None else mark_model(other))
