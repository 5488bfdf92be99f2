"""The options of `fix --verify`, the project that is copied, and the fixes that are kept."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from torchmigrate.cli.options import Failure, combine_options, find_common_folder
from torchmigrate.model.findings import UNREACHED
from torchmigrate.project.folders import find_tree_root

if TYPE_CHECKING:
    from pathlib import Path

    from torchmigrate.reporters.report import Verified
    from torchmigrate.run.multi_file import FixResult
    from torchmigrate.trials.trial import Fixes

FEWEST_RUNS = 4
"""The fewest runs of the command: two without fixes, which have to agree, one more if the first did not find the copy, and one with all fixes."""


class VerifyRequest(NamedTuple):
    """The values of the options."""

    command: str
    runs: int
    timeout: float
    environment: dict[str, str]


add_options = combine_options(
    click.option(
        "--verify-env",
        multiple=True,
        metavar="NAME=VALUE",
        help="An environment variable for the command of --verify; may be repeated.",
    ),
    click.option(
        "--verify-timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=3600.0,
        metavar="SECONDS",
        help="Time limit for one run; a run with fixes may take five times as long as one without, plus a minute.  "
        "[default: 3600]",
    ),
    click.option(
        "--verify-runs",
        type=click.IntRange(min=FEWEST_RUNS),
        default=20,
        metavar="N",
        help="The maximum number of runs to find out which fixes to leave out.  [default: 20]",
    ),
    click.option(
        "--verify",
        metavar="COMMAND",
        help="Keep only fixes that do not change the outcome of this shell command, such as `pytest -q`; "
        "it runs in copies of the project.",
    ),
)
"""The options ``verify``, ``verify_runs``, ``verify_timeout``, ``verify_env``."""


def parse_request(
    verify: str | None, runs: int, timeout: float, environment: Sequence[str]
) -> VerifyRequest | None:
    """Return the values of the options, or None without a command. Raises UsageError."""
    pairs = [text.partition("=") for text in environment]
    if bad := [name for name, equals, _ in pairs if not (name and equals)]:
        raise click.UsageError(f"--verify-env takes NAME=VALUE, not {bad[0]!r}")
    if verify is None:
        if environment:
            raise click.UsageError("--verify-env requires --verify")
        return None
    return VerifyRequest(verify, runs, timeout, {name: value for name, _, value in pairs})


def verify_fixes(
    asked: VerifyRequest, paths: Sequence[str], fixes: Fixes, say: Callable[[str], None]
) -> tuple[Sequence[FixResult], Verified]:
    """Return the files with the fixes that the command accepts, and the result of the trial. Raises Failure."""
    from torchmigrate.reporters.report import Verified
    from torchmigrate.trials.judging_command import JudgingCommand
    from torchmigrate.trials.reference_runs import UnusableCommand
    from torchmigrate.trials.trial import Trial

    root, here = _find_project(paths)
    trial = Trial(
        JudgingCommand(asked.command, root, here, asked.environment), asked.runs, asked.timeout, say
    )
    try:
        with _exit_on_signals():
            verdict = trial.judge_fixes(fixes)
    except UnusableCommand as error:
        raise Failure(f"{trial.command} cannot verify the fixes: {error}") from None
    except OSError as error:
        raise Failure(f"the project cannot be copied to verify the fixes: {error}") from None
    return verdict.fixed, Verified(
        str(trial.command),
        verdict.runs,
        verdict.kept,
        tuple((one.finding, one.reason) for one in verdict.left_out),
        (*verdict.notes, *_describe_unreached(verdict.fixed)),
        verdict.before.passed,
        verdict.after.passed if verdict.after else None,
    )


def _describe_unreached(fixed: Sequence[FixResult]) -> Iterator[str]:
    """Yield a note on each kept fix in code that no recorded run has executed, which the command may not have tried."""
    from torchmigrate.reporters.report import format_place

    for finding in (finding for one in fixed for finding in one.applied):
        if finding.evidence and finding.evidence.endswith(UNREACHED):
            yield f"the fix of {finding.code} in {format_place(finding)} may not have been executed: {finding.evidence}"


@contextlib.contextmanager
def _exit_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does: with the command, and without leaving a copy."""
    import signal

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), end) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def _find_project(paths: Sequence[str]) -> tuple[Path, Path]:
    """Return the project that contains all ``paths`` and the current folder, together with the current folder."""
    from pathlib import Path

    if "-" in paths:
        raise click.UsageError("--verify cannot be used with standard input")
    here = os.path.realpath(os.curdir)
    folder = find_common_folder([here, *(paths or [os.curdir])])
    root = os.path.realpath(find_tree_root(folder) or folder)
    if root in (os.path.realpath(os.path.expanduser("~")), os.path.dirname(root)):
        raise Failure(f"--verify copies the whole project, but {root} is not a project")
    return Path(root), Path(here)
