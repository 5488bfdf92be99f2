"""`fix --commit-per-rule`: one commit for the changes of each rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchmigrate import __version__
from torchmigrate.adoption.work_tree import WorkTree
from torchmigrate.cli.fix_session import FixSession
from torchmigrate.cli.options import Failure
from torchmigrate.model.findings import Finding
from torchmigrate.model.torch_versions import render_version
from torchmigrate.project.git import GitError


def commit_by_rule(run: FixSession) -> int:
    """Fix rule by rule, and commit the changes of each; return the number of changed files. Raises Failure."""
    try:
        return _commit_each(run, WorkTree([file.path for file in run.inputs]))
    except GitError as error:
        raise Failure(f"--commit-per-rule: {error}") from None


def _commit_each(run: FixSession, work_tree: WorkTree) -> int:
    from torchmigrate.run import multi_file, runner

    changed: set[str] = set()
    tried: set[str] = set()
    while pending := _find_next(run, tried):
        work_tree.require_unfiltered({finding.path for finding in pending})
        code = pending[0].code
        wanted = _choose_rule([finding for finding in pending if finding.code == code])
        applied: list[Finding] = []
        paths: list[str] = []
        for tree in run.trees:
            for unit in multi_file.group_for_writing(runner.fix_tree(tree, choose=wanted, cache=run.cache)):
                for fixed in run.deliver(unit, True):
                    paths.append(fixed.path)
                    applied += fixed.applied
        tried.add(code)
        if paths:
            work_tree.commit_files(paths, _write_message(run, code, applied))
            tried = {code} if tried - {code} else tried  # others may have waited for this one
            changed.update(paths)
            run.report.applied += applied
    for tree in run.trees:
        run.collect_results(runner.check_tree(tree, cache=run.cache))
    return len(changed)


def _find_next(run: FixSession, tried: set[str]) -> list[Finding]:
    """Return the fixable findings of the rules not tried yet: errors first, then warnings."""
    from torchmigrate.run import runner

    pending = [
        finding
        for tree in run.trees
        for result in runner.check_tree(tree, cache=run.cache)
        for finding in result.findings
        if finding.code not in tried
        if finding.fix is not None and run.report.is_applied(finding.fix, finding.path)
    ]
    return sorted(pending, key=lambda finding: (-finding.severity.rank, finding.code))


def _choose_rule(findings: Sequence[Finding]) -> Callable[[Finding], bool]:
    """Return a function that agrees to the fixes of a rule, and to the parts of its multi-file fixes in other files."""
    code = findings[0].code
    names = {finding.fix.joint.name for finding in findings if finding.fix and finding.fix.joint}

    def wanted(finding: Finding) -> bool:
        joint = finding.fix.joint if finding.fix else None
        return finding.code == code or (joint is not None and joint.name in names)

    return wanted


def _write_message(run: FixSession, code: str, applied: Sequence[Finding]) -> str:
    rule = run.report.rules().get(code)
    minimum, target = (
        render_version(run.report.minimum.version),
        render_version(run.report.settings.target_version),
    )
    others = sorted({finding.code for finding in applied} - {code})
    mine = [finding for finding in applied if finding.code == code]
    places = f"{len(applied)} place{'s' if len(applied) != 1 else ''}"
    files = len({finding.path for finding in applied})
    paragraphs = [
        f"Upgrade torch: {code} {rule.name if rule else ''}".rstrip(),
        rule.summary if rule else "",
        f"{places} in {files} file{'s' if files != 1 else ''}, by torchmigrate {__version__} for torch {minimum} to "
        f"{target}{', with ' + ', '.join(others) if others else ''}.",
        f"Source: {source}" if (source := run.report.join_sources(code, mine)) else "",
    ]
    return "\n\n".join(filter(None, paragraphs)) + "\n"
