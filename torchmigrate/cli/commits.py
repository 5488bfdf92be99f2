"""`fix --commit-per-rule`: one commit for the changes of each rule."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torchmigrate import __version__
from torchmigrate.cli.options import Failure
from torchmigrate.model.findings import Finding
from torchmigrate.model.versions import render

if TYPE_CHECKING:
    from torchmigrate.cli.session import Session


class Repository:
    """The git repository that contains all ``paths``. Raises Failure if there is none, or if it has uncommitted changes."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._root = os.path.dirname(os.path.realpath(paths[0])) if paths else os.curdir
        self._root = os.path.realpath(self._git("rev-parse", "--show-toplevel").rstrip("\n"))
        inside = {os.path.relpath(os.path.realpath(path), self._root) for path in paths}
        if any(path.startswith(os.pardir) for path in inside):
            raise Failure("--commit-per-rule requires all files to be in one repository")
        changes = self._git("status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules")
        for entry in filter(None, changes.split("\0")):
            if not entry.startswith("?? ") or entry[3:] in inside:
                raise Failure(f"--commit-per-rule needs a clean work tree: {entry[3:]} is not committed")

    def commit(self, paths: Sequence[str], message: str) -> None:
        """Commit the files at ``paths`` as they are. Raises Failure with the message of git or of a hook."""
        inside = [os.path.relpath(os.path.realpath(path), self._root) for path in paths]
        self._git("--literal-pathspecs", "add", "--", *inside)
        self._git("--literal-pathspecs", "commit", "--quiet", "-m", message, "--", *inside)

    def _git(self, *arguments: str) -> str:
        command = ["git", "-C", self._root, *arguments]
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise Failure(f"--commit-per-rule needs git: {error.strerror}") from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
            asked = next(word for word in arguments if not word.startswith("-"))
            raise Failure(f"git {asked}: {said}")
        return done.stdout


def commit_each(run: Session) -> int:
    """Fix rule by rule, and commit the changes of each; return the number of changed files. Raises Failure."""
    from torchmigrate.run import joint, runner

    repository = Repository([file.path for file in run.inputs])
    changed: set[str] = set()
    tried: set[str] = set()
    while findings := _next(run, tried):
        code = findings[0].code
        wanted = _with_their_parts(findings)
        applied: list[Finding] = []
        paths: list[str] = []
        for tree in run.trees:
            for unit in joint.units(runner.fix(tree, choose=wanted, cache=run.cache)):
                for fixed in run.delivered(unit, True):
                    paths.append(fixed.path)
                    applied += fixed.applied
        tried.add(code)
        if paths:
            repository.commit(paths, _message(run, code, applied))
            tried = {code} if tried - {code} else tried  # others may have waited for this one
            changed.update(paths)
            run.report.applied += applied
    for tree in run.trees:
        run.collect(runner.check(tree, cache=run.cache))
    return len(changed)


def _next(run: Session, tried: set[str]) -> list[Finding]:
    """Return the fixable findings of the next rule: errors first, then warnings."""
    from torchmigrate.run import runner

    found = [
        finding
        for tree in run.trees
        for result in runner.check(tree, cache=run.cache)
        for finding in result.findings
        if finding.code not in tried
        if finding.fix is not None and run.report.applies(finding.fix, finding.path)
    ]
    found.sort(key=lambda finding: (-finding.severity.rank, finding.code))
    return [finding for finding in found if finding.code == found[0].code]


def _with_their_parts(findings: Sequence[Finding]) -> Callable[[Finding], bool]:
    """Return a function that agrees to the fixes of a rule, and to the parts of its multi-file fixes in other files."""
    code = findings[0].code
    names = {finding.fix.joint.name for finding in findings if finding.fix and finding.fix.joint}

    def wanted(finding: Finding) -> bool:
        joint = finding.fix.joint if finding.fix else None
        return finding.code == code or (joint is not None and joint.name in names)

    return wanted


def _message(run: Session, code: str, applied: Sequence[Finding]) -> str:
    rule = run.report.rules().get(code)
    minimum, target = render(run.report.minimum.version), render(run.report.settings.target_version)
    others = sorted({finding.code for finding in applied} - {code})
    mine = [finding for finding in applied if finding.code == code]
    places = f"{len(applied)} place{'s' if len(applied) != 1 else ''}"
    files = len({finding.path for finding in applied})
    paragraphs = [
        f"Upgrade torch: {code} {rule.name if rule else ''}".rstrip(),
        rule.summary if rule else "",
        f"{places} in {files} file{'s' if files != 1 else ''}, by torchmigrate {__version__} for torch {minimum} to "
        f"{target}{', with ' + ', '.join(others) if others else ''}.",
        f"Source: {source}" if (source := run.report.sources(code, mine)) else "",
    ]
    return "\n\n".join(filter(None, paragraphs)) + "\n"
