"""Private parts of TorchScript.

Why: TorchScript is deprecated since torch 2.10, and these names were never public; they may go without notice.

    from torch._jit_internal import _qualified_name as name_of, get_torchscript_modifier

What to do: first the public name of the same thing, where there is one (`torch._jit_internal.ignore` is
`torch.jit.ignore`), then what replaces that. Code that only registers, compiles or inspects for TorchScript goes with
the last scripted code.

Questions to the registry of operators (`torch._C._jit_get_schemas_for_operator` and the like) and the helpers
`boolean_dispatch`, `BroadcastingList1` to `3`, `_qualified_name` and `is_optional` have no public counterpart and are
not reported.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/_jit_internal.py,
torch/jit/.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_MODULES = (
    *("_script", "_trace", "_serialization", "_freeze", "_recursive", "_state", "_builtins", "_check"),
    *(
        "_dataclass_impls",
        "_decompositions",
        "_decomposition_utils",
        "_ir_utils",
        "_logging",
        "_monkeytype_config",
    ),
    *(
        "_passes",
        "_pickle",
        "_shape_functions",
        "annotations",
        "frontend",
        "generate_bytecode",
        "supported_ops",
    ),
    "unsupported_tensor_ops",
)
_NAMES = (
    "_register_decomposition",
    "_InsertPoint",
    "_ScriptProfile",
    "_unwrap_optional",
    "_hide_source_ranges",
)
_HELPERS = (
    *("boolean_dispatch", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3"),
    *("_qualified_name", "is_optional"),
)
_SILENT = {
    *(f"torch._jit_internal.{name}" for name in _HELPERS),
    *(f"torch.jit.annotations.{name}" for name in _HELPERS),
    *(
        "torch._C._jit_get_all_schemas",
        "torch._C._jit_get_schemas_for_operator",
        "torch._C._jit_get_operation",
    ),
    *("torch._C._jit_get_custom_class_schemas", "torch._C._jit_resolve_packet"),
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
    message="`{symbol}` is private to TorchScript, deprecated since torch {deprecated}, and may go without notice",
    deprecated=(2, 10),
    recipe="use the public name in `torch.jit` where there is one; what only serves TorchScript goes with its last use",
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.name not in _SILENT:
        yield ctx.finding(use)
