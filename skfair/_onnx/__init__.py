"""ONNX graphs of fitted models."""
