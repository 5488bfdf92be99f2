"""`torch.jit.isinstance` refines the types of containers for TorchScript.

Why: TorchScript is deprecated since torch 2.10. Plain `isinstance` refuses `List[int]` (TypeError), so the elements
are asked one by one.

    torch.jit.isinstance(x, List[int])
    →
    isinstance(x, list) and all(isinstance(item, int) for item in x)

For a class, or a tuple of classes, `isinstance` does the same, to TorchScript as well. For containers, the fix waits
until nothing in the checked project scripts or traces, and until the project says that its users do not either:
`keep-torchscript-support = false`. Till then this is information, and tells what it waits for.

Fix safety: safe for builtin classes and tensors. Unsafe for lists, dicts and optionals of them: TorchScript does not
know the new form, and code outside of the checked files may script yours. Other types have no fix.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/__init__.py,
torch/_jit_internal.py (`_isinstance`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Rule, Safety
from torchmigrate.semantics.resolve import leaf

from ._authoring import inert

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="TS142",
    symbols=("torch.jit.isinstance", "torch.jit._isinstance", "torch._jit_internal._isinstance"),
    message="`{symbol}` refines types for TorchScript; use `isinstance` on the container and on its elements",
    safety=Safety.SAFE,
    asks=inert.ASKS,
)

_BUILTINS = frozenset(
    {"int", "float", "bool", "str", "bytes", "complex", "list", "dict", "all", "isinstance"}
)
_CLASSES = _BUILTINS - {"list", "dict", "all", "isinstance"}


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: _fix(use, ctx))


def _fix(use: Use, ctx: Context) -> Fix | str:
    call = use.call
    if call is None:
        return "it is used as a value, and not called"
    if len(call.args) != 2 or call.keywords:
        return "the call does not show its object and its type"
    value, asked = call.args
    scopes = ctx.uses.scopes.all
    if any(scope.stars or not _BUILTINS.isdisjoint(scope.bindings) for scope in scopes):
        return "a builtin that the rewrite needs may stand for something else in this file"
    if _is_plain(asked, use, ctx):
        return Fix((ctx.replace(call.func, "isinstance"),), Safety.SAFE, "Use `isinstance`")
    if not isinstance(value, (ast.Name, ast.Attribute)):
        return "the object would be evaluated twice"
    text = _test(ctx.text(value), asked, use, ctx)
    if text is None:
        return "only classes, lists, dicts and optionals of them have a simple counterpart"
    if reason := inert.needed_by(ctx):
        return reason
    if (" and " in text or " or " in text) and not isinstance(
        use.parents[-2], (ast.If, ast.Return, ast.Assign)
    ):
        text = f"({text})"
    return Fix((ctx.replace(call, text),), Safety.UNSAFE, "Ask the container and its elements")


def _test(value: str, asked: ast.expr, use: Use, ctx: Context) -> str | None:
    """The condition that says in plain Python that ``value`` is an ``asked``."""
    if not isinstance(asked, ast.Subscript):
        return None
    parts = asked.slice.elts if isinstance(asked.slice, ast.Tuple) else [asked.slice]
    if not all(_is_class(part, use, ctx) for part in parts):
        return None
    inner = [ctx.text(part) for part in parts]
    kind = _generic(asked.value, use, ctx)
    if kind == "list" and len(inner) == 1:
        return f"isinstance({value}, list) and all(isinstance(item, {inner[0]}) for item in {value})"
    if kind == "dict" and len(inner) == 2:
        items = f"for key, item in {value}.items()"
        return f"isinstance({value}, dict) and all(isinstance(key, {inner[0]}) and isinstance(item, {inner[1]}) {items})"
    if kind == "optional" and len(inner) == 1:
        return f"{value} is None or isinstance({value}, {inner[0]})"
    return None


def _generic(node: ast.expr, use: Use, ctx: Context) -> str | None:
    if isinstance(node, ast.Name) and node.id in ("list", "dict"):
        return node.id
    known = ctx.is_named(node, use, "typing.List", "typing.Dict", "typing.Optional")
    return (leaf(node) or "").lower() if known else None


def _is_plain(asked: ast.expr, use: Use, ctx: Context) -> bool:
    """Whether `isinstance` takes the type as it is: a class, or a tuple of classes."""
    return all(
        _is_class(part, use, ctx) for part in (asked.elts if isinstance(asked, ast.Tuple) else [asked])
    )


def _is_class(node: ast.expr, use: Use, ctx: Context) -> bool:
    builtin = isinstance(node, ast.Name) and node.id in _CLASSES
    return builtin or ctx.is_named(node, use, "torch.Tensor")
