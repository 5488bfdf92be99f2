"""One place where a file uses a watched symbol."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from torchmigrate.model.vocabulary import Kind
from torchmigrate.semantics.scopes import StatementPlace


@dataclass(slots=True, eq=False)
class Use:
    """One place where a file uses a watched symbol."""

    symbol: str
    """The watched symbol, as the rule lists it."""
    name: str
    """The qualified name; differs from the symbol where that has a ``*`` or is a method of any object."""
    kind: Kind
    node: ast.expr | ast.alias | ast.keyword
    """The node that names the symbol: for ``torch.jit.script(f)`` the attribute ``torch.jit.script``; a string or a keyword, for an
    environment variable."""
    parents: tuple[ast.AST, ...]
    """The enclosing nodes, from the statement down to the node's parent."""
    place: StatementPlace
    certain: bool
    call: ast.Call | None = None
    """The call of the symbol, for `Kind.CALL`."""
    decorated: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None = None
    """The definition that the symbol, or a call of it, decorates."""
    named: bool = True
    """Whether the name certainly stands for the symbol. ``certain`` also requires that its position is exact, which it is not
    inside of an f-string before Python 3.12."""

    @property
    def is_compared_by_identity(self) -> bool:
        """Whether a function is referred to by identity and not to be called here: among others in a list, compared, as a
        key, or passed to a decorator (``@implements(torch.ger)``)."""
        if self.kind is not Kind.REFERENCE:
            return False
        parent = self.parents[-1]
        if isinstance(parent, ast.Dict):
            return self.node in parent.keys
        decorators = getattr(self.place.statement, "decorator_list", ())
        return isinstance(parent, (ast.List, ast.Tuple, ast.Set, ast.Compare)) or any(
            outer in decorators for outer in self.parents
        )
