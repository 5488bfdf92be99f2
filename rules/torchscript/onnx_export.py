"""The TorchScript ONNX exporter is deprecated.

Why: `dynamo=False` was the default up to torch 2.8, and warns from then on. From torch 2.9 the exporter based on
`torch.export` is the default, which rejects scripted and traced modules.

    torch.onnx.export(torch.jit.script(model), (x,), "model.onnx", dynamo=False,
                      input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    →
    torch.onnx.export(model, (x,), "model.onnx", dynamo=True,
                      input_names=["x"], dynamic_shapes=({0: torch.export.Dim("batch")},))

    torch.onnx.export(torch.jit.trace(model, x), (x,), "model.onnx")
    →
    torch.onnx.export(torch.jit.trace(model, x), (x,), "model.onnx", dynamo=False)

Fix: `dynamo=False` keeps the behavior, where the project still supports a torch whose default exporter accepts scripted
and traced modules, and where the script keeps control flow that an export would reject or freeze. Where the new exporter
is certain to run, the fix passes the plain module.

What to do: install `onnxscript`, pass the `nn.Module` itself, and pass everything after the file name by keyword. The new
exporter takes no custom symbolic functions (see `onnx-internals`) and rejects control flow that depends on data. Names of
nodes and the opset of the graph differ. Torch 2.11 removed `fallback=`. Compare the outputs of both files.

Fix safety: unsafe; from torch 2.9 the call fails as it is written. The new exporter makes another graph of the module than
the old one made of its script; `dynamo=False` warns.

Source: https://docs.pytorch.org/docs/stable/onnx_export.html; torch 2.8, 2.9 and 2.11 wheels: torch/onnx/__init__.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Severity, Use
from torchmigrate.rewrite.changes import AddArgument, replace, template
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.module_methods import SCRIPTED_RESULTS

from ._authoring.torchscript_makers import SCRIPTS, TRACES
from ._export.expression_kinds import find_class, find_kind
from ._script.control_flow import depends_on_values

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
"""Arguments that only the exporter based on `torch.export` uses."""
_KEEPS = frozenset({"eval", "train", "to", "cuda", "cpu", "half", "float"})
"""Methods that return the module itself."""

rule = Rule(
    code="TS161",
    symbols=("torch.onnx.export", *_LEGACY),
    message="`{symbol}` with `dynamo=False` is the TorchScript exporter; use `dynamo=True`, which needs `onnxscript`, "
    "and `dynamic_shapes`",
    since=(2, 5),
    deprecated=(2, 8),
    safety=Safety.UNSAFE,
    artifact=True,
    recipe="pass `dynamo=True`, and sizes as `dynamic_shapes`; `torchmigrate explain TS161` lists what differs",
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.symbol in _LEGACY:
        yield ctx.finding(
            use, "`{symbol}` is the TorchScript exporter; use `torch.onnx.export(..., dynamo=True)`"
        )
    elif use.kind is Kind.CALL and use.call is not None:
        yield from _check_export(use, use.call, ctx)


def _check_export(use: Use, call: ast.Call, ctx: Context) -> Iterator[Finding]:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    model = call.args[0] if call.args else keywords.get("model")
    dynamo = keywords.get("dynamo")
    if isinstance(dynamo, ast.Constant) and dynamo.value is False:
        yield ctx.finding(use, fix=_refuse_fix)
    elif None in keywords or (dynamo is not None and not isinstance(dynamo, ast.Constant)):
        return  # decided at run time
    elif model is not None and (made := _find_makers(model, use, ctx)):
        new = dynamo is not None or ctx.options.target >= _NEW_DEFAULT
        yield ctx.finding(
            use,
            "`{symbol}` with `dynamo=True`, the default from torch 2.9, rejects a scripted or traced module; pass the "
            "`nn.Module` itself",
            severity=Severity.ERROR
            if new
            else None,  # this form breaks before the other forms of the rule do
            fix=lambda: _create_fix(call, model, made, dynamo, use, ctx),
        )
    elif (
        dynamo is None
        and ctx.options.minimum < _NEW_DEFAULT
        and not _is_for_new_exporter(call, model, use, ctx)
    ):
        yield ctx.finding(
            use,
            "`{symbol}` without `dynamo=` is the TorchScript exporter up to torch 2.8 and another one from 2.9; pass "
            "`dynamo=True` or `dynamo=False`",
            severity=Severity.INFO,  # it may be meant for the new exporter, and then nothing is deprecated
        )


def _is_for_new_exporter(call: ast.Call, model: ast.expr | None, use: Use, ctx: Context) -> bool:
    """Return whether a call without ``dynamo=`` is meant for the new exporter: the old one requires a file."""
    keywords = {keyword.arg for keyword in call.keywords}
    has_file = len(call.args) > 2 or "f" in keywords or any(isinstance(a, ast.Starred) for a in call.args)
    exported = model is not None and ctx.is_named(model, use, "torch.export.export()", "torch.export.load()")
    return exported or not has_file or not _NEW_ONLY.isdisjoint(keywords)


def _find_makers(model: ast.expr, use: Use, ctx: Context, depth: int = 4) -> list[ast.expr]:
    """Return the calls that may have scripted or traced the exported module: itself, or those assigned to its variable."""
    if isinstance(model, ast.Call) and isinstance(model.func, ast.Attribute) and model.func.attr in _KEEPS:
        return _find_makers(model.func.value, use, ctx, depth)
    owner = use.place.scope.find_scope(model.id) if isinstance(model, ast.Name) and depth else None
    state = None
    if isinstance(model, ast.Name) and owner is not None:
        state = ctx.uses.data_flow.find_reaching(model.id, owner).reads.get(model)
    if not state:
        return [model] if ctx.is_named(model, use, *SCRIPTED_RESULTS) else []
    parents = ctx.uses.data_flow.parents
    values = [p.value for p in map(parents.get, state) if isinstance(p, ast.Assign) and p.value is not model]
    return [made for value in values for made in _find_makers(value, use, ctx, depth - 1)]


def _create_fix(
    call: ast.Call, model: ast.expr, made: list[ast.expr], dynamo: ast.expr | None, use: Use, ctx: Context
) -> Fix:
    inner = (
        None
        if dynamo is None and ctx.options.minimum < _NEW_DEFAULT
        else _find_plain_module(model, made, use, ctx)
    )
    if inner is not None and (dynamo is not None or not _has_control_flow(made, use, ctx)):
        return Fix((replace(model, "{module}", module=inner),), Safety.UNSAFE, "Pass the module itself")
    if dynamo is not None:
        raise NoFix("no variable here holds the plain module")
    explicit = AddArgument(call, template("False"), "dynamo")
    return Fix((explicit,), Safety.UNSAFE, "Pass `dynamo=False`: that exporter accepts TorchScript")


def _find_plain_module(model: ast.expr, made: list[ast.expr], use: Use, ctx: Context) -> ast.expr | None:
    """Return the plain module of a scripted or traced one, if a variable still holds it."""
    source = made[0] if len(made) == 1 else None
    if not isinstance(source, ast.Call) or not ctx.is_named(source.func, use, *SCRIPTS, *TRACES):
        return None
    inner = find_argument(source, 0, "obj", "func")
    if inner is None or find_kind(inner, use, ctx) == "function":
        return None
    return inner if source is model or _is_unchanged(inner, use) else None


def _is_unchanged(inner: ast.expr, use: Use) -> bool:
    """Return whether a variable has the same value at the export as where the module was scripted or traced."""
    owner = use.place.scope.find_scope(inner.id) if isinstance(inner, ast.Name) else None
    return owner is not None and isinstance(inner, ast.Name) and len(owner.bindings[inner.id]) == 1


def _has_control_flow(made: list[ast.expr], use: Use, ctx: Context) -> bool:
    """Return whether a scripted class of this file has control flow that depends on values."""
    for source in made:
        if isinstance(source, ast.Call) and ctx.is_named(source.func, use, *SCRIPTS):
            definition = find_class(find_argument(source, 0, "obj"), use, ctx)
            methods = [n for n in definition.body if isinstance(n, ast.FunctionDef)] if definition else []
            if any(depends_on_values(method) for method in methods if method.name != "__init__"):
                return True
    return False


def _refuse_fix() -> Fix:
    raise NoFix(
        "the new exporter takes sizes, names and custom operators in another form; see `torchmigrate explain TS161`"
    )
