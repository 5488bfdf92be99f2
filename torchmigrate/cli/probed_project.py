"""`torchmigrate probe --project`: the files of a project, checked by `torchmigrate.probe.project_findings`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import click

from torchmigrate.console.terminal import escape_line
from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.model.findings import Finding
from torchmigrate.prefilter.project_file_kinds import MAX_METADATA_BYTES, kind_of, may_concern_rules
from torchmigrate.probe import project_findings, wording
from torchmigrate.probe.machine_facts import MachineFacts
from torchmigrate.project import file_search
from torchmigrate.project.file_search import InputFile
from torchmigrate.run.profiles import Profiles
from torchmigrate.text.source_text import SourceError


def _print_warning(path: str, why: str) -> None:
    """Print to standard error that a file cannot be read."""
    click.echo(escape_line(f"warning: {path}: {why}"), err=True)


Unread = Callable[[str, str], None]
"""Called with the path of a file that cannot be read, and the reason."""


def judge_files(paths: Sequence[str], facts: MachineFacts, unread: Unread = _print_warning) -> list[Finding]:
    """Return the verdicts on what the files at ``paths`` would install on a machine. Raises ConfigError."""
    found: list[Finding] = []
    passed = 0
    for document in _read_documents(paths, unread):
        try:
            named = project_findings.find_torch_references(document)
        except (SourceError, RecursionError) as error:
            unread(document.path, str(error))
            continue
        for environment, references in named:
            installed = [one for one in references if project_findings.is_installed_to_run(one)]
            passed += not installed
            found += project_findings.judge_environment(document, environment, installed, facts)
    if not found:
        found.append(wording.create_info("RT031", "no file here requires torch"))
    if passed:
        places = "1 place" if passed == 1 else f"{passed} places"
        message = f"{places} where tests, documentation or development tools require torch were not checked"
        found.append(wording.create_info("RT031", message))
    return found


def _is_judged(path: str) -> bool:
    """Return whether a file may determine what is installed where the project runs; notebooks run anywhere."""
    return kind_of(path) not in (None, "notebook")


def _read_documents(paths: Sequence[str], unread: Unread) -> Iterator[ProjectDocument]:
    within = file_search.find_files(paths, wanted=_is_judged, excludes=Profiles({}).get_excludes)
    for error in within.errors:
        unread(error.path, error.message)
    for file in within.inputs:
        if document := _read_document(file, unread):
            yield document


def _read_document(file: InputFile, unread: Unread) -> ProjectDocument | None:
    """Return the project file, or None if it cannot name torch."""
    try:
        kind = kind_of(file.path) or ""
        data = file.read_bytes() if _is_judged(file.path) else b""
        if may_concern_rules(kind, data) and (len(data) <= MAX_METADATA_BYTES or kind == "lock"):
            return ProjectDocument.decode_source(file.path, data)
    except (OSError, SourceError) as error:
        unread(file.path, str(error))
    return None
