"""The order in which documents are checked: the changed one soon, the others when the editor is idle."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable

DEBOUNCE = 0.01
"""Seconds to wait for simultaneous changes, such as those of several cursors."""

IDLE = 0.3
"""Seconds without a change after which the documents that a change may affect are checked again."""


class CheckQueue:
    """Calls ``look`` for changed documents, the latest first, and then for documents that may be affected.

    A document that changes while it is being checked is checked again.
    """

    def __init__(
        self, look: Callable[[str], Awaitable[None]], refresh: Callable[[], Awaitable[None]]
    ) -> None:
        self._look = look
        self._refresh = refresh
        self._changed: dict[str, None] = {}
        self._stale: dict[str, None] = {}
        self._refreshing = False
        self._more = asyncio.Event()
        """Set when documents have to be checked before the stale ones."""
        self._task: asyncio.Task[None] | None = None

    def add_changed(self, place: str, others: Iterable[str] = ()) -> None:
        """Schedule the check of a changed document, and later of ``others``, which the change may affect."""
        self._changed.pop(place, None)
        self._changed[place] = None
        self._more.set()
        self.add_stale(others)

    def add_stale(self, places: Iterable[str], *, refreshed: bool = False) -> None:
        """Schedule the check of documents that may be affected; ``refreshed`` first reads the list of files again."""
        self._stale.update(dict.fromkeys(places))
        self._refreshing |= refreshed
        if refreshed:
            self._more.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Cancel all checks."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        await asyncio.sleep(DEBOUNCE)
        while self._changed or self._stale or self._refreshing:
            self._more.clear()
            if self._refreshing:
                self._refreshing = False
                await self._refresh()
            elif self._changed:
                place, _ = self._changed.popitem()
                self._stale.pop(place, None)
                await self._look(place)
            elif not await self._wait_for_more(IDLE) and self._stale:
                place, _ = self._stale.popitem()
                await self._look(place)

    async def _wait_for_more(self, seconds: float) -> bool:
        """Return whether something more urgent arrives within the given number of seconds."""
        with contextlib.suppress(asyncio.TimeoutError):
            return await asyncio.wait_for(self._more.wait(), seconds)
        return False
