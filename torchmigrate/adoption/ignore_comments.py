"""The writing of suppression comments for findings.

A comment goes to the statement of its finding. Where no comment is possible (a block in YAML, a Makefile), a comment at
the end of the file covers the whole file. Every file is parsed again and compared: only comments may have changed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torchmigrate.adoption.comment_places import CommentPlaces
from torchmigrate.model.findings import Edit, Finding, Span
from torchmigrate.model.torch_versions import Version, render_version
from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.prefilter.project_file_kinds import is_document
from torchmigrate.text.source_text import SourceError
from torchmigrate.text.text_edits import VerifyError

NO_PLACE = "no comment is possible here; use `per-file-ignores`"


@dataclass(frozen=True)
class IgnoreComment:
    """The text of the comments besides the codes. Raises ValueError for a reason that no comment can contain."""

    reason: str = ""
    until: Version | None = None

    def __post_init__(self) -> None:
        if not self.reason.isprintable() or "-->" in self.reason or re.search(r"\s#", f" {self.reason}"):
            raise ValueError("a reason must be a single line without ` #` or `-->`")

    def render_comment(self, codes: Iterable[str], *, whole_file: bool = False) -> str:
        """Render the comment for some codes."""
        parts = [f"# torchmigrate: ignore{'-file' if whole_file else ''}", ", ".join(sorted(codes))]
        if self.until is not None:
            parts.append(f"until {render_version(self.until)}")
        if self.reason:
            parts.append(f"-- {self.reason}")
        return " ".join(parts)


@dataclass
class IgnoreResult:
    """The result of adding comments to one file."""

    data: bytes
    """The new content of the file."""
    silenced: list[Finding] = field(default_factory=list)
    whole_file: list[str] = field(default_factory=list)
    """The codes that are ignored in the whole file."""
    left: list[Finding] = field(default_factory=list)
    """The findings that no comment can suppress."""


def add_ignore_comments(
    path: str,
    data: bytes,
    findings: Sequence[Finding],
    ignore: IgnoreComment,
    target: Version,
    *,
    whole_file: bool = True,
) -> IgnoreResult:
    """Add comments to the file at ``path`` that suppress ``findings``. Raises SourceError if it cannot be read.

    Findings without a place for a comment are left, unless ``whole_file`` allows ignoring their codes in the file.
    """
    places = find_comment_places(path, data)
    groups: dict[Span, list[Finding]] = {}
    done = IgnoreResult(data)
    starts = [statement.start for statement in places.statements]
    for finding in findings:
        if finding.span is None:
            done.left.append(finding)
            continue
        for span in (finding.span, *finding.further):
            at = bisect_right(starts, span.start) - 1
            one = finding._replace(span=span, further=())
            if at < 0:
                done.left.append(one)
            else:
                groups.setdefault(places.statements[at], []).append(one)
    edits = _prove_edits(places, groups, ignore, target)
    for statement, group in groups.items():
        (done.silenced if statement in edits else done.left).extend(group)
    made = list(edits.values())
    if done.left and whole_file:
        made += _ignore_whole_file(places, made, done, ignore)
    done.data = places.source.apply_edits(made) if made else data
    return done


def _prove_edits(
    places: CommentPlaces, groups: Mapping[Span, Sequence[Finding]], ignore: IgnoreComment, target: Version
) -> dict[Span, Edit]:
    """Return the edits that suppress findings, by statement, as far as they provably change only comments."""
    candidates = ((span, _build_edit(places, span, group, ignore, target)) for span, group in groups.items())
    edits = {statement: edit for statement, edit in candidates if edit is not None}
    if _are_comments_only(places, list(edits.values())):
        return edits
    proved: dict[Span, Edit] = {}
    for statement, edit in edits.items():
        if _are_comments_only(places, [*proved.values(), edit]):
            proved[statement] = edit
    return proved


def find_comment_places(path: str, data: bytes) -> CommentPlaces:
    """Return the comment places in the file at ``path`` with the content ``data``. Raises SourceError."""
    if is_document(path):
        from torchmigrate.adoption.document_comments import DocumentCommentPlaces

        return DocumentCommentPlaces.from_bytes(path, data)
    if language_of(path) is not None:
        from torchmigrate.adoption.foreign_comments import ForeignCommentPlaces

        return ForeignCommentPlaces.from_bytes(path, data)
    from torchmigrate.adoption.module_comments import ModuleCommentPlaces

    return ModuleCommentPlaces.from_bytes(path, data)


def _build_edit(
    places: CommentPlaces,
    statement: Span,
    group: Sequence[Finding],
    ignore: IgnoreComment,
    target: Version,
) -> Edit | None:
    """Return the edit that suppresses findings in a statement: more codes in an existing comment, or a new one."""
    codes = {finding.code for finding in group}
    for one in places.directives:
        if (
            one.covers == statement
            and one.codes
            and one.until == ignore.until
            and not one.has_expired(target)
        ):
            return Edit(one.codes_span.start, one.codes_span.end, ", ".join(sorted({*one.codes, *codes})))
    offset = min(finding.span.start for finding in group if finding.span is not None)
    return places.comment_statement(statement, offset, ignore.render_comment(codes))


def _ignore_whole_file(
    places: CommentPlaces, edits: list[Edit], done: IgnoreResult, ignore: IgnoreComment
) -> list[Edit]:
    """Return the edit that adds a comment for the whole file, if such a file can end with one."""
    codes = sorted({finding.code for finding in done.left})
    edit = places.comment_file(ignore.render_comment(codes, whole_file=True))
    if edit is None or not _are_comments_only(places, [*edits, edit]):
        return []
    done.silenced += done.left
    done.whole_file, done.left = codes, []
    return [edit]


def _are_comments_only(places: CommentPlaces, edits: list[Edit]) -> bool:
    try:
        places.prove_edits(edits)
    except (VerifyError, SourceError):
        return False
    return True
