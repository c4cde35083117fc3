"""Reading ONNX files."""
