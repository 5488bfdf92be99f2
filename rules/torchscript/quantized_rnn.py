"""`torch.jit.quantized` raises.

Why: since torch 2.3 all its classes and functions raise RuntimeError: "... is no longer supported".

    from torch.jit.quantized import QuantizedLinear
    →
    from torch.ao.nn.quantized.dynamic import Linear

What to do: use `Linear`, `LSTM` and `GRU` of `torch.ao.nn.quantized.dynamic`; `torch.ao.quantization.quantize_dynamic`
puts them into a model.

Source: torch 2.3 wheel: torch/jit/quantized.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule

rule = Rule(
    code="TS191",
    symbols=("torch.jit.quantized.*",),
    message="`{symbol}` raises since torch {breaks}; use `torch.ao.nn.quantized.dynamic`",
    since=(2, 0),
    breaks=(2, 3),
    recipe="import the class from `torch.ao.nn.quantized.dynamic`",
)
