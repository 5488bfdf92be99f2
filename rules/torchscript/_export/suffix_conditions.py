"""Conditions on the name of a file that decide whether it is loaded as TorchScript, and how `.pt2` gets through them.

    if path.endswith(".jit"):                    if path.endswith((".jit", ".pt2")):
        model = torch.jit.load(path)      →          …
    else:                                        else:
        model = build(torch.load(path))              model = build(torch.load(path))

The branch then reads both formats; see `load_bridge`.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.rewrite.changes import Replace, replace
from torchmigrate.semantics.name_resolution import last_name

from .expression_kinds import find_binding
from .file_paths import SUFFIXES

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_LITERAL = re.compile(rf"['\"][*.]?\w*\.?(?:{'|'.join(one[1:] for one in SUFFIXES)}|zip)['\"]", re.IGNORECASE)
"""A literal that asks for the suffix of a file."""
_SUFFIX = re.compile(r"\.?\w+")
_CASES = frozenset({"lower", "upper", "casefold"})
_SPLITS = frozenset({"split", "rsplit", "splitext", "partition", "rpartition"})
_NEW = ".pt2"
_PARTS_OF_PATHS = frozenset({"suffix", "suffixes", "name", "stem", "parts"})
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def widen_conditions(path: ast.expr, use: Use, ctx: Context) -> list[Replace]:
    """Return the changes that let files whose names end in `.pt2` through the conditions around a load.

    Raise NoFix where a condition asks in another way, or is asked a second time.
    """
    found: list[Replace] = []
    for branch in _find_branches(use):
        test, body = branch.test, branch.body if isinstance(branch.body, list) else [branch.body]
        is_wanted = any(node is use.node for one in body for node in ast.walk(one))
        found += _let_through_once(test, is_wanted, path, use, ctx)
    for guard in _find_guards(use):
        with contextlib.suppress(NoFix):
            found += _let_through_once(guard.test, False, path, use, ctx)
    return found


def _find_branches(use: Use) -> Iterator[ast.If | ast.IfExp]:
    yield from (node for node in use.parents if isinstance(node, ast.IfExp))
    yield from (one for one in use.place.enclosing_statements() if isinstance(one, ast.If))


def _find_guards(use: Use) -> Iterator[ast.If]:
    """Yield the conditions above a load, in its function, behind which the load is not reached."""
    for place in use.place.enclosing_places():
        if isinstance(place.statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        for statement in place.preceding_statements():
            if isinstance(statement, ast.If) and isinstance(statement.body[-1], _LEAVING):
                yield statement


def _let_through_once(
    test: ast.expr, is_wanted: bool, path: ast.expr, use: Use, ctx: Context
) -> list[Replace]:
    """Return the changes by which a condition is ``is_wanted`` for a path that ends in `.pt2`. Raise NoFix if none is known."""
    if not _is_about_suffix(test, path, use, ctx):
        return []
    changes = _let_through(test, is_wanted, path, use, ctx)
    if changes is None:
        raise NoFix(
            f"line {test.lineno} chooses this load by the file's name; add a branch for `.pt2` there, with "
            "`torch.export.load(path).module()`"
        )
    return changes


def _is_about_suffix(test: ast.expr, path: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether an expression, or what its variables are bound to, asks for the suffix of a path."""
    names = _list_names(path)
    values = [find_binding(node, use.place.scope, ctx) for node in ast.walk(test)]
    bound = [value for value in values if isinstance(value, ast.expr)]
    if _LITERAL.search(ast.unparse(test)):
        return any(names & _list_names(one) for one in (test, *bound)) or _asks_for_suffix(test, use, ctx)
    return any(_LITERAL.search(ast.unparse(one)) and names & _list_names(one) for one in bound)


def _asks_for_suffix(test: ast.expr, use: Use, ctx: Context) -> bool:
    return any(isinstance(node, ast.expr) and _is_suffix(node, use, ctx) for node in ast.walk(test))


def _list_names(node: ast.expr) -> set[str]:
    """Return the variables and attributes that an expression reads, but not the objects that only hold them.

    ``args.path`` and ``args.kind`` have nothing in common; ``path.suffix`` and ``path.endswith(…)`` are about ``path``.
    """
    nodes = [*ast.walk(node)]
    called = {one.func for one in nodes if isinstance(one, ast.Call)}
    holders = {
        one.value
        for one in nodes
        if isinstance(one, ast.Attribute) and one not in called and one.attr not in _PARTS_OF_PATHS
    }
    read = (one for one in nodes if isinstance(one, (ast.Name, ast.Attribute)) and one not in holders)
    return {ast.unparse(one) for one in read}


def _let_through(
    test: ast.expr, is_wanted: bool, path: ast.expr, use: Use, ctx: Context
) -> list[Replace] | None:
    """Return the changes by which a condition is ``is_wanted`` for a path that ends in `.pt2`; None if none is known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _let_through(test.operand, not is_wanted, path, use, ctx)
    if isinstance(test, ast.BoolOp):
        asked = [part for part in test.values if _is_about_suffix(part, path, use, ctx)]
        found = [_let_through(part, is_wanted, path, use, ctx) for part in asked]
        if isinstance(test.op, ast.And) is not is_wanted:  # One part decides.
            return min((one for one in found if one is not None), key=len, default=None)
        known = [one for one in found if one is not None]
        return [change for one in known for change in one] if len(known) == len(found) else None
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In) and _is_within_new(test):
        return [] if is_wanted else None
    suffixes = _read_suffixes(test, use, ctx)
    if suffixes is None:
        return None
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.NotEq, ast.NotIn)):
        is_wanted = not is_wanted
    if any(_NEW.endswith(one) for one in suffixes):
        return [] if is_wanted else None
    assert isinstance(test, (ast.Call, ast.Compare))
    if not is_wanted:
        return []
    return None if _is_repeated(test, ctx) else [_widen(test, suffixes, ctx)]


def _is_within_new(test: ast.Compare) -> bool:
    """Return whether a test is of the form ``".pt" in path``, which names that end in `.pt2` pass."""
    return isinstance(test.left, ast.Constant) and str(test.left.value) in _NEW


def _read_suffixes(test: ast.expr, use: Use, ctx: Context) -> list[str] | None:
    """Return the suffixes that a condition compares that of a path with, as they are written; None if it does not."""
    match test:
        case ast.Call(func=ast.Attribute(attr="endswith"), args=[asked], keywords=[]):
            pass
        case ast.Compare(left=left, ops=[operator], comparators=[asked]) if _is_suffix(left, use, ctx):
            if not isinstance(
                operator, (ast.Eq, ast.NotEq) if isinstance(asked, ast.Constant) else (ast.In, ast.NotIn)
            ):
                return None
        case _:
            return None
    literals = asked.elts if isinstance(asked, (ast.Tuple, ast.List, ast.Set)) else [asked]
    values = [one.value for one in literals if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    is_known = values and len(values) == len(literals) and all(map(_SUFFIX.fullmatch, values))
    return values if is_known else None


def _is_suffix(node: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether an expression is the suffix of a path."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[]) if name in _CASES:
            return _is_suffix(value, use, ctx)
        case ast.Attribute(attr="suffix"):
            return True
        case ast.Subscript(value=ast.Call() as call):
            return last_name(call.func) in _SPLITS and ast.unparse(node.slice) in ("-1", "1")
        case ast.Name():
            bound = find_binding(node, use.place.scope, ctx) or _find_split(node, use, ctx)
            return isinstance(bound, (ast.Call, ast.Attribute, ast.Subscript)) and _is_suffix(bound, use, ctx)
        case ast.Call():
            return last_name(node.func) == "splitext"
    return False


def _find_split(name: ast.Name, use: Use, ctx: Context) -> ast.expr | None:
    """Return ``os.path.splitext(path)`` where it binds a variable: ``stem, suffix = os.path.splitext(path)``."""
    owner, parents = use.place.scope.find_scope(name.id), ctx.uses.data_flow.parents
    bindings = owner.bindings[name.id] if owner is not None else []
    targets = parents.get(bindings[0].node) if len(bindings) == 1 else None
    if not isinstance(targets, ast.Tuple) or targets.elts[-1] is not bindings[0].node:
        return None
    value = getattr(parents.get(targets), "value", None)
    return value if isinstance(value, ast.Call) else None


def _widen(test: ast.Call | ast.Compare, suffixes: list[str], ctx: Context) -> Replace:
    """Return the change that makes a condition hold for `.pt2` as well."""
    new = _NEW if suffixes[0].startswith(".") else _NEW[1:]
    asked = test.comparators[0] if isinstance(test, ast.Compare) else test.args[0]
    elements = asked.elts if isinstance(asked, (ast.Tuple, ast.List, ast.Set)) else [asked]
    parts: dict[str, ast.expr] = {f"a{number}": one for number, one in enumerate(elements)}
    listed = ", ".join((*(f"{{{name}}}" for name in parts), f'"{new}"'))
    code = f"[{listed}]" if isinstance(asked, ast.List) else f"({listed})"
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
        operator = "in" if isinstance(test.ops[0], ast.Eq) else "not in"
        return replace(test, f"{{left}} {operator} {code}", left=test.left, **parts)
    return replace(asked, code, **parts)


def _is_repeated(test: ast.expr, ctx: Context) -> bool:
    """Return whether the module asks a condition, or its opposite, once more."""
    text = ast.unparse(test)
    alike = [node for node in ast.walk(ctx.source.syntax_tree) if isinstance(node, type(test))]
    return [*map(ast.unparse, alike)].count(text) > 1
