"""Parts of the TorchScript ONNX exporter.

Why: symbolic functions, `torch.onnx.utils` and the enums serve `dynamo=False` only. From torch 2.9 they are outside
`torch.onnx.__all__`, and most `torch.onnx.symbolic_opsetN` are no longer attributes of `torch.onnx`.

    torch.onnx.register_custom_op_symbolic("ns::op", symbolic, 17)
    torch.onnx.export(model, (x,), "model.onnx", dynamo=False)
    →
    torch.onnx.export(model, (x,), "model.onnx", custom_translation_table={torch.ops.ns.op.default: op})

What to do: write an onnxscript function for a custom operator instead of the symbolic one (which gets TorchScript values;
the new one gets onnxscript's). Call `model.eval()` before the export instead of `training=TrainingMode.EVAL`, and leave
`operator_export_type=` out. Torch 2.6 removed `export_to_pretty_string`.

Source: https://docs.pytorch.org/docs/stable/onnx_export.html; torch 2.6, 2.7 and 2.9 wheels: torch/onnx/__init__.py,
torch/onnx/utils.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Rule, Use

_PUBLISHED = (
    *("register_custom_op_symbolic", "unregister_custom_op_symbolic", "select_model_mode_for_export"),
    *("OperatorExportTypes", "TrainingMode", "TensorProtoDataType", "JitScalarType"),
    "export_to_pretty_string",
)

rule = Rule(
    code="TS162",
    symbols=(
        *(f"torch.onnx.{name}" for name in _PUBLISHED),
        "torch.onnx.utils.*",
        "torch.onnx.symbolic_helper.*",
        "torch.onnx.symbolic_opset*",
        "torch.onnx._internal.torchscript_exporter.*",
        "torch.jit.ONNXTracedModule",
        "torch.jit._trace.ONNXTracedModule",
        "torch._C._onnx.*",
        "torch._C._jit_pass_onnx*",
        "torch._C._jit_onnx_*",
        "torch._C._jit_set_onnx_*",
    ),
    message="`{symbol}` belongs to the TorchScript ONNX exporter; pass translations of operators to the new exporter as "
    "`torch.onnx.export(custom_translation_table=...)`",
    since=(2, 6),
    deprecated=(2, 7),
    recipe="write the operator with `onnxscript`, and pass it to "
    "`torch.onnx.export(..., dynamo=True, custom_translation_table={torch.ops.ns.op.default: function})`",
)

_INSTEAD = {
    "TrainingMode": "the new exporter keeps the mode of the model, so call `model.eval()` first",
    "OperatorExportTypes": "the new exporter has no such option, so drop the argument",
    "select_model_mode_for_export": "call `model.eval()` before the export",
    "export_to_pretty_string": "torch 2.6 removed it; print the program that `torch.onnx.export(...)` returns",
}


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    instead = next((_INSTEAD[part] for part in use.name.split(".") if part in _INSTEAD), None)
    message = f"`{{symbol}}` belongs to the TorchScript ONNX exporter; {instead}" if instead else None
    yield ctx.finding(use, message)
