"""What a rule may ask and report about a use in a file in another language."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

from torchmigrate.foreign.foreign_use import CLASS_BRIDGED, FILE_WRITTEN, RUNTIME_CALLED, ForeignUse
from torchmigrate.foreign.nearest_places import group_places
from torchmigrate.model.findings import Finding, Fix, NoFix, Span
from torchmigrate.model.rule import Rule
from torchmigrate.model.torch_versions import severity_at
from torchmigrate.model.vocabulary import Safety
from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.project.folders import is_within
from torchmigrate.text.finding_factory import create_finding

if TYPE_CHECKING:
    from torchmigrate.model.rule_options import RuleOptions
    from torchmigrate.model.vocabulary import Severity
    from torchmigrate.project.project_facts import Project
    from torchmigrate.project.text_search import Sought
    from torchmigrate.text.source_text import SourceText


_KIND = re.compile(r"^(?:class|forked \w+) ")
"""What a use's name says beside the name in the source."""


@dataclass
class ForeignContext:
    """One file in another language, as a rule sees it."""

    source: SourceText
    _project: Project
    options: RuleOptions
    rule: Rule
    names: frozenset[str] = frozenset()
    """All names of the runtime in the file."""
    methods: Mapping[str, Span] = field(default_factory=dict)
    """The methods that the file calls, in C++, each with its first call."""
    asked_project: bool = False

    @property
    def project(self) -> Project:
        """The facts about all files. Raises IncompleteProject while they are unknown, which ends the check of a use."""
        self.asked_project = True
        return self._project.require_facts()

    def find_runtime_call(self, *languages: str, below: bool = False) -> str:
        """Return the nearest place where the project calls the runtime in one of ``languages``, as ``path:line``.

        With ``below``, only files in the folder of this file and below it count. Empty where there is none.
        """
        return self._find_nearest(RUNTIME_CALLED, "language", languages, below)

    def _find_nearest(self, symbol: str, key: str, values: Iterable[str], below: bool = False) -> str:
        places = self.project.derive_from_uses(symbol, group_places)
        folder = os.path.dirname(os.path.abspath(self.source.path))
        groups = [places[key, value] for value in values if (key, value) in places]
        found = [group.find_below(folder) if below else group.find(folder) for group in groups]
        nearest = min(filter(None, found), default=None)
        return str(nearest) if nearest else ""

    def find_bridge(self, name: str) -> str:
        """Return where the class ``name`` is implemented around the runtime, as ``path:line``; empty where it is not."""
        return self._find_nearest(CLASS_BRIDGED, "name", [name])

    def find_text(self, sought: Sought) -> str:
        """Return where another file of the project contains the text that is sought, as ``path:line``; empty where none does.

        Files in the folder of this file or below come first.
        """
        found = self.project.find_spellings(sought, beside=self.source.path)
        folder = os.path.dirname(os.path.abspath(self.source.path))
        below = (one for one in found if is_within(one[0], folder))
        place, line = next(below, next(iter(found), ("", 0)))
        return f"{self.project.get_display_path(place)}:{line}" if place else ""

    def find_save(self, name: str) -> str:
        """Return where Python code saves the model file ``name``, as ``path:line``; empty where none does."""
        return self._find_nearest(FILE_WRITTEN, "name", [name])

    @property
    def language(self) -> str:
        """The file's language, one of the keys of `torchmigrate.foreign.foreign_use.LANGUAGES`."""
        return language_of(self.source.path) or ""

    @cached_property
    def is_on_device(self) -> bool:
        """Whether the code may run on a device only: it is Objective-C++, or includes Android's C interface."""
        return self.source.path.endswith(".mm") or b"<jni.h>" in self.source.text

    def finding(
        self,
        use: ForeignUse,
        message: str | None = None,
        *,
        hint: str | None = None,
        severity: Severity | None = None,
        title: str = "",
        source: str | None = None,
    ) -> Finding:
        """Return a finding of the current rule at a use; ``message`` and ``hint`` default to those of the rule.

        With a ``title``, it has the fix that the edits of the use are.
        """
        symbol = f"{_KIND.sub('', use.name)} {use.version}".rstrip()
        text = self.rule.fill_message(message or self.rule.message, symbol)
        hint = hint or self.rule.recipe or None
        return create_finding(
            self.rule.code,
            text,
            severity or self.severity,
            self.source,
            use.span,
            fix=partial(_create_fix, use, title) if title else None,
            hint=hint,
            facts=source,
        )

    @property
    def severity(self) -> Severity:
        """The severity that the rule's versions have at the target."""
        return severity_at(self.options.target, self.rule.deprecated, self.rule.breaks)


def _create_fix(use: ForeignUse, title: str) -> Fix:
    """Create the fix of a use. Raises NoFix if its tokens do not tell what replaces it."""
    if not use.edits:
        raise NoFix("what replaces it depends on more than these words")
    if use.unsafe:
        return Fix(use.edits, Safety.UNSAFE, f"{title}; unsafe because {use.unsafe}")
    return Fix(use.edits, Safety.SAFE, title)
