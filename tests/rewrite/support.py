"""Changes made to a text, and proved to have changed nothing else."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from textwrap import dedent
from typing import TypeVar

from torchmigrate.model.findings import FixChange
from torchmigrate.proof.edit_verification import verify_edits
from torchmigrate.rewrite.rewriter import Rewriter
from torchmigrate.text.source_text import SourceText

Node = TypeVar("Node", bound=ast.AST)


def every(source: SourceText, kind: type[Node]) -> list[Node]:
    """The nodes of a kind, as they stand in the text."""
    found = [node for node in ast.walk(source.syntax_tree) if isinstance(node, kind)]
    return sorted(found, key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)))


def call(source: SourceText, name: str) -> ast.Call:
    """The first call of what is written ``name``."""
    return next(node for node in every(source, ast.Call) if source.get_segment(node.func) == name)


def changed(text: str, *makers: Callable[[SourceText], FixChange | Iterable[FixChange]]) -> str:
    """The dedented text with changes made; raises VerifyError if that changed anything else."""
    source = SourceText.decode_source("case.py", dedent(text).encode())
    changes: list[FixChange] = []
    for make in makers:
        made = make(source)
        changes += [made] if isinstance(made, FixChange) else made
    edits = Rewriter(source).build_edits(changes)
    after = SourceText.decode_source("case.py", source.apply_edits(edits))
    verify_edits(source, after, edits)
    return after.text.decode()
