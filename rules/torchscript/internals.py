"""Private parts of TorchScript.

Why: TorchScript has been deprecated since torch 2.10, and these names were never public; torch may remove them without notice.

    from torch._jit_internal import _qualified_name as name_of, get_torchscript_modifier

What to do: use the public name where there is one (`torch._jit_internal.ignore` is `torch.jit.ignore`), then replace
that. Remove code that only registers, compiles or inspects for TorchScript together with the last scripted code.

Queries of the operator registry (`torch._C._jit_get_schemas_for_operator` and the like) and the helpers
`boolean_dispatch`, `BroadcastingList1` to `3`, `_qualified_name` and `is_optional` have no public equivalent and are not
reported.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/_jit_internal.py,
torch/jit/.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Rule, Use

_MODULES = (
    *("_script", "_trace", "_serialization", "_freeze", "_recursive", "_state", "_builtins", "_check"),
    *("_dataclass_impls", "_decompositions", "_decomposition_utils", "_ir_utils", "_logging", "_passes"),
    *("_monkeytype_config", "_pickle", "_shape_functions", "annotations", "frontend", "generate_bytecode"),
    *("supported_ops", "unsupported_tensor_ops"),
)
_NAMES = (
    *("_register_decomposition", "_InsertPoint", "_ScriptProfile", "_unwrap_optional"),
    "_hide_source_ranges",
)
_HELPERS = (
    *("boolean_dispatch", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3"),
    *("_qualified_name", "is_optional"),
)
_QUERIES = (
    *("get_all_schemas", "get_schemas_for_operator", "get_operation", "get_custom_class_schemas"),
    "resolve_packet",
)
_SILENT = {
    *(f"torch.{module}.{name}" for module in ("_jit_internal", "jit.annotations") for name in _HELPERS),
    *(f"torch._C._jit_{query}" for query in _QUERIES),
}

rule = Rule(
    code="TS181",
    symbols=(
        "torch._jit_internal.*",
        *(f"torch.jit.{module}.*" for module in _MODULES),
        *(f"torch.jit.{name}" for name in _NAMES),
        "torch.utils.jit.*",
        "torch._C.ConcreteModuleType*",
        "torch._C._jit_*",
    ),
    message="`{symbol}` is private to TorchScript, deprecated since torch {deprecated}; torch may remove it without notice",
    deprecated=(2, 10),
    recipe="use the public name in `torch.jit` where there is one; remove what only serves TorchScript together with it",
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.name not in _SILENT:
        yield ctx.finding(use)
