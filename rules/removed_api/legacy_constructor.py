"""A tensor made by a type of CUDA tensors, such as `torch.cuda.FloatTensor(…)`.

Why: torch 2.1 and newer warn when such a type is called; as an argument of `type()` or `isinstance` it does not warn.

    torch.cuda.FloatTensor(2, 3)
    torch.cuda.LongTensor([1, 2])
    →
    torch.empty(2, 3, dtype=torch.float32, device="cuda")
    torch.tensor([1, 2], dtype=torch.int64, device="cuda")

What to do: use `torch.empty` for sizes, `torch.tensor` for values.

Fix safety: safe where the arguments certainly are sizes or values: numbers, several arguments, `x.shape`, a list. One argument
that may be either has no fix.

Source: torch 2.1 wheel: torch/lib/libtorch_python.so ("The torch.cuda.*DtypeTensor constructors are no longer recommended").
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety
from torchmigrate.rewrite.changes import Part, replace
from torchmigrate.semantics.tensors import is_size
from torchmigrate.semantics.version_guards import find_reach

from ._changes.missing_names import has_alternative

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_DTYPES = {
    "BFloat16Tensor": "bfloat16",
    "BoolTensor": "bool",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "DoubleTensor": "float64",
    "FloatTensor": "float32",
    "HalfTensor": "float16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "ShortTensor": "int16",
}

rule = Rule(
    code="RM707",
    symbols=tuple(f"torch.cuda.{name}" for name in _DTYPES),
    pairs={f"torch.cuda.{name}": () for name in _DTYPES},
    message="`{symbol}` called to make a tensor has warned since torch {deprecated}; use `torch.empty` for sizes, `torch.tensor` for values",
    kinds=frozenset({Kind.CALL}),
    deprecated=(2, 1),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    reached = find_reach(use, ctx.uses)
    if use.call is not None and not reached.unheard and not has_alternative(use, ctx, reached):
        yield ctx.finding(use, fix=lambda: _create_fix(use, use.call, ctx))  # type: ignore[arg-type]


def _create_fix(use: Use, call: ast.Call, ctx: Context) -> Fix:
    if call.keywords:
        raise NoFix("the call has keyword arguments")
    name = _choose_function(call.args)
    parts: dict[str, Part] = {
        "make": ctx.write_symbol(name, use),
        "dtype": ctx.write_symbol(f"torch.{_DTYPES[use.name.rpartition('.')[2]]}", use),
        "arguments": call.args,
    }
    code = '{make}({arguments}, dtype={dtype}, device="cuda")'
    if not call.args:
        del parts["arguments"]
        code = '{make}(0, dtype={dtype}, device="cuda")'
    return Fix((replace(call, code, **parts),), Safety.SAFE, f"Use `{name}`")


def _choose_function(arguments: list[ast.expr]) -> str:
    """Return the function that makes the same tensor. Raises NoFix if one argument may be a size or the values."""
    if len(arguments) != 1 or is_size(arguments[0]):
        return "torch.empty"
    if isinstance(arguments[0], (ast.List, ast.Tuple, ast.ListComp)):
        return "torch.tensor"
    raise NoFix("the argument may be a size, or values; use `torch.empty` or `torch.tensor` by hand")
