"""TorchScript: scripting and tracing, files, freezing, markers and guards, the TorchScript ONNX exporter, the Lite
interpreter.
"""
