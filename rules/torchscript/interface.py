"""`torch.jit.interface` is deprecated.

Why: since torch 2.11 it warns "Please use `torch.compile` instead". Outside TorchScript it returns the class unchanged.
Remove the decorator, or say the same to type checkers with a protocol.

    @torch.jit.interface
    class Scorer:
        def score(self, x: Tensor) -> Tensor: ...
    →
    class Scorer(typing.Protocol):
        def score(self, x: Tensor) -> Tensor: ...

Fix safety: unsafe; the decorator goes once nothing in the project scripts. Until then a scripted module may have an
attribute of this type, and there is no fix.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/_script.py.
"""

from __future__ import annotations

from torchmigrate.rule import Rule, Safety

rule = Rule(
    code="TS105",
    symbols=("torch.jit.interface", "torch.jit._script.interface"),
    message=(
        "`{symbol}` is deprecated since torch 2.11 and means nothing outside TorchScript; use a `typing.Protocol` or an "
        "abstract class"
    ),
    since=(2, 0),
    deprecated=(2, 11),
    safety=Safety.UNSAFE,
)
