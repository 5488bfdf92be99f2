"""When documents are looked at: soon after a change, one after the other, and again while nothing else is to be done."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable

DEBOUNCE = 0.01
"""Seconds to wait for what else is typed at once: a paste, several cursors."""

IDLE = 0.3
"""Seconds without a change after which the documents that another one may matter to are looked at again."""


class Checks:
    """Calls ``look`` for the documents that have changed, the last one first, and then for those that are stale.

    A document that changes while it is looked at has its turn again.
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
        """Something is to be looked at before those that are stale."""
        self._task: asyncio.Task[None] | None = None

    def changed(self, place: str, others: Iterable[str] = ()) -> None:
        """A document has changed, which may matter to ``others``."""
        self._changed.pop(place, None)
        self._changed[place] = None
        self._more.set()
        self.stale(others)

    def stale(self, places: Iterable[str], *, refreshed: bool = False) -> None:
        """Something has changed that may matter to these documents; ``refreshed``: what is known of the files, too."""
        self._stale.update(dict.fromkeys(places))
        self._refreshing |= refreshed
        if refreshed:
            self._more.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Nothing is looked at any more."""
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
            elif not await self._waited(IDLE) and self._stale:
                place, _ = self._stale.popitem()
                await self._look(place)

    async def _waited(self, seconds: float) -> bool:
        """Whether there is more to be done before so many seconds are over."""
        with contextlib.suppress(asyncio.TimeoutError):
            return await asyncio.wait_for(self._more.wait(), seconds)
        return False
