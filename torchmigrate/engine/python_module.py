"""A Python module or notebook, ready to be checked."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from torchmigrate.documents import reference_checks
from torchmigrate.engine.checked_file import CheckedFile
from torchmigrate.engine.rule_context import Context
from torchmigrate.engine.rule_set import RuleSet
from torchmigrate.model.findings import Edit, FixChange, Location, Span
from torchmigrate.model.rule import Rule
from torchmigrate.project.mentions import FileFacts, Mention
from torchmigrate.project.project_facts import Project
from torchmigrate.project.rule_results import RuleResults
from torchmigrate.record.record_facts import DEADLOCK_CODE, WARNING_CODE
from torchmigrate.rewrite.unused_imports import find_unused_imports
from torchmigrate.semantics.module_links import ModuleLinks
from torchmigrate.semantics.symbol_uses import SymbolUses
from torchmigrate.semantics.use import Use
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceText
from torchmigrate.text.text_edits import sort_edits


class PythonModule(CheckedFile):
    """A file with a syntax tree. Raises SourceError if it does not parse."""

    def __init__(
        self, source: SourceText, rules: RuleSet, project: Project, links: ModuleLinks | None
    ) -> None:
        self.source = source
        source.line_length = rules.options.line_length
        self._rules = rules
        self._project = project
        self._links = links
        self.uses = SymbolUses(source, rules.watch, links)

    def run_rules(self) -> RuleResults:
        """Run the rules on the uses of symbols, and on the references of a ``setup.py``."""
        rules, source = self._rules, self.source
        said = reference_checks.check_references(
            source, rules.on_references, rules.options, rules.selects, self._project
        )
        contexts: dict[str, Context] = {}
        for use in self.uses.all_uses:
            for rule in rules.rules_watching(use.symbol, source.path):
                if use.kind in rule.kinds:
                    context = contexts.get(rule.code)
                    if context is None:
                        context = contexts[rule.code] = self._create_context(rule)
                    context.grounded_on_project = False
                    check = rule.check_function or (lambda use, context: iter([context.finding(use)]))
                    said.run_check(rule.code, partial(check, use, context), partial(self._locate_use, use))
        said.asked_project |= any(context.asked_project for context in contexts.values())
        if not said.waits:
            self._add_evidence(said)
        return said

    def _add_evidence(self, said: RuleResults) -> None:
        """Add to the findings what a recorded run shows, and report the warnings that no rule has foreseen."""
        evidence = self._project.create_evidence(self.source)
        if evidence.says_anything:
            from torchmigrate.record.finding_evidence import FindingEvidence

            shown = FindingEvidence(self.source, evidence)
            said.findings = shown.add_evidence(said.findings)
            if self._rules.selects(WARNING_CODE, self.source.path):
                said.findings += shown.report_warnings(said.findings)
            if self._rules.selects(DEADLOCK_CODE, self.source.path):
                said.findings += shown.report_deadlocks(said.findings, self._rules.options.target)

    def with_rules(self, rules: RuleSet) -> PythonModule:
        """Return the same module for other rules that watch the same symbols."""
        other = copy.copy(self)
        other._rules = rules
        return other

    def collect_facts(self, said: RuleResults) -> FileFacts:
        """Return the module's exports and uses, and the facts that rules note; a failing rule becomes a fault in ``said``."""
        mentions = (*said.mentions, *self._collect_mentions(said))
        unlinked = frozenset(self.uses.unlinked_names)
        return FileFacts(self.uses.exported_symbols, unlinked, mentions, said.asked_project)

    def apply_edits(self, edits: Sequence[Edit]) -> PythonModule:
        """Return the module with edits applied, verified by `torchmigrate.proof`."""
        from torchmigrate.proof.edit_verification import verify_edits

        before, edits = _apply_command_edits(self.source, edits)
        source = read_source(before.path, before.apply_edits(edits)) if edits else before
        verify_edits(before, source, edits)
        return PythonModule(source, self._rules, self._project, self._links)

    def find_unused_imports(
        self, before: CheckedFile, keeps: Callable[[str, bool], bool]
    ) -> Iterator[FixChange]:
        """Yield changes that remove imports which were used in ``before`` and no longer are."""
        assert isinstance(before, PythonModule)
        return find_unused_imports(before.uses, self.uses, keeps)

    def release_memory(self) -> None:
        """Break the reference cycles that would keep the tree until the next garbage collection."""
        self.uses.release_memory()

    def _create_context(self, rule: Rule, *, notes: bool = False) -> Context:
        return Context(self.source, self.uses, self._project, self._rules.options, rule, notes)

    def _locate_use(self, use: Use) -> Location:
        return self.source.locate_span(self.source.span_of(use.node))

    def _collect_mentions(self, said: RuleResults) -> Iterator[Mention]:
        """Yield the symbols that the file uses, and what rules note about these uses."""
        path = self.source.path
        for use in self.uses.all_uses:
            line = use.node.lineno
            yield Mention(use.symbol, use.kind, path, line, _constant_arguments(use))
            for note, rule in self._rules.note_functions(use.symbol):
                noted = partial(note, use, self._create_context(rule, notes=True))
                for one in said.run_part(rule.code, noted, partial(self._locate_use, use)):
                    name, details = one if isinstance(one, tuple) else (one, ())
                    yield Mention(name, use.kind, path, line, details)


def _apply_command_edits(source: SourceText, edits: Sequence[Edit]) -> tuple[SourceText, Sequence[Edit]]:
    """Return a notebook with the edits in its commands applied, and the other edits shifted accordingly.

    Raises SourceError or VerifyError if the program, or another command, is another one for it.
    """
    from torchmigrate.text.notebook import Notebook

    commands = [one for one in edits if isinstance(source, Notebook) and source.is_ipython_line(one)]
    if not commands or not isinstance(source, Notebook):
        return source, edits
    from torchmigrate.documents.document_verification import verify_notebook_commands
    from torchmigrate.proof.offset_map import OffsetMap

    after = read_source(source.path, source.replace_commands(sort_edits(commands)))
    verify_notebook_commands(source, after, commands)
    shift = OffsetMap(source.original, sort_edits(commands))
    others = [one for one in edits if one not in commands]
    return after, [Edit(*shift.map_span(Span(one.start, one.end)), one.text) for one in others]


def _constant_arguments(use: Use) -> tuple[tuple[str, object], ...]:
    if use.call is None:
        return ()
    given = [(str(i), value) for i, value in enumerate(use.call.args)]
    given += [(keyword.arg, keyword.value) for keyword in use.call.keywords if keyword.arg]
    return tuple((name, value.value) for name, value in given if isinstance(value, ast.Constant))
