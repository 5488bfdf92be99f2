"""`torch.jit.script` is deprecated.

Why: since torch 2.10 it warns "Please switch to `torch.compile` or `torch.export`" (a FutureWarning, shown by default,
from 2.14), and on Python 3.14 it "is not supported and may break".

On a function, `torch.compile` takes its place; with `script-replacement = "eager"` the decorator goes.

    @torch.jit.script
    def f(x, k=2.0):
        # type: (Tensor, float) -> Tensor
    →
    @torch.compile
    def f(x, k=2.0):
        # type: (Tensor, float) -> Tensor

A module is exported with example inputs if it is saved or deployed, and compiled in place if it is only to run faster:

    m = torch.jit.script(model)
    →
    exported = torch.export.export(model, (x,)); torch.export.save(exported, "m.pt2")
    model.compile()

Fix safety: unsafe.
- A model that calls a compiled function can no longer be given to `torch.jit.trace`, to `torch.fx.symbolic_trace`, or to
  `torch.onnx.export(..., dynamo=False)`: they raise RuntimeError. Where the project does one of these, the fix removes
  the decorator instead. A library whose users may do so should set `script-replacement = "eager"`.
- The first call compiles (seconds; a C++ compiler or Triton is needed), and again for new sizes; a small function can be
  slower than without.
- Results may differ in the last bits; random numbers (dropout, rand) differ for the same seed.
- TorchScript converts an int argument to the annotated float, and copies list and dict arguments; Python does neither.
- `.graph`, `.code` and `.save` exist only on a ScriptFunction; where they are used there is no fix.
- Python newer than torch supports (3.14 before torch 2.10) fails at the decorator.
- Export fixes sizes and refuses control flow on values: see `torchmigrate explain TS102`.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/,
https://docs.pytorch.org/docs/stable/generated/torch.compile.html; torch 2.10 wheel: torch/jit/_script.py,
torch/_dynamo/eval_frame.py.
"""

from __future__ import annotations

from torchmigrate.rule import Rule, Safety

rule = Rule(
    code="TS101",
    symbols=("torch.jit.script", "torch.jit._script.script", "torch.jit._script._script_impl"),
    message=(
        "`{symbol}` is deprecated since torch 2.10; use `torch.compile` for a function, "
        "`torch.export.export` for a module that is saved or deployed"
    ),
    since=(2, 0),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
)
