"""Types of scripted and traced code.

Why: `ScriptModule`, `ScriptFunction` and the like exist for TorchScript, deprecated since torch 2.10. Asking for them
warns nowhere, and a library may go on asking for its users' sake.

    isinstance(model, torch.jit.ScriptModule)
    →
    isinstance(model, torch.fx.GraphModule)

    def load(path) -> torch.jit.ScriptModule:
    →
    def load(path) -> torch.nn.Module:

What to do: change the test together with the code that makes the object. What `torch.export.load(path).module()`
returns is a `torch.fx.GraphModule`, and plain FX graphs are instances of that class as well; a compiled module is a
`torch._dynamo.OptimizedModule`, a compiled function an ordinary function.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py,
torch/jit/_trace.py.
"""

from __future__ import annotations

from torchmigrate.api import Kind, Rule

_NAMES = ("ScriptModule", "ScriptFunction", "RecursiveScriptModule", "RecursiveScriptClass")
_TRACED = ("TracedModule", "TopLevelTracedModule")

rule = Rule(
    code="TS141",
    symbols=(
        *(f"torch.jit.{name}" for name in _NAMES + _TRACED),
        *(f"torch.jit._script.{name}" for name in _NAMES),
        *(f"torch.jit._trace.{name}" for name in _TRACED),
        *(f"torch._C.Script{kind}" for kind in ("Module", "Function", "Method", "Class", "Dict", "List")),
    ),
    message="`{symbol}` is a TorchScript type; nothing makes one once the code is exported or compiled",
    kinds=frozenset(Kind) - {Kind.BASE},
    recipe="ask for `torch.export.ExportedProgram` or `torch.fx.GraphModule`, or remove the question with the last "
    "script and trace",
)
