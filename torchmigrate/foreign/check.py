"""The rules for names in other languages, applied to one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from torchmigrate.foreign.context import ForeignContext
from torchmigrate.foreign.reading import Reading
from torchmigrate.foreign.use import BRIDGES, BRINGS, READS, RUNS, UNREAD, ForeignUse
from torchmigrate.gates.languages import language_of
from torchmigrate.model.findings import Finding
from torchmigrate.model.rule import Rule
from torchmigrate.model.vocabulary import Kind
from torchmigrate.project.mentions import Mention
from torchmigrate.project.project import Project
from torchmigrate.project.said import Said

if TYPE_CHECKING:
    from torchmigrate.model.options import Options
    from torchmigrate.text.source import Source


def ask(
    answer: Said,
    source: Source,
    reading: Reading,
    rules: Sequence[Rule],
    options: Options,
    selects: Callable[[str, str], bool],
    project: Project,
) -> None:
    """Add to ``answer`` the findings of the wanted rules about a file, and the facts that other files need.

    Each use belongs to the rule that watches its name most closely. A rule reports one use in each line, and one more for
    each further model file that the line names.
    """
    names = frozenset(use.name for use in reading.uses)
    contexts: dict[str, ForeignContext] = {}
    known: list[ForeignUse] = []
    lines: dict[tuple[str, int], set[str]] = {}
    for use in reading.uses:
        rule = watching(use.name, rules)
        if rule is None:
            continue
        known.append(use)
        line = (rule.code, source.line_of(use.span.start))
        is_first, loaded = line not in lines, lines.setdefault(line, set())
        is_other = bool(loaded) and use.file not in {"", *loaded}
        loaded.update({use.file} - {""})
        if not (is_first or is_other) or not selects(rule.code, source.path):
            continue
        context = contexts.setdefault(rule.code, ForeignContext(source, project, options, rule, names))
        answer.ask(rule.code, partial(_checked, rule, use, context), partial(source.location, use.span))
    answer.asked_project |= any(context.asked_project for context in contexts.values())
    answer.mentions += _mentions(source, reading, known)


def watching(name: str, rules: Sequence[Rule]) -> Rule | None:
    """Return the rule with the longest pattern that matches ``name``, if any does."""
    matching = (
        (pattern, rule)
        for rule in rules
        for pattern in rule.foreign
        if (name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern)
    )
    return max(matching, key=lambda found: len(found[0]), default=("", None))[1]


def _checked(rule: Rule, use: ForeignUse, context: ForeignContext) -> list[Finding]:
    if rule.check_foreign_function is None:
        return [context.finding(use)]
    return list(rule.check_foreign_function(use, context))


def _mentions(source: Source, reading: Reading, known: Sequence[ForeignUse]) -> Iterator[Mention]:
    """Collect what other files need to know: that the file calls the runtime, its model files, and its Objective-C classes."""
    path, language = source.path, language_of(source.path)
    first = next((use for use in known if use.calls and not use.name.startswith("class ")), None)
    if any(use.name != UNREAD for use in known):
        loaded = [(use.file, use.span) for use in known if use.file]
        others = [(name, span) for name, span in reading.files if name not in dict(loaded)]
        for name, span in (*loaded, *others):
            constants = (("file", name), ("language", language))
            yield Mention(READS, Kind.REFERENCE, path, source.line_of(span.start), constants)
    for use in known:
        if use.name.startswith("LibTorch"):
            yield Mention(BRINGS, Kind.REFERENCE, path, source.line_of(use.span.start))
    if first is None:
        return
    line = source.line_of(first.span.start)
    yield Mention(RUNS, Kind.REFERENCE, path, line, (("language", language),))
    for name in reading.classes:
        yield Mention(BRIDGES, Kind.REFERENCE, path, line, (("name", name),))
