"""Comments that a change would lose, and where they go instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import libcst as cst

from torchmigrate.text.directives import without_directives

from .line_ends import is_broken

Line = cst.SimpleStatementLine | cst.BaseCompoundStatement


def comments(nodes: Iterable[cst.CSTNode]) -> list[cst.Comment]:
    """Return the comments in libcst trees, in order."""
    found: list[cst.Comment] = []
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Comment):
            found.append(node)
        else:
            stack += node.children[::-1]
    return found


def lost(old: cst.CSTNode, new: Iterable[cst.CSTNode]) -> list[cst.Comment]:
    """Return the comments of ``old`` that are not in ``new``, except directives to this tool alone."""
    kept = Counter(comment.value for comment in comments(new))
    gone = []
    for comment in comments([old]):
        if kept[comment.value]:
            kept[comment.value] -= 1
        elif without_directives(comment.value):
            gone.append(comment.deep_clone())  # a new node, since the comment moves
    return gone


def beside(statement: Line, gone: Sequence[cst.Comment]) -> Line:
    """Return the statement with comments from inside it: a single one at the end of its line, else on lines above."""
    if isinstance(statement, cst.SimpleStatementLine) and len(gone) == 1:
        trailing = statement.trailing_whitespace
        if trailing.comment is None and not is_broken(cst.Module([]).code_for_node(statement).strip()):
            space = cst.SimpleWhitespace("  ")
            return statement.with_changes(
                trailing_whitespace=trailing.with_changes(whitespace=space, comment=gone[0])
            )
    return statement.with_changes(leading_lines=[*statement.leading_lines, *on_lines(gone)])


def on_lines(gone: Iterable[cst.Comment]) -> list[cst.EmptyLine]:
    """Return the comments on lines of their own."""
    return [cst.EmptyLine(comment=comment) for comment in gone]
