"""`torch.jit.isinstance` refines the types of containers for TorchScript.

Why: TorchScript has been deprecated since torch 2.10. Plain `isinstance` rejects `List[int]` (TypeError), so the elements are
checked one by one.

    torch.jit.isinstance(x, List[int])
    →
    isinstance(x, list) and all(isinstance(item, int) for item in x)

For a class, or a tuple of classes, `isinstance` does the same, also in TorchScript. For containers, there is a fix once
nothing in the checked project scripts this code and the project says that its users do not either:
`keep-torchscript-support = false`. Until then, the finding is information and names what it waits for.

Fix safety: safe for builtin classes and tensors. Unsafe for lists, dicts and optionals of them: TorchScript does not
support the new form, and code outside of the checked files may script yours. Other types have no fix.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/__init__.py,
torch/_jit_internal.py (`_isinstance`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, NoFix, Rule, Safety, Use
from torchmigrate.rewrite.changes import Part, replace
from torchmigrate.semantics.name_resolution import last_name

from ._authoring import inert_markers
from ._script.script_reach import note_reach

rule = Rule(
    code="TS142",
    symbols=("torch.jit.isinstance", "torch.jit._isinstance", "torch._jit_internal._isinstance"),
    message="`{symbol}` refines types for TorchScript; use `isinstance` on the container and on its elements",
    safety=Safety.SAFE,
    asks=inert_markers.ASKS,
    recipe="check the container with `isinstance`, and its elements as well",
)
rule.note(note_reach)

_CLASSES = frozenset({"int", "float", "bool", "str", "bytes", "complex"})
_BUILTINS = _CLASSES | {"list", "dict", "all", "isinstance"}


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: _create_fix(use, ctx))


def _create_fix(use: Use, ctx: Context) -> Fix:
    call = use.call
    if call is None:
        raise NoFix("the function is used as a value here, not called")
    if len(call.args) != 2 or call.keywords:
        raise NoFix("the object and the type are not written out in the call")
    value, asked = call.args
    scopes = ctx.uses.scopes.all
    if any(scope.stars or not _BUILTINS.isdisjoint(scope.bindings) for scope in scopes):
        raise NoFix("this file may redefine a builtin that the rewrite needs")
    if _is_class_or_tuple(asked, use, ctx):
        return Fix((replace(call.func, "isinstance"),), Safety.SAFE, "Use `isinstance`")
    if not isinstance(value, (ast.Name, ast.Attribute)):
        raise NoFix("the rewrite would evaluate the object twice")
    test = _create_test(asked, use, ctx)
    if test is None:
        raise NoFix("only classes, and lists, dicts and optionals of them, have a simple replacement")
    inert_markers.check_removable(use, ctx)
    code, parts = test
    change = replace(call, code, x=value, **parts)
    return Fix((change,), Safety.UNSAFE, "Check the container and its elements")


def _create_test(asked: ast.expr, use: Use, ctx: Context) -> tuple[str, dict[str, Part]] | None:
    """Return the plain Python condition that ``x`` has the type ``asked``: a template, and its parts beside ``x``."""
    if not isinstance(asked, ast.Subscript):
        return None
    inner = asked.slice.elts if isinstance(asked.slice, ast.Tuple) else [asked.slice]
    if not all(_is_class(part, use, ctx) for part in inner):
        return None
    match _find_generic(asked.value, use, ctx), inner:
        case "list", [item]:
            return "isinstance({x}, list) and all(isinstance(item, {item}) for item in {x})", {"item": item}
        case "dict", [key, item]:
            test = "isinstance(key, {key}) and isinstance(item, {item})"
            whole = f"isinstance({{x}}, dict) and all({test} for key, item in {{x}}.items())"
            return whole, {"key": key, "item": item}
        case "optional", [item]:
            return "{x} is None or isinstance({x}, {item})", {"item": item}
    return None


def _find_generic(node: ast.expr, use: Use, ctx: Context) -> str | None:
    if isinstance(node, ast.Name) and node.id in ("list", "dict"):
        return node.id
    known = ctx.is_named(node, use, "typing.List", "typing.Dict", "typing.Optional")
    return (last_name(node) or "").lower() if known else None


def _is_class_or_tuple(asked: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether `isinstance` accepts the type unchanged: a class, or a tuple of classes."""
    parts = asked.elts if isinstance(asked, ast.Tuple) else [asked]
    return all(_is_class(part, use, ctx) for part in parts)


def _is_class(node: ast.expr, use: Use, ctx: Context) -> bool:
    builtin = isinstance(node, ast.Name) and node.id in _CLASSES
    return builtin or ctx.is_named(node, use, "torch.Tensor")
