"""`torch.jit.CompilationUnit` compiles TorchScript source text.

Why: TorchScript has been deprecated since torch 2.10; the class itself does not warn.

    cu = torch.jit.CompilationUnit("def f(x):\\n  return x + 1")
    y = cu.f(x)
    →
    @torch.compile
    def f(x):
        return x + 1

What to do: write the functions in Python. TorchScript differs from Python (integers, containers, `round`). Where C++ looks
the functions up by name, use `torch.export` and AOTInductor.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule

rule = Rule(
    code="TS106",
    symbols=("torch.jit.CompilationUnit", "torch.jit._script.CompilationUnit", "torch._C.CompilationUnit"),
    message="`{symbol}` compiles TorchScript source, deprecated since torch {deprecated}; write Python and use `torch.compile`",
    deprecated=(2, 10),
    recipe="write the source as Python functions, and compile them with `torch.compile`",
)
