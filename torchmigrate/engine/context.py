"""Everything a rule may ask about the code around a use, and say about it."""

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
    """One file, as the rules see it."""

    source: Source
    uses: Uses
    _project: Project
    options: Options
    rule: Rule
    notes: bool = False
    """Whether the rule notes something for other files, instead of finding something in this one."""
    asked_project: bool = False
    """Whether the rule has asked about the project, whatever about."""
    grounded_on_project: bool = False
    """Whether it has asked since a use was given to it: what it says of that one may hold for this project only."""

    @property
    def project(self) -> Project:
        """The facts about all files. Raises Incomplete while they are not known, which ends the look at a use.

        What rules note are such facts: who notes is given what is known by then.
        """
        self.asked_project = self.grounded_on_project = True
        return self._project if self.notes else self._project.asked()

    asked_elsewhere: bool = False
    """Whether the rule has asked about files that no rule looks into."""

    def elsewhere(self, expressions: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
        """The files of the tree beside those of the project that hold a text; see `Project.elsewhere`."""
        self.asked_elsewhere = True
        return self.project.elsewhere(expressions)

    @cached_property
    def naming(self) -> Naming:
        """How names are written in this file."""
        return Naming(self.source, self.uses)

    def symbol(self, name: str, use: Use) -> Symbol:
        """How the qualified ``name`` is written where ``use`` is. Raises NoFix where that would clobber a name."""
        return self.naming.symbol(name, use)

    def renamed(self, use: Use, name: str) -> Replace:
        """Another symbol in the place of the one that ``use`` names. Raises NoFix as `symbol` does."""
        assert isinstance(use.node, ast.expr)
        return replace(use.node, "{symbol}", symbol=self.symbol(name, use))

    def rebound(self, use: Use, name: str) -> Rebind | None:
        """Another symbol under the name that a ``from`` import gives to the one of ``use``; see `Naming.rebind`."""
        return self.naming.rebind(use, name)

    @cached_property
    def _removal(self) -> Removal:
        return Removal(self.source)

    def removed(self, place: Place) -> Remove:
        """Removes a statement. Raises NoFix where its author has to decide; see `torchmigrate.rewrite.removal`."""
        return self._removal.removed(place)

    def unwrapped(self, place: Place, block: Sequence[ast.stmt]) -> Unwrap:
        """Leaves one block of a compound statement. Raises NoFix as `removed` does."""
        return self._removal.unwrapped(place, block)

    def decided(self, place: Place, value: bool) -> Decide:
        """Leaves what an ``if`` or ``elif`` runs where its test is ``value``. Raises NoFix as `removed` does."""
        return self._removal.decided(place, value)

    def undecorated(self, use: Use) -> RemoveDecorator:
        """Takes the decorator off that ``use``, or a call of it, is. Raises NoFix where it is a part of one only."""
        decorator = use.call or use.node
        if use.decorated is None or decorator not in use.decorated.decorator_list:
            raise NoFix("it is only a part of a decorator; remove it by hand")
        assert isinstance(decorator, ast.expr)
        return RemoveDecorator(use.decorated, decorator)

    def resolve(self, node: ast.AST, use: Use) -> Resolved | None:
        """What an expression near ``use`` is, or None."""
        return self.uses.names.resolve(node, use.place.scope)

    def is_named(self, node: ast.AST, use: Use, *names: str) -> bool:
        """Whether an expression near ``use`` certainly is one of the qualified names."""
        resolved = self.resolve(node, use)
        return resolved is not None and resolved.certain and resolved.names[0] in names

    def shown(self, new: Template) -> str:
        """A template with the source of its parts, for a title or a message."""
        return shown(new, self.text)

    def text(self, node: ast.AST | Span) -> str:
        """The source text of a node."""
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
        """A finding of the current rule at a use (or at ``span``).

        ``fix`` makes its fix, or raises NoFix, whose reason goes before that of a minimum version too old. ``message`` defaults to the rule's; in both, ``{symbol}`` becomes the qualified name, and ``{since}``,
        ``{deprecated}`` and ``{breaks}`` become the rule's versions. ``source`` says where its facts come from, where the
        rule's documentation says it of many facts only.
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
        """Where a use stands; in a command, which may be long, the variable that it sets."""
        whole = self.source.span(use.node)
        if use.symbol.startswith("$") and isinstance(use.node, ast.Constant) and use.node.value != use.name:
            start = self.source.text.find(use.name.encode(), *whole)
            return Span(start, start + len(use.name)) if start >= 0 else whole
        return whole

    @property
    def severity(self) -> Severity:
        """What the rule's versions mean at the target."""
        rule = self.rule
        return severity(self.options.target, rule.deprecated, rule.breaks)

    def _fix(self, use: Use, make: Callable[[], Fix]) -> Fix:
        """Makes a fix, if the name and the versions allow one. Raises NoFix."""
        if not use.certain:
            raise NoFix("the name may refer to something else here")
        made = make()  # its reason for none comes first: another minimum would not change that
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
