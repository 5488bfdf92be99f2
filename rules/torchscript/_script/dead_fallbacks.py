"""Fallbacks to TorchScript that no supported torch reaches: ``try: torch.compile … except: torch.jit.script``."""

from __future__ import annotations

import ast
from itertools import pairwise

from torchmigrate.api import Context, Fix, NoFix, Safety, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.model.torch_versions import Version
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.scopes import StatementPlace
from torchmigrate.semantics.version_expressions import read_version

_COMPILE: Version = (2, 0)
"""The torch release that added `torch.compile`; older ones are not supported."""
_VERSION = ("torch.__version__", "torch.version.__version__")
_TITLE = "Remove the branch that no supported torch reaches"


def remove_dead_branch(use: Use, ctx: Context) -> Fix | None:
    """Return the fix that removes the branch around ``use``; None if no such branch is dead.

    Raises NoFix where a dead branch has to stay.
    """
    change = _remove_branch(use, ctx)
    return None if change is None else Fix((change,), Safety.UNSAFE, _TITLE)


def _remove_branch(use: Use, ctx: Context) -> FixChange | None:
    for parent, child in pairwise((*use.parents, use.node)):
        if isinstance(parent, ast.IfExp) and child is not parent.test:
            value = decide_test(parent.test, use, ctx)
            if value is not None and child is (parent.orelse if value else parent.body):
                return replace(parent, "{live}", live=parent.body if value else parent.orelse)
    for inner, outer in pairwise(use.place.enclosing_places()):
        node = outer.statement
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return None
        if isinstance(node, ast.If):
            value = decide_test(node.test, use, ctx)
            if value is not None and inner.statement in (node.orelse if value else node.body):
                return ctx.decide_branch(outer, value)
        in_handler = any(inner.statement in handler.body for handler in getattr(node, "handlers", ()))
        if isinstance(node, ast.Try) and in_handler and _only_compiles(node, use, ctx):
            return _remove_handler(node, outer, inner, ctx)
    return None


def decide_test(test: ast.expr, use: Use, ctx: Context) -> bool | None:
    """Return the value of a test of torch's version, if it is the same on every supported torch."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        value = decide_test(test.operand, use, ctx)
        return None if value is None else not value
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "hasattr":
        name = test.args[1] if len(test.args) == 2 else None
        is_compile = isinstance(name, ast.Constant) and name.value == "compile"
        return True if is_compile and ctx.is_named(test.args[0], use, "torch") else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and _is_torch_version(test.left, use, ctx):
        bound = read_version(test.comparators[0])
        if bound is not None and isinstance(test.ops[0], (ast.GtE, ast.Lt)) and bound <= ctx.options.minimum:
            return isinstance(test.ops[0], ast.GtE)
    return None


def _is_torch_version(node: ast.expr, use: Use, ctx: Context, depth: int = 3) -> bool:
    """Return whether an expression is torch's version, parsed or not, without arithmetic, and not a single part of it."""
    if isinstance(node, ast.Name) and depth:
        value = ctx.uses.data_flow.find_definition(node, use.place.scope)
        return value is not None and _is_torch_version(value, use, ctx, depth - 1)
    if not isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        return False
    if isinstance(node, ast.Attribute):
        return ctx.is_named(node, use, *_VERSION)
    # `torch.__version__[:3]` is still a version; `torch.__version__[2]` is only a part of one.
    if isinstance(node, ast.Subscript):
        head = isinstance(node.slice, ast.Slice) and node.slice.lower is None
        return head and _is_torch_version(node.value, use, ctx, depth)
    return any(
        ctx.is_named(part, use, *_VERSION) for part in ast.walk(node) if isinstance(part, ast.Attribute)
    ) and not any(
        isinstance(part, ast.Subscript) and not isinstance(part.slice, (ast.Slice, ast.Constant))
        for part in ast.walk(node)
    )


def _only_compiles(node: ast.Try, use: Use, ctx: Context) -> bool:
    """Return whether the ``try`` block does nothing but name or call `torch.compile`."""
    for statement in node.body:
        value = getattr(statement, "value", None)
        if not isinstance(statement, (ast.Assign, ast.Return, ast.Expr)) or value is None:
            return False
        function = value.func if isinstance(value, ast.Call) else value
        if not ctx.is_named(function, use, "torch.compile"):
            return False
    return len(node.body) == 1 and not node.orelse and not node.finalbody


def _remove_handler(node: ast.Try, outer: StatementPlace, inner: StatementPlace, ctx: Context) -> FixChange:
    """Keep the body of the ``try`` block, or, in a longer chain, the fallback of the branch itself."""
    if isinstance(inner.statement, ast.Try) and len(inner.block) == 1 and len(inner.statement.handlers) == 1:
        return ctx.unwrap_block(inner, inner.statement.handlers[0].body)
    if len(node.handlers) > 1:
        raise NoFix("the fallback is one of several handlers; remove it by hand")
    return ctx.unwrap_block(outer, node.body)
