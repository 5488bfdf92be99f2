"""Variables that a move sets to another value: all that is made of one has to move with it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchmigrate.documents.document import Document
from torchmigrate.model.findings import Edit, NoFix

_SAID = re.compile(r"(?:&&|\|\||[;]|^|RUN)[ \t@]*(?:ARG|LABEL|echo|printf)\b[^;&|]*\Z|(?:^|\s)#")
"""What stands before a variable that is only declared, or said."""


def check_variables(document: Document, edits: Iterable[Edit]) -> None:
    """Raises NoFix where an edit sets a variable from which the file makes more than what is known to move."""
    definitions = document.definitions
    for edit in edits:
        for span, name in definitions.items():
            if not (span.start <= edit.start and edit.end <= span.end):
                continue
            is_command = re.search(r"\s", document.view[span.start : span.end])
            if not is_command and (use := _other_use(document, name)):
                raise NoFix(f"`{name}` is used for more than torch: `{use}`")


def _other_use(document: Document, name: str) -> str:
    """A line in which a variable stands outside of what is read; empty if there is none."""
    view = document.view
    spans = [one.span for one in document.references]
    for match in re.finditer(rf"[$%][({{]*\s*(?:[\w.]+[.:])?{re.escape(name)}(?!\w)", view):
        start = view.rfind("\n", 0, match.start()) + 1
        before, after = view[start : match.start()], view[match.end() : match.end() + 20]
        is_set = re.match(r"\s*=", after) or re.search(rf"(?<!\w){re.escape(name)}\s*[:?]?=\s*\S*\Z", before)
        if is_set or _SAID.search(before):
            continue
        if not any(span.start <= match.start() < span.end for span in spans):
            return view[start : (view + "\n").index("\n", match.start())].strip()[:80]
    return ""
