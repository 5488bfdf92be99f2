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
  the decorator instead. A function with loops or branches that depend on values, or that makes numbers of tensors (`int(x)`,
  `x.item()`, `torch.tensor([h, w])`), all of which a trace would freeze (with a TracerWarning), then has no fix unless `script-replacement = "eager"` asks for it. A library whose users may trace
  should set that too.
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

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, Rule, Safety
from torchmigrate.model.findings import Edit
from torchmigrate.rewrite import calls, decorators
from torchmigrate.rewrite.blocks import Blocks

from ._authoring import authoring
from ._authoring.authoring import is_traced, traces
from ._export import exporting
from ._export.values import binding_of, kind_of
from ._script import controlflow, fallbacks

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="TS101",
    symbols=exporting.SCRIPTS,
    message=(
        "`{symbol}` is deprecated since torch 2.10; use `torch.compile` for a function, "
        "`torch.export.export` for a module that is saved or deployed"
    ),
    since=(2, 0),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
    asks=(*exporting.ASKS, *authoring.TRACES_ASKS),
)

_TRACED = "the project traces (`torch.jit.trace`, `symbolic_trace` or the ONNX exporter): a trace refuses compiled functions"
_KEPT = (
    "a trace keeps the function's loops, branches and conversions to numbers only while it is scripted; "
    '`script-replacement = "eager"` makes it a plain function all the same'
)
_UNSEEN = "the project traces, which keeps loops and branches only of scripted functions, and this one is not in sight"
_SCRIPT_FUNCTION_ONLY = frozenset(
    [
        "graph",
        "inlined_graph",
        "code",
        "code_with_constants",
        "save",
        "save_to_buffer",
        "graph_for",
        "schema",
        "name",
        "qualified_name",
    ]
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.kind in (Kind.DECORATOR, Kind.CALL, Kind.REFERENCE):
        yield ctx.finding(use, fix=lambda: _fix(use, ctx), hint=_TRACED if traces(ctx) else None)
    else:
        yield ctx.finding(use)


def _fix(use: Use, ctx: Context) -> Fix | str:
    if ctx.project.uses(*rule.symbols, kinds=(Kind.STRING, Kind.ASSIGNMENT)):
        return "the project replaces `torch.jit.script` somewhere, which would no longer reach this code"
    dead = fallbacks.dead_arm(use, ctx)
    if dead is not None:
        return dead
    if use.decorated is not None:
        if use.kind is Kind.CALL:
            return "`script` takes no arguments as a decorator"
        return _undecorated(use, use.decorated, ctx)
    if use.call is None:
        return _reference(use, ctx)
    function = calls.argument(use.call, 0, "obj")
    kind = kind_of(function, use, ctx) if function is not None else None
    if function is None or kind not in ("function", "class"):
        return exporting.fix_of(use, ctx)
    return _called(use, use.call, function, kind, ctx)


def _undecorated(
    use: Use, definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, ctx: Context
) -> Fix | str:
    if isinstance(definition, ast.ClassDef):
        return _removed(use, definition, ctx, "Remove the decorator: a class has nothing to compile")
    if attribute := _script_only(definition.name, ctx):
        return f"`{definition.name}.{attribute}` exists only while it is scripted"
    if _is_kept(definition, ctx):
        return _KEPT
    if eager := _eager(ctx):
        return _removed(use, definition, ctx, eager)
    spelling = ctx.imports.spell("torch.compile", use)
    if spelling is None:
        return "`torch.compile` cannot be named here without clobbering a name"
    return Fix((ctx.replace(use.node, spelling.text), *spelling.edits), Safety.UNSAFE, "Use `torch.compile`")


def _removed(use: Use, definition: decorators.Definition, ctx: Context, title: str) -> Fix | str:
    edit = decorators.removed(ctx.source, definition, use.node) if isinstance(use.node, ast.expr) else None
    return (
        Fix((edit,), Safety.UNSAFE, title)
        if edit is not None
        else "the decorator shares its line with other code"
    )


def _called(use: Use, call: ast.Call, function: ast.expr, kind: str, ctx: Context) -> Fix | str:
    """``g = torch.jit.script(f)``."""
    if len(calls.arguments(call)) != 1:
        return "what its further arguments do has no counterpart"
    found = binding_of(function, use.place.scope, ctx) if isinstance(function, ast.Name) else None
    if _is_kept(found, ctx):
        return _KEPT
    in_sight = isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)) or isinstance(function, ast.Lambda)
    if kind == "function" and not in_sight and _may_be_traced(ctx):
        return _UNSEEN
    target = use.place.statement
    name = target.targets[0] if isinstance(target, ast.Assign) and target.value is call else None
    if isinstance(name, ast.Name) and (attribute := _script_only(name.id, ctx)):
        return f"`{name.id}.{attribute}` exists only while it is scripted"
    title = "Use the class itself: it has nothing to compile" if kind == "class" else _eager(ctx)
    source = ctx.source
    if not title:
        spelling = ctx.imports.spell("torch.compile", use)
        if spelling is None:
            return "`torch.compile` cannot be named here without clobbering a name"
        edits = [ctx.replace(use.node, spelling.text), *spelling.edits]
        edits += [_renamed(keyword, ctx) for keyword in call.keywords]
        return Fix(tuple(edits), Safety.UNSAFE, "Use `torch.compile`")
    if isinstance(name, ast.Name) and isinstance(function, ast.Name) and name.id == function.id:
        removed = Blocks(source).removed(use.place)
        return removed if isinstance(removed, str) else Fix(removed, Safety.UNSAFE, title)
    edits = ctx.reduced(call, function, calls.opening(source, call))
    if any(b"#" in source.text[edit.start : edit.end] for edit in edits):
        return "a comment stands in the part that would go"
    return Fix(tuple(edits), Safety.UNSAFE, title)


def _reference(use: Use, ctx: Context) -> Fix | str:
    """``compiler = torch.jit.script``, ``partial(torch.jit.script)``, a default value."""
    parent = use.parents[-1]
    if (
        isinstance(parent, ast.Call)
        and parent.args
        and isinstance(use.node, ast.expr)
        and use.node in parent.args[1:]
    ):
        return "it is one of the arguments of a call that may do anything with it"
    if _eager(ctx):
        return "there is nothing to put in its place where functions are to stay eager"
    spelling = ctx.imports.spell("torch.compile", use)
    if spelling is None:
        return "`torch.compile` cannot be named here without clobbering a name"
    return Fix((ctx.replace(use.node, spelling.text), *spelling.edits), Safety.UNSAFE, "Use `torch.compile`")


def _is_kept(function: ast.AST | None, ctx: Context) -> bool:
    """Whether the function has control flow, and may be called from a trace, which would freeze it."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return _may_be_traced(ctx) and controlflow.depends_on_values(function)


def _may_be_traced(ctx: Context) -> bool:
    return is_traced(ctx) or (ctx.options.script_replacement != "eager" and traces(ctx))


def _eager(ctx: Context) -> str | None:
    """Why functions are to stay eager, as the title of the fix; None where they are to be compiled."""
    if ctx.options.script_replacement == "eager":
        return "Use the function as it is"
    if traces(ctx) or is_traced(ctx):
        return "Use the function as it is: a trace refuses compiled functions"
    return None


def _renamed(keyword: ast.keyword, ctx: Context) -> Edit:
    start = ctx.source.span(keyword).start
    return Edit(start, start + len("obj"), "model")


def _script_only(name: str, ctx: Context) -> str | None:
    """The attribute of a ScriptFunction that the file reads from the function ``name``, if it does."""
    read = ctx.uses.flow.attributes.get(name, ())
    return next((attribute for attribute in read if attribute in _SCRIPT_FUNCTION_ONLY), None)
