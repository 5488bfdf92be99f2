"""The writing of suppression comments for findings.

A comment goes to the statement of its finding. Where no comment is possible (a block in YAML, a Makefile), a comment at
the end of the file covers the whole file. Every file is parsed again and compared: only comments may have changed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torchmigrate.adoption.places import Places
from torchmigrate.gates.kinds import is_document
from torchmigrate.gates.languages import language_of
from torchmigrate.model.findings import Edit, Finding, Span
from torchmigrate.model.versions import Version, render
from torchmigrate.text.edits import VerifyError
from torchmigrate.text.source import SourceError

NO_PLACE = "no comment is possible there; use `per-file-ignores`"


@dataclass(frozen=True)
class Ignore:
    """The text of the comments besides the codes. Raises ValueError for a reason that no comment can contain."""

    reason: str = ""
    until: Version | None = None

    def __post_init__(self) -> None:
        if not self.reason.isprintable() or "-->" in self.reason or re.search(r"\s#", f" {self.reason}"):
            raise ValueError("a reason has to be one line without ` #` and `-->`")

    def text(self, codes: Iterable[str], *, whole_file: bool = False) -> str:
        """Render the comment for some codes."""
        parts = [f"# torchmigrate: ignore{'-file' if whole_file else ''}", ", ".join(sorted(codes))]
        if self.until is not None:
            parts.append(f"until {render(self.until)}")
        if self.reason:
            parts.append(f"-- {self.reason}")
        return " ".join(parts)


@dataclass
class Ignoring:
    """The result of adding comments to one file."""

    data: bytes
    """The new content of the file."""
    silenced: list[Finding] = field(default_factory=list)
    whole_file: list[str] = field(default_factory=list)
    """The codes that are ignored in the whole file."""
    left: list[Finding] = field(default_factory=list)
    """The findings that no comment can suppress."""


def ignoring(
    path: str,
    data: bytes,
    findings: Sequence[Finding],
    ignore: Ignore,
    target: Version,
    *,
    whole_file: bool = True,
) -> Ignoring:
    """Add comments to the file at ``path`` that suppress ``findings``. Raises SourceError if it cannot be read.

    Findings without a place for a comment are left, unless ``whole_file`` allows ignoring their codes in the file.
    """
    places = places_of(path, data)
    groups: dict[Span, list[Finding]] = {}
    done = Ignoring(data)
    starts = [statement.start for statement in places.statements]
    for finding in findings:
        at = bisect_right(starts, finding.span.start) - 1 if finding.span is not None else -1
        if at < 0:
            done.left.append(finding)
        else:
            groups.setdefault(places.statements[at], []).append(finding)
    edits = _proved_edits(places, groups, ignore, target)
    for statement, group in groups.items():
        (done.silenced if statement in edits else done.left).extend(group)
    made = list(edits.values())
    if done.left and whole_file:
        made += _whole_file(places, made, done, ignore)
    done.data = places.source.replaced(made) if made else data
    return done


def _proved_edits(
    places: Places, groups: Mapping[Span, Sequence[Finding]], ignore: Ignore, target: Version
) -> dict[Span, Edit]:
    """Return the edits that suppress findings, by statement, as far as they provably change only comments."""
    candidates = ((span, _edit(places, span, group, ignore, target)) for span, group in groups.items())
    edits = {statement: edit for statement, edit in candidates if edit is not None}
    if _are_proved(places, list(edits.values())):
        return edits
    proved: dict[Span, Edit] = {}
    for statement, edit in edits.items():
        if _are_proved(places, [*proved.values(), edit]):
            proved[statement] = edit
    return proved


def places_of(path: str, data: bytes) -> Places:
    """Return the comment places in the file at ``path`` with the content ``data``. Raises SourceError."""
    if is_document(path):
        from torchmigrate.adoption.in_documents import InDocument

        return InDocument.read(path, data)
    if language_of(path) is not None:
        from torchmigrate.adoption.in_languages import InLanguage

        return InLanguage.read(path, data)
    from torchmigrate.adoption.in_modules import InModule

    return InModule.read(path, data)


def _edit(
    places: Places,
    statement: Span,
    group: Sequence[Finding],
    ignore: Ignore,
    target: Version,
) -> Edit | None:
    """Return the edit that suppresses findings in a statement: more codes in an existing comment, or a new one."""
    codes = {finding.code for finding in group}
    for one in places.directives:
        if one.covers == statement and one.codes and one.until == ignore.until and not one.is_due(target):
            return Edit(one.codes_span.start, one.codes_span.end, ", ".join(sorted({*one.codes, *codes})))
    offset = min(finding.span.start for finding in group if finding.span is not None)
    return places.at_statement(statement, offset, ignore.text(codes))


def _whole_file(places: Places, edits: list[Edit], done: Ignoring, ignore: Ignore) -> list[Edit]:
    """Return the edit that adds a comment for the whole file, if such a file can end with one."""
    codes = sorted({finding.code for finding in done.left})
    edit = places.at_the_end(ignore.text(codes, whole_file=True))
    if edit is None or not _are_proved(places, [*edits, edit]):
        return []
    done.silenced += done.left
    done.whole_file, done.left = codes, []
    return [edit]


def _are_proved(places: Places, edits: list[Edit]) -> bool:
    try:
        places.prove(edits)
    except (VerifyError, SourceError):
        return False
    return True
