"""What a rule may ask about the code around a use, and how it creates findings."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torchmigrate.model.findings import Finding, Fix, NoFix, Span
from torchmigrate.model.options import Options
from torchmigrate.model.rule import Rule
from torchmigrate.model.versions import render, severity
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.rewrite.changes import (
    Decide,
    Rebind,
    Remove,
    RemoveDecorator,
    Replace,
    Symbol,
    Template,
    Unwrap,
    replace,
)
from torchmigrate.rewrite.naming import Naming
from torchmigrate.rewrite.parts import shown
from torchmigrate.rewrite.removal import Removal
from torchmigrate.text.findings import finding

if TYPE_CHECKING:
    from torchmigrate.project.project import Project
    from torchmigrate.semantics.resolve import Resolved
    from torchmigrate.semantics.scopes import Place
    from torchmigrate.semantics.use import Use
    from torchmigrate.semantics.uses import Uses
    from torchmigrate.text.source import Source


@dataclass
class Context:
    """One file, as a rule sees it."""

    source: Source
    uses: Uses
    _project: Project
    options: Options
    rule: Rule
    notes: bool = False
    """Whether the rule notes facts for other files instead of checking this one."""
    asked_project: bool = False
    """Whether the rule has asked anything about the project."""
    grounded_on_project: bool = False
    """Whether the rule has asked about the project since its current use: the finding may depend on the project."""

    @property
    def project(self) -> Project:
        """The facts about all files. Raises Incomplete while not all are known, which ends the check of the use.

        Notes of rules are such facts themselves; while they are made, the facts known so far are returned.
        """
        self.asked_project = self.grounded_on_project = True
        return self._project if self.notes else self._project.asked()

    asked_elsewhere: bool = False
    """Whether the rule has searched files that no rule checks."""

    def elsewhere(self, expressions: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
        """Search text files of the tree that are not checked; see `Project.elsewhere`."""
        self.asked_elsewhere = True
        return self.project.elsewhere(expressions)

    @cached_property
    def naming(self) -> Naming:
        """How names are written in this file."""
        return Naming(self.source, self.uses)

    def symbol(self, name: str, use: Use) -> Symbol:
        """Return how to write the qualified ``name`` at ``use``. Raises NoFix where that would clobber a name."""
        return self.naming.symbol(name, use)

    def renamed(self, use: Use, name: str) -> Replace:
        """Return a change that replaces the symbol at ``use`` by another one. Raises NoFix as `symbol` does."""
        assert isinstance(use.node, ast.expr)
        return replace(use.node, "{symbol}", symbol=self.symbol(name, use))

    def rebound(self, use: Use, name: str) -> Rebind | None:
        """Return a change that imports another symbol under the name of the one at ``use``; see `Naming.rebind`."""
        return self.naming.rebind(use, name)

    @cached_property
    def _removal(self) -> Removal:
        return Removal(self.source)

    def removed(self, place: Place) -> Remove:
        """Return a change that removes a statement. Raises NoFix where its author has to decide; see
        `torchmigrate.rewrite.removal`."""
        return self._removal.removed(place)

    def unwrapped(self, place: Place, block: Sequence[ast.stmt]) -> Unwrap:
        """Return a change that replaces a compound statement by one of its blocks. Raises NoFix as `removed` does."""
        return self._removal.unwrapped(place, block)

    def decided(self, place: Place, value: bool) -> Decide:
        """Return a change that replaces an ``if`` or ``elif`` by what runs when its test is ``value``. Raises NoFix as
        `removed` does."""
        return self._removal.decided(place, value)

    def undecorated(self, use: Use) -> RemoveDecorator:
        """Return a change that removes the decorator that ``use`` is. Raises NoFix if it is only a part of one."""
        decorator = use.call or use.node
        if use.decorated is None or decorator not in use.decorated.decorator_list:
            raise NoFix("it is only a part of a decorator; remove it by hand")
        assert isinstance(decorator, ast.expr)
        return RemoveDecorator(use.decorated, decorator)

    def resolve(self, node: ast.AST, use: Use) -> Resolved | None:
        """Return the qualified names that an expression near ``use`` may have, or None."""
        return self.uses.names.resolve(node, use.place.scope)

    def is_named(self, node: ast.AST, use: Use, *names: str) -> bool:
        """Return whether an expression near ``use`` certainly is one of the qualified names."""
        resolved = self.resolve(node, use)
        return resolved is not None and resolved.certain and resolved.names[0] in names

    def shown(self, new: Template) -> str:
        """Return the code of a template, for a title or a message."""
        return shown(new, self.text)

    def text(self, node: ast.AST | Span) -> str:
        """Return the source text of a node or span."""
        return self.source.segment(node)

    def finding(
        self,
        use: Use,
        message: str | None = None,
        *,
        fix: Callable[[], Fix] | None = None,
        hint: str | None = None,
        severity: Severity | None = None,
        span: Span | None = None,
        source: str | None = None,
    ) -> Finding:
        """Return a finding of the current rule at ``use`` (or at ``span``).

        ``fix`` makes the fix, or raises NoFix, whose reason takes precedence over a minimum version that is too old.
        ``message`` defaults to the rule's; ``{symbol}`` becomes the qualified name, and ``{since}``, ``{deprecated}`` and
        ``{breaks}`` become the rule's versions. ``source`` names the source of the facts, where the rule's documentation
        names only one for many facts.
        """
        return finding(
            self.rule.code,
            self.rule.worded(message or self.rule.message, use.name),
            severity or self.severity,
            self.source,
            span or self._place(use),
            fix=None if fix is None else lambda: self._fix(use, fix),
            hint=hint or self.rule.recipe or None,
            facts=source,
        )

    def _place(self, use: Use) -> Span:
        """Return the span to report for a use; in a command, which may be long, that of the variable."""
        whole = self.source.span(use.node)
        if use.symbol.startswith("$") and isinstance(use.node, ast.Constant) and use.node.value != use.name:
            start = self.source.text.find(use.name.encode(), *whole)
            return Span(start, start + len(use.name)) if start >= 0 else whole
        return whole

    @property
    def severity(self) -> Severity:
        """The severity of the current rule's findings at the target version."""
        rule = self.rule
        return severity(self.options.target, rule.deprecated, rule.breaks)

    def _fix(self, use: Use, make: Callable[[], Fix]) -> Fix:
        """Make a fix if the name is certain and the versions allow it. Raises NoFix."""
        if not use.certain:
            raise NoFix("the name may refer to something else here")
        made = make()  # first, since another minimum would not change its reason for having no fix
        since = self.rule.since
        if since is not None and since > self.options.minimum and not made.anytime:
            raise NoFix(
                f"the replacement needs torch {render(since)}, and the project supports "
                f"{render(self.options.minimum)}; raise its lower bound, or pass --min-version"
            )
        if made.safety is Safety.MANUAL:
            raise ValueError(f"{self.rule.code}: a fix is safe or unsafe")
        if self.grounded_on_project:
            return self._project.judged(made)
        return made
