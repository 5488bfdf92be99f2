"""Whether an error of TorchScript that code raises is expected somewhere: the error of plain Python is another one."""

from __future__ import annotations

import ast
import os

from torchmigrate.api import Context, Kind
from torchmigrate.project.indexed_file import IndexedFile
from torchmigrate.project.mentions import Mention
from torchmigrate.project.reachable_code import ReachedCode, find_visible_code
from torchmigrate.semantics.node_walks import walk_nodes

ERRORS = ("torch.jit.Error",)


def find_handler(function: ast.AST | None, ctx: Context) -> str | None:
    """Return the place that expects a `torch.jit.Error` of code that may call the function; None without one."""
    here = os.path.abspath(ctx.source.path)
    for mention in ctx.project.find_uses(*ERRORS):
        if mention.kind is not Kind.IMPORT:
            reached = _find_watched_code(mention, ctx)
            if reached is None or reached.includes(here, function):
                return f"{mention.path}:{mention.line}"
    return None


def _find_watched_code(mention: Mention, ctx: Context) -> ReachedCode | None:
    """Return the code whose errors are expected; None where that is unknown."""
    path, line = os.path.abspath(mention.path), mention.line

    def collect() -> ReachedCode | None:
        code = find_visible_code(ctx.project, path)
        region = _find_region(code.files[path], line) if code is not None else None
        if code is None or region is None:
            return None
        return code.collect_reached_code([(region, code.files[path])])

    return ctx.project.compute_once((_find_watched_code, path, line), collect)


def _find_region(file: IndexedFile, line: int) -> ast.AST | None:
    """Return the code that an `except` clause, a context manager or a call on a line watches for errors."""
    for node in walk_nodes(file.tree):
        match node:
            case ast.Try(handlers=handlers) if any(
                handler.type is not None and handler.type.lineno <= line <= (handler.type.end_lineno or line)
                for handler in handlers
            ):
                return ast.Module(node.body, [])
            case ast.With(items=items) if any(
                item.context_expr.lineno <= line <= (item.context_expr.end_lineno or line) for item in items
            ):
                return node
            case ast.Expr(value=ast.Call()) if node.lineno <= line <= (node.end_lineno or line):
                return node
    return None
