"""`torchmigrate probe --project`: the files of a project, for `torchmigrate.probe.project` to judge."""

from __future__ import annotations

from collections.abc import Iterator

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


def judged(path: str, facts: Facts) -> list[Finding]:
    """The verdicts on what the files at ``path`` would install on a machine. Raises ConfigError.

    A file that cannot be read is said on standard error.
    """
    found: list[Finding] = []
    passed = 0
    for document in _documents(path):
        try:
            named = project.torches(document)
        except (SourceError, RecursionError) as error:
            _unread(document.path, str(error))
            continue
        for environment, references in named:
            installed = [one for one in references if project.installs(one)]
            passed += not installed
            found += project.findings(document, environment, installed, facts)
    if not found:
        found.append(saying.info("RT031", "no file here names a torch that this machine would install"))
    if passed:
        places = "1 place" if passed == 1 else f"{passed} places"
        message = f"{places} where tests, documentation or developers' tools name a torch: not judged"
        found.append(saying.info("RT031", message))
    return found


def _documents(path: str) -> Iterator[Document]:
    within = files.find([path], wanted=lambda name: kind_of(name) is not None, excludes=Profiles({}).excludes)
    for error in within.errors:
        _unread(error.path, error.message)
    for file in within.inputs:
        if document := _document(file):
            yield document


def _document(file: Input) -> Document | None:
    """A project file that may name torch."""
    try:
        data = file.read()
        if concerns(data) and (len(data) <= MAX_METADATA_BYTES or kind_of(file.path) == "lock"):
            return Document.read(file.path, data)
    except (OSError, SourceError) as error:
        _unread(file.path, str(error))
    return None


def _unread(path: str, why: str) -> None:
    click.echo(shown(f"warning: {path}: {why}"), err=True)
