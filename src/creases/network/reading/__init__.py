"""Reading models: torch modules by tracing, ONNX files, weight arrays."""

from creases.network.reading._weights import read_npz

__all__ = [
    "read_npz",
]
