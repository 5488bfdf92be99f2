"""The language server: it passes what the editor sends to the workspace, and sends the results back.

`torchmigrate.server.features` has the handler of each message.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from torchmigrate import __version__
from torchmigrate.server import conversions, watched
from torchmigrate.server.actions import Actions
from torchmigrate.server.check_queue import CheckQueue
from torchmigrate.server.open_documents import Document
from torchmigrate.server.positions import Encoding
from torchmigrate.server.progress import EditorProgressBar, Stopped
from torchmigrate.server.protocol import StrictProtocol
from torchmigrate.server.workspace import Documents, Workspace
from torchmigrate.settings.config import ConfigError

T = TypeVar("T")

_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook="jupyter-notebook", cells=[types.NotebookCellLanguage(language="python")]
        )
    ]
)


class Server(LanguageServer):
    """Serves one editor.

    Checks run in one thread beside that of the messages; results for a document that has changed meanwhile are dropped.
    ``explained`` returns the documentation of a rule by its code.
    """

    def __init__(self, cache_folder: str | None, explained: Callable[[str], str | None]) -> None:
        super().__init__(
            "torchmigrate", __version__, notebook_document_sync=_NOTEBOOKS, protocol_cls=StrictProtocol
        )
        self.is_shut_down = False
        """Whether the editor has sent `shutdown`."""
        self.has_file_watching = False
        """Whether the editor reports changes of files on the disk."""
        self.explained = explained
        self.encoding = Encoding.UTF16
        self.model = Workspace(cache_folder)
        self.actions = Actions(self.model, self.encoding, lambda path: uris.from_fs_path(path) or path)
        self.checks = CheckQueue(self._check_document, self._refresh)
        self._open: dict[str, Document] = {}
        self._place_of: dict[str, str] = {}
        self._thread = ThreadPoolExecutor(1, "checks")
        self._bar: EditorProgressBar | None = None
        self._said = ""
        self._faults: set[str] = set()

    # Open documents.

    def get_documents(self) -> Documents:
        """Return all open documents by path."""
        return dict(self._open)

    def find_document(self, name: str) -> tuple[str, Document] | None:
        """Return the path and the document that a text (URI) is part of; None if it is not checked."""
        place = self._place_of.get(name)
        return None if place is None else (place, self._open[place])

    def put_document(self, document: Document, path: str) -> None:
        """Open a document, or replace it by its new state."""
        place = os.path.realpath(path)
        before = self._open.get(place)
        self._open[place] = document
        names = set(document.list_texts())
        for gone in set(before.list_texts()) - names if before is not None else ():
            self._place_of.pop(gone, None)
            self._publish_text(gone, [], None)
        self._place_of.update(dict.fromkeys([*names, document.name], place))
        self.checks.add_changed(place, self._open.keys() - {place})

    def close_document(self, name: str) -> None:
        """Forget a closed document."""
        found = self.find_document(name)
        if found is not None:
            place, document = found
            del self._open[place]
            for text in {*document.list_texts(), document.name}:
                self._place_of.pop(text, None)
                self._publish_text(text, [], None)
            self.checks.add_stale(self._open)

    # Files on the disk.

    def handle_file_events(self, events: Iterable[tuple[str, bool]]) -> None:
        """Handle files that were created, deleted or changed; see `watched.changes_project`."""
        if watched.changes_project(events):
            self.checks.add_stale(self._open, refreshed=True)
        else:
            self._thread.submit(self.model.invalidate_files)
            self.checks.add_stale(self._open)

    def expect_file(self, path: str) -> None:
        """Read the list of files again if this file on the disk is not in it."""
        if self.model.is_missing(os.path.realpath(path)):
            self.checks.add_stale(self._open, refreshed=True)

    async def _refresh(self) -> None:
        await self.run_guarded(self.model.refresh)

    # Checks.

    async def run_in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return the result of ``work``, which runs in the thread for checks."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    async def run_guarded(self, work: Callable[..., T], *arguments: Any) -> T | None:
        """Return the result of ``work``, run in the thread for checks; None if it fails, which is reported to the editor."""
        try:
            return await self.run_in_thread(work, *arguments)
        except (ConfigError, OSError) as error:  # settings that cannot be used; a folder that is gone
            message = str(error)
            if message != self._said:  # every check meets the problem again
                self._said = message
                self.log_message(message)
                self.window_show_message(
                    types.ShowMessageParams(type=types.MessageType.Error, message=message)
                )
        except Stopped:
            pass
        except Exception:
            self.log_message(
                f"torchmigrate failed with an internal error; please report it:\n{traceback.format_exc()}"
            )
        return None

    async def _check_document(self, place: str) -> None:
        document, documents = self._open.get(place), self.get_documents()
        if document is None:
            return
        if self.model.is_fast(place):
            shown = await self.run_guarded(self.model.check_document, documents, place)
        elif await self.run_guarded(self.model.get_project, place) is None:
            return
        else:
            async with EditorProgressBar(self, "torchmigrate: checking the project") as self._bar:
                shown = await self.run_guarded(self.model.check_document, documents, place, self._bar)
        if shown is not None and self._open.get(place) is document:
            for name in document.list_texts():
                mine = [conversions.render_diagnostic(one) for one in shown.diagnostics if one.text == name]
                self._publish_text(name, mine, document.get_version(name))
            for fault in set(shown.faults) - self._faults:
                self._faults.add(fault)
                self.log_message(fault)

    def _publish_text(self, name: str, diagnostics: list[types.Diagnostic], version: int | None) -> None:
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=name, diagnostics=diagnostics, version=version)
        )

    # Messages, and the end.

    def log_message(self, message: str, kind: types.MessageType = types.MessageType.Error) -> None:
        """Write a line into the editor's log."""
        self.window_log_message(types.LogMessageParams(type=kind, message=message))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Write the error of an invalid message into the log, without a popup."""
        self.log_message(f"{type(error).__name__}: {error}")

    def shutdown(self) -> None:
        """Stop checking when the editor's connection ends."""
        self.stop()
        super().shutdown()  # type: ignore[no-untyped-call]

    def stop(self) -> None:
        """Cancel all work in progress."""
        self.checks.stop()
        if self._bar is not None:
            self._bar.stopped = True
        self._thread.shutdown(wait=False, cancel_futures=True)
