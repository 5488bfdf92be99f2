"""`check --add-ignore`: suppression comments for the reported findings, written into the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from torchmigrate.adoption.ignore_comments import NO_PLACE, IgnoreComment, add_ignore_comments
from torchmigrate.cli.session import Session
from torchmigrate.model.findings import FileError, FileResult, Finding
from torchmigrate.model.torch_versions import parse_version, render_version
from torchmigrate.reporters.report import format_count, format_place
from torchmigrate.run.multi_file import FixResult
from torchmigrate.text.source_text import SourceError

MAX_LEFT = 10
"""How many findings that no comment can suppress are listed; the rest are only counted."""


def parse_request(reason: str, until: str | None) -> IgnoreComment:
    """Return what the options request. Raises click.UsageError."""
    try:
        return IgnoreComment(reason.strip(), parse_version(until) if until is not None else None)
    except ValueError as error:
        raise click.UsageError(f"--add-ignore: {error}") from None


def write_suppressions(run: Session, ignore: IgnoreComment) -> Iterator[str]:
    """Suppress the findings that text formats would list, and yield what was done; failures become file errors."""
    target = run.report.settings.target_version
    if ignore.until is not None and ignore.until <= target:
        raise click.UsageError(
            f"--until {render_version(ignore.until)}: the comments would already have expired, since the target is {render_version(target)}"
        )
    files = {file.path: file for file in run.inputs}
    silenced, changed, left = 0, 0, list[Finding]()
    for result in list(run.results):
        findings = [
            one for one in result.findings if one.span and run.report.is_listed(one) and _is_suppressible(one)
        ]
        if not findings:
            continue
        settings = run.report.get_settings(result.path)
        try:
            data = files[result.path].read_bytes()
            done = add_ignore_comments(result.path, data, findings, ignore, settings.target_version)
        except (OSError, SourceError) as error:  # it was readable when it was checked
            failure = FileError(result.path, f"changed while it was being checked: {error}")
            run.collect_results([FileResult(result.path, errors=(failure,))])
            continue
        left += done.left
        fixed = FixResult(result.path, data, done.data, (), result)
        if data != done.data and run.write_files([fixed]):
            silenced, changed = silenced + len(done.silenced), changed + 1
            if done.whole_file:
                yield f"{result.path}: {', '.join(done.whole_file)} suppressed in the whole file"
    yield f"{format_count(silenced, 'finding')} suppressed in {format_count(changed, 'file')}"
    yield from _describe_remaining(left)


def _is_suppressible(finding: Finding) -> bool:
    """Return whether a finding is about code, not about a suppression comment."""
    return not finding.code.startswith("XX")


def _describe_remaining(left: Sequence[Finding]) -> Iterator[str]:
    if left:
        yield f"{format_count(len(left), 'finding')} left: {NO_PLACE}"
        yield from (f"  {format_place(finding)}: {finding.code}" for finding in left[:MAX_LEFT])
        if left[MAX_LEFT:]:
            yield f"  and {len(left) - MAX_LEFT} more"
