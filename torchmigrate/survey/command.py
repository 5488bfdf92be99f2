"""`torchmigrate survey`: what an upgrade breaks in many repositories.

Exit status: 0; 2 for wrong usage, and if a repository could not be checked.
"""

from __future__ import annotations

import datetime
import functools
import os
import sys
from typing import Any

import click

from torchmigrate.cli import options, output
from torchmigrate.cli.options import PLACE, Failure
from torchmigrate.console.terminal import ProgressBar, escape_line
from torchmigrate.reporters.report import format_count
from torchmigrate.settings import config

DEFAULT_FOLDER = "torchmigrate-survey"


@click.command(short_help="Survey many repositories, and order their upgrades.")
@click.option(
    "--from",
    "lists",
    multiple=True,
    metavar="FILE",
    type=PLACE,
    help="A list of repositories: a path or an address in each line, or what `gh repo list --json url,isArchived` prints.",
)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=PLACE,
    default=DEFAULT_FOLDER,
    show_default=True,
    help="The folder for the results, and for what a later run need not do again.",
)
@click.option("--fix", is_flag=True, help="Also write a patch for each repository, for `git am`.")
@click.option("--unsafe", is_flag=True, help="With --fix: also make unsafe fixes.")
@click.option(
    "--report",
    metavar="DIR",
    type=PLACE,
    help="Only write the results in DIR again, from what is kept there.",
)
@click.option(
    "--compare",
    nargs=2,
    metavar="OLD NEW",
    type=PLACE,
    help="Only compare the results in two folders, by repository.",
)
@click.option(
    "--ray",
    metavar="ADDRESS",
    help="Work on a Ray cluster: its address, `auto`, or `local` for a new one here.",
)
@click.option(
    "-j", "--jobs", type=click.IntRange(1), help="Repositories at a time; default: as many as there are CPUs."
)
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    default=600.0,
    show_default=True,
    help="Seconds for each repository.",
)
@click.option(
    "--memory",
    type=click.FloatRange(0.5),
    metavar="GIB",
    default=4.0,
    show_default=True,
    help="Memory for each repository.",
)
@click.option(
    "--max-size",
    type=click.IntRange(1),
    metavar="MIB",
    default=1024,
    show_default=True,
    help="Size of each repository's files.",
)
@click.option(
    "--target-version",
    metavar="VERSION",
    help="The torch to upgrade to; default: each repository's, or the newest.",
)
@click.option(
    "--min-version",
    metavar="VERSION",
    help="The oldest torch to support; default: from each repository's metadata.",
)
@click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    shell_complete=options.complete_codes,
    help="Only these rules.",
)
@click.option(
    "--extend-select",
    multiple=True,
    metavar="CODES",
    shell_complete=options.complete_codes,
    help="Also these rules.",
)
@click.option(
    "--ignore", multiple=True, metavar="CODES", shell_complete=options.complete_codes, help="Not these rules."
)
@click.option("--isolated", is_flag=True, help="Read no configuration file of a repository.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.argument("paths", nargs=-1, metavar="[PATHS]...", type=PLACE)
def survey(paths: tuple[str, ...], **given: Any) -> int:
    """Find what an upgrade breaks in the repositories PATHS: folders that are or contain them, or addresses.

    An address is git+https://HOST/PATH, git+ssh://… or git+file:///…, with @REF for a branch, tag or commit. Nothing of a
    repository is executed or changed. A run that was interrupted goes on where it was; repositories that did not change since
    are not looked at again.
    """
    if given["compare"]:
        return _print_comparison(*given["compare"])
    if given["report"]:
        if paths or given["lists"]:
            raise click.UsageError("--report takes no repositories; it uses what is kept")
        return _write_again(given["report"], given["quiet"])
    if given["unsafe"] and not given["fix"]:
        raise click.UsageError("--unsafe requires --fix")
    if given["jobs"] and given["ray"]:
        raise click.UsageError("--jobs cannot be used with --ray, whose cluster decides")
    if not (paths or given["lists"]):
        raise click.UsageError("name a folder with repositories, an address, or a list with --from")
    return _survey_repositories(paths, given)


def _survey_repositories(paths: tuple[str, ...], given: dict[str, Any]) -> int:
    from torchmigrate.probe.ray_cluster import RayError
    from torchmigrate.survey.inspection import Limits
    from torchmigrate.survey.ray_survey import answer_on_cluster
    from torchmigrate.survey.repositories import ListError, list_repositories
    from torchmigrate.survey.run import SurveyRequest, answer_in_processes, run_survey
    from torchmigrate.survey.store import Store

    try:
        repositories = list_repositories(paths, given["lists"])
    except ListError as error:
        raise Failure(str(error)) from None
    limits = Limits(given["timeout"], int(given["memory"] * (1 << 30)), given["max_size"] << 20)
    request = SurveyRequest(_list_arguments(given), given["fix"], given["unsafe"], limits)
    if given["ray"]:
        answer = functools.partial(answer_on_cluster, limits=limits, address=given["ray"])
    else:
        at_a_time = given["jobs"] or os.cpu_count() or 1
        answer = functools.partial(answer_in_processes, limits=limits, at_a_time=at_a_time)
    store = Store(given["folder"])
    with ProgressBar(sys.stderr, wanted=not given["quiet"]) as progress:
        try:
            totals = run_survey(repositories, request, store, answer, progress)
        except RayError as error:
            raise Failure(str(error)) from None
    if not given["quiet"]:
        seen = format_count(totals.looked_at, "repository", "repositories")
        _print_note(
            f"{seen} looked at in {totals.cpu_seconds:.0f} s of CPU time, {totals.unchanged} unchanged"
        )
    return _finish(store, str(datetime.date.today()), given["quiet"])


def _write_again(folder: str, quiet: bool) -> int:
    from torchmigrate.survey.store import Store

    store = Store(folder)
    if not store.list_names():
        raise Failure(f"{folder} holds no survey")
    return _finish(store, None, quiet)


def _finish(store: Any, today: str | None, quiet: bool) -> int:
    """Write the results, and print where they are and which repositories failed; return the exit status."""
    from torchmigrate.survey.report import write_report

    summary = write_report(store, today)
    failed = [one for one in summary.repositories if one["failure"]]
    for one in failed:
        output.print_lines(f"torchmigrate: {one['repository']}: {one['failure']}")
    totals = summary.totals
    if not quiet:
        _print_note(
            f"{format_count(totals['repositories'], 'repository', 'repositories')}: {totals['error']} findings break, "
            f"{totals['warning']} warn, {totals['info']} are superseded; see {os.path.join(store.folder, 'index.html')}"
        )
    return 2 if failed else 0


def _print_comparison(old: str, new: str) -> int:
    from torchmigrate.survey.comparison import compare_surveys

    try:
        for line in compare_surveys(old, new):
            output.print_text(escape_line(line) + "\n")
    except OSError as error:
        raise Failure(f"{error.filename} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(f"{old} or {new} holds no results of a survey: {error}") from None
    return 0


def _list_arguments(given: dict[str, Any]) -> tuple[str, ...]:
    """Return the options for `plan` and `fix`. Raises ConfigError for invalid values."""
    names = ("target_version", "min_version", "select", "extend_select", "ignore")
    table: dict[str, object] = {}
    arguments: list[str] = []
    for name in names:
        if value := given[name]:
            key = name.replace("_", "-")
            codes = (
                value if isinstance(value, str) else [one for text in value for one in text.split(",") if one]
            )
            table[key] = codes
            arguments += [f"--{key}", codes if isinstance(codes, str) else ",".join(codes)]
    config.parse_table(table, config.COMMAND_LINE)
    return (*arguments, *(("--isolated",) if given["isolated"] else ()))


def _print_note(text: str) -> None:
    output.print_lines(f"torchmigrate: {text}")
