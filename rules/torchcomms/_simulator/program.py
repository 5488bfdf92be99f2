"""All that the simulator asks for about a file."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from torchmigrate.semantics.dataflow import Flow
from torchmigrate.semantics.resolve import Names
from torchmigrate.semantics.statements import Scopes
from torchmigrate.semantics.uses import Uses


@dataclass(frozen=True)
class Program:
    """The names and values of one file, as it is or as it would be."""

    scopes: Scopes
    names: Names
    flow: Flow

    @classmethod
    def of(cls, uses: Uses) -> Program:
        """A file as it is."""
        return cls(uses.scopes, uses.names, uses.flow)

    @classmethod
    def changed(cls, uses: Uses, tree: ast.Module) -> Program:
        """The same file with another tree."""
        walrus = sorted(node.lineno for node in ast.walk(tree) if isinstance(node, ast.NamedExpr))
        scopes = Scopes(tree, walrus)
        return cls(scopes, uses.names.of(scopes), Flow(scopes))
