"""The suffix of files whose names the code does not spell: loads that read both formats know an export by `.pt2`.

``traced.save(f"step_{n}.pt")`` → ``torch.export.save(traced, f"step_{n}.pt2")``; and where the caller or the user chooses the
name, ``path = os.path.splitext(path)[0] + ".pt2"`` above the save.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import NoneType
from typing import TYPE_CHECKING

from torchmigrate.rewrite.changes import Insert, template
from torchmigrate.semantics.name_resolution import last_name, string_value

from .file_paths import create_renames
from .path_literals import find_option

if TYPE_CHECKING:
    from torchmigrate.model.findings import FixChange

    from .result_chain import ResultChain, SavedFile

_TEXT, _PATH = "str", "Path"
_FILE = re.compile(r"path|file|out|dest|target|name", re.IGNORECASE)
"""The names of parameters that are paths."""


def add_suffix(file: SavedFile, chain: ResultChain) -> list[FixChange]:
    """Return the changes by which the name of a file that a chain saves ends in `.pt2`, for its loads here as well.

    Empty where the code shows neither the old suffix nor whether the path is text or a `Path`.
    """
    path, ctx = file.paths[0], chain.ctx
    if renames := create_renames(file.paths, ctx, chain.use):
        return [*renames]
    if any(ast.dump(other) != ast.dump(path) for other in file.paths):
        return []
    match path:
        case ast.Call(func=ast.Name(id="str"), args=[named], keywords=[]):
            path = named
    kinds = {*_find_kinds(path, chain)}
    if kinds == {None} and _is_plain_parameter(path, chain):
        kinds = {_TEXT}  # or a `Path`, which `os.path.splitext` accepts as well
    if kinds not in ({_TEXT}, {_PATH}):
        return []
    statement: ast.AST = path
    while not isinstance(statement, ast.stmt):
        statement = ctx.uses.data_flow.parents[statement]
    if kinds == {_PATH}:
        return [Insert(statement, template('{path} = {path}.with_suffix(".pt2")', path=path))]
    split = ctx.write_symbol("os.path.splitext", chain.use)
    return [Insert(statement, template('{path} = {split}({path})[0] + ".pt2"', path=path, split=split))]


def _find_kinds(path: ast.expr, chain: ResultChain) -> Iterator[str | None]:
    """Yield what each binding of a variable, or an option of the command line, holds: text, a `Path`, or None if unknown."""
    match path:
        case ast.Name():
            owner = chain.scope.find_scope(path.id)
            bindings = owner.bindings[path.id] if owner is chain.scope else []
            for binding in bindings:
                yield from _judge_binding(binding.node, chain)
        case ast.Attribute(value=ast.Name()):
            yield _judge_value(path, chain)


def _is_plain_parameter(path: ast.expr, chain: ResultChain) -> bool:
    """Return whether a parameter, named for a file, is only saved to, loaded from and printed."""
    owner = chain.scope.find_scope(path.id) if isinstance(path, ast.Name) else None
    if not isinstance(path, ast.Name) or owner is not chain.scope or not _FILE.search(path.id):
        return False
    bindings = owner.bindings[path.id]
    if len(bindings) != 1 or not isinstance(bindings[0].node, ast.arg):
        return False
    reading = chain.flow.find_reaching(path.id, owner)
    parents = [chain.flow.parents[read] for read in reading.reads]
    return not reading.captured and all(
        isinstance(parent, ast.FormattedValue)
        or (isinstance(parent, ast.Call) and last_name(parent.func) in ("save", "load", "str", "print"))
        for parent in parents
    )


def _judge_binding(node: ast.AST, chain: ResultChain) -> Iterator[str | None]:
    match chain.flow.parents.get(node), node:
        case _, ast.arg(annotation=annotation):
            yield _judge_annotation(annotation)
        case ast.Assign(value=ast.Constant(value=None)), _:
            return
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value), _:
            yield _judge_value(value, chain)
        case _:
            yield None


def _judge_annotation(annotation: ast.expr | None) -> str | None:
    """Return what a parameter holds: text also where it may be a `Path`, for it takes either."""
    names = {last_name(node) for node in ast.walk(annotation)} if annotation is not None else set()
    return _TEXT if _TEXT in names else _PATH if _PATH in names else None


def _judge_value(value: ast.expr, chain: ResultChain) -> str | None:
    match value:
        case (
            ast.JoinedStr()
            | ast.Constant(value=str())
            | ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str()))
        ):
            return _TEXT
        case ast.BinOp(op=ast.Div()):
            return _PATH
        case ast.BoolOp(op=ast.Or(), values=values):
            kinds = {_judge_value(one, chain) for one in values}
            return kinds.pop() if len(kinds) == 1 else None
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _TEXT if _TEXT in (_judge_value(left, chain), _judge_value(right, chain)) else None
        case ast.Call(func=func):
            return _PATH if last_name(func) == "Path" else _TEXT if _makes_text(func) else None
        case ast.Attribute(attr=name, value=ast.Name()):
            return _judge_option(find_option(name, chain.ctx))
    return None


def _makes_text(function: ast.expr) -> bool:
    """Return whether a function of paths returns text: ``str``, ``os.path.join``, ``"…".format``."""
    match function:
        case ast.Attribute(attr="format", value=ast.Constant()):
            return True
    return ast.unparse(function) in (
        "str",
        "os.path.join",
        "osp.join",
        "path.join",
        "join",
        "os.path.abspath",
    )


def _judge_option(option: ast.Call | None) -> str | None:
    """Return what an option of the command line holds: text unless it says another type."""
    if option is None:
        return None
    given = {keyword.arg: keyword.value for keyword in option.keywords}
    if "type" in given:
        name = last_name(given["type"])
        return name if name in (_TEXT, _PATH) else None
    default = given.get("default")
    is_plain = default is None or (
        isinstance(default, ast.Constant) and isinstance(default.value, (str, NoneType))
    )
    is_single = "nargs" not in given or string_value(given["nargs"]) == "?"
    return _TEXT if is_plain and is_single and "action" not in given else None
