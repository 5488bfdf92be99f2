"""`torch.jit.interface` is deprecated.

Why: since torch 2.11 it warns "Please use `torch.compile` instead". Outside TorchScript it returns the class unchanged.
Remove the decorator, or use a protocol, which type checkers understand.

    @torch.jit.interface
    class Scorer:
        def score(self, x: Tensor) -> Tensor: ...
    →
    class Scorer(typing.Protocol):
        def score(self, x: Tensor) -> Tensor: ...

Fix safety: unsafe. There is no fix while anything in the project scripts: a scripted module may have an attribute of this
type.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/_script.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use

from ._authoring.torchscript_makers import ASKS, makes_torchscript

rule = Rule(
    code="TS105",
    symbols=("torch.jit.interface", "torch.jit._script.interface"),
    message="`{symbol}` has been deprecated since torch {deprecated} and means nothing outside TorchScript; use a `typing.Protocol` or "
    "an abstract class",
    since=(2, 0),
    deprecated=(2, 11),
    safety=Safety.UNSAFE,
    asks=ASKS,
    recipe="write a `typing.Protocol` or an abstract class",
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=(lambda: _create_fix(use, ctx)) if use.kind is Kind.DECORATOR else None)


def _create_fix(use: Use, ctx: Context) -> Fix:
    if makes_torchscript(ctx):
        raise NoFix("the project still makes TorchScript, which may need the interface")
    return Fix((ctx.remove_decorator(use),), Safety.UNSAFE, "Remove the decorator")
