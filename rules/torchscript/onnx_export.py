"""The TorchScript ONNX exporter is deprecated.

Why: `dynamo=False` was the default up to torch 2.8 and warns since then; from torch 2.9 the exporter based on
`torch.export` is the default, and that one refuses scripted and traced modules.

    torch.onnx.export(torch.jit.script(model), (x,), "model.onnx", dynamo=False,
                      input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    →
    torch.onnx.export(model, (x,), "model.onnx", dynamo=True,
                      input_names=["x"], dynamic_shapes=({0: torch.export.Dim("batch")},))

    torch.onnx.export(torch.jit.trace(model, x), (x,), "model.onnx")
    →
    torch.onnx.export(torch.jit.trace(model, x), (x,), "model.onnx", dynamo=False)

Fix: where the project still supports a torch whose default exporter takes a scripted or traced module, and where its
script keeps control flow that an export would refuse or freeze, `dynamo=False` keeps what the call does. Where the new
exporter is certain to run, the module itself is handed over.

What to do: install `onnxscript`, hand over the `nn.Module` itself, and give everything after the file name by
keyword. The new exporter takes no custom symbolic functions (see `onnx-internals`) and refuses control flow that
depends on data; the graph's node names and its opset differ; `fallback=` is gone in torch 2.11. Compare the outputs
of both files.

Fix safety: unsafe: from torch 2.9 the call fails as it is written, and what the new exporter makes of the module is not
what the old one made of its script; `dynamo=False` warns.

Source: https://docs.pytorch.org/docs/stable/onnx_export.html; torch 2.8, 2.9 and 2.11 wheels: torch/onnx/__init__.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety, Severity
from torchmigrate.rewrite.changes import AddArgument, replace, template
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.model_files import SCRIPTED_RESULTS

from ._authoring.authoring import SCRIPTS, TRACES
from ._export.values import made_by
from ._script.controlflow import depends_on_values

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_LEGACY = (
    "torch.onnx.utils.export",
    "torch.onnx.utils._export",
    "torch.onnx._internal.torchscript_exporter.utils.export",
    "torch.onnx._internal.torchscript_exporter.utils._export",
)
_NEW_DEFAULT = (2, 9)
_NEW_ONLY = {
    *("dynamic_shapes", "custom_translation_table", "report", "optimize", "verify", "profile"),
    *("dump_exported_program", "artifacts_dir", "fallback", "external_data"),
}
"""Arguments that only the exporter based on `torch.export` reads."""
_KEEPS = frozenset({"eval", "train", "to", "cuda", "cpu", "half", "float"})
"""Methods that give the module itself."""

rule = Rule(
    code="TS161",
    symbols=("torch.onnx.export", *_LEGACY),
    message="`{symbol}` with `dynamo=False` is the TorchScript exporter; use `dynamo=True`, which needs `onnxscript`, "
    "and `dynamic_shapes`",
    since=(2, 5),
    deprecated=(2, 8),
    safety=Safety.UNSAFE,
    artifact=True,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.symbol in _LEGACY:
        yield ctx.finding(
            use, "`{symbol}` is the TorchScript exporter; use `torch.onnx.export(..., dynamo=True)`"
        )
    elif use.kind is Kind.CALL and use.call is not None:
        yield from _exported(use, use.call, ctx)


def _exported(use: Use, call: ast.Call, ctx: Context) -> Iterator[Finding]:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    model = call.args[0] if call.args else keywords.get("model")
    dynamo = keywords.get("dynamo")
    if isinstance(dynamo, ast.Constant) and dynamo.value is False:
        yield ctx.finding(use, fix=_manual)
    elif None in keywords or (dynamo is not None and not isinstance(dynamo, ast.Constant)):
        return  # decided at run time
    elif model is not None and (made := _made(model, use, ctx)):
        new = dynamo is not None or ctx.options.target >= _NEW_DEFAULT
        yield ctx.finding(
            use,
            "`{symbol}` with `dynamo=True`, the default from torch 2.9, refuses a scripted or traced module; hand over "
            "the `nn.Module` itself",
            severity=Severity.ERROR if new else None,  # this form breaks before the rule's others do
            fix=lambda: _fix(call, model, made, dynamo, use, ctx),
        )
    elif dynamo is None and ctx.options.minimum < _NEW_DEFAULT and not _is_new(call, model, use, ctx):
        yield ctx.finding(
            use,
            "`{symbol}` without `dynamo=` is the TorchScript exporter up to torch 2.8 and another one from 2.9; say "
            "which one is meant",
            severity=Severity.INFO,  # nothing is known to be deprecated: the new exporter may be meant
        )


def _is_new(call: ast.Call, model: ast.expr | None, use: Use, ctx: Context) -> bool:
    """Whether a call without ``dynamo=`` is meant for the new exporter: the old one must be told a file."""
    keywords = {keyword.arg for keyword in call.keywords}
    has_file = len(call.args) > 2 or "f" in keywords or any(isinstance(a, ast.Starred) for a in call.args)
    exported = model is not None and ctx.is_named(model, use, "torch.export.export()", "torch.export.load()")
    return exported or not has_file or not _NEW_ONLY.isdisjoint(keywords)


def _made(model: ast.expr, use: Use, ctx: Context, depth: int = 4) -> list[ast.expr]:
    """What makes TorchScript of the module that is exported: its own call, or those that its variable may come from."""
    if isinstance(model, ast.Call):
        if ctx.is_named(model, use, *SCRIPTED_RESULTS):
            return [model]
        moved = isinstance(model.func, ast.Attribute) and model.func.attr in _KEEPS
        return _made(model.func.value, use, ctx, depth) if moved else []  # type: ignore[attr-defined]
    if not isinstance(model, ast.Name) or not depth:
        return [model] if ctx.is_named(model, use, *SCRIPTED_RESULTS) else []
    owner = use.place.scope.find(model.id)
    state = ctx.uses.flow.reaching(model.id, owner).reads.get(model) if owner is not None else None
    if not state:
        return [model] if ctx.is_named(model, use, *SCRIPTED_RESULTS) else []
    parents = ctx.uses.flow.parents
    values = [p.value for p in map(parents.get, state) if isinstance(p, ast.Assign) and p.value is not model]
    return [made for value in values for made in _made(value, use, ctx, depth - 1)]


def _fix(
    call: ast.Call, model: ast.expr, made: list[ast.expr], dynamo: ast.expr | None, use: Use, ctx: Context
) -> Fix:
    inner = None if dynamo is None and ctx.options.minimum < _NEW_DEFAULT else _inner(model, made, use, ctx)
    if inner is not None and (dynamo is not None or not _has_control_flow(made, use, ctx)):
        return Fix((replace(model, "{module}", module=inner),), Safety.UNSAFE, "Hand over the module itself")
    if dynamo is not None:
        raise NoFix("the module that it was made of has no name here")
    told = AddArgument(call, template("False"), "dynamo")
    return Fix((told,), Safety.UNSAFE, "Say `dynamo=False`, the exporter that takes TorchScript")


def _inner(model: ast.expr, made: list[ast.expr], use: Use, ctx: Context) -> ast.expr | None:
    """The module that what is exported was scripted or traced from, if that can still be named."""
    source = made[0] if len(made) == 1 else None
    if not isinstance(source, ast.Call) or not ctx.is_named(source.func, use, *SCRIPTS, *TRACES):
        return None
    inner = argument(source, 0, "obj", "func")
    return inner if inner is not None and (source is model or _is_still(inner, use)) else None


def _is_still(inner: ast.expr, use: Use) -> bool:
    """Whether a variable has the value at the export that it had where the module was scripted or traced."""
    owner = use.place.scope.find(inner.id) if isinstance(inner, ast.Name) else None
    return owner is not None and isinstance(inner, ast.Name) and len(owner.bindings[inner.id]) == 1


def _has_control_flow(made: list[ast.expr], use: Use, ctx: Context) -> bool:
    """Whether something of it is scripted that depends on values, as far as its class is in this file."""
    for source in made:
        if isinstance(source, ast.Call) and ctx.is_named(source.func, use, *SCRIPTS):
            definition = made_by(argument(source, 0, "obj"), use, ctx)
            methods = [n for n in definition.body if isinstance(n, ast.FunctionDef)] if definition else []
            if any(depends_on_values(method) for method in methods if method.name != "__init__"):
                return True
    return False


def _manual() -> Fix:
    raise NoFix("sizes, names and custom operators are said in another way; see the recipe")
