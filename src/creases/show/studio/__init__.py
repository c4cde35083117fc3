"""The studio: watch and steer growth runs in a browser, served on the local machine only (web/PROTOCOL.md)."""

from creases.show.studio._server import serve

__all__ = [
    "serve",
]
