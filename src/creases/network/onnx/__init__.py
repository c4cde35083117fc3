"""Reading ONNX files."""

from creases.network.onnx.graph import read_onnx

__all__ = ["read_onnx"]
