"""Changes of the text in libcst string literals, which keep their quotes and prefixes."""

from __future__ import annotations

import re

import libcst as cst

from torchmigrate.model.findings import NoFix

_SUFFIX = re.compile(r"\.\w+\Z")


def with_text(node: cst.BaseString, old: str, text: str) -> cst.BaseString:
    """Return the literal with ``old``, which its source contains once, replaced with ``text``. Raises NoFix."""
    if isinstance(node, cst.SimpleString) and node.value.count(old) == 1:
        return node.with_changes(value=node.value.replace(old, text))
    if isinstance(node, cst.ConcatenatedString):
        left = isinstance(node.left, cst.SimpleString) and old in node.left.value
        part = (
            {"left": with_text(node.left, old, text)} if left else {"right": with_text(node.right, old, text)}
        )
        return node.with_changes(**part)
    raise NoFix(f"the literal does not contain `{old}` exactly once")


def with_suffix(node: cst.BaseString, suffix: str) -> cst.BaseString:
    """Return the literal, which ends with a file name, with another suffix of that file. Raises NoFix."""
    if isinstance(node, cst.SimpleString):
        text = node.raw_value
        if not _SUFFIX.search(text):
            raise NoFix(f"`{node.value}` does not end with a file suffix")
        renamed = node.prefix + node.quote + _SUFFIX.sub(suffix, text) + node.quote
        return node.with_changes(value=renamed)
    if isinstance(node, cst.FormattedString) and node.parts:
        *others, last = node.parts
        if isinstance(last, cst.FormattedStringText) and _SUFFIX.search(last.value):
            return node.with_changes(
                parts=[*others, last.with_changes(value=_SUFFIX.sub(suffix, last.value))]
            )
    elif isinstance(node, cst.ConcatenatedString):
        return node.with_changes(right=with_suffix(node.right, suffix))
    raise NoFix("the literal does not contain the end of the file name")
