"""The graph and the code of a ScriptModule, where a program only prints them.

The module of an exported program has both as well: those of an FX graph, which read differently but show the same model. With
torch 2.13, `torch.export.export(m, (x,)).module().code` is the source of its `forward`, and `.graph` lists its operators.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.name_resolution import last_name

if TYPE_CHECKING:
    from torchmigrate.model.findings import FixChange

VIEWS = {"code": "code", "graph": "graph", "inlined_graph": "graph"}
"""Attributes of a ScriptModule, and those of an exported module that show the same. An exported graph is always inlined."""
_PRINTS = frozenset({"print", "pprint", "display"})
_TEXTS = frozenset({"str", "repr"})
_LOGS = frozenset({"debug", "info", "warning", "error", "log"})


def is_printed(view: ast.Attribute, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Return whether an expression such as ``m.code`` is printed, logged, or the last one of a notebook's cell."""
    return view.attr in VIEWS and _is_shown(view, parents)


def _is_shown(value: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> bool:
    parent = parents[value]
    if isinstance(parent, ast.Call) and value in parent.args:
        name = last_name(parent.func)
        if isinstance(parent.func, ast.Attribute):
            return name in _LOGS
        return name in _PRINTS or (name in _TEXTS and _is_shown(parent, parents))
    return isinstance(parent, ast.Expr)


def rename_views(views: Sequence[ast.Attribute]) -> Iterator[FixChange]:
    """Yield the changes of the views that an exported module has by another name."""
    for view in views:
        if VIEWS[view.attr] != view.attr:
            yield replace(view, "{module}." + VIEWS[view.attr], module=view.value)


def check_unseen(views: Sequence[ast.Attribute]) -> None:
    """Raise NoFix where the program prints the code of what is not exported, which then has none."""
    for view in views:
        raise NoFix(f"line {view.lineno} prints `.{view.attr}` of the result, which only an export has")
