"""Where a file that `torch.load` reads comes from: a download, the user, or the same function, which has just saved it."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator
from itertools import chain

from torchmigrate.api import Context, Use
from torchmigrate.semantics.function_calls import find_argument_of, find_function_calls
from torchmigrate.semantics.name_resolution import innermost_object, last_name, string_value
from torchmigrate.semantics.scopes import Binding, Scope
from torchmigrate.semantics.symbol_uses import SymbolUses
from torchmigrate.semantics.tensors import is_tensor

_DOWNLOADS = re.compile(
    r"(?i)download|cached_(?:path|file)|from_url|urlopen|urlretrieve|^wget$|gdown|^fetch|_fetch|retrieve|^requests$"
)
_URL = re.compile(r"(?i)^(?:https?|s3|gs|hf|ftp)://")
_USER_OBJECTS = frozenset({"args", "opt", "opts", "flags", "arguments", "cli_args"})
_PARSERS = frozenset({"parse_args", "parse_known_args", "parse_args_into_dataclasses"})
_COMMANDS = frozenset({"command", "option", "argument"})
_DEPTH = 6
_MOST = 50
"""The number of variables after which a path is followed no further."""


class Foreign(enum.Enum):
    """The parties that a file can come from besides the project itself."""

    DOWNLOAD = "is downloaded"
    USER = "is chosen by the user"


def find_foreign(path: ast.expr | None, use: Use, ctx: Context) -> Foreign | None:
    """Return who the file at a path comes from, if it is not the project itself."""
    return None if path is None else _OriginWalk(ctx.uses).find_origin(path, use.place.scope)


class _OriginWalk:
    """Follows the parts of a path back to where they come from."""

    def __init__(self, uses: SymbolUses) -> None:
        self._uses = uses
        self._seen: set[tuple[Scope | None, str]] = set()

    def find_origin(self, path: ast.expr, scope: Scope) -> Foreign | None:
        """Return the origin of a path, if a part of it tells one."""
        nodes = list(ast.walk(path))
        if string_value(path) is not None and string_value(path) in self._list_downloads(scope.node):
            return Foreign.DOWNLOAD
        told = (_judge_part(node) for node in nodes)
        names = (node.id for node in nodes if isinstance(node, ast.Name))
        followed = (self._follow_name(name, scope) for name in names)
        return next((found for found in chain(told, followed) if found is not None), None)

    def _follow_name(self, name: str, scope: Scope) -> Foreign | None:
        """Return the origin that a variable's value has, or that a download to it gives."""
        owner = scope.find_scope(name)
        if (owner, name) in self._seen or len(self._seen) > _MOST:
            return None
        self._seen.add((owner, name))
        if name in self._list_downloads(scope.node):
            return Foreign.DOWNLOAD
        bindings = owner.bindings[name] if owner is not None else []
        origins = (self._follow_binding(binding, owner or scope) for binding in bindings)
        return next((found for found in origins if found is not None), None)

    def _list_downloads(self, function: ast.AST) -> frozenset[str]:
        return self._uses.compute_once(("downloads", function), lambda: _list_download_arguments(function))

    def _follow_binding(self, binding: Binding, owner: Scope) -> Foreign | None:
        if isinstance(binding.node, ast.arg):
            return self._find_passed_origin(binding.node.arg, owner.node)
        around = self._uses.data_flow.parents.get(binding.node)
        value = around.context_expr if isinstance(around, ast.withitem) else binding.value
        return self.find_origin(value, owner) if value is not None else None

    def _find_passed_origin(self, parameter: str, function: ast.AST) -> Foreign | None:
        """Return the origin of what the module's calls of a function pass for a parameter."""
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        if any(_names_command(decorator) for decorator in function.decorator_list):
            return Foreign.USER
        for call in find_function_calls(function, self._uses):
            passed = find_argument_of(function, call, parameter)
            found = self.find_origin(passed, self._uses.scope_of(call)) if passed is not None else None
            if found is not None:
                return found
        return None


def _list_download_arguments(function: ast.AST) -> frozenset[str]:
    """List the variables and the file names in the arguments of a function's downloads."""
    if isinstance(function, ast.Module):
        return frozenset()
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return frozenset(
        name
        for call in calls
        if _DOWNLOADS.search(last_name(call.func) or "")
        for argument in (*call.args, *(keyword.value for keyword in call.keywords))
        for part in ast.walk(argument)
        if (name := part.id if isinstance(part, ast.Name) else string_value(part))
    )


def _judge_part(node: ast.AST) -> Foreign | None:
    """Return the origin that a part of a path tells by itself."""
    match node:
        case ast.Call(func=function) if _DOWNLOADS.search(last_name(function) or ""):
            return Foreign.DOWNLOAD
        case ast.Call(func=ast.Name(id="input")):
            return Foreign.USER
        case ast.Constant(value=str(text)) if _URL.match(text):
            return Foreign.DOWNLOAD
        case ast.Attribute(value=ast.Name(id="sys"), attr="argv"):
            return Foreign.USER
        case ast.Attribute():
            owner = innermost_object(node)
            names = {owner.id} if isinstance(owner, ast.Name) else set()
            if isinstance(node.value, ast.Attribute):
                names.add(node.value.attr)
            return Foreign.USER if any(name.lower() in _USER_OBJECTS for name in names) else None
    return None


def _names_command(decorator: ast.expr) -> bool:
    """Return whether a decorator makes a command of a function: ``@click.command()``, ``@app.command``."""
    return last_name(decorator.func if isinstance(decorator, ast.Call) else decorator) in _COMMANDS


class Saved(enum.Enum):
    """What a call of `torch.save` puts into a file, as far as `weights_only` is concerned."""

    STATE = enum.auto()
    OBJECT = enum.auto()
    UNKNOWN = enum.auto()


def find_saved(path: ast.expr | None, use: Use, ctx: Context) -> tuple[ast.Call, Saved] | None:
    """Return the call with which the same function has saved the file before, and what it has put into it."""
    if path is None:
        return None
    function = use.place.scope.node
    saves = ctx.uses.compute_once(("saves", function), lambda: list(_find_saves(function)))
    wanted = _spell_path(path, function)
    for call in reversed(saves):
        if call.lineno < use.node.lineno and _spell_path(call.args[1], function) == wanted:
            return call, _judge_saved(call.args[0], use, ctx, _DEPTH)
    return None


def _find_saves(function: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of a function that save something with torch, in order."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="save"), args=[_, _, *_]):
                yield node


def _spell_path(path: ast.expr, function: ast.AST) -> str:
    """Return the code of a path, with an open file as the path that was opened, and a copy of a buffer as the buffer."""
    match path:
        case ast.Call(
            func=maker,
            args=[ast.Call(func=ast.Attribute(value=buffer, attr="getvalue" | "getbuffer"), args=[])],
        ) if last_name(maker) == "BytesIO":
            return ast.unparse(buffer)
    if (
        isinstance(path, ast.Call)
        and last_name(path.func) in ("str", "Path", "fspath")
        and len(path.args) == 1
    ):
        return _spell_path(path.args[0], function)
    if isinstance(path, ast.Name):
        for node in ast.walk(function):
            if (
                isinstance(node, ast.withitem)
                and isinstance(node.optional_vars, ast.Name)
                and node.optional_vars.id == path.id
                and isinstance(node.context_expr, ast.Call)
                and last_name(node.context_expr.func) == "open"
            ):
                opened = node.context_expr
                of = opened.func.value if isinstance(opened.func, ast.Attribute) else None
                return ast.unparse(
                    opened.args[0] if opened.args and not _is_mode(opened.args[0]) else of or path
                )
    return ast.unparse(path)


def _is_mode(node: ast.expr) -> bool:
    return re.fullmatch(r"[rwab+]{1,3}", string_value(node) or "") is not None


def _judge_saved(value: ast.expr, use: Use, ctx: Context, depth: int) -> Saved:
    """Return what a value is: tensors and plain values, an object that is neither, or unknown."""
    place, uses = use.place, ctx.uses
    if depth == 0:
        return Saved.UNKNOWN
    match value:
        case ast.Constant():
            return Saved.STATE
        case ast.Dict(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            found = {_judge_saved(part, use, ctx, depth - 1) for part in parts}
            return next((one for one in (Saved.OBJECT, Saved.UNKNOWN) if one in found), Saved.STATE)
        case ast.DictComp(value=part) | ast.ListComp(elt=part):
            return _judge_saved(part, use, ctx, depth - 1)
        case ast.Name(id="args" | "opt" | "opts"):
            return Saved.OBJECT
        case ast.Name():
            defined = uses.data_flow.find_definition(value, place.scope)
            if defined is not None:
                return _judge_saved(defined, use, ctx, depth - 1)
        case ast.Call(func=function):
            name = last_name(function) or ""
            if name == "state_dict":
                return Saved.STATE
            resolved = uses.names.resolve_expression(function, place.scope)
            full = resolved.names[0] if resolved is not None else ""
            if name in _PARSERS or (
                full.startswith(("torch.nn.", "numpy.")) and not full.startswith("torch.nn.functional.")
            ):
                return Saved.OBJECT
            if isinstance(function, ast.Name) and _is_class_here(name, place.scope):
                return Saved.OBJECT
    return Saved.STATE if is_tensor(value, place, uses) else Saved.UNKNOWN


def _is_class_here(name: str, scope: Scope) -> bool:
    owner = scope.find_scope(name)
    bindings = owner.bindings[name] if owner is not None else []
    return len(bindings) == 1 and isinstance(bindings[0].node, ast.ClassDef)
