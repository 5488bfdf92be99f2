"""The end of the format ``full``: what breaks and warns, what can be fixed, what was checked, and the next command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from torchmigrate.console.terminal import escape_controls, escape_line, wrap_text
from torchmigrate.model.torch_versions import KNOWN, NEWEST, render_version
from torchmigrate.model.vocabulary import Severity
from torchmigrate.prefilter import foreign_languages, project_file_kinds
from torchmigrate.reporters.concise import COLORS, apply_style, format_counts
from torchmigrate.reporters.report import Report, format_count

MAX_RULES = 8
"""How many rules are named among those that break, and among those that warn."""

_LABEL = 15
"""The number of columns before the text of a line."""


def describe_run(report: Report) -> Iterator[str]:
    """Yield the lines of the summary."""
    text = f"{format_counts(report, with_fixes=False)}."
    yield from (wrap_text(text, report.width) if report.width else [text])
    target = render_version(report.settings.target_version)
    for severity, verb in ((Severity.ERROR, "breaks"), (Severity.WARNING, "warns")):
        if report.severities[severity]:
            label = apply_style(report, verb.ljust(_LABEL), fg=COLORS[severity], bold=True)
            yield from _label_lines(label, f"with torch {target}: {_list_rules(report, severity)}", report)
    if report.findings:
        yield from _label_lines("fixable".ljust(_LABEL), _describe_fixable(report), report)
    if report.needed_bounds:
        yield from _label_lines("lower bound".ljust(_LABEL), _describe_bounds(report), report)
    yield from _label_lines("checked".ljust(_LABEL), _describe_coverage(report), report)
    yield from _label_lines("not checked".ljust(_LABEL), _describe_exclusions(report), report)
    for number, (command, about) in enumerate(_suggest_commands(report) if report.suggests else ()):
        line = escape_line(f"{'next' if number == 0 else '':<{_LABEL}}{command}")
        fits = not report.width or len(f"{line}  # {about}") <= report.width
        yield from [f"{line}  # {about}"] if fits else [line, f"{'':<{_LABEL}}  # {about}"]


def _list_rules(report: Report, severity: Severity) -> str:
    found = [(number, code) for (code, one), number in report.rules_found.items() if one is severity]
    named = [f"{code} {number}" for number, code in sorted(found, key=lambda item: (-item[0], item[1]))]
    more = f" and {format_count(len(named) - MAX_RULES, 'rule')} more" if len(named) > MAX_RULES else ""
    return escape_controls(", ".join(named[:MAX_RULES]) + more)


def _describe_fixable(report: Report) -> str:
    bounded = report.needed_bounds.total()
    options = [(number, f"with {option}") for option, number in sorted(report.needed_options.items())]
    optional = bounded + report.needed_options.total()
    by_hand = report.findings - report.fixable - report.hidden_unsafe - report.waiting_for_others - optional
    parts = [
        (report.fixable, "by `torchmigrate fix`"),
        (report.hidden_unsafe, "more with --unsafe, after review"),
        (report.waiting_for_others, "after other changes"),
        (bounded, "with a newer lower bound"),
        *options,
        (by_hand, "by hand"),
    ]
    return ", ".join(f"{number} {how}" for number, how in parts if number > 0)


def _describe_bounds(report: Report) -> str:
    """Return how many fixes wait for which lower bound on torch, and the options that give them."""
    bounds, minimum = sorted(report.needed_bounds), report.minimum
    total, verb = report.needed_bounds.total(), "wait" if report.needed_bounds.total() > 1 else "waits"
    stated = f"torch>={render_version(minimum.version)}"
    bound = (
        f"the lower bound {stated} ({minimum.source})"
        if minimum.source and minimum.bounded
        else "a lower bound"
    )
    if report.settings.min_version is not None:
        bound = f"a newer --min-version than {render_version(minimum.version)}"
    options = [f"`--min-version {render_version(bounds[-1])}` gives {'them' if total > 1 else 'it'}"]
    first = report.needed_bounds[bounds[0]]
    if len(bounds) > 1:
        options = [
            f"`--min-version {render_version(bounds[0])}` gives {first} of them",
            f"`--min-version {render_version(bounds[-1])}` all",
        ]
    return escape_controls(f"{format_count(total, 'fix', 'fixes')} {verb} for {bound}: {', '.join(options)}")


def _describe_coverage(report: Report) -> str:
    """Return which files were checked, and by which rules."""
    by_kind = Counter(map(_classify_file, report.paths))
    files = ", ".join(f"{number} {kind}" for kind, number in by_kind.most_common())
    settings = report.settings
    rules = f"only {', '.join(settings.select)}" if settings.select else "all enabled by default"
    rules += f" and {', '.join(settings.extend_select)}" if settings.extend_select else ""
    rules += f", without {', '.join(settings.ignore)}" if settings.ignore else ""
    return escape_controls(f"{files or 'no files'}; rules: {rules}; API: every public name of torch {KNOWN}")


def _classify_file(path: str) -> str:
    if path.endswith(".ipynb"):
        return "notebook"
    kind = project_file_kinds.kind_of(path) or foreign_languages.language_of(path)
    return "Python" if kind in (None, "python") else str(kind)


def _describe_exclusions(report: Report) -> str:
    parts = ["files excluded by .gitignore or `exclude` (--show-files lists the checked ones)"]
    if report.errors:
        parts.insert(0, f"{format_count(report.errors, 'file')} with an error (see above)")
    if report.suppressed:
        parts.insert(0, f"{format_count(report.suppressed, 'finding')} suppressed by comments")
    return f"{'; '.join(parts)}; numerics, and changes in behavior that no name or argument shows"


def _suggest_commands(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the two commands that most people want to type next, each with a comment."""
    given = report.invocation
    if report.settings.target_version != NEWEST and "--target-version" not in given:
        given = f" --target-version {render_version(report.settings.target_version)}{given}"
    if report.fixable and not report.written:
        unsafe = report.settings.unsafe_fixes
        which = "all fixes" if unsafe else "the safe fixes"
        yield (
            f"torchmigrate fix{' --unsafe' if unsafe else ''}{given}",
            f"show the diff of {which}; --apply writes it",
        )
    elif report.hidden_unsafe:
        yield f"torchmigrate fix --unsafe{given}", "show the diff of the unsafe fixes, for review"
    elif report.needed_options:
        option = min(report.needed_options)
        yield f"torchmigrate fix --unsafe {option}{given}", "show the diff of the fixes that the option gives"
    elif report.findings:
        worst = max(report.rules_found, key=lambda found: (found[1].rank, report.rules_found[found]))
        yield f"torchmigrate explain {escape_controls(worst[0])}", "show what the rule is about"
    if report.findings:
        yield f"torchmigrate plan{given}", "show what to do in which order"
    else:
        yield "torchmigrate probe", "check whether this machine can run the target"


def _label_lines(label: str, text: str, report: Report) -> list[str]:
    if not report.width:
        return [label + text]
    margin = " " * _LABEL
    return [
        label + line[_LABEL:] if number == 0 else line
        for number, line in enumerate(wrap_text(text, report.width, margin))
    ]
