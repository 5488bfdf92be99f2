"""The project as it probably is, for rules that ask before all files have told what they use.

To look at a file a second time costs as much as the first. So a rule gets the answer that follows from what is known by
then, and what it was told is noted: its file is looked at again only if the answer is another one in the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from torchmigrate.model.vocabulary import Kind
from torchmigrate.project.mentions import Assumption, Facts, Mention
from torchmigrate.project.project import Incomplete, Project


class Expected(Project):
    """Answers what `uses` which symbols, from what some of the files have told; whatever else is asked has to wait."""

    def __init__(self, told: Iterable[Facts] = (), *, is_whole: bool) -> None:
        super().__init__(is_whole=is_whole)
        self._assumed: dict[Assumption, None] = {}
        self._has_waited = False
        for facts in told:
            self.mention(facts.mentions)

    def begin(self) -> None:
        """The look at a file begins."""
        self._assumed = {}
        self._has_waited = False

    def note(self, facts: Facts) -> None:
        """Adds to what a file tells on which answers its findings rest, and whether there were some for all questions."""
        facts.provisional = self._has_waited
        facts.assumed = tuple(self._assumed)

    def uses(self, *symbols: str, kinds: Iterable[Kind] = Kind) -> list[Mention]:
        """As of a project that is known."""
        kinds = frozenset(kinds)
        self._assumed[self.assumption(symbols, kinds)] = None
        return super().uses(*symbols, kinds=kinds)

    def _waits(self, *_: object, **__: object) -> NoReturn:
        self._has_waited = True
        raise Incomplete

    __contains__ = shown = folder = text = once = spelling = elsewhere = links = headers = modules = _waits
