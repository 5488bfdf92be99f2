"""The TorchScript ONNX exporter is deprecated.

Why: `dynamo=False` was the default up to torch 2.8 and warns since then; from torch 2.9 the exporter based on
`torch.export` is the default, and that one refuses scripted and traced modules.

    torch.onnx.export(torch.jit.script(model), (x,), "model.onnx", dynamo=False,
                      input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    →
    torch.onnx.export(model, (x,), "model.onnx", dynamo=True,
                      input_names=["x"], dynamic_shapes=({0: torch.export.Dim("batch")},))

Fix: where the new exporter is certain to run, a module that is scripted or traced in the call itself is handed over
as it is.

What to do: install `onnxscript`, hand over the `nn.Module` itself, and give everything after the file name by
keyword. The new exporter takes no custom symbolic functions (see `onnx-internals`) and refuses control flow that
depends on data; the graph's node names and its opset differ; `fallback=` is gone in torch 2.11. Compare the outputs
of both files.

Fix safety: unsafe: the call fails as it is written, and what the new exporter makes of the module is not what the old
one made of its script.

Source: https://docs.pytorch.org/docs/stable/onnx_export.html; torch 2.8, 2.9 and 2.11 wheels: torch/onnx/__init__.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety, Severity
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.calls import argument

from ._authoring.authoring import MADE, SCRIPTS, TRACES

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

rule = Rule(
    code="TS161",
    symbols=("torch.onnx.export", *_LEGACY),
    message="`{symbol}` with `dynamo=False` is the TorchScript exporter; use `dynamo=True`, which needs `onnxscript`, "
    "and `dynamic_shapes`",
    since=(2, 5),
    deprecated=(2, 8),
    safety=Safety.UNSAFE,
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
    elif model is not None and ctx.is_named(model, use, *MADE):
        new = dynamo is not None or ctx.options.target >= _NEW_DEFAULT
        yield ctx.finding(
            use,
            "`{symbol}` with `dynamo=True`, the default from torch 2.9, refuses a scripted or traced module; hand over "
            "the `nn.Module` itself",
            severity=Severity.ERROR if new else None,  # this form breaks before the rule's others do
            fix=lambda: _fix(model, dynamo, use, ctx),
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


def _fix(model: ast.expr, dynamo: ast.expr | None, use: Use, ctx: Context) -> Fix:
    if dynamo is None and ctx.options.minimum < _NEW_DEFAULT:
        raise NoFix("up to torch 2.8, the default exporter takes a scripted or traced module")
    made = isinstance(model, ast.Call) and ctx.is_named(model.func, use, *SCRIPTS, *TRACES)
    inner = argument(model, 0, "obj", "func") if isinstance(model, ast.Call) and made else None
    if inner is None:
        raise NoFix("the module is not scripted or traced in the call itself")
    return Fix((replace(model, "{module}", module=inner),), Safety.UNSAFE, "Hand over the module itself")


def _manual() -> Fix:
    raise NoFix("sizes, names and custom operators are said in another way; see the recipe")
