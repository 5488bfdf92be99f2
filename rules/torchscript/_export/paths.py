"""The paths of saved files: which are the same, and how they get another suffix."""

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


def is_same(path: ast.expr | None, other: ast.expr, use: Use, chain: Chain) -> bool:
    """Whether two expressions name the same file: equal literals, the same text in one scope, or the same name."""
    if path is None:
        return False
    if isinstance(path, ast.Constant) and isinstance(other, ast.Constant):
        return bool(path.value == other.value)
    if use.place.scope is chain.scope and ast.dump(path) == ast.dump(other):
        return True
    name = identity(path, use, chain.ctx)
    return name is not None and name == identity(other, chain.use, chain.ctx)


def may_be_same(path: ast.expr | None, other: ast.expr, use: Use, chain: Chain) -> bool:
    """Whether what ``use`` reads from ``path`` may be the file that a chain saves to ``other``, in whatever scope.

    It is another one where both names are written out and differ, and where it is no file but a buffer.
    """
    if is_buffer(path, use, chain.ctx) or is_buffer(other, chain.use, chain.ctx):
        return False
    names = _name(path, use, chain.ctx), _name(other, chain.use, chain.ctx)
    return None in names or names[0] == names[1]


def _name(path: ast.expr | None, use: Use, ctx: Context) -> str | None:
    """The name of a file without its folders, where it is written out."""
    literal = _literal(path, use, ctx) if path is not None else None
    if isinstance(literal, ast.JoinedStr):
        end = string(literal.values[-1]) if literal.values else None
        return os.path.basename(end) or None if end is not None and "/" in end else None
    text = string(literal) if literal is not None else None
    return os.path.basename(text) if text is not None else None


def identity(path: ast.expr | None, use: Use, ctx: Context) -> str | None:
    """What tells the file from others in the whole project: its name where it is written out, else None.

    A name is written out in a literal, in the default of the command line's option that it comes from, or in one way
    only where the file says how it is called (``--model exp/encoder.pt``). A constant of another module of the
    project, ``config.MODEL``, is a name as well.
    """
    if path is None:
        return None
    name = _name(path, use, ctx)
    if name is not None:
        return name
    return _of_option(path, use, ctx) or _of_constant(path, use, ctx)


def is_buffer(path: ast.expr | None, use: Use, ctx: Context) -> bool:
    """Whether what is saved to or loaded from is no file but a buffer in memory."""
    value = _within(path, use, ctx) if path is not None else None
    return isinstance(value, ast.Call) and leaf(value.func) == "BytesIO"


def is_temporary(path: ast.expr, use: Use, ctx: Context) -> bool:
    """Whether a file goes as it came: a buffer in memory, or what is called temporary."""
    if is_buffer(path, use, ctx):
        return True
    names = [node for node in ast.walk(path) if isinstance(node, ast.Name)]
    values = [ctx.uses.flow.definition(name, use.place.scope) for name in names]
    text = " ".join(ast.unparse(node) for node in (path, *(value for value in values if value is not None)))
    return re.search(r"(?i)te?mp", text) is not None


def _within(path: ast.expr, use: Use, ctx: Context) -> ast.expr:
    """The last part of a path, through variables and what only makes a path of another."""
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


_WRAPPERS = frozenset({"join", "Path", "str", "joinpath", "abspath", "expanduser", "realpath", "fspath"})


def _of_option(path: ast.expr, use: Use, ctx: Context) -> str | None:
    """The one name that the file gives for ``args.option``: as the option's default, or where it shows a command."""
    end = _within(path, use, ctx)
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


def _of_constant(path: ast.expr, use: Use, ctx: Context) -> str | None:
    """The last two names of a constant in capitals of another module."""
    end = _within(path, use, ctx)
    if not isinstance(end, (ast.Name, ast.Attribute)) or not (leaf(end) or "").isupper():
        return None
    resolved = ctx.resolve(end, use)
    if resolved is None or not resolved.certain or resolved.names[0].startswith("torch."):
        return None
    parts = resolved.names[0].lstrip(".").split(".")
    return ".".join(parts[-2:]) if len(parts) > 1 else None


def renaming(paths: list[ast.expr], ctx: Context, use: Use) -> list[RenameFile]:
    """What gives the file that all the paths name the suffix ``.pt2``; empty where something else names it too."""
    found = [_literal(path, use, ctx) for path in paths]
    literals = [literal for literal in found if literal is not None and _has_suffix(literal)]
    if len(literals) < len(paths):
        return []
    spelled = ctx.uses.once(_by_text, lambda: _by_text(ctx.source.tree))
    if any(node not in literals for literal in literals for node in spelled[_text(literal)]):
        return []
    return [RenameFile(literal, ".pt2") for literal in dict.fromkeys(literals)]


def _by_text(tree: ast.AST) -> dict[object, list[ast.AST]]:
    """All literals of a module by what they say."""
    literals: dict[object, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, _LITERALS):
            literals.setdefault(_text(node), []).append(node)
    return literals


def _has_suffix(literal: Literal) -> bool:
    last = literal.values[-1] if isinstance(literal, ast.JoinedStr) and literal.values else literal
    return (string(last) or "").endswith(_SUFFIXES)


def _text(literal: Literal) -> object:
    """What is equal for literals that say the same."""
    return literal.value if isinstance(literal, ast.Constant) else ast.dump(literal)


def _literal(path: ast.expr, use: Use, ctx: Context) -> Literal | None:
    """The string literal that a path ends with."""
    if isinstance(path, ast.JoinedStr) or (isinstance(path, ast.Constant) and isinstance(path.value, str)):
        return path
    if isinstance(path, ast.BinOp):
        return _literal(path.right, use, ctx)
    if isinstance(path, ast.Call) and path.args and leaf(path.func) in ("join", "Path", "str", "joinpath"):
        return _literal(path.args[-1], use, ctx)
    if isinstance(path, ast.Name):
        return _of_variable(path, use, ctx)
    return None


def _of_variable(name: ast.Name, use: Use, ctx: Context) -> Literal | None:
    """The literal in a variable that only saves and loads read."""
    owner = use.place.scope.find(name.id)
    value = ctx.uses.flow.definition(name, use.place.scope)
    if owner is not use.place.scope or value is None:
        return None
    reaching = ctx.uses.flow.reaching(name.id, owner)
    parents = ctx.uses.flow.parents
    around = [parents[read] for read in reaching.reads]
    calls = [parents[node] if isinstance(node, ast.keyword) else node for node in around]
    if reaching.captured or len(reaching.bindings) != 1:
        return None
    known = {"save", "load"}
    if not all(isinstance(call, ast.Call) and leaf(call.func) in known for call in calls):
        return None
    return _literal(value, use, ctx) if not isinstance(value, ast.Name) else None
