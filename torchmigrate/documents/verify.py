"""The proof that the edits of a project file changed what they cover and nothing else.

The file can still be read, its text outside of the edits is the same, and so is every reference that no edit touches:
its span, its value, and the unit that it is installed in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchmigrate.documents.document import Document, references_of
from torchmigrate.documents.references import Reference
from torchmigrate.model.findings import Edit
from torchmigrate.proof.offsets import Shift
from torchmigrate.text.edits import VerifyError, apply, ordered
from torchmigrate.text.source import Source, SourceError


def verify(before: Document, after: Document, edits: Iterable[Edit]) -> None:
    """Raise VerifyError unless ``after`` is ``before`` with ``edits`` applied, and no other reference changed."""
    edits = ordered(edits)
    same_encoding = (before.encoding, before.bom) == (after.encoding, after.bom)
    if after.text != apply(before.text, edits) or not same_encoding:
        raise VerifyError("the file does not read back as intended")
    try:
        _compare(before, before.references, after.references, Shift(before.text, edits))
    except SourceError as error:
        raise VerifyError(f"the result is malformed: {error.message}") from None


def verify_commands(before: Source, after: Source, edits: Iterable[Edit]) -> None:
    """Raise VerifyError unless the edits of a notebook's commands change only those. Raises SourceError if it is malformed."""
    edits = ordered(edits)
    if after.original != apply(before.original, edits):
        raise VerifyError("the file does not read back as intended")
    if ast.dump(before.tree) != ast.dump(after.tree):
        raise VerifyError("an edit of a command changes the program")
    _compare(before, references_of(before), references_of(after), Shift(before.original, edits))


def _compare(before: Source, references: list[Reference], after: list[Reference], shift: Shift) -> None:
    """Raise VerifyError where a reference that no edit touches is lost, changed, or in another unit."""
    new = {(r.span, r.sort): r for r in after}
    units: dict[int, int] = {}
    for old in references:
        if any(edit.start < old.span.end and old.span.start < edit.end for edit in shift.old):
            continue
        found = new.get((shift.moved(old.span), old.sort))
        if found is None or not _same(old, found):
            location = before.location(old.span)
            name = old.name or old.text
            raise VerifyError(f"an edit also changes `{name}`", location.line, location.column)
        # What was installed together stays together: an edit must not split a command.
        if units.setdefault(id(old.unit), id(found.unit)) != id(found.unit):
            raise VerifyError(f"an edit separates `{old.name or old.text}` from its command")


def _same(old: Reference, new: Reference) -> bool:
    same = (old.name, old.style, old.undecided) == (new.name, new.style, new.undecided)
    return same and bool(old.option) == bool(new.option)
