"""Changes made to a text, and proved to have changed nothing else."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from textwrap import dedent
from typing import TypeVar

from torchmigrate.model.findings import Change
from torchmigrate.proof.verify import verify
from torchmigrate.rewrite.rewriter import Rewriter
from torchmigrate.text.source import Source

Node = TypeVar("Node", bound=ast.AST)


def every(source: Source, kind: type[Node]) -> list[Node]:
    """The nodes of a kind, as they stand in the text."""
    found = [node for node in ast.walk(source.tree) if isinstance(node, kind)]
    return sorted(found, key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)))


def call(source: Source, name: str) -> ast.Call:
    """The first call of what is written ``name``."""
    return next(node for node in every(source, ast.Call) if source.segment(node.func) == name)


def changed(text: str, *makers: Callable[[Source], Change | Iterable[Change]]) -> str:
    """The dedented text with changes made; raises VerifyError if that changed anything else."""
    source = Source.read("case.py", dedent(text).encode())
    changes: list[Change] = []
    for make in makers:
        made = make(source)
        changes += [made] if isinstance(made, Change) else made
    edits = Rewriter(source).edits(changes)
    after = Source.read("case.py", source.replaced(edits))
    verify(source, after, edits)
    return after.text.decode()
