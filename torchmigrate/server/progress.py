"""The progress bar that an editor shows while a project is checked for the first time."""

from __future__ import annotations

import asyncio
import uuid

from lsprotocol import types
from pygls.lsp.server import LanguageServer


class Stopped(Exception):
    """Raised in the work in progress when the server stops."""


_PATIENCE = 0.5
"""Seconds to wait for the editor to accept a progress bar before the work begins without one."""


class EditorProgressBar:
    """A context that shows a progress bar, if the editor can; calling it from any thread moves the bar."""

    def __init__(self, server: LanguageServer, title: str) -> None:
        window = server.client_capabilities.window
        self._wanted = window is not None and bool(window.work_done_progress)
        self._progress = server.work_done_progress
        self._title = title
        self._token = str(uuid.uuid4())
        self._loop = asyncio.get_running_loop()
        self._shown: int | None = None
        self.stopped = False
        """Whether the work has to stop."""

    def __call__(self, done: int, total: int) -> None:
        """Show how many files are done. Raises Stopped."""
        if self.stopped:
            raise Stopped
        percent = 100 * done // max(total, 1)
        if self._shown is not None and percent > self._shown:
            self._shown = percent
            report = types.WorkDoneProgressReport(message=f"{done} of {total} files", percentage=percent)
            self._loop.call_soon_threadsafe(self._progress.report, self._token, report)

    async def __aenter__(self) -> EditorProgressBar:
        if self._wanted:
            creating = asyncio.ensure_future(self._progress.create_async(self._token))
            await asyncio.wait({creating}, timeout=_PATIENCE)
            if creating.done() and creating.exception() is None:
                self._shown = 0
                self._progress.begin(self._token, types.WorkDoneProgressBegin(self._title, percentage=0))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._shown is not None:
            self._progress.end(self._token, types.WorkDoneProgressEnd())
