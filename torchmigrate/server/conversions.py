"""Conversions between the protocol's types and this package's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lsprotocol import types

from torchmigrate.model.vocabulary import Severity
from torchmigrate.server.actions import Action, ActionRequest, DocumentChange
from torchmigrate.server.open_documents import CellText, TextDocument
from torchmigrate.server.positions import Encoding, Position, Range
from torchmigrate.server.workspace import Diagnostic

SOURCE = "torchmigrate"
FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{SOURCE}"

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}


def parse_range(where: types.Range) -> Range:
    """Return a range that the editor has sent."""
    start, end = where.start, where.end
    return Range(Position(start.line, start.character), Position(end.line, end.character))


def render_diagnostic(one: Diagnostic) -> types.Diagnostic:
    """Return the diagnostic for the editor."""
    return types.Diagnostic(
        range=_render_range(one.range),
        message=one.message,
        severity=_SEVERITIES[one.severity],
        code=one.code,
        source=SOURCE,
    )


def render_action(one: Action, name: str, version: int | None) -> types.CodeAction:
    """Return the code action for the editor, without edits; ``name`` and ``version`` are the document's."""
    kind: str = FIX_ALL if one.todo.kind == "all" else types.CodeActionKind.QuickFix.value
    return types.CodeAction(
        title=one.title,
        kind=kind,
        diagnostics=[render_diagnostic(one.diagnostic)] if one.diagnostic else None,
        is_preferred=one.preferred or None,
        data={"name": name, "version": version, "todo": list(one.todo)},
    )


def parse_action(data: Any) -> tuple[str, int | None, ActionRequest]:
    """Return the document, its version and the request, as `render_action` has sent them. Raises ValueError for anything else."""
    try:
        return data["name"], data["version"], ActionRequest(*data["todo"])
    except (TypeError, LookupError) as error:
        raise ValueError(f"not an action of this server: {error}") from None


def render_edit(changes: Iterable[DocumentChange], *, versioned: bool) -> types.WorkspaceEdit:
    """Return the edits of several texts, with the versions of open ones if the editor supports that."""
    texts: dict[str, list[types.TextEdit]] = {}
    versions: dict[str, int | None] = {}
    for change in changes:
        for name, edits in change.edits.items():
            texts[name] = [
                types.TextEdit(range=_render_range(edit.range), new_text=edit.text) for edit in edits
            ]
            versions[name] = change.document.get_version(name)
    if not versioned:
        return types.WorkspaceEdit(changes=texts)
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(
                text_document=types.OptionalVersionedTextDocumentIdentifier(uri=name, version=versions[name]),
                edits=list(edits),
            )
            for name, edits in texts.items()
        ]
    )


def parse_changes(
    events: Sequence[types.TextDocumentContentChangeEvent],
) -> list[tuple[Range | None, str]]:
    """Return the ranges and texts of an incremental change; a range of None is the whole text."""
    return [
        (
            parse_range(event.range) if isinstance(event, types.TextDocumentContentChangePartial) else None,
            event.text,
        )
        for event in events
    ]


def create_text(item: types.TextDocumentItem, encoding: Encoding) -> TextDocument:
    """Return the document of a text that is opened."""
    return TextDocument(item.uri, item.version, item.text, encoding)


def create_cell(cell: types.NotebookCell, item: types.TextDocumentItem, encoding: Encoding) -> CellText:
    """Return the cell of a notebook that is opened."""
    is_code = cell.kind == types.NotebookCellKind.Code
    return CellText(create_text(item, encoding), item.language_id if is_code else None)


def _render_range(where: Range) -> types.Range:
    return types.Range(
        start=types.Position(line=where.start.line, character=where.start.character),
        end=types.Position(line=where.end.line, character=where.end.character),
    )
