"""Reading and writing ONNX files."""

from creases.network.reading._onnx.graph import read_onnx
from creases.network.reading._onnx.write import write_onnx

__all__ = ["read_onnx", "write_onnx"]
