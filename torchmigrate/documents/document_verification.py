"""The proof that the edits of a project file changed what they cover and nothing else.

The file can still be read, its text outside of the edits is the same, and so is every reference that no edit touches:
its span, its value, and the unit that it is installed in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchmigrate.documents.project_documents import ProjectDocument, read_references
from torchmigrate.documents.references import Reference
from torchmigrate.model.findings import Edit, Span
from torchmigrate.proof.offset_map import OffsetMap
from torchmigrate.text.source_text import SourceError, SourceText
from torchmigrate.text.text_edits import VerifyError, apply_edits, sort_edits


def verify_document(before: ProjectDocument, after: ProjectDocument, edits: Iterable[Edit]) -> None:
    """Raise VerifyError unless ``after`` is ``before`` with ``edits`` applied, and no other reference changed."""
    edits = sort_edits(edits)
    same_encoding = (before.encoding, before.bom) == (after.encoding, after.bom)
    if after.text != apply_edits(before.text, edits) or not same_encoding:
        raise VerifyError("the edited file would not parse as intended")
    try:
        _compare_references(before, before.references, after.references, OffsetMap(before.text, edits))
    except SourceError as error:
        raise VerifyError(f"the result is malformed: {error.message}") from None


def verify_notebook_commands(before: SourceText, after: SourceText, edits: Iterable[Edit]) -> None:
    """Raise VerifyError unless the edits of a notebook's commands change only those. Raises SourceError if it is malformed."""
    edits = sort_edits(edits)
    if after.original != apply_edits(before.original, edits):
        raise VerifyError("the edited file would not parse as intended")
    if ast.dump(before.syntax_tree) != ast.dump(after.syntax_tree):
        raise VerifyError("an edit of a command changes the program")
    _compare_references(
        before, read_references(before), read_references(after), OffsetMap(before.original, edits)
    )


def _compare_references(
    before: SourceText, references: list[Reference], after: list[Reference], shift: OffsetMap
) -> None:
    """Raise VerifyError where a reference that no edit touches is lost, changed, or in another unit."""
    new = {(r.span, r.sort): r for r in after}
    units: dict[int, int] = {}
    for old in references:
        if any(_touches(edit, old) for edit in shift.old):
            continue
        found = new.get((shift.map_span(old.span), old.sort))
        if found is None or not _is_same_reference(old, found):
            location = before.locate_span(old.span)
            name = old.name or old.text
            raise VerifyError(f"an edit also changes `{name}`", location.line, location.column)
        # What was installed together stays together: an edit must not split a command.
        if units.setdefault(id(old.unit), id(found.unit)) != id(found.unit):
            raise VerifyError(f"an edit separates `{old.name or old.text}` from its command")


def _touches(edited: Span, reference: Reference) -> bool:
    """Return whether an edit changes a reference: a part of it, or its end, as in ``6.0`` → ``6.0.1``."""
    span = reference.span
    extends = edited.start == edited.end == span.end
    return extends or (edited.start < span.end and span.start < edited.end)


def _is_same_reference(old: Reference, new: Reference) -> bool:
    same = (old.name, old.style, old.undecided) == (new.name, new.style, new.undecided)
    return same and bool(old.option) == bool(new.option)
