"""Reading and writing ONNX files."""

from creases.network.onnx.graph import read_onnx
from creases.network.onnx.write import write_onnx

__all__ = ["read_onnx", "write_onnx"]
