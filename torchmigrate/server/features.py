"""The handlers of the protocol's messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.uris import to_fs_path

from torchmigrate.run.tree import is_of_interest
from torchmigrate.server import conversions, watched
from torchmigrate.server.actions import Action, ActionRequest
from torchmigrate.server.open_documents import NotebookDocument, TextDocument
from torchmigrate.server.positions import Encoding
from torchmigrate.server.server import Server


def create_server(cache_folder: str | None, explained: Callable[[str], str | None]) -> Server:
    """Return a server with a handler for each message; see `Server`."""
    server = Server(cache_folder, explained)
    for method, feature, options in (
        (types.INITIALIZE, _on_initialize, None),
        (types.INITIALIZED, _on_initialized, None),
        (types.SHUTDOWN, _on_shutdown, None),
        (types.TEXT_DOCUMENT_DID_OPEN, _on_text_opened, None),
        (types.TEXT_DOCUMENT_DID_CHANGE, _on_text_changed, None),
        (types.TEXT_DOCUMENT_DID_SAVE, _on_text_saved, types.SaveOptions(include_text=False)),
        (types.TEXT_DOCUMENT_DID_CLOSE, _on_text_closed, None),
        (types.NOTEBOOK_DOCUMENT_DID_OPEN, _on_notebook_opened, None),
        (types.NOTEBOOK_DOCUMENT_DID_CHANGE, _on_notebook_changed, None),
        (types.NOTEBOOK_DOCUMENT_DID_SAVE, _on_notebook_saved, None),
        (types.NOTEBOOK_DOCUMENT_DID_CLOSE, _on_notebook_closed, None),
        (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, _on_files_changed, None),
        (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, _on_folders_changed, None),
        (types.WORKSPACE_DID_CHANGE_CONFIGURATION, _on_configuration, None),
        (types.TEXT_DOCUMENT_CODE_ACTION, _list_actions, _ACTIONS),
        (types.CODE_ACTION_RESOLVE, _resolve_action, None),
        (types.TEXT_DOCUMENT_HOVER, _show_hover, None),
    ):
        server.feature(method, options)(feature)
    return server


_ACTIONS = types.CodeActionOptions(
    code_action_kinds=[types.CodeActionKind.QuickFix, conversions.FIX_ALL], resolve_provider=True
)


def _on_initialize(ls: Server, params: types.InitializeParams) -> None:
    ls.encoding = Encoding(ls.workspace.position_encoding)
    ls.actions.encoding = ls.encoding
    _set_folders(ls)


def _on_initialized(ls: Server, params: types.InitializedParams) -> None:
    workspace = ls.client_capabilities.workspace
    files = workspace.did_change_watched_files if workspace else None
    ls.has_file_watching = bool(files and files.dynamic_registration)
    if ls.has_file_watching:
        ls.client_register_capability(watched.create_registration())


def _on_shutdown(ls: Server, params: None) -> None:
    ls.is_shut_down = True
    ls.stop()


def _on_folders_changed(ls: Server, params: types.DidChangeWorkspaceFoldersParams) -> None:
    _set_folders(ls)
    ls.checks.add_stale(ls.get_documents(), refreshed=True)


def _set_folders(ls: Server) -> None:
    uris = list(ls.workspace.folders) or [ls.workspace.root_uri]
    ls.model.folders = tuple(path for uri in uris if uri and (path := to_fs_path(uri)))


def _on_configuration(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    """Do nothing: settings come from the project's files, not from the editor."""


def _on_text_opened(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    path = to_fs_path(params.text_document.uri)
    if path is not None and is_of_interest(path) and not path.endswith(".ipynb"):
        if not ls.has_file_watching:
            ls.expect_file(path)
        ls.put_document(conversions.create_text(params.text_document, ls.encoding), path)


def _on_text_changed(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    found = ls.find_document(params.text_document.uri)
    if found is not None and isinstance(found[1], TextDocument):
        changes = conversions.parse_changes(params.content_changes)
        ls.put_document(found[1].apply_changes(params.text_document.version, changes), found[0])


def _on_text_saved(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    _note_saved(ls, params.text_document.uri)


def _on_text_closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    ls.close_document(params.text_document.uri)


def _on_notebook_opened(ls: Server, params: types.DidOpenNotebookDocumentParams) -> None:
    notebook = params.notebook_document
    path = to_fs_path(notebook.uri)
    if path is not None and path.endswith(".ipynb"):
        texts = {item.uri: item for item in params.cell_text_documents}
        cells = [
            conversions.create_cell(cell, texts[cell.document], ls.encoding)
            for cell in notebook.cells
            if cell.document in texts
        ]
        ls.put_document(NotebookDocument(notebook.uri, notebook.version, cells), path)


def _on_notebook_changed(ls: Server, params: types.DidChangeNotebookDocumentParams) -> None:
    found = ls.find_document(params.notebook_document.uri)
    change = params.change.cells
    if found is None or change is None or not isinstance(found[1], NotebookDocument):
        return
    place, notebook = found[0], found[1]
    cells = list(notebook.cells)
    if change.structure is not None:
        array = change.structure.array
        texts = {item.uri: item for item in change.structure.did_open or ()}
        known = {cell.text.name: cell for cell in cells}
        cells[array.start : array.start + array.delete_count] = [
            conversions.create_cell(cell, texts[cell.document], ls.encoding)
            if cell.document in texts
            else known[cell.document]
            for cell in array.cells or ()
        ]
    for one in change.text_content or ():
        edits, document = conversions.parse_changes(one.changes), one.document
        cells = [
            cell._replace(text=cell.text.apply_changes(document.version, edits))
            if cell.text.name == document.uri
            else cell
            for cell in cells
        ]
    ls.put_document(NotebookDocument(notebook.name, params.notebook_document.version, cells), place)


def _on_notebook_saved(ls: Server, params: types.DidSaveNotebookDocumentParams) -> None:
    _note_saved(ls, params.notebook_document.uri)


def _on_notebook_closed(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
    ls.close_document(params.notebook_document.uri)


def _on_files_changed(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    ls.handle_file_events(
        [
            (path, event.type == types.FileChangeType.Changed)
            for event in params.changes
            if (path := to_fs_path(event.uri)) and (is_of_interest(path) or watched.affects_others(path))
        ]
    )


def _note_saved(ls: Server, uri: str) -> None:
    """Check what a save changes on the disk; an editor without file watching reports new files only in this way."""
    path = to_fs_path(uri)
    if path is not None:
        ls.expect_file(path)
        ls.handle_file_events([(path, True)])


async def _list_actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    uri, only = params.text_document.uri, params.context.only
    found = ls.find_document(uri)
    if found is None:
        return []
    place, document = found
    documents = ls.get_documents()
    offers: list[Action] = []
    if _is_kind_requested(only, types.CodeActionKind.QuickFix.value):
        where = conversions.parse_range(params.range)
        offers += await ls.run_guarded(ls.actions.list_actions, documents, place, uri, where) or []
    if _is_kind_requested(only, conversions.FIX_ALL) and await ls.run_guarded(
        ls.actions.has_fixes, documents, place
    ):
        offers.append(Action("Apply all safe fixes (torchmigrate)", ActionRequest("all")))
    made = [conversions.render_action(offer, uri, document.get_version(uri)) for offer in offers]
    return made if _can_resolve(ls) else [await _resolve_action(ls, one) for one in made]


def _is_kind_requested(only: Sequence[types.CodeActionKind | str] | None, kind: str) -> bool:
    """Return whether actions of a kind are requested; ``a`` requests ``a.b`` too."""
    asked = [getattr(one, "value", one) for one in only or ()]
    return only is None or any(kind == one or kind.startswith(f"{one}.") or not one for one in asked)


def _can_resolve(ls: Server) -> bool:
    """Return whether the editor asks for the edits of an action when it is chosen."""
    document = ls.client_capabilities.text_document
    action = document.code_action if document else None
    support = action.resolve_support if action else None
    return support is not None and "edit" in support.properties


async def _resolve_action(ls: Server, action: types.CodeAction) -> types.CodeAction:
    try:
        name, version, todo = conversions.parse_action(action.data)
    except ValueError as error:
        raise JsonRpcInvalidParams(str(error)) from None
    found = ls.find_document(name)
    if found is None or found[1].get_version(name) != version:
        raise JsonRpcException("the document has changed", code=types.LSPErrorCodes.ContentModified.value)
    documents = ls.get_documents()
    changes = await ls.run_guarded(ls.actions.perform, documents, found[0], todo) or []
    workspace = ls.client_capabilities.workspace
    support = workspace.workspace_edit if workspace else None
    versioned = support is not None and bool(support.document_changes)
    action.edit = conversions.render_edit(changes, versioned=versioned) if changes else None
    return action


async def _show_hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    found = ls.find_document(params.text_document.uri)
    if found is None:
        return None
    at = conversions.parse_range(types.Range(params.position, params.position))
    codes = (
        await ls.run_guarded(
            ls.actions.find_codes, ls.get_documents(), found[0], params.text_document.uri, at
        )
        or []
    )
    pages = [page for code in codes if (page := await ls.run_guarded(ls.explained, code)) is not None]
    if not pages:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n---\n\n".join(pages)))
