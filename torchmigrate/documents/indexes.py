"""The package indexes of an environment: what they serve, and whether an upgrade can drop them."""

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
    """Return whether an index can go because the default index has the chosen build too.

    It cannot in a list, which may be installed on Windows too, where the default build has no CUDA.
    """
    if (
        kind_of(source.path) == "requirements"
        or not chosen.default
        or not _OFFICIAL.match(index.text)
        or index.option == "--torch-backend"
    ):
        return False
    if index.value.pieces[0].span != index.span:
        return False  # the index is a variable, which may be set from outside
    return not any(r.name.startswith("pytorch-triton") for r in unit.of(Sort.REQUIREMENT))


def stay(indexes: Iterable[Reference]) -> bool:
    """Return whether an index has builds of all kinds: an installer prefers those to the ones of the default index."""
    return any(_OFFICIAL.match(one.text) and tag_of(one) is None for one in indexes)


def on_windows(source: Source, beside: Iterable[str]) -> bool:
    """Return whether a file is for Windows or mentions it, or is installed there: the default build has no CUDA there.

    ``beside`` are the files that install this one, or that it installs.
    """
    return (
        any(path.lower().endswith((".bat", ".cmd", ".ps1")) for path in (source.path, *beside))
        or re.search(rb"(?i)\bwindows\b|win32|win_amd64|\.bat\b", source.original) is not None
    )


def page_of_all(indexes: Iterable[Reference]) -> str:
    """Return the first index that is a page with the wheels of all builds; empty if there is none.

    Of equal versions there, an installer takes the build whose name is the last in the alphabet.
    """
    return next((index.text for index in indexes if _OF_ALL.search(index.text)), "")


def other_accelerator(reference: Reference) -> str:
    """Return the accelerator other than CUDA that a reference names; empty if it names none."""
    if reference.name == "intel-extension-for-pytorch":
        return reference.name
    named = re.search(r"(?:/whl/(?:test/|nightly/)?|\+)(rocm|xpu)", reference.text)
    return named[1] if named else ""


def renamed(unit: Unit, old: str, new: str) -> Iterator[Edit]:
    """Yield the edits that rename a file's indexes from the old variant to the new one: ``pytorch-cu128``."""
    for name in unit.of(Sort.NAME):
        for match in re.finditer(rf"(?<![A-Za-z0-9]){old}(?![0-9])", name.text):
            edit = name.value.edit(*match.span(), new)
            if edit is not None:
                yield edit
