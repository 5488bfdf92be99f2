"""`torchmigrate probe --project`: the files of a project, checked by `torchmigrate.probe.project`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import click

from torchmigrate.console.terminal import shown
from torchmigrate.documents.document import Document
from torchmigrate.gates.kinds import MAX_METADATA_BYTES, concerns, kind_of
from torchmigrate.model.findings import Finding
from torchmigrate.probe import project, saying
from torchmigrate.probe.facts import Facts
from torchmigrate.project import files
from torchmigrate.project.files import Input
from torchmigrate.run.profiles import Profiles
from torchmigrate.text.source import SourceError


def _warn(path: str, why: str) -> None:
    """Print to standard error that a file cannot be read."""
    click.echo(shown(f"warning: {path}: {why}"), err=True)


Unread = Callable[[str, str], None]
"""Called with the path of a file that cannot be read, and the reason."""


def judged(paths: Sequence[str], facts: Facts, unread: Unread = _warn) -> list[Finding]:
    """Return the verdicts on what the files at ``paths`` would install on a machine. Raises ConfigError."""
    found: list[Finding] = []
    passed = 0
    for document in _documents(paths, unread):
        try:
            named = project.torches(document)
        except (SourceError, RecursionError) as error:
            unread(document.path, str(error))
            continue
        for environment, references in named:
            installed = [one for one in references if project.installs(one)]
            passed += not installed
            found += project.findings(document, environment, installed, facts)
    if not found:
        found.append(saying.info("RT031", "no file here requires torch"))
    if passed:
        places = "1 place" if passed == 1 else f"{passed} places"
        message = f"{places} where tests, documentation or development tools require torch were not checked"
        found.append(saying.info("RT031", message))
    return found


def _is_judged(path: str) -> bool:
    """Return whether a file may determine what is installed where the project runs; notebooks run anywhere."""
    return kind_of(path) not in (None, "notebook")


def _documents(paths: Sequence[str], unread: Unread) -> Iterator[Document]:
    within = files.find(paths, wanted=_is_judged, excludes=Profiles({}).excludes)
    for error in within.errors:
        unread(error.path, error.message)
    for file in within.inputs:
        if document := _document(file, unread):
            yield document


def _document(file: Input, unread: Unread) -> Document | None:
    """Return the project file, or None if it cannot name torch."""
    try:
        kind = kind_of(file.path) or ""
        data = file.read() if _is_judged(file.path) else b""
        if concerns(kind, data) and (len(data) <= MAX_METADATA_BYTES or kind == "lock"):
            return Document.read(file.path, data)
    except (OSError, SourceError) as error:
        unread(file.path, str(error))
    return None
