"""Pythons that documentation creates for a script or a list: ``conda create -n x python=3.8``, then ``bash install.sh``.

Documentation does not move, and a script does not say which Python runs it. So the reader has to be told.
"""

from __future__ import annotations

import os
import re

from torchmigrate.documents.proposed_state import ProposedState
from torchmigrate.documents.python_versions import find_possible_minors
from torchmigrate.documents.related_files import read_project_document
from torchmigrate.model.vocabulary import Sort
from torchmigrate.prefilter.project_file_kinds import kind_of
from torchmigrate.project.project_facts import Project


def explain_documented_python(path: str, state: ProposedState, project: Project) -> tuple[str, str] | None:
    """Return why the documentation beside or above a file no longer fits it, and what to check; None where it fits.

    Only the Pythons in documents that name the file count, and only if nothing else states a Python.
    """
    if state.stated_pythons:
        return None
    name = os.path.basename(path)
    named = ((name,), (rf"(?<![\w.-]){re.escape(name)}(?![\w-])",))
    for other, _ in project.find_spellings(named, beside=path):
        is_above = os.path.dirname(path).startswith(os.path.dirname(os.path.realpath(other)))
        if kind_of(other) not in ("markdown", "rst") or not is_above:
            continue
        document = read_project_document(os.path.realpath(other), project)
        stated = [one for one in document.references if one.sort is Sort.PYTHON] if document else []
        if document is None or not stated or find_possible_minors(stated, state.python_range):
            continue
        place = f"{project.get_display_path(document.path)}:{document.line_of(stated[0].span.start)}"
        oldest, newest = state.python_range
        wheels = f"torch {state.chosen.version} has wheels for Python {oldest} to {newest}"
        return (
            f"{place} creates the environment with Python {stated[0].text.lstrip('=')}, and {wheels}",
            f"{place}: it creates the environment with Python {stated[0].text.lstrip('=')}; {wheels}",
        )
    return None
