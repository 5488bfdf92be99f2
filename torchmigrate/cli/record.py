"""`torchmigrate record`: run a command, and keep what the run shows about the project's use of torch."""

from __future__ import annotations

import os
import sys

import click

from torchmigrate.cli import options, output
from torchmigrate.console.terminal import escape_controls
from torchmigrate.reporters.report import format_count


@click.command(
    short_help="Run a command, and keep what the run shows about the use of torch.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "-o",
    "--output-file",
    metavar="FILE",
    type=options.PLACE,
    help="Write the record to FILE; default: .torchmigrate/record.jsonl in the project.",
)
@click.option(
    "--prove", is_flag=True, help="At the end, export what was scripted or traced, and compare the results."
)
@click.option(
    "--lines", is_flag=True, help="Also record executed lines before Python 3.12; slows Python code."
)
@click.option("-a", "--append", is_flag=True, help="Add to the record instead of replacing it.")
@click.option(
    "--merge", is_flag=True, help="Join records, which are named instead of a command, and accept them."
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def record(
    output_file: str | None,
    prove: bool,
    lines: bool,
    append: bool,
    merge: bool,
    quiet: bool,
    command: tuple[str, ...],
) -> int:
    """Run COMMAND unchanged, and keep what its Python processes show: warnings, inputs of TorchScript, what `torch.load`
    reads, process groups, executed lines.

    `check`, `plan` and `fix` use the record in the project. Exits as COMMAND does. With --merge, COMMAND are records, such as
    those of other machines.
    """
    from torchmigrate.record import FOLDER, record_file, recorded_run

    root = find_root(os.getcwd())
    folder = os.path.join(root, FOLDER)
    path = output_file or os.path.join(folder, record_file.NAME)
    if merge and (prove or lines):
        raise click.UsageError("--merge runs no command; --prove and --lines are for a run")
    kept = [path] if append and os.path.exists(path) else []
    if merge:
        _write(
            path,
            root,
            _read_records([*kept, *command], root),
            quiet,
            f"joined {format_count(len(command), 'record')}",
        )
        return 0
    earlier = _read_records(kept, root)
    try:
        os.makedirs(folder, exist_ok=True)
        record_file.hide_folder(folder)
        asked = {"prove": prove, "lines": lines, "variables": _list_renamed_variables()}
        status, run = recorded_run.record_command(command, root, folder, asked)
    except FileNotFoundError as error:
        raise options.Failure(f"cannot run {command[0]}: {error.strerror}") from None
    except OSError as error:
        raise options.Failure(f"cannot record: {error.strerror or error} ({error.filename})") from None
    for part in sorted(set(run.faults)):
        _print_note(f"{part} could not be recorded with this torch", quiet)
    if run.processes:
        found = _Gathered(earlier.lines + run.lines, earlier.torch + run.torch, earlier.python + run.python)
        _write(path, root, found, quiet, f"recorded {format_count(run.processes, 'process', 'processes')}")
    else:
        _print_note(
            "nothing was recorded, because no Python process that inherits the environment has imported torch",
            quiet,
        )
    output.flush_output()
    return recorded_run.end_like(status)


class _Gathered:
    """Facts from several records, and the versions that they were made with."""

    def __init__(self, lines: list[str], torch: list[str], python: list[str]) -> None:
        self.lines, self.torch, self.python = lines, torch, python


def find_root(folder: str) -> str:
    """Return the folder that paths in a record of a run in ``folder`` are relative to."""
    from torchmigrate.project.folders import find_tree_root

    return find_tree_root(folder) or folder


def _read_records(paths: list[str], root: str) -> _Gathered:
    from torchmigrate.record.record_file import RecordError, read_record

    found = _Gathered([], [], [])
    for path in paths:
        try:
            one = read_record(path, root)
        except RecordError as error:
            raise options.Failure(str(error)) from None
        found.lines += one.lines
        for versions, name in ((found.torch, "torch"), (found.python, "python")):
            given = one.header.get(name)
            versions += [str(version)[:100] for version in given] if isinstance(given, list) else []
    return found


def _write(path: str, root: str, found: _Gathered, quiet: bool, done: str) -> None:
    from torchmigrate.record.record_file import merge_lines, write_record

    lines = merge_lines(found.lines)
    try:
        is_sealed = write_record(path, root, {"torch": found.torch, "python": found.python}, lines)
    except OSError as error:
        raise options.Failure(f"{path} cannot be written: {error.strerror or error}") from None
    _print_note(f"{done}, {format_count(len(lines), 'fact')} in {os.path.relpath(path)}", quiet)
    if not is_sealed:
        _print_note(
            "the record cannot be sealed, because your state folder cannot be written; it will be shown, and decide nothing",
            quiet,
        )


def _list_renamed_variables() -> list[str]:
    """Return the environment variables that torch reads under another name, or not at all any more."""
    from torchmigrate.tables import api_changes

    return sorted(symbol[1:] for symbol in api_changes.index_by_symbol(api_changes.ApiChangeKind.VARIABLE))


def _print_note(text: str, quiet: bool) -> None:
    if not quiet:
        sys.stdout.flush()
        output.print_text(f"torchmigrate: {escape_controls(text)}\n", to_stderr=True)
