"""Our walks see what those of `ast` see."""

from __future__ import annotations

import ast
from pathlib import Path

from torchmigrate.semantics import nodes


def seen(found: list[ast.AST]) -> list[ast.AST]:
    return [node for node in found if not isinstance(node, ast.expr_context)]


def test_everything_but_contexts_is_walked_in_the_order_of_ast() -> None:
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    expected = {child: node for node in ast.walk(tree) for child in seen(list(ast.iter_child_nodes(node)))}
    assert list(nodes.walk(tree)) == seen(list(ast.walk(tree)))
    assert list(nodes.parents(tree).items()) == list(expected.items())
    assert all(nodes.children(node) == seen(list(ast.iter_child_nodes(node))) for node in ast.walk(tree))
