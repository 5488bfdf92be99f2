"""`torch.jit.is_scripting()` is False outside TorchScript.

Why: the branch for True is dead once nothing scripts the code. `torch.compiler.is_compiling()` is no replacement: it
is True where this was False.

    if not torch.jit.is_scripting():
        log(x)
    →
    log(x)

The fix waits until nothing in the checked project scripts or traces, and until the project says that its users do not
either: `keep-torchscript-support = false`. Till then this is information, and tells what it waits for.

Fix safety: unsafe: code outside of the checked files may script yours.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/_jit_internal.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, Rule, Safety
from torchmigrate.model.findings import Edit
from torchmigrate.rewrite.conditions import Condition, NotDecided

from ._authoring import inert

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="TS152",
    symbols=("torch.jit.is_scripting", "torch._jit_internal.is_scripting", "torch.jit._trace.is_scripting"),
    message="`{symbol}()` is False outside TorchScript; the branch for True is dead once nothing scripts this code",
    safety=Safety.UNSAFE,
    asks=inert.ASKS,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: inert.needed_by(ctx) or _fix(use, ctx))


def _fix(use: Use, ctx: Context) -> Fix | str:
    if use.call is None:
        return "it is used as a value, and not called"
    if ctx.project.uses(*rule.symbols, kinds=(Kind.STRING, Kind.ASSIGNMENT)):
        return "the project replaces the function, to see the other branch"
    joints = [*takewhile(_joins, reversed(use.parents[:-1]))]
    top = joints[-1] if joints else use.call
    assert isinstance(top, ast.expr)
    parent = use.parents[-2 - len(joints)]
    is_test = top is getattr(parent, "test", None)

    def known(node: ast.expr) -> bool | None:
        called = isinstance(node, ast.Call) and ctx.is_named(node.func, use, *rule.symbols)
        return False if called else None

    try:
        condition = Condition(ctx.source, top, known, is_test)
    except NotDecided as error:
        return str(error)
    edits = (
        tuple(condition.edits)
        if condition.value is None
        else _decided(use, ctx, top, parent, condition.value)
    )
    return (
        edits if isinstance(edits, str) else Fix(edits, Safety.UNSAFE, "Keep what runs outside TorchScript")
    )


def _joins(node: ast.AST) -> bool:
    return isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _decided(use: Use, ctx: Context, top: ast.expr, parent: ast.AST, value: bool) -> tuple[Edit, ...] | str:
    """The edits where the whole condition ``top`` has become ``value``."""
    if isinstance(parent, ast.If):
        gone = parent.orelse if value else parent.body
        return ctx.blocks.outlives(use.place, gone) or ctx.blocks.decided(use.place, value)
    if isinstance(parent, ast.IfExp) and top is parent.test:
        if comments := ctx.blocks.comments(parent):
            return f"the comment `{comments[0]}` stands in the part that would go"
        kept, span = parent.body if value else parent.orelse, ctx.source.span(parent)
        in_brackets = ctx.source.text[: span.start].endswith(b"(") and ctx.source.text.startswith(
            b")", span.end
        )
        holder = use.parents[use.parents.index(parent) - 1]
        return (ctx.replace(parent, ctx.text(kept) if in_brackets else ctx.embedded(kept, holder)),)
    if isinstance(parent, ast.Expr) or (isinstance(parent, ast.Assert) and top is parent.test and value):
        return ctx.blocks.removed(use.place)
    return (ctx.replace(top, str(value)),)
