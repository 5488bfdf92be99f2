"""Steps of an installation that only documentation has, and that no longer fit: a Python that it creates, a build for one torch.

Documentation does not move, and a script or a list does not say what the reader does besides. So the reader has to be told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from torchmigrate.documents import leftovers
from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.documents.proposed_state import ProposedState
from torchmigrate.documents.python_versions import find_possible_minors
from torchmigrate.documents.related_files import read_project_document
from torchmigrate.model.vocabulary import Sort
from torchmigrate.prefilter.project_file_kinds import kind_of
from torchmigrate.project.project_facts import Project

_INSTALLATION = re.compile(
    r"(?m)^[ \t$>!%]*(?:(?:python3?|py) -m )?(?:pip3?|uv|mim|conda|mamba)\b.*\binstall\b.*$"
)
_RUN = r"(?:(?:-[rf]|--(?:requirement|file))[ =]*|\b(?:ba|z)?sh[ ]+|\bsource[ ]+|\./)\S*?(?<![\w.-])"
"""What stands before a file that a command installs from, or runs."""
_NEAR = 15
"""The most lines between the command that creates a Python and the one that uses a file."""


def find_documented_steps(path: str, state: ProposedState, project: Project) -> Iterator[tuple[str, str]]:
    """Yield why the documentation beside or above a file no longer fits it, with what to check.

    Only documents with a command that uses the file count.
    """
    used = re.compile(rf"{_RUN}{re.escape(os.path.basename(path))}(?![\w-])")
    for other, _ in project.find_spellings(((os.path.basename(path),), (used.pattern,)), beside=path):
        other = os.path.realpath(other)
        folder = os.path.join(os.path.dirname(other), "")
        if kind_of(other) not in ("markdown", "rst") or not path.startswith(folder):
            continue
        if document := read_project_document(other, project):
            shown = project.get_display_path(document.path)
            lines = [document.line_of(match.start()) for match in used.finditer(document.byte_view)]
            yield from _find_old_pythons(document, shown, lines, state)
            yield from _find_old_builds(document, shown, state)


def _find_old_pythons(
    document: ProjectDocument, shown: str, lines: list[int], state: ProposedState
) -> Iterator[tuple[str, str]]:
    """Yield the Python that a document creates near some lines, if the new torch has no wheel for it, and nothing else states one."""
    stated = [
        one
        for one in document.references
        if one.sort is Sort.PYTHON
        and any(abs(document.line_of(one.span.start) - line) <= _NEAR for line in lines)
    ]
    if not stated or state.stated_pythons or find_possible_minors(stated, state.python_range):
        return
    place = f"{shown}:{document.line_of(stated[0].span.start)}"
    does = f"creates the environment with Python {stated[0].text.lstrip('= ')}"
    wheels = f"torch {state.chosen.version} has wheels for Python {' to '.join(state.python_range)}"
    yield f"{place} {does}, and {wheels}", f"{place}: it {does}; {wheels}"


def _find_old_builds(
    document: ProjectDocument, shown: str, state: ProposedState
) -> Iterator[tuple[str, str]]:
    """Yield the first build for an older torch that a command in a document installs."""
    for line in _INSTALLATION.finditer(document.byte_view):
        for found in leftovers.find_leftover_versions(line[0], state.chosen):
            if "torch" in found.rpartition("`")[2]:
                place = f"{shown}:{document.line_of(line.start())}"
                yield f"{place} installs {found}", f"{place}: it installs {found}"
                return
