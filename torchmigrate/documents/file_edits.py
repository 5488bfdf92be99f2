"""The edits of one file: made as small as possible, merged, and checked against the rest of the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.documents.references import Reference
from torchmigrate.documents.requirement_lists import find_logical_lines
from torchmigrate.documents.shell_quoting import quote_redirections
from torchmigrate.documents.version_clauses import VersionClause
from torchmigrate.model.findings import Edit, NoFix, Span
from torchmigrate.prefilter.project_file_kinds import kind_of
from torchmigrate.text.source_text import SourceText

_DECLARING = re.compile(r"(?:&&|\|\||[;]|^|RUN)[ \t@]*(?:ARG|LABEL|echo|printf)\b[^;&|]*\Z|(?:^|\s)#")
"""The text before a variable that is only declared, printed or mentioned in a comment."""


def merge_edits(collected: Iterable[Edit], source: SourceText) -> tuple[Edit, ...]:
    """Merge the edits of one file. Raises NoFix where two contradict each other, or a comment forbids one."""
    # A pin and its index may be made of one variable, so that several references ask for the same edit.
    text = source.original
    small = dict.fromkeys(sorted(_shrink_edit(_quote_number(edit, source), text) for edit in collected))
    edits = tuple(quote_redirections(small, source))
    if any(after.start < before.end for before, after in pairwise(edits)):
        raise NoFix("two of the edits contradict each other")
    if any(span.start <= edit.start < span.end for span in _find_ignored_lines(source) for edit in edits):
        raise NoFix("a line that would have to change too is marked with `torchmigrate: ignore`")
    return edits


def _quote_number(edit: Edit, source: SourceText) -> Edit:
    """Return an edit with quotes around a version that is a whole value in YAML: without them, ``3.10`` is the number 3.1."""
    text = source.original
    before = _NUMBER_BEGINS.search(text, max(0, edit.start - 80), edit.start)
    after = _NUMBER_ENDS.match(text, edit.end)
    if not source.path.endswith((".yml", ".yaml")) or before is None or after is None:
        return edit
    number = f"{before[1].decode()}{edit.text}{after[1].decode()}"
    if not re.fullmatch(r"\d+\.\d*0", number):
        return edit
    return Edit(before.start(1), after.end(1), f'"{number}"')


_NUMBER_BEGINS = re.compile(rb"(?:[:,-][ \t]+|\[[ \t]*)([\d.]*)\Z")
_NUMBER_ENDS = re.compile(rb"([\d.]*)[ \t]*(?:[],\r\n]|#|\Z)")


def _shrink_edit(edit: Edit, text: bytes) -> Edit:
    """Return an edit without the text that it leaves as it is, so that edits with the same effect are equal."""
    old, new = text[edit.start : edit.end].decode("latin-1"), edit.text
    front = _count_common(old, new)
    back = _count_common(old[front:][::-1], new[front:][::-1])
    return Edit(edit.start + front, edit.end - back, new[front : len(new) - back])


def _count_common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def _find_ignored_lines(source: SourceText) -> Iterator[Span]:
    """Yield the lines that a comment, at their end or on the line before, tells torchmigrate to ignore."""
    if b"torchmigrate: ignore" not in source.original:
        return
    pending = False
    for line in find_logical_lines(source.original.decode("latin-1")):
        text = source.original[line.start : line.end]
        marked = b"torchmigrate: ignore" in text
        if text.lstrip().startswith(b"#"):
            pending = pending or marked
            continue
        if marked or pending:
            yield line
        pending = False


def check_variable_uses(document: ProjectDocument, edits: Iterable[Edit]) -> None:
    """Raise NoFix for an edit of a variable that the file also uses for something other than torch."""
    for edit in edits:
        for span, name in document.definitions.items():
            if not (span.start <= edit.start and edit.end <= span.end):
                continue
            is_command = re.search(r"\s", document.byte_view[span.start : span.end])
            if not is_command and (use := _find_other_use(document, name)):
                raise NoFix(f"`{name}` is used for more than torch: `{use}`")


def _find_other_use(document: ProjectDocument, name: str) -> str:
    """Return a line that uses a variable outside of the file's references; empty if there is none."""
    view = document.byte_view
    spans = [one.span for one in document.references]
    for match in re.finditer(rf"[$%][({{]*\s*(?:[\w.]+[.:])?{re.escape(name)}(?!\w)", view):
        start = view.rfind("\n", 0, match.start()) + 1
        before, after = view[start : match.start()], view[match.end() : match.end() + 20]
        is_set = re.match(r"\s*=", after) or re.search(rf"(?<!\w){re.escape(name)}\s*[:?]?=\s*\S*\Z", before)
        if is_set or _DECLARING.search(before):
            continue
        if not any(span.start <= match.start() < span.end for span in spans):
            return view[start : (view + "\n").index("\n", match.start())].strip()[:80]
    return ""


def create_version_edit(reference: Reference, clause: VersionClause, version: str) -> Edit:
    """Return the edit that replaces the version of one condition. Raises NoFix where that is not possible."""
    if reference.fixed:
        raise NoFix(reference.fixed)
    if reference.several:
        raise NoFix(f"the file gives several values for the version of {reference.name}")
    edit = reference.value.create_edit(clause.start, clause.end, version)
    if edit is None:
        raise NoFix(f"the version of {reference.name} is assembled from several variables")
    return edit


def find_list_item(reference: Reference, source: SourceText) -> Span | None:
    """Return the line of a YAML list that consists of a requirement; None for any other."""
    text = source.original
    start = text.rfind(b"\n", 0, reference.span.start) + 1
    end = text.find(b"\n", reference.span.end) + 1
    is_item = re.fullmatch(rb"[ \t]*- *['\"]?", text[start : reference.span.start])
    whole = end and is_item and re.fullmatch(rb"['\"]?[ \t]*\r?\n", text[reference.span.end : end])
    return Span(start, end) if whole and kind_of(source.path) == "yaml" else None
