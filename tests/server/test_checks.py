"""When documents are looked at."""

from __future__ import annotations

import asyncio

import pytest

from torchmigrate.server import check_queue
from torchmigrate.server.check_queue import CheckQueue


def looked_at(monkeypatch: pytest.MonkeyPatch, idle: float, wanted: int) -> list[str]:
    """The documents in the order of the looks: ``a`` changes twice, and ``b`` is open beside it."""
    monkeypatch.setattr(check_queue, "IDLE", idle)
    looks: list[str] = []

    async def look(place: str) -> None:
        looks.append(place)

    async def refresh() -> None: ...

    async def typed() -> None:
        made = CheckQueue(look, refresh)
        for number in (1, 2):
            made.add_changed("a", ["b"])
            while len(looks) < number:
                await asyncio.sleep(0.001)
        while len(looks) < wanted:
            await asyncio.sleep(0.001)
        made.stop()

    asyncio.run(asyncio.wait_for(typed(), 20))
    return looks


def test_what_is_typed_does_not_wait_for_what_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked_at(monkeypatch, idle=3600, wanted=2) == ["a", "a"]


def test_the_others_have_their_turn_when_nothing_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked_at(monkeypatch, idle=0.05, wanted=3) == ["a", "a", "b"]
