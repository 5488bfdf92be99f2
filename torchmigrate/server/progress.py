"""The bar that an editor shows while a project is looked at for the first time."""

from __future__ import annotations

import asyncio
import contextlib
import uuid

from lsprotocol import types
from pygls.lsp.server import LanguageServer


class Stopped(Exception):
    """The server ends, and with it what it does."""


class Bar:
    """A context that shows a bar, if the editor can; the bar moves when it is called, from any thread."""

    def __init__(self, server: LanguageServer, title: str) -> None:
        window = server.client_capabilities.window
        self._wanted = window is not None and bool(window.work_done_progress)
        self._server = server
        self._title = title
        self._token = str(uuid.uuid4())
        self._loop = asyncio.get_running_loop()
        self._creating: asyncio.Task[None] | None = None
        self._shown = -1
        self.stopped = False
        """Whether what it tells about has to stop."""

    def __call__(self, done: int, total: int) -> None:
        """Tells how far things are. Raises Stopped."""
        if self.stopped:
            raise Stopped
        percent = 100 * done // max(total, 1)
        if self._wanted and percent > self._shown:
            self._shown = percent
            self._loop.call_soon_threadsafe(self._report, percent, f"{done} of {total} files")

    async def __aenter__(self) -> Bar:
        if self._wanted:
            self._creating = asyncio.create_task(self._create())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._creating is not None:
            if not self._creating.done():  # an editor that does not answer is not waited for
                self._creating.cancel()
            elif self._begun:
                self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd())

    async def _create(self) -> None:
        with contextlib.suppress(Exception):  # the editor does not want it
            await self._server.work_done_progress.create_async(self._token)
            begin = types.WorkDoneProgressBegin(title=self._title, percentage=0)
            self._server.work_done_progress.begin(self._token, begin)
            self._begun = True

    _begun = False

    def _report(self, percent: int, message: str) -> None:
        if self._begun:
            report = types.WorkDoneProgressReport(message=message, percentage=percent)
            self._server.work_done_progress.report(self._token, report)
