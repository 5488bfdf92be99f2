"""The probable facts of a project, for rules that ask before all files were scanned.

Checking a file a second time costs as much as the first time. So a rule gets the answer that follows from the present
knowledge, and this answer is recorded: the file is checked again only if the final answer differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from torchmigrate.model.vocabulary import Kind
from torchmigrate.project.mentions import Assumption, FileFacts, Mention
from torchmigrate.project.project_facts import IncompleteProject, Project


class ExpectedProject(Project):
    """A project that answers `find_uses` from the facts known so far; every other question has to wait."""

    def __init__(
        self, told: Iterable[FileFacts] = (), recorded: Iterable[Mention] = (), *, is_whole: bool
    ) -> None:
        super().__init__(is_whole=is_whole)
        self._assumed: dict[Assumption, None] = {}
        self._has_waited = False
        for facts in told:
            self.record_mentions(facts.mentions)
        self.record_mentions(recorded)

    def begin_file(self) -> None:
        """Forget the answers that were recorded for the file before."""
        self._assumed = {}
        self._has_waited = False

    def note_assumptions(self, facts: FileFacts) -> None:
        """Record in the facts of a file the answers that its findings depend on, and whether a question had to wait."""
        facts.provisional = self._has_waited
        facts.assumed = tuple(self._assumed)

    def find_uses(self, *symbols: str, kinds: Iterable[Kind] = Kind) -> list[Mention]:
        """Return the uses known so far, and record this answer."""
        kinds = frozenset(kinds)
        self._assumed[self.create_assumption(symbols, kinds)] = None
        return super().find_uses(*symbols, kinds=kinds)

    def _wait_for_facts(self, *_: object, **__: object) -> NoReturn:
        self._has_waited = True
        raise IncompleteProject

    __contains__ = get_display_path = read_bytes = compute_once = find_spellings = search_unread_files = (
        create_links
    ) = find_headers = group_modules = list_paths = read_files = has_module = _wait_for_facts
