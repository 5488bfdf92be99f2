"""The paths of saved files: which of them name the same file, and how a file gets another suffix."""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from torchmigrate.rewrite.changes import RenameFile
from torchmigrate.semantics.resolve import leaf, string

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

    from .chain import Chain

Literal = ast.Constant | ast.JoinedStr
_LITERALS = (ast.Constant, ast.JoinedStr)
_SUFFIXES = (".pt", ".pth")
_JOINS = frozenset({"join", "Path", "str", "joinpath"})
_WRAPPERS = _JOINS | {"abspath", "expanduser", "realpath", "fspath"}
"""Functions that make a path of their last argument."""


def is_same(path: ast.expr | None, other: ast.expr, use: Use, chain: Chain) -> bool:
    """Whether two expressions name the same file: equal literals, the same code in one scope, or the same name."""
    if path is None:
        return False
    if isinstance(path, ast.Constant) and isinstance(other, ast.Constant):
        return bool(path.value == other.value)
    if use.place.scope is chain.scope and ast.dump(path) == ast.dump(other):
        return True
    name = identity(path, use, chain.ctx)
    return name is not None and name == identity(other, chain.use, chain.ctx)


def may_be_same(path: ast.expr | None, other: ast.expr, use: Use, chain: Chain) -> bool:
    """Whether the ``path`` that ``use`` loads may be the file that a chain saves to ``other``, in whatever scope.

    It is another file where the code spells both names and they differ, and where one is a buffer in memory.
    """
    if is_buffer(path, use, chain.ctx) or is_buffer(other, chain.use, chain.ctx):
        return False
    # Names only: the same folder may be spelled in many ways.
    names = _name(path, use, chain.ctx), _name(other, chain.use, chain.ctx)
    return None in names or names[0] == names[1]


def _name(path: ast.expr | None, use: Use, ctx: Context) -> str | None:
    """Return the name of a file without its folders, where the code spells it."""
    literal = _literal(path, use, ctx) if path is not None else None
    if isinstance(literal, ast.JoinedStr):
        end = string(literal.values[-1]) if literal.values else None
        return os.path.basename(end) or None if end is not None and "/" in end else None
    text = string(literal) if literal is not None else None
    return os.path.basename(text) if text is not None else None


def identity(path: ast.expr | None, use: Use, ctx: Context) -> str | None:
    """Return the name that identifies a file in the whole project, where the code spells one.

    That may be in a literal, in the default of the command line's option that the path comes from, or in the one
    command that the file shows (``--model exp/encoder.pt``). A constant of another module of the project,
    ``config.MODEL``, is a name as well.
    """
    if path is None:
        return None
    name = _name(path, use, ctx)
    if name is not None:
        return name
    return _name_of_option(path, use, ctx) or _name_of_constant(path, use, ctx)


def is_buffer(path: ast.expr | None, use: Use, ctx: Context) -> bool:
    """Whether a "path" is not a file but a buffer in memory."""
    value = _last_part(path, use, ctx) if path is not None else None
    return isinstance(value, ast.Call) and leaf(value.func) == "BytesIO"


def is_temporary(path: ast.expr, use: Use, ctx: Context) -> bool:
    """Whether a file does not outlive the program: a buffer in memory, or one with "temp" or "tmp" in its path."""
    if is_buffer(path, use, ctx):
        return True
    names = [node for node in ast.walk(path) if isinstance(node, ast.Name)]
    values = [ctx.uses.flow.definition(name, use.place.scope) for name in names]
    text = " ".join(ast.unparse(node) for node in (path, *(value for value in values if value is not None)))
    return re.search(r"(?i)te?mp", text) is not None


def _last_part(path: ast.expr, use: Use, ctx: Context) -> ast.expr:
    """Return the last part of a path, found through variables and functions that only convert it."""
    for _ in range(6):
        if isinstance(path, ast.Name):
            value = ctx.uses.flow.definition(path, use.place.scope)
            if value is None:
                return path
            path = value
        elif isinstance(path, ast.Call) and path.args and leaf(path.func) in _WRAPPERS:
            path = path.args[-1]
        elif isinstance(path, ast.BinOp) and isinstance(path.op, (ast.Div, ast.Add)):
            path = path.right
        else:
            return path
    return path


def _name_of_option(path: ast.expr, use: Use, ctx: Context) -> str | None:
    """Return the one file name that the module gives for ``args.option``: a default, or part of a command it shows."""
    end = _last_part(path, use, ctx)
    if not isinstance(end, ast.Attribute) or not isinstance(end.value, ast.Name):
        return None
    option = "--" + end.attr.replace("_", "-")
    names: set[str] = set()
    for node in ast.walk(ctx.source.tree):
        if isinstance(node, ast.Call) and leaf(node.func) == "add_argument":
            options = {string(given) for given in node.args}
            default = next((k.value for k in node.keywords if k.arg == "default"), None)
            text = string(default) if default is not None else None
            if text and options & {option, option.replace("-", "_"), "--" + end.attr}:
                names.add(os.path.basename(text))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and option in node.value:
            shown = re.findall(rf"{re.escape(option)}[ =\\\s]+(\S+\.\w+)", node.value)
            names.update(os.path.basename(name) for name in shown)
    return names.pop() if len(names) == 1 else None


def _name_of_constant(path: ast.expr, use: Use, ctx: Context) -> str | None:
    """Return the last two parts of the qualified name of a constant, in capitals, of another module."""
    end = _last_part(path, use, ctx)
    if not isinstance(end, (ast.Name, ast.Attribute)) or not (leaf(end) or "").isupper():
        return None
    resolved = ctx.resolve(end, use)
    if resolved is None or not resolved.certain or resolved.names[0].startswith("torch."):
        return None
    parts = resolved.names[0].lstrip(".").split(".")
    return ".".join(parts[-2:]) if len(parts) > 1 else None


def renaming(paths: list[ast.expr], ctx: Context, use: Use) -> list[RenameFile]:
    """Return the changes that give the file of all the paths the suffix ``.pt2``.

    Empty where another literal in the module equals the one of a path.
    """
    literals = [_literal(path, use, ctx) for path in paths]
    found = [literal for literal in literals if literal is not None and _has_suffix(literal)]
    if len(found) < len(paths):
        return []
    spelled = ctx.uses.once(_literals_by_text, lambda: _literals_by_text(ctx.source.tree))
    if any(node not in found for literal in found for node in spelled[_text(literal)]):
        return []
    return [RenameFile(literal, ".pt2") for literal in dict.fromkeys(found)]


def _literals_by_text(tree: ast.AST) -> dict[object, list[ast.AST]]:
    literals: dict[object, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, _LITERALS):
            literals.setdefault(_text(node), []).append(node)
    return literals


def _has_suffix(literal: Literal) -> bool:
    last = literal.values[-1] if isinstance(literal, ast.JoinedStr) and literal.values else literal
    return (string(last) or "").endswith(_SUFFIXES)


def _text(literal: Literal) -> object:
    """Return what is equal for equal literals."""
    return literal.value if isinstance(literal, ast.Constant) else ast.dump(literal)


def _literal(path: ast.expr, use: Use, ctx: Context) -> Literal | None:
    """Return the string literal that a path ends with."""
    match path:
        case ast.JoinedStr() | ast.Constant(value=str()):
            return path
        case ast.BinOp(right=end):
            return _literal(end, use, ctx)
        case ast.Call(args=[*_, end]) if leaf(path.func) in _JOINS:
            return _literal(end, use, ctx)
        case ast.Name():
            return _literal_of_variable(path, use, ctx)
    return None


def _literal_of_variable(name: ast.Name, use: Use, ctx: Context) -> Literal | None:
    """Return the literal in a variable that only saves and loads read."""
    flow, scope = ctx.uses.flow, use.place.scope
    value = flow.definition(name, scope)
    if value is None or isinstance(value, ast.Name) or scope.find(name.id) is not scope:
        return None
    reaching = flow.reaching(name.id, scope)
    if reaching.captured or len(reaching.bindings) != 1:
        return None
    for read in reaching.reads:
        parent = flow.parents[read]
        call = flow.parents[parent] if isinstance(parent, ast.keyword) else parent
        if not isinstance(call, ast.Call) or leaf(call.func) not in ("save", "load"):
            return None
    return _literal(value, use, ctx)
