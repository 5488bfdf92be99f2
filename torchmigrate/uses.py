"""Gate 2: which watched symbols a file uses, and where.

Only statements are walked that stand on a line with a token, or with a name that is bound to something whose token
it hides (`script` after ``from torch.jit import script``).
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from torchmigrate.names import Links, Names, Resolved, leaf, literal_getattr, string
from torchmigrate.rule import Kind
from torchmigrate.scopes import BindingKind, Place, Scope, Scopes
from torchmigrate.source import Source
from torchmigrate.watch import Watch, identifiers

@dataclass(slots=True, eq=False)
class Use:
    """One place where a file uses a watched symbol."""

    symbol: str
    """As the rule lists it."""
    name: str
    """The qualified name; differs from the symbol where that has a ``*`` or is a method of any object."""
    kind: Kind
    node: ast.expr | ast.alias
    """What names the symbol: for ``torch.jit.script(f)`` the attribute ``torch.jit.script``."""
    parents: tuple[ast.AST, ...]
    """From the statement down to the node's parent."""
    place: Place
    certain: bool
    call: ast.Call | None = None
    """The call of the symbol, for ``Kind.CALL``."""
    decorated: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None = None
    """The definition that the symbol, or a call of it, decorates."""
    followed: bool = False
    """Whether the symbol's own name is not at this place: it is reached through a name that is bound elsewhere."""


