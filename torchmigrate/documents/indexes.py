"""What an index gives that is named beside torch, and whether it can go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torchmigrate.documents.references import Reference, Unit
from torchmigrate.documents.upgrade import tag_of
from torchmigrate.gates.kinds import kind_of
from torchmigrate.model.findings import Edit
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables.matrix import Build
from torchmigrate.text.source import Source

_OFFICIAL = re.compile(r"https?://download(?:-r2)?\.pytorch\.org/")
_OF_ALL = re.compile(r"torch_stable\.html$|/whl(?:/(?:torch|torchvision|torchaudio))?/?$")


def default_serves(index: Reference, unit: Unit, chosen: Build, source: Source) -> bool:
    """Whether the default index gives the chosen build, for all that is known of the place of an index.

    In a list it does not, which may be installed on Windows too; see `on_windows`.
    """
    if (
        kind_of(source.path) == "requirements"
        or not chosen.default
        or not _OFFICIAL.match(index.text)
        or index.option == "--torch-backend"
    ):
        return False
    if index.value.pieces[0].span != index.span:
        return False  # it comes from a variable, to be chosen from outside
    return not any(r.name.startswith("pytorch-triton") for r in unit.of(Sort.REQUIREMENT))


def stay(indexes: Iterable[Reference]) -> bool:
    """Whether an index of builds of all kinds is among some: an installer takes those before the default's."""
    return any(_OFFICIAL.match(one.text) and tag_of(one) is None for one in indexes)


def on_windows(source: Source, beside: Iterable[str]) -> bool:
    """Whether a file is for Windows or speaks of it, or a script for Windows installs it: the default is the CPU's there.

    ``beside`` are the files that install it, or that it installs.
    """
    return (
        any(path.lower().endswith((".bat", ".cmd", ".ps1")) for path in (source.path, *beside))
        or re.search(rb"(?i)\bwindows\b|win32|win_amd64|\.bat\b", source.original) is not None
    )


def page_of_all(indexes: Iterable[Reference]) -> str:
    """A page of PyTorch's that has the wheels of every build, if one of the indexes is one; empty if none is.

    Of equal versions an installer takes the build whose name is the last in the alphabet.
    """
    return next((index.text for index in indexes if _OF_ALL.search(index.text)), "")


def other_accelerator(reference: Reference) -> str:
    """The accelerator other than CUDA that a reference names."""
    if reference.name == "intel-extension-for-pytorch":
        return reference.name
    named = re.search(r"(?:/whl/(?:test/|nightly/)?|\+)(rocm|xpu)", reference.text)
    return named[1] if named else ""


def renamed(unit: Unit, old: str, new: str) -> Iterator[Edit]:
    """The edits that take the old variant out of the names that the file gives to its indexes."""
    for name in unit.of(Sort.NAME):
        for match in re.finditer(rf"(?<![A-Za-z0-9]){old}(?![0-9])", name.text):
            edit = name.value.edit(*match.span(), new)
            if edit is not None:
                yield edit
