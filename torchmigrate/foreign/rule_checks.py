"""The rules for names in other languages, applied to one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_readers import ForeignContents
from torchmigrate.foreign.foreign_use import (
    CLASS_BRIDGED,
    FILE_READ,
    LIBTORCH_REQUIRED,
    RUNTIME_CALLED,
    UNREAD,
    ForeignUse,
)
from torchmigrate.model.rule import Rule
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.model.vocabulary import Kind
from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.project.mentions import Mention
from torchmigrate.project.project_facts import Project
from torchmigrate.project.rule_results import RuleResults
from torchmigrate.text.source_text import SourceText


def check_uses(
    answer: RuleResults,
    source: SourceText,
    reading: ForeignContents,
    rules: Sequence[Rule],
    options: RuleOptions,
    selects: Callable[[str, str], bool],
    project: Project,
) -> None:
    """Add to ``answer`` the findings of the wanted rules about a file, and the facts that other files need.

    Each use belongs to the one of ``rules`` that watches its name most closely; they are all rules, so that no selection changes
    to which one. A rule reports one use in each line, one more for each further model file that the line names, and all that it
    can replace.
    """
    names = frozenset(use.name for use in reading.uses)
    contexts: dict[str, ForeignContext] = {}
    known: list[ForeignUse] = []
    lines: dict[tuple[str, int], set[str]] = {}
    for use in reading.uses:
        rule = find_rule(use.name, rules)
        if rule is None:
            continue
        known.append(use)
        line = (rule.code, source.line_of(use.span.start))
        is_first, loaded = line not in lines, lines.setdefault(line, set())
        is_other = bool(loaded) and use.file not in {"", *loaded}
        loaded.update({use.file} - {""})
        if not (is_first or is_other or use.edits) or not selects(rule.code, source.path):
            continue
        context = contexts.setdefault(
            rule.code, ForeignContext(source, project, options, rule, names, reading.methods)
        )
        check = rule.check_foreign_function or (lambda use, context: iter([context.finding(use)]))
        answer.run_check(rule.code, partial(check, use, context), partial(source.locate_span, use.span))
    answer.asked_project |= any(context.asked_project for context in contexts.values())
    answer.mentions += _collect_mentions(source, reading, known)


def find_rule(name: str, rules: Sequence[Rule]) -> Rule | None:
    """Return the rule with the longest pattern that matches ``name``, if any does."""
    matching = (
        (pattern, rule)
        for rule in rules
        for pattern in rule.foreign
        if (name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern)
    )
    return max(matching, key=lambda found: len(found[0]), default=("", None))[1]


def _collect_mentions(
    source: SourceText, reading: ForeignContents, known: Sequence[ForeignUse]
) -> Iterator[Mention]:
    """Collect what other files need to know: that the file calls the runtime, its model files, and its Objective-C classes."""
    path, language = source.path, language_of(source.path)
    called = [use for use in known if use.calls]
    first = next((use for use in called if "load" in use.name.lower()), next(iter(called), None))
    if any(use.name != UNREAD for use in known):
        loaded = [(use.file, use.span) for use in known if use.file]
        names = {name for name, _ in loaded}
        others = [(name, span) for name, span in reading.files if name not in names]
        for name, span in (*loaded, *others):
            constants = (("file", name), ("language", language))
            yield Mention(FILE_READ, Kind.REFERENCE, path, source.line_of(span.start), constants)
    for use in known:
        if use.name.startswith("LibTorch"):
            yield Mention(LIBTORCH_REQUIRED, Kind.REFERENCE, path, source.line_of(use.span.start))
    if first is None:
        return
    line = source.line_of(first.span.start)
    yield Mention(RUNTIME_CALLED, Kind.REFERENCE, path, line, (("language", language),))
    for name in reading.classes:
        yield Mention(CLASS_BRIDGED, Kind.REFERENCE, path, line, (("name", name),))
