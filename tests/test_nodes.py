"""Our walks see what those of `ast` see."""

from __future__ import annotations

import ast
from pathlib import Path

from torchmigrate.semantics import node_walks
from torchmigrate.semantics.parent_nodes import ParentMap


def seen(found: list[ast.AST]) -> list[ast.AST]:
    return [node for node in found if not isinstance(node, ast.expr_context)]


def test_everything_but_contexts_is_walked_in_the_order_of_ast() -> None:
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    expected = {child: node for node in ast.walk(tree) for child in seen(list(ast.iter_child_nodes(node)))}
    assert list(node_walks.walk_nodes(tree)) == seen(list(ast.walk(tree)))
    assert list(node_walks.map_parents(tree).items()) == list(expected.items())
    assert list(ParentMap(tree).items()) == list(expected.items())
    assert all(
        node_walks.iterate_children(node) == seen(list(ast.iter_child_nodes(node))) for node in ast.walk(tree)
    )


PIECES = b"""\
"a docstring"; import os; import sys as system
@decorated(lambda x: x)
class C(Base, key=[one for one in two]):
    a = 1; b = 2

    @other
    def f(self, *names: int) -> None:
        with open(name) as stream, f"{stream!r} {name}":
            match names:
                case [1, *rest]: pass
text = \"\"\"
\"\"\"; more = text
"""


def test_the_parent_of_each_node_is_known_whichever_is_asked_for_first() -> None:
    tree = ast.parse(PIECES)
    expected = node_walks.map_parents(tree)
    for node, parent in expected.items():
        assert ParentMap(tree)[node] is ParentMap(tree).get(node) is parent
    assert tree not in ParentMap(tree)
    assert ParentMap(tree).get(ast.Name("x")) is None


def test_what_stands_around_a_node_is_worked_out_for_its_part_of_the_file_only() -> None:
    tree = ast.parse("class C:\n    def f(self):\n        g()\n\n    def h(self):\n        i()\n")
    (definition,) = tree.body
    assert isinstance(definition, ast.ClassDef)
    called, other = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    parents = ParentMap(tree)
    node: ast.AST | None = called
    while node is not None:
        node = parents.get(node)
    assert called in parents._known
    assert other not in parents._known
