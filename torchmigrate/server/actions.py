"""The code actions for the findings of a document: their fixes, and comments that suppress them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from torchmigrate.adoption.ignore_comments import IgnoreComment, add_ignore_comments
from torchmigrate.model.findings import FileResult, Finding, Span
from torchmigrate.model.vocabulary import Safety
from torchmigrate.project import file_search
from torchmigrate.server.open_documents import Document, Edits, TextDocument
from torchmigrate.server.open_project import OpenProject
from torchmigrate.server.positions import Encoding, Range
from torchmigrate.server.workspace import Diagnostic, Documents, Workspace, collect_contents, pair_diagnostics
from torchmigrate.text.source_text import SourceError, SourceText


class ActionRequest(NamedTuple):
    """What an action does, as values that travel to the editor and back."""

    kind: str
    """``fix`` or ``silence`` for one finding, or ``all`` for everything that `torchmigrate fix` would do to the file."""
    code: str = ""
    start: int = 0
    end: int = 0

    @classmethod
    def from_finding(cls, kind: str, finding: Finding) -> ActionRequest:
        """Return the request to do something about a finding."""
        span = finding.span or Span(0, 0)
        return cls(kind, finding.code, span.start, span.end)

    def matches(self, finding: Finding) -> bool:
        """Return whether the request is about that finding."""
        return finding.code == self.code and finding.span == (self.start, self.end)


class Action(NamedTuple):
    """One entry of the editor's list of code actions."""

    title: str
    todo: ActionRequest
    diagnostic: Diagnostic | None = None
    """The diagnostic that the action resolves, if there is a single one."""
    preferred: bool = False
    """Whether most people want this action."""


class DocumentChange(NamedTuple):
    """The edits of one document."""

    document: Document
    edits: Edits


class Actions:
    """The code actions for the open documents of a workspace. ``name_of`` returns the URI of a file on the disk."""

    def __init__(self, workspace: Workspace, encoding: Encoding, name_of: Callable[[str], str]) -> None:
        self.encoding = encoding
        self._workspace = workspace
        self._name_of = name_of
        self._last: tuple[object, FileResult] = (None, FileResult(""))

    def list_actions(self, documents: Documents, place: str, text: str, where: Range) -> list[Action]:
        """Return the actions for the findings in a range of one text of a document. Raises ConfigError."""
        made: list[Action] = []
        for finding, diagnostic in self._find_diagnostics(documents, place):
            if diagnostic.text == text and diagnostic.range.touches(where):
                made += _list_for_finding(finding, diagnostic)
        return sorted(made, key=lambda action: action.todo.kind)

    def has_fixes(self, documents: Documents, place: str) -> bool:
        """Return whether `torchmigrate fix` would change the document. Raises ConfigError."""
        unsafe = self._workspace.get_project(place).get_settings(place).unsafe_fixes
        allowed = (Safety.SAFE, Safety.UNSAFE) if unsafe else (Safety.SAFE,)
        return any(
            one.fix is not None and one.fix.safety in allowed
            for one, _ in self._find_diagnostics(documents, place)
        )

    def perform(self, documents: Documents, place: str, todo: ActionRequest) -> list[DocumentChange]:
        """Return the changes that an action makes, or none if it has become impossible. Raises ConfigError."""
        project = self._workspace.get_project(place)
        if todo.kind == "all":
            return self._build_changes(documents, project.fix_files(collect_contents(documents), [place]))
        found = next((one for one, _ in self._find_diagnostics(documents, place) if todo.matches(one)), None)
        if found is None:
            return []
        if todo.kind == "silence":
            return self._build_changes(documents, _add_suppression(project, documents, place, found))
        if found.fix is None:
            return []
        unsafe = found.fix.safety is Safety.UNSAFE
        places = project.add_partners([place]) if found.fix.joint else [place]
        return self._build_changes(
            documents,
            project.fix_files(collect_contents(documents), places, _choose_only(found), unsafe=unsafe),
        )

    def find_codes(self, documents: Documents, place: str, text: str, where: Range) -> list[str]:
        """Return the codes of the rules with findings in a range. Raises ConfigError."""
        result = (
            self._workspace.get_project(place).check_files(collect_contents(documents), [place]).get(place)
        )
        shown = pair_diagnostics(documents[place], result) if result is not None else ()
        found = (one.code for _, one in shown if one.text == text and one.range.touches(where))
        return [code for code in dict.fromkeys(found) if code is not None]

    def _find_diagnostics(self, documents: Documents, place: str) -> Iterator[tuple[Finding, Diagnostic]]:
        """Yield the findings with the edits of their fixes; the last result is reused while nothing changes."""
        state = (place, documents, self._workspace.generation)
        if self._last[0] != state:
            result = (
                self._workspace.get_project(place)
                .check_files(collect_contents(documents), [place], edits=True)
                .get(place)
            )
            self._last = (state, result or FileResult(place))
        return pair_diagnostics(documents[place], self._last[1])

    def _build_changes(self, documents: Documents, contents: Mapping[str, bytes]) -> list[DocumentChange]:
        made = []
        for place, after in contents.items():
            document = documents.get(place)
            if document is None:
                source, fixed = (
                    SourceText.decode_source(place, file_search.read_file(place)),
                    SourceText.decode_source(place, after),
                )
                document = TextDocument(self._name_of(place), None, source.text.decode(), self.encoding)
                after = fixed.text.decode().encode(document.codec)
            made.append(DocumentChange(document, document.build_edits(after)))
        return made


def _list_for_finding(finding: Finding, diagnostic: Diagnostic) -> Iterator[Action]:
    fix = finding.fix
    if fix is not None and fix.safety is Safety.SAFE:
        yield Action(fix.title, ActionRequest.from_finding("fix", finding), diagnostic, preferred=True)
    elif fix is not None and fix.safety is Safety.UNSAFE:
        yield Action(f"{fix.title} (unsafe)", ActionRequest.from_finding("fix", finding), diagnostic)
    if not finding.code.startswith("XX"):
        yield Action(
            f"Suppress {finding.code} here", ActionRequest.from_finding("silence", finding), diagnostic
        )


def _choose_only(wanted: Finding) -> Callable[[Finding], bool]:
    """Return a function that agrees to the fix of one finding, and to the other parts of a multi-file fix."""
    joint = wanted.fix.joint if wanted.fix is not None else None
    asked = False

    def choose(finding: Finding) -> bool:
        nonlocal asked
        if joint is not None:
            return finding.fix is not None and finding.fix.joint == joint
        if asked or (finding.code, finding.span) != (wanted.code, wanted.span):
            return False
        asked = True
        return True

    return choose


def _add_suppression(
    project: OpenProject, documents: Documents, place: str, finding: Finding
) -> dict[str, bytes]:
    """Return the content with a comment that suppresses a finding and has no other effect, or nothing if that is impossible."""
    before = project.check_files(collect_contents(documents), [place]).get(place)
    if before is None:
        return {}
    target, data = project.get_settings(place).target_version, documents[place].data
    try:
        after = add_ignore_comments(
            before.path, data, [finding], IgnoreComment(), target, whole_file=False
        ).data
    except SourceError:
        return {}
    result = project.try_texts({**collect_contents(documents), place: after}, place)
    if result is None or result.errors != before.errors or not _only_removes(result, before, finding.code):
        return {}
    return {place: after}


def _only_removes(after: FileResult, before: FileResult, code: str) -> bool:
    """Return whether findings of one rule are gone and all others are as before."""
    left, found = (Counter((one.code, one.message) for one in result.findings) for result in (after, before))
    return left < found and {gone for gone, _ in found - left} == {code}
