"""The studio: growth runs to watch and to steer in a browser, served on this machine only (web/PROTOCOL.md)."""

from creases.show.studio._server import serve

__all__ = [
    "serve",
]
