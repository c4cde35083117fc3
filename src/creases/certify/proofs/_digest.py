"""A digest of a network, by which a proof knows what it is about."""

from __future__ import annotations

import hashlib
import json

import torch

from creases.certify.proofs._format import ClaimProof, ModelMark, Proof, Statement
from creases.network import Network, NetworkLike, as_network


def network_digest(net: NetworkLike) -> str:
    """Return the SHA-256 of a network's steps in float64: operation, inputs, shape, options and the bytes of weights.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    >>> network_digest(net) == network_digest(creases.read([([[1.0], [-1.0]], [0.0, 1e-9]), ([[1.0, 1.0]], [0.0])]))
    False
    """
    work = as_network(net).to("cpu").to(torch.float64)
    digest = hashlib.sha256()
    _add(digest, {"input_shape": list(work.input_shape), "steps": len(work.steps)})
    for step in work.steps:
        _add(digest, {"op": step.op, "inputs": list(step.inputs), "shape": list(step.shape), "options": step.options})
        for name in sorted(step.tensors):
            values = step.tensors[name].detach().contiguous().numpy()
            little = values.astype(values.dtype.newbyteorder("<"), copy=False)
            _add(digest, {"name": name, "dtype": str(values.dtype), "shape": list(values.shape)})
            digest.update(little.tobytes())
    return digest.hexdigest()


def _add(digest: hashlib._Hash, part: dict[str, object]) -> None:
    digest.update(json.dumps(part, sort_keys=True, separators=(",", ":")).encode() + b"\n")


def mark_model(net: NetworkLike) -> ModelMark:
    """Return what a proof says about the network it is for."""
    work: Network = as_network(net)
    return ModelMark(network_digest(work), work.n_in, work.n_out)


def make_proof(
    statement: Statement, proofs: tuple[ClaimProof, ...] = (), *, net: NetworkLike, other: NetworkLike | None = None
) -> Proof:
    """Return a proof of a statement about a network, or about two."""
    return Proof(mark_model(net), statement, tuple(proofs), None if other is None else mark_model(other))
