"""A Python module or a notebook in hand."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from torchmigrate.documents import check
from torchmigrate.engine.context import Context
from torchmigrate.engine.ruleset import RuleSet
from torchmigrate.engine.subject import Subject
from torchmigrate.model.findings import Change, Edit, Finding
from torchmigrate.model.rule import Rule
from torchmigrate.project.mentions import Facts, Mention
from torchmigrate.project.project import Project
from torchmigrate.project.said import Said
from torchmigrate.rewrite.unused import unused_after
from torchmigrate.semantics.links import Links
from torchmigrate.semantics.uses import Use, Uses
from torchmigrate.text.read import read
from torchmigrate.text.source import Source


class Module(Subject):
    """A file with a syntax tree. Raises SourceError if it does not parse."""

    def __init__(self, source: Source, rules: RuleSet, project: Project, links: Links | None) -> None:
        self._source = source
        self._rules = rules
        self._project = project
        self._links = links
        self.uses = Uses(source, rules.watch, links)

    @property
    def source(self) -> Source:
        """Its text."""
        return self._source

    def said(self) -> Said:
        """What the rules say of the uses of symbols, and of the references of a ``setup.py``."""
        rules = self._rules
        said = check.said(self._source, rules.on_references, rules.options, rules.selects, self._project)
        contexts: dict[str, Context] = {}
        for use in self.uses.found:
            for rule in self._rules.of_symbol(use.symbol, self._source.path):
                if use.kind in rule.kinds:
                    context = contexts.setdefault(rule.code, self._context(rule))
                    context.grounded_on_project = False
                    said.findings += _checked(rule, use, context)
                    said.asked_project |= context.asked_project
        return said

    def facts(self, said: Said) -> Facts:
        """What it exports, uses, and what rules note about that."""
        mentions = (*said.mentions, *self._mentions())
        return Facts(self.uses.exports, frozenset(self.uses.unlinked), mentions, said.asked_project)

    def edited(self, edits: Sequence[Edit]) -> Module:
        """The module with edits made, proved by `torchmigrate.proof`."""
        from torchmigrate.proof.verify import verify

        source = read(self._source.path, self._source.replaced(edits))
        verify(self._source, source, edits)
        return Module(source, self._rules, self._project, self._links)

    def unused_imports(self, before: Subject, keeps: Callable[[str], bool]) -> Iterator[Change]:
        """Those that were read in ``before``, and are no more."""
        assert isinstance(before, Module)
        return unused_after(before.uses, self.uses, keeps)

    def release(self) -> None:
        """Breaks the cycles that would keep the tree until the next collection."""
        self.uses.release()

    def _context(self, rule: Rule) -> Context:
        return Context(self._source, self.uses, self._project, self._rules.options, rule)

    def _mentions(self) -> Iterator[Mention]:
        """The symbols that the file uses, and what rules note about these uses."""
        path = self._source.path
        for use in self.uses.found:
            yield Mention(use.symbol, use.kind, path, use.node.lineno, _constants(use))
            for note, rule in self._rules.noting(use.symbol):
                for name in note(use, self._context(rule)):
                    yield Mention(name, use.kind, path, use.node.lineno)


def _checked(rule: Rule, use: Use, context: Context) -> list[Finding]:
    if rule.check_function is None:
        return [context.finding(use)]
    return list(rule.check_function(use, context))


def _constants(use: Use) -> tuple[tuple[str, object], ...]:
    if use.call is None:
        return ()
    given = [(str(i), value) for i, value in enumerate(use.call.args)]
    given += [(keyword.arg, keyword.value) for keyword in use.call.keywords if keyword.arg]
    return tuple((name, value.value) for name, value in given if isinstance(value, ast.Constant))
