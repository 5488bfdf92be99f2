"""The packages of a repository, and those that it requires, as its metadata states them. Nothing is executed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from torchmigrate.documents.project_documents import ProjectDocument, read_references
from torchmigrate.documents.project_names import read_project_names
from torchmigrate.documents.references import normalize_name
from torchmigrate.documents.requirement_purposes import Purpose
from torchmigrate.model.vocabulary import Sort
from torchmigrate.prefilter.project_file_kinds import kind_of
from torchmigrate.project.file_search import read_file
from torchmigrate.project.folders import METADATA
from torchmigrate.text.source_text import SourceError, SourceText

_NOT_SHIPPED = frozenset(
    {"test", "tests", "docs", "doc", "examples", "example", "benchmarks", "third_party", "vendor"}
)
"""Folders whose metadata is not about the repository's own packages."""


def read_packages(folder: str, paths: Iterable[str]) -> dict[str, Any]:
    """Return the names of the packages that the files ``paths`` define, what they require at run time, and its torch.

    ``torch`` has each specifier of torch as it is written.
    """
    names: set[str] = set()
    required: set[str] = set()
    torch: set[str] = set()
    for path in paths:
        name = path.rpartition("/")[2]
        if (name not in METADATA and kind_of(path) != "requirements") or _NOT_SHIPPED & set(
            path.split("/")[:-1]
        ):
            continue
        try:
            data = read_file(os.path.join(folder, path))
            if name in METADATA:
                names.update(map(normalize_name, read_project_names(name, data.decode("utf-8", "replace"))))
            kind = SourceText if name.endswith(".py") else ProjectDocument
            references = read_references(kind.decode_source(path, data))
        except (OSError, SourceError, ValueError, RecursionError):
            continue
        for one in references:
            if one.sort is Sort.REQUIREMENT and one.purpose in (Purpose.RUN, Purpose.EXTRA):
                required.add(normalize_name(one.name))
                if one.name == "torch":
                    torch.add(one.text)
    return {
        "packages": sorted(names),
        "requires": sorted(required - names),
        "torch": sorted(filter(None, torch)),
    }
