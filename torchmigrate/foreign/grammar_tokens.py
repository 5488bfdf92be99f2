"""The tokens of a source by its grammar: words and marks, and strings with their values, without comments.

Names are looked for among tokens and not in the tree: Objective-C++, CUDA and macros leave errors in a tree, of which
the tokens are right all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.foreign.grammars import get_parser

if TYPE_CHECKING:
    from tree_sitter import Node

WORD, STRING, MARK = "word", "string", "mark"

_STRINGS = frozenset(
    {
        *("string_literal", "raw_string_literal", "system_lib_string", "char_literal", "character_literal"),
        *("line_string_literal", "multi_line_string_literal", "interpreted_string_literal", "multiline_string_literal"),
        *("verbatim_string_literal", "interpolated_string_expression", "rune_literal"),
    }
)  # fmt: skip
_INCLUDED = re.compile(rb"\s*(<[^>\n]+>|\"[^\"\n]+\")")
_IN_MACROS = (b"torch", b"jit", b"AT_", b"THC", b".type()", b".data<")
"""Texts of which a macro has one if it may use torch."""
_WORD = re.compile(r"[^\W\d]\w*")


class ForeignToken(NamedTuple):
    """One token; the text of a string is its value, without quotes. Offsets are in bytes."""

    kind: str
    text: str
    start: int
    end: int


def tokenize_source(language: str, text: bytes) -> list[ForeignToken]:
    """Return the tokens of ``text`` in order. Raises NoGrammar."""
    return list(_walk_tokens(language, text, 0))


def _walk_tokens(language: str, text: bytes, offset: int) -> Iterator[ForeignToken]:
    parser = get_parser(language)
    stack = [parser.parse(text).root_node]
    while stack:
        node = stack.pop()
        kind = node.type
        if "comment" in kind:
            continue
        if kind == "preproc_arg":  # the grammar does not look into macros
            yield from _read_macro(language, node, offset)
        elif kind in _STRINGS:
            # What is around the value: quotes of any kind, prefixes like `R` or `@`, and the marks of raw strings.
            value = re.sub(r"^[\w@$]*[\"'<(#`]+|[\"'>)#`]+$", "", _node_text(node))
            yield ForeignToken(STRING, value, node.start_byte + offset, node.end_byte + offset)
            stack.extend(reversed([child for child in node.children if "interpol" in child.type]))
        elif node.child_count:
            stack.extend(reversed(node.children))
        else:
            word = _node_text(node)
            if word:
                which = WORD if _WORD.fullmatch(word) else MARK
                yield ForeignToken(which, word, node.start_byte + offset, node.end_byte + offset)


def _read_macro(language: str, node: Node, offset: int) -> Iterator[ForeignToken]:
    text = node.text or b""
    if included := _INCLUDED.match(text):  # of an #import
        start, path = node.start_byte + offset, included[1].decode("utf-8", "replace")[1:-1]
        yield ForeignToken(STRING, path, start + included.start(1), start + included.end(1))
    elif any(word in text for word in _IN_MACROS):
        yield from _walk_tokens(language, text, node.start_byte + offset)


def _node_text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def find_arguments(found: Sequence[ForeignToken], opening: int) -> Sequence[ForeignToken]:
    """Return the tokens between the bracket at ``opening`` and the one that closes it."""
    depth = 0
    for index in range(opening, len(found)):
        mark = found[index].text if found[index].kind == MARK else ""
        depth += (mark in ("(", "{", "[")) - (mark in (")", "}", "]"))
        if depth <= 0:
            return found[opening + 1 : index]
    return found[opening + 1 :]


def count_arguments(arguments: Sequence[ForeignToken]) -> int:
    """Return how many arguments the tokens between a call's brackets are."""
    depth = commas = 0
    for mark in (token.text for token in arguments if token.kind == MARK):
        depth += (mark in ("(", "{", "[")) - (mark in (")", "}", "]"))
        commas += mark == "," and depth == 0
    return commas + bool(arguments)
