"""Comments that suppress findings.

* ``# torchmigrate: ignore`` or ``# torchmigrate: ignore TS101, SC2``, at the end of any line of a statement, or on
  a line of its own before it. Of a compound statement it covers the header with its decorators, not the body.
* ``# torchmigrate: ignore-file`` or ``# torchmigrate: ignore-file TS``, anywhere in the file (or notebook).

Codes may be prefixes. ``until 2.16`` may follow: from that target on the comment silences nothing, and is due. A reason may
follow after `` -- ``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter

from torchmigrate.model.findings import Edit, Finding, Fix, Span
from torchmigrate.model.torch_versions import Version, parse_version, render_version
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.text.finding_factory import create_finding
from torchmigrate.text.source_text import SourceError, SourceText
from torchmigrate.text.suppression_syntax import BODY, DIRECTIVE, MARK

UNUSED = "XX001"
MALFORMED = "XX002"
DUE = "XX003"


@dataclass(slots=True)
class SuppressionComment:
    """One suppression in a comment, which may be a part of that comment."""

    span: Span
    """The span of the suppression, from its ``#``."""
    comment: Span
    """The span of the whole comment."""
    covers: Span | None
    """The span of the statement it applies to; None for the whole file."""
    codes: tuple[str, ...]
    """Codes and prefixes; empty for all."""
    codes_span: Span
    until: Version | None
    """The target version from which on it suppresses nothing."""
    used: set[str] = field(default_factory=set)
    """The ``codes`` that suppressed a finding; an empty string for a suppression without codes."""

    def has_expired(self, target: Version) -> bool:
        """Return whether the suppression has expired at the target version."""
        return self.until is not None and self.until <= target

    def mark_if_matching(self, finding: Finding) -> bool:
        """Return whether the suppression names the code of a ``finding`` that it covers, and record that it was used."""
        matching = {code for code in self.codes or ("",) if finding.code.startswith(code)}
        self.used |= matching
        return bool(matching)


class Suppressions:
    """The suppressions of one file."""

    def __init__(
        self, source: SourceText, directives: list[SuppressionComment], malformed: list[Span]
    ) -> None:
        self._source = source
        self.directives = directives
        self._malformed = malformed

    def filter_findings(
        self, findings: Iterable[Finding], selected: Callable[[str], bool], target: Version
    ) -> tuple[list[Finding], int]:
        """Return the findings that are not suppressed, with findings about the comments themselves, and the number of
        suppressed ones.

        ``selected`` says whether this run looked for all that a code or prefix names (an empty one names the
        whole default selection); a comment is not called unused for what nobody looked for.
        """
        findings = list(findings)
        suppressed = {id(finding) for finding in self._iter_suppressed(findings, target)}
        kept = [finding for finding in findings if id(finding) not in suppressed]
        said = [*self._report_unused(selected), *self._report_malformed(), *self._report_expired(target)]
        own = [finding for finding in said if selected(finding.code)]
        named = {code for d in self.directives if not d.covers for code in d.codes if code.startswith("XX")}
        own = [finding for finding in own if not finding.code.startswith(tuple(named))]
        return kept + own, len(findings) - len(kept)

    def _iter_suppressed(self, findings: Iterable[Finding], target: Version) -> Iterator[Finding]:
        """Yield the findings to which a comment applies; each comment that does so is recorded as used."""
        everywhere = [directive for directive in self.directives if directive.covers is None]
        covering = [(one.covers, one) for one in self.directives if one.covers is not None]
        waiting = sorted(covering, key=lambda pair: pair[0].start, reverse=True)
        placed = [(finding.span.start, finding) for finding in findings if finding.span is not None]
        reached: list[tuple[Span, SuppressionComment]] = []
        for start, finding in sorted(placed, key=itemgetter(0)):
            while waiting and waiting[-1][0].start <= start:
                reached.append(waiting.pop())
            reached = [(span, directive) for span, directive in reached if start < span.end]
            # No short circuit: each suppression that matches has to be recorded as used.
            around = (*everywhere, *(directive for _, directive in reached))
            met = [directive for directive in around if directive.mark_if_matching(finding)]
            if not all(directive.has_expired(target) for directive in met):
                yield finding

    def _report_expired(self, target: Version) -> Iterator[Finding]:
        for directive in self.directives:
            if directive.used and directive.until and directive.has_expired(target):
                message = f"this comment suppresses findings only up to torch {render_version(directive.until)}, and the target is {render_version(target)}"
                hint = "fix what it suppresses, or name a later release and the reason"
                yield self._create_finding(DUE, message, directive.span, hint=hint)

    def _report_unused(self, selected: Callable[[str], bool]) -> Iterator[Finding]:
        for directive in self.directives:
            all_codes = directive.codes or ("",)
            unused = [
                code
                for code in all_codes
                if code not in directive.used and not code.startswith("XX") and selected(code)
            ]
            if not unused:
                continue
            left = [code for code in all_codes if code not in unused]
            named = ", ".join(f"`{code}`" for code in unused if code)
            message = f"no finding to suppress here for {named}" if named else "no finding to suppress here"
            fix = Fix(
                (
                    Edit(directive.codes_span.start, directive.codes_span.end, ", ".join(left))
                    if left
                    else self._remove_directive(directive),
                ),
                Safety.SAFE,
                "Remove the unused suppression",
            )
            yield self._create_finding(UNUSED, message, directive.span, fix)

    def _report_malformed(self) -> Iterator[Finding]:
        for span in self._malformed:
            text = self._source.get_segment(span)
            hint = "write `# torchmigrate: ignore TS101` or `# torchmigrate: ignore-file TS101`"
            yield self._create_finding(
                MALFORMED, f"`{text}` is not a valid suppression comment and has no effect", span, hint=hint
            )

    def _create_finding(
        self, code: str, message: str, span: Span, fix: Fix | None = None, hint: str | None = None
    ) -> Finding:
        made = None if fix is None else lambda: fix
        return create_finding(code, message, Severity.WARNING, self._source, span, fix=made, hint=hint)

    def _remove_directive(self, directive: SuppressionComment) -> Edit:
        """Return the edit that removes the suppression with its line, the space before it, or (first in a longer comment)
        after it."""
        text, span, comment = self._source.text, directive.span, directive.comment
        line = self._source.full_line_span(span.start)
        before = text[line.start : span.start]
        if span == comment and not before.strip():
            return Edit(line.start, line.end, "")
        if span.start == comment.start and span.end < comment.end:
            rest = text[span.end : comment.end]
            return Edit(span.start, span.end + len(rest) - len(rest.lstrip()), "")
        return Edit(span.start - (len(before) - len(before.rstrip())), span.end, "")


def parse_suppressions(
    source: SourceText, scan: Callable[[], tuple[list[Span], list[Span]]] | None = None
) -> Suppressions:
    """Parse the suppression comments of ``source``; free of cost where there are none.

    ``scan`` gives the comments and the statements of what is no Python.
    """
    if MARK not in source.text:
        return Suppressions(source, [], [])
    comments, statements = find_comments_and_statements(source) if scan is None else scan()
    starts = [statement.start for statement in statements]
    directives: list[SuppressionComment] = []
    malformed: list[Span] = []
    for comment in comments:
        text = source.get_segment(comment)
        for match in DIRECTIVE.finditer(text):
            span = _span_within(comment, text, match.span())
            body = BODY.fullmatch(match["body"])
            if body is None:
                malformed.append(span)
                continue
            start = match.start("body")
            codes = tuple(re.findall(r"[A-Z]+\d*", body["codes"] or ""))
            codes_span = _span_within(comment, text, (start + body.start("codes"), start + body.end("codes")))
            at = bisect_right(starts, comment.start) - 1
            if at < 0 or statements[at].end <= comment.start:
                at += 1
            nothing = Span(len(source.text), len(source.text))
            covers = statements[at] if at < len(statements) else nothing
            until = parse_version(body["until"]) if body["until"] else None
            of_file = body["file"] is not None
            directives.append(
                SuppressionComment(span, comment, None if of_file else covers, codes, codes_span, until)
            )
    return Suppressions(source, directives, malformed)


def _span_within(span: Span, text: str, characters: tuple[int, int]) -> Span:
    start, end = (span.start + len(text[:offset].encode()) for offset in characters)
    return Span(start, end)


def find_comments_and_statements(source: SourceText) -> tuple[list[Span], list[Span]]:
    """Return the spans of the comments, and of the statements: logical lines with the comments in and behind them.

    A compound statement's is its header, with the decorators. Empty where the text does not tokenize; then it does
    not parse either.
    """
    import tokenize

    from torchmigrate.text.source_tokens import tokenize_source

    comments: list[Span] = []
    statements: list[Span] = []
    begin: int | None = None
    is_first = True
    decorates = False
    try:
        for token in tokenize_source(source):
            if token.type == tokenize.COMMENT:
                comments.append(token.span)
            elif token.type == tokenize.NEWLINE:
                if begin is not None and not decorates:
                    statements.append(Span(begin, token.span.start + 1))
                    begin = None
                is_first = True
            elif token.type not in (tokenize.NL, tokenize.INDENT):
                if is_first:
                    decorates = token.text == "@"
                    is_first = False
                if begin is None:
                    begin = token.span.start
    except SourceError:
        return [], []
    return comments, statements
