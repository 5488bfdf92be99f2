"""`torch.jit.Attribute` is a pair that only TorchScript unpacks.

Why: in a plain `nn.Module`, `self.sizes = torch.jit.Attribute({}, Dict[str, int])` leaves the pair itself in
`self.sizes`.

    self.sizes = torch.jit.Attribute({}, Dict[str, int])
    →
    self.sizes: Dict[str, int] = {}

Fix safety: unsafe where code reads `.value` or `.type` of the pair.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py.
"""

from __future__ import annotations

from torchmigrate.rule import Rule, Safety

rule = Rule(
    code="TS156",
    symbols=("torch.jit.Attribute", "torch.jit._script.Attribute"),
    message="`{symbol}` is a pair of value and type that only TorchScript unpacks; write an annotated attribute",
    safety=Safety.UNSAFE,
)
