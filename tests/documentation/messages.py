"""Collect every sentence that the program can show, so that one reader can go through all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.documentation.declared import ROOT
from torchmigrate.tables.api_changes import ApiChangeKind, load_changes

LISTED = ROOT / "tests" / "documentation" / "messages.txt"
"""The generated list: a line with the path of each file, then its sentences, indented, in the order of the source."""

_SENTENCE = re.compile(r"[A-Za-z`}]{2,}[,;:]? (?:\S+ )*?[a-z`{]{2,}")
"""Two words beside each other, with or without others between them."""
_CODE = frozenset(
    {"compile", "template", "replace", "Replace", "search", "sub", "findall", "match", "fullmatch", "split"}
)
"""Functions whose arguments are regular expressions or Python code, and no prose."""


def collect_messages() -> str:
    """Return the text of the list: all sentences of the sources of the program, its rules, and its tables."""
    paths = [path for top in ("torchmigrate", "rules") for path in sorted((ROOT / top).rglob("*.py"))]
    parts = []
    for path in paths:
        sentences = list(dict.fromkeys(find_sentences(path.read_text("utf-8"))))
        if sentences:
            lines = "\n".join(f"    {sentence}" for sentence in sentences)
            parts.append(f"{path.relative_to(ROOT).as_posix()}\n{lines}\n")
    return "\n".join([*parts, _collect_ledger()])


def _collect_ledger() -> str:
    """Return the part of the list with what the ledger advises, each piece of advice once."""
    found = (change for kind in ApiChangeKind for change in load_changes(kind))
    advice = dict.fromkeys(f"    {change.instead}" for change in found if change.instead)
    return "\n".join(["torchmigrate/tables/data/changes.toml", *advice, ""])


def find_sentences(source: str) -> Iterator[str]:
    """Yield the string literals of a module that are prose, in order; ``{x}`` stands where a value is put in.

    Docstrings, regular expressions and literals that parse as Python code are left out.
    """
    tree = ast.parse(source)
    skipped = {id(node) for node in _find_documentation(tree)}
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if id(node) in skipped:
            continue
        text = _render_literal(node)
        if text is not None and _SENTENCE.search(text) and not _is_code(text):
            yield " ".join(text.split())
        is_code = isinstance(node, ast.Call) and _name_of(node.func) in _CODE
        children = [] if text is not None or is_code else list(ast.iter_child_nodes(node))
        pending.extend(reversed(children))


def _find_documentation(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the literals that are statements of their own: docstrings of definitions and of variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _render_literal(node: ast.AST) -> str | None:
    """Return the text of a string literal or f-string, and None for any other node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    values = (
        part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
        for part in node.values
        if isinstance(part, (ast.Constant, ast.FormattedValue))
    )
    return "".join(str(value) for value in values)


def _is_code(text: str) -> bool:
    if re.search(r"\\[wbsSd]|\(\?", text):
        return True
    try:
        ast.parse(text.strip())
    except (SyntaxError, ValueError):
        return False
    return True
