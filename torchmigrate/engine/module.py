"""A Python module or notebook, ready to be checked."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from torchmigrate.documents import check
from torchmigrate.engine.context import Context
from torchmigrate.engine.ruleset import RuleSet
from torchmigrate.engine.subject import Subject
from torchmigrate.model.findings import Change, Edit, Finding, Location, Span
from torchmigrate.model.rule import Rule
from torchmigrate.project.mentions import Facts, Mention
from torchmigrate.project.project import Project
from torchmigrate.project.said import Said
from torchmigrate.rewrite.unused import unused_after
from torchmigrate.semantics.links import Links
from torchmigrate.semantics.use import Use
from torchmigrate.semantics.uses import Uses
from torchmigrate.text.edits import ordered
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
        """Run the rules on the uses of symbols, and on the references of a ``setup.py``."""
        rules, source = self._rules, self._source
        said = check.said(source, rules.on_references, rules.options, rules.selects, self._project)
        contexts: dict[str, Context] = {}
        for use in self.uses.found:
            for rule in rules.of_symbol(use.symbol, source.path):
                if use.kind in rule.kinds:
                    context = contexts.get(rule.code)
                    if context is None:
                        context = contexts[rule.code] = self._context(rule)
                    context.grounded_on_project = False
                    said.ask(rule.code, partial(_checked, rule, use, context), partial(self._place, use))
        said.asked_project |= any(context.asked_project for context in contexts.values())
        said.asked_elsewhere |= any(context.asked_elsewhere for context in contexts.values())
        return said

    def under(self, rules: RuleSet) -> Module:
        """Return the same module for other rules that watch the same symbols."""
        other = copy.copy(self)
        other._rules = rules
        return other

    def facts(self, said: Said) -> Facts:
        """Return what it exports and uses, and what rules note about that; a failing rule becomes a fault in ``said``."""
        mentions = (*said.mentions, *self._mentions(said))
        unlinked = frozenset(self.uses.unlinked)
        return Facts(self.uses.exports, unlinked, mentions, said.asked_project, said.asked_elsewhere)

    def edited(self, edits: Sequence[Edit]) -> Module:
        """Return the module with edits applied, verified by `torchmigrate.proof`."""
        from torchmigrate.proof.verify import verify

        before, edits = _with_commands(self._source, edits)
        source = read(before.path, before.replaced(edits)) if edits else before
        verify(before, source, edits)
        return Module(source, self._rules, self._project, self._links)

    def unused_imports(self, before: Subject, keeps: Callable[[str], bool]) -> Iterator[Change]:
        """Yield changes that remove imports which were used in ``before`` and no longer are."""
        assert isinstance(before, Module)
        return unused_after(before.uses, self.uses, keeps)

    def release(self) -> None:
        """Break the reference cycles that would keep the tree until the next garbage collection."""
        self.uses.release()

    def _context(self, rule: Rule, *, notes: bool = False) -> Context:
        return Context(self._source, self.uses, self._project, self._rules.options, rule, notes)

    def _place(self, use: Use) -> Location:
        return self._source.location(self._source.span(use.node))

    def _mentions(self, said: Said) -> Iterator[Mention]:
        """Yield the symbols that the file uses, and what rules note about these uses."""
        path = self._source.path
        for use in self.uses.found:
            line = use.node.lineno
            yield Mention(use.symbol, use.kind, path, line, _constants(use))
            for note, rule in self._rules.noting(use.symbol):
                noted = partial(note, use, self._context(rule, notes=True))
                for one in said.noted(rule.code, noted, partial(self._place, use)):
                    name, details = one if isinstance(one, tuple) else (one, ())
                    yield Mention(name, use.kind, path, line, details)


def _with_commands(source: Source, edits: Sequence[Edit]) -> tuple[Source, Sequence[Edit]]:
    """Return a notebook with the edits in its commands applied, and the other edits shifted accordingly.

    Raises SourceError or VerifyError if the program, or another command, is another one for it.
    """
    from torchmigrate.text.notebook import Notebook

    commands = [one for one in edits if isinstance(source, Notebook) and source.is_command(one)]
    if not commands or not isinstance(source, Notebook):
        return source, edits
    from torchmigrate.documents.verify import verify_commands
    from torchmigrate.proof.offsets import Shift

    after = read(source.path, source.commanded(ordered(commands)))
    verify_commands(source, after, commands)
    shift = Shift(source.original, ordered(commands))
    others = [one for one in edits if one not in commands]
    return after, [Edit(*shift.moved(Span(one.start, one.end)), one.text) for one in others]


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
