"""Reading models: torch modules by tracing, ONNX files, weight arrays."""
