"""TorchScript files that Python code saves and loads: the calls that do so, and the names of the files."""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.module_methods import SCRIPTED_RESULTS
from torchmigrate.semantics.name_resolution import last_name, string_value

if TYPE_CHECKING:
    from torchmigrate.semantics.symbol_uses import SymbolUses
    from torchmigrate.semantics.use import Use

SAVES = ("torch.jit.save", "torch.jit._serialization.save")
"""The functions that save a TorchScript file."""
SAVE_METHODS = tuple(f"{result}.save" for result in SCRIPTED_RESULTS)
LITE_METHODS = ("._save_for_lite_interpreter", "._save_to_buffer_for_lite_interpreter")
LITE_OWNERS = ("", *SCRIPTED_RESULTS)
"""The owners of `LITE_METHODS`: any object, and the results that are known more closely."""
LITE_SAVES = tuple(f"{owner}{LITE_METHODS[0]}" for owner in LITE_OWNERS)
"""The methods that save a file for the Lite Interpreter."""

PathLiteral = ast.Constant | ast.JoinedStr
_WRAPPERS = frozenset({"join", "Path", "str", "joinpath", "abspath", "expanduser", "realpath", "fspath"})
"""The functions that only make a path of their last argument."""
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|%[-#0 +]*[\d.]*[a-z]")
"""The places in a text where `str.format` or ``%`` writes a value."""


def find_path_argument(use: Use) -> ast.expr | None:
    """Return the argument of a call that saves or loads a file which is the path of the file."""
    return None if use.call is None else find_argument(use.call, 1 if use.symbol in SAVES else 0, "f")


def find_file_name(use: Use, uses: SymbolUses) -> str | None:
    """Return the name of the file that a call saves or loads; see `identify_file`."""
    return identify_file(find_path_argument(use), use, uses)


def identify_file(path: ast.expr | None, use: Use, uses: SymbolUses) -> str | None:
    """Return a name that identifies the file at a path in the project: its name without folders, or None.

    The name may stand in a literal, in the default of the command-line option that the path comes from, or in exactly
    one command that the source shows (``--model exp/encoder.pt``). A constant of another module of the project,
    ``config.MODEL``, also identifies the file.
    """
    if path is None:
        return None
    literal_name = find_literal_name(path, use, uses)
    if literal_name is not None:
        return literal_name
    return _find_option_value(path, use, uses) or _find_constant(path, use, uses)


def find_literal_name(path: ast.expr | None, use: Use, uses: SymbolUses) -> str | None:
    """Return the name, without folders, of the file at a path that ends with a literal."""
    literal = find_path_literal(path, use, uses) if path is not None else None
    name = spell_file_name(literal) if literal is not None else ""
    return name if name and "*" not in name else None


def spell_file_name(literal: PathLiteral) -> str:
    """Return the name, without folders, at the end of a path, with `*` for each part that only a run shows."""
    if isinstance(literal, ast.JoinedStr):
        text = "".join(string_value(part) or "*" for part in literal.values)
    else:
        text = _PLACEHOLDER.sub("*", string_value(literal) or "")
    return os.path.basename(text)


def find_formatted_text(path: ast.expr) -> ast.Constant | None:
    """Return the text of ``"{}/net.pt".format(folder)`` or ``"%s/net.pt" % folder``."""
    match path:
        case (
            ast.Call(func=ast.Attribute(value=ast.Constant(value=str()) as text, attr="format"))
            | ast.BinOp(left=ast.Constant(value=str()) as text, op=ast.Mod())
        ):
            return text
    return None


def is_fixed_path(path: ast.expr, use: Use, uses: SymbolUses) -> bool:
    """Return whether the code fixes what a path leads to: its last name, a constant of the project, or a buffer."""
    end = _find_path_end(path, use, uses)
    if isinstance(end, ast.JoinedStr) or (isinstance(end, ast.Constant) and isinstance(end.value, str)):
        name = spell_file_name(end)
        is_whole = isinstance(end, ast.Constant) and "*" not in name
        return is_whole or "." in name.rpartition("*")[2]
    return is_buffer(path, use, uses) or _find_constant(path, use, uses) is not None


def is_buffer(path: ast.expr | None, use: Use, uses: SymbolUses) -> bool:
    """Return whether a model is saved to or loaded from a buffer in memory instead of a file."""
    value = _find_path_end(path, use, uses) if path is not None else None
    return isinstance(value, ast.Call) and last_name(value.func) == "BytesIO"


def find_path_literal(path: ast.expr, use: Use, uses: SymbolUses) -> PathLiteral | None:
    """Return the string literal that a path ends with, also through a variable that only saves and loads read."""
    if isinstance(path, ast.JoinedStr) or (isinstance(path, ast.Constant) and isinstance(path.value, str)):
        return path
    if (text := find_formatted_text(path)) is not None:
        return text
    if isinstance(path, ast.BinOp):
        return find_path_literal(path.right, use, uses) if not isinstance(path.op, ast.Mod) else None
    if (
        isinstance(path, ast.Call)
        and path.args
        and last_name(path.func) in ("join", "Path", "str", "joinpath")
    ):
        return find_path_literal(path.args[-1], use, uses)
    return _find_variable_literal(path, use, uses) if isinstance(path, ast.Name) else None


def _find_variable_literal(name: ast.Name, use: Use, uses: SymbolUses) -> PathLiteral | None:
    owner = use.place.scope.find_scope(name.id)
    value = uses.data_flow.find_definition(name, use.place.scope)
    if owner is not use.place.scope or value is None:
        return None
    reaching = uses.data_flow.find_reaching(name.id, owner)
    parents = uses.data_flow.parents
    readers = [parents[read] for read in reaching.reads]
    calls = [parents[node] if isinstance(node, ast.keyword) else node for node in readers]
    if reaching.captured or len(reaching.bindings) != 1:
        return None
    if not all(isinstance(call, ast.Call) and last_name(call.func) in ("save", "load") for call in calls):
        return None
    return find_path_literal(value, use, uses) if not isinstance(value, ast.Name) else None


def _find_path_end(path: ast.expr, use: Use, uses: SymbolUses) -> ast.expr:
    """Return the last part of a path, followed through variables and calls like ``os.path.join``."""
    for _ in range(6):
        if isinstance(path, ast.Name):
            value = uses.data_flow.find_definition(path, use.place.scope)
            if value is None:
                return path
            path = value
        elif isinstance(path, ast.Call) and path.args and last_name(path.func) in _WRAPPERS:
            path = path.args[-1]
        elif isinstance(path, ast.BinOp) and isinstance(path.op, (ast.Div, ast.Add)):
            path = path.right
        else:
            return find_formatted_text(path) or path
    return path


def _find_option_value(path: ast.expr, use: Use, uses: SymbolUses) -> str | None:
    """Return the only file name that the source gives for ``args.option``: as its default, or in a command."""
    end = _find_path_end(path, use, uses)
    if not isinstance(end, ast.Attribute) or not isinstance(end.value, ast.Name):
        return None
    option = "--" + end.attr.replace("_", "-")
    names: set[str] = set()
    for node in ast.walk(uses.source.syntax_tree):
        if isinstance(node, ast.Call) and last_name(node.func) == "add_argument":
            options = {string_value(given) for given in node.args}
            default = next((k.value for k in node.keywords if k.arg == "default"), None)
            text = string_value(default) if default is not None else None
            if text and options & {option, option.replace("-", "_"), "--" + end.attr}:
                names.add(os.path.basename(text))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and option in node.value:
            shown = re.findall(rf"{re.escape(option)}[ =\\\s]+(\S+\.\w+)", node.value)
            names.update(os.path.basename(name) for name in shown)
    return names.pop() if len(names) == 1 else None


def _find_constant(path: ast.expr, use: Use, uses: SymbolUses) -> str | None:
    """Return the last two names of a path that is a constant, in capitals, of another module."""
    end = _find_path_end(path, use, uses)
    if not isinstance(end, (ast.Name, ast.Attribute)) or not (last_name(end) or "").isupper():
        return None
    resolved = uses.names.resolve_expression(end, use.place.scope)
    if resolved is None or not resolved.certain or resolved.names[0].startswith("torch."):
        return None
    parts = resolved.names[0].lstrip(".").split(".")
    return ".".join(parts[-2:]) if len(parts) > 1 else None
