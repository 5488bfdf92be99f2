"""What a rule may ask about the code around a use, and how it creates findings."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torchmigrate.model.findings import Finding, Fix, NeedsTorch, NoFix, Span
from torchmigrate.model.rule import Rule
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.model.torch_versions import severity_at
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
from torchmigrate.rewrite.code_removal import CodeRemoval
from torchmigrate.rewrite.name_spelling import NameSpeller
from torchmigrate.rewrite.placeholders import render_title
from torchmigrate.text.finding_factory import create_finding

if TYPE_CHECKING:
    from torchmigrate.project.project_facts import Project
    from torchmigrate.record.file_evidence import FileEvidence
    from torchmigrate.semantics.name_resolution import ResolvedName
    from torchmigrate.semantics.scopes import StatementPlace
    from torchmigrate.semantics.symbol_uses import SymbolUses
    from torchmigrate.semantics.use import Use
    from torchmigrate.text.source_text import SourceText


_DEPRECATED = {
    "elsewhere": "search_elsewhere",
    "symbol": "write_symbol",
    "renamed": "rename_use",
    "rebound": "rebind_use",
    "removed": "remove_statement",
    "unwrapped": "unwrap_block",
    "decided": "decide_branch",
    "undecorated": "remove_decorator",
    "resolve": "resolve_node",
    "shown": "render_template",
    "text": "get_text",
}
"""The names of methods up to torchmigrate 0.2, which rules of other packages may still use, and their present names."""


@dataclass
class Context:
    """One file, as a rule sees it."""

    source: SourceText
    uses: SymbolUses
    _project: Project
    options: RuleOptions
    rule: Rule
    notes: bool = False
    """Whether the rule notes facts for other files instead of checking this one."""
    asked_project: bool = False
    """Whether the rule has asked anything about the project."""
    grounded_on_project: bool = False
    """Whether the rule has asked about the project since its current use: the finding may depend on the project."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Return the method with a deprecated name."""
            if name not in _DEPRECATED:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            import warnings

            message = f"`Context.{name}` is deprecated; use `Context.{_DEPRECATED[name]}`"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return getattr(self, _DEPRECATED[name])

    @property
    def project(self) -> Project:
        """The facts about all files. Raises IncompleteProject while not all are known, which ends the check of the use.

        Notes of rules are such facts themselves; while they are made, the facts known so far are returned.
        """
        self.asked_project = self.grounded_on_project = True
        return self._project if self.notes else self._project.require_facts()

    @property
    def recorded(self) -> FileEvidence:
        """What a recorded run shows about this file."""
        return self.uses.compute_once("recorded", lambda: self._project.create_evidence(self.source))

    def search_elsewhere(self, expressions: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
        """Search text files of the tree that are not checked; see `Project.search_unread_files`."""
        return self.project.search_unread_files(expressions)

    @cached_property
    def naming(self) -> NameSpeller:
        """How names are written in this file."""
        return self.uses.compute_once(NameSpeller, lambda: NameSpeller(self.source, self.uses))

    def write_symbol(self, name: str, use: Use) -> Symbol:
        """Return how to write the qualified ``name`` at ``use``. Raises NoFix where that would clobber a name."""
        return self.naming.spell_name(name, use)

    def rename_use(self, use: Use, name: str) -> Replace:
        """Return a change that replaces the symbol at ``use`` by another one. Raises NoFix as `write_symbol` does."""
        assert isinstance(use.node, ast.expr)
        return replace(use.node, "{symbol}", symbol=self.write_symbol(name, use))

    def rebind_use(self, use: Use, name: str) -> Rebind | None:
        """Return a change that imports another symbol under the name of the one at ``use``; see `NameSpeller.create_rebind`."""
        return self.naming.create_rebind(use, name)

    @cached_property
    def _removal(self) -> CodeRemoval:
        return CodeRemoval(self.source)

    def remove_statement(self, place: StatementPlace) -> Remove:
        """Return a change that removes a statement. Raises NoFix where its author has to decide; see
        `torchmigrate.rewrite.code_removal`."""
        return self._removal.remove_statement(place)

    def unwrap_block(self, place: StatementPlace, block: Sequence[ast.stmt]) -> Unwrap:
        """Return a change that replaces a compound statement by one of its blocks. Raises NoFix as `remove_statement` does."""
        return self._removal.unwrap_statement(place, block)

    def decide_branch(self, place: StatementPlace, value: bool) -> Decide:
        """Return a change that replaces an ``if`` or ``elif`` by what runs when its test is ``value``. Raises NoFix as `remove_statement` does."""
        return self._removal.decide_statement(place, value)

    def remove_decorator(self, use: Use) -> RemoveDecorator:
        """Return a change that removes the decorator that ``use`` is. Raises NoFix if it is only a part of one."""
        decorator = use.call or use.node
        if use.decorated is None or decorator not in use.decorated.decorator_list:
            raise NoFix("this is only part of a decorator; remove it by hand")
        assert isinstance(decorator, ast.expr)
        return RemoveDecorator(use.decorated, decorator)

    def resolve_node(self, node: ast.AST, use: Use) -> ResolvedName | None:
        """Return the qualified names that an expression near ``use`` may have, or None."""
        return self.uses.names.resolve_expression(node, use.place.scope)

    def is_named(self, node: ast.AST, use: Use, *names: str) -> bool:
        """Return whether an expression near ``use`` certainly is one of the qualified names."""
        resolved = self.resolve_node(node, use)
        return resolved is not None and resolved.certain and resolved.names[0] in names

    def render_template(self, new: Template) -> str:
        """Return the code of a template, for a title or a message."""
        return render_title(new, self.get_text)

    def get_text(self, node: ast.AST | Span) -> str:
        """Return the source text of a node or span."""
        return self.source.get_segment(node)

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
        return create_finding(
            self.rule.code,
            self.rule.fill_message(message or self.rule.message, use.name),
            severity or self.severity,
            self.source,
            span or self._find_reported_span(use),
            fix=None if fix is None else lambda: self._make_fix(use, fix),
            hint=hint,
            recipe=self.rule.recipe,
            facts=source,
        )

    def _find_reported_span(self, use: Use) -> Span:
        """Return the span to report for a use; in a command, which may be long, that of the variable."""
        whole = self.source.span_of(use.node)
        if use.symbol.startswith("$") and isinstance(use.node, ast.Constant) and use.node.value != use.name:
            start = self.source.text.find(use.name.encode(), *whole)
            return Span(start, start + len(use.name)) if start >= 0 else whole
        return whole

    @property
    def severity(self) -> Severity:
        """The severity of the current rule's findings at the target version."""
        rule = self.rule
        return severity_at(self.options.target, rule.deprecated, rule.breaks)

    def _make_fix(self, use: Use, make: Callable[[], Fix]) -> Fix:
        """Make a fix if the name is certain and the versions allow it. Raises NoFix."""
        if not use.certain:
            in_f_string = "inside an f-string only torchmigrate under Python 3.12 or newer makes fixes"
            raise NoFix(in_f_string if use.named else "the name may refer to something else here")
        made = make()  # first, since another minimum would not change its reason for having no fix
        since = self.rule.since
        if since is not None and since > self.options.minimum and not made.anytime:
            raise NeedsTorch(since, self.options.minimum)
        if made.safety is Safety.MANUAL:
            raise ValueError(f"{self.rule.code}: a fix must be safe or unsafe")
        if self.grounded_on_project:
            return self._project.judge_fix(made)
        return made
