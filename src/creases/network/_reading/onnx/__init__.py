"""Reading ONNX files."""

from creases.network._reading.onnx.graph import read_onnx

__all__ = ["read_onnx"]
