"""The network argument of the geometry."""

from __future__ import annotations

from typing import Any

from creases.errors import InputError
from creases.network import Network


def check_network(net: Any) -> Network:
    """``net`` when it is a network."""
    if not isinstance(net, Network):
        raise InputError(f"net: expected a Network (creases.read makes one), got {type(net).__name__}")
    return net
