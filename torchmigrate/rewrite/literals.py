"""String literals whose text changes, with the quotes and prefixes that they have."""

from __future__ import annotations

import re

import libcst as cst

from torchmigrate.model.findings import NoFix

_SUFFIX = re.compile(r"\.\w+\Z")


def with_suffix(node: cst.BaseString, suffix: str) -> cst.BaseString:
    """The literal, which ends with the name of a file, with another suffix of that file. Raises NoFix."""
    if isinstance(node, cst.SimpleString):
        text = node.raw_value
        if not _SUFFIX.search(text):
            raise NoFix(f"`{node.value}` does not end with the suffix of a file")
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
    raise NoFix("the name of the file does not end in the literal itself")
