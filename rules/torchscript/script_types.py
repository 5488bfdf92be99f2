"""Types of scripted and traced code.

Why: `ScriptModule`, `ScriptFunction` and the like exist for TorchScript, deprecated since torch 2.10. Checks for them do not
warn, and a library may keep them for its users.

    isinstance(model, torch.jit.ScriptModule)
    →
    isinstance(model, torch.fx.GraphModule)

    def load(path) -> torch.jit.ScriptModule:
    →
    def load(path) -> torch.nn.Module:

What to do: change the check together with the code that makes the object. `torch.export.load(path).module()` returns a
`torch.fx.GraphModule`, of which plain FX graphs are instances, too. A compiled module is a
`torch._dynamo.OptimizedModule`, a compiled function is an ordinary function.

Fix safety: unsafe. There is a fix where a variable only gives `ScriptModule` another name for base classes: see
`torchmigrate explain TS104`; and where a variable is annotated that has since got a compiled or exported module.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py,
torch/jit/_trace.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NotYet, Place, Rule, Safety, Use
from torchmigrate.rewrite.changes import ReplaceStatement, template

from ._authoring.script_classes import ASKS, create_class_fix, find_alias
from ._authoring.torchscript_makers import BASES

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
    message="`{symbol}` is a TorchScript type; exported or compiled code never creates one",
    kinds=frozenset(Kind) - {Kind.BASE},
    recipe="check for `torch.export.ExportedProgram` or `torch.fx.GraphModule`, or remove the check together with the last "
    "script and trace",
    safety=Safety.UNSAFE,
    asks=ASKS,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.symbol in BASES and find_alias(use) is not None:
        yield ctx.finding(use, fix=lambda: create_class_fix(ctx))
    elif (value := _find_annotated_value(use)) is not None and _is_settled(value, use, ctx):
        yield ctx.finding(use, fix=lambda: _create_annotation_fix(use, ctx))
    else:
        yield ctx.finding(use)


def _find_annotated_value(use: Use) -> ast.Call | None:
    """Return the call whose result the variable gets that the type annotates."""
    statement = use.place.statement
    if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.value, ast.Call):
        return None
    annotation = statement.annotation
    is_inside = isinstance(annotation, ast.Constant) or use.node in ast.walk(annotation)
    return statement.value if is_inside and not use.place.scope.is_class else None  # and no field of a class


def _is_settled(value: ast.Call, use: Use, ctx: Context) -> bool:
    """Return whether a call makes what is certainly no TorchScript, or what the script of a function becomes."""
    loaded = (
        value.func.value if isinstance(value.func, ast.Attribute) and value.func.attr == "module" else None
    )
    if isinstance(loaded, ast.Call):
        return ctx.is_named(loaded.func, use, "torch.export.load")
    return ctx.is_named(value.func, use, "torch.compile", "torch.jit.script")


def _create_annotation_fix(use: Use, ctx: Context) -> Fix:
    statement = use.place.statement
    assert isinstance(statement, ast.AnnAssign)
    assert isinstance(statement.value, ast.Call)
    if ctx.is_named(statement.value.func, use, "torch.jit.script"):
        line = statement.value.lineno
        raise NotYet(f"the script on line {line} is gone", Place(ctx.source.path, line))
    plain = template("{target} = {value}", target=statement.target, value=statement.value)
    return Fix((ReplaceStatement(statement, plain),), Safety.UNSAFE, "Remove the annotation")
