"""The package indexes of an environment: what they serve, and whether an upgrade can drop them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torchmigrate.documents.references import InstallUnit, Reference, VersionStyle
from torchmigrate.documents.upgrade_rules import find_cuda_tag
from torchmigrate.model.findings import Edit, NoFix
from torchmigrate.model.vocabulary import Sort
from torchmigrate.prefilter.project_file_kinds import kind_of
from torchmigrate.tables.torch_builds import TorchBuild, find_index_url, render_index_url
from torchmigrate.text.source_text import SourceText

_OFFICIAL = re.compile(r"https?://download(?:-r2)?\.pytorch\.org/")
_MIXED_PAGE = re.compile(r"torch_(?:stable|lts)\.html$|/whl(?:/(?:torch|torchvision|torchaudio))?/?$")
_LINKS = re.compile(rb"(?:-f|--find-links)([ =]+['\"]?)$")


def can_use_default_index(
    index: Reference, unit: InstallUnit, chosen: TorchBuild, source: SourceText
) -> bool:
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
    return not any(r.name.startswith("pytorch-triton") for r in unit.find_references(Sort.REQUIREMENT))


def has_mixed_index(indexes: Iterable[Reference]) -> bool:
    """Return whether an index has builds of all kinds: an installer prefers those to the ones of the default index."""
    return any(_OFFICIAL.match(one.text) and find_cuda_tag(one) is None for one in indexes)


def concerns_windows(source: SourceText, beside: Iterable[str]) -> bool:
    """Return whether a file is for Windows or mentions it, or is installed there: the default build has no CUDA there.

    ``beside`` are the files that install this one, or that it installs.
    """
    return (
        any(path.lower().endswith((".bat", ".cmd", ".ps1")) for path in (source.path, *beside))
        or re.search(rb"(?i)\bwindows\b|win32|win_amd64|\.bat\b", source.original) is not None
    )


def find_mixed_page(indexes: Iterable[Reference]) -> Reference | None:
    """Return the first index that is a page with the wheels of all builds; None if there is none.

    Of equal versions there, an installer takes the build whose name is the last in the alphabet.
    """
    pages = (index for index in indexes if _MIXED_PAGE.search(index.text))
    return next((page for page in pages if find_cuda_tag(page) is None), None)


def create_links_edit(index: Reference, variant: str, source: SourceText) -> Edit | None:
    """Return the edit that makes an index of what ``--find-links`` names on PyTorch's host; None for any other index.

    Only pages that were made for it list wheels, and nobody says which releases they list.
    """
    before = source.text[max(index.span.start - 40, 0) : index.span.start]
    is_page = _OFFICIAL.match(index.text) and _LINKS.search(before)
    return create_page_edit(index, variant, source) if is_page else None


def create_own_line_edits(index: Reference, variant: str, source: SourceText) -> list[Edit]:
    """Return the edits that give an index option, which pip ignores after a requirement, a line of its own.

    ``variant`` is the build that the index is changed to; empty where it stays. Raises NoFix where that is not possible.
    """
    tag = find_cuda_tag(index)
    if index.removal is None or index.value.pieces[0].span != index.span:
        raise NoFix("pip ignores an index option after a requirement; put it on a line of its own")
    url = index.text[: tag.start] + variant + index.text[tag.end :] if tag is not None else index.text
    line_end = "\r\n" if b"\r\n" in source.text else "\n"
    start = len(source.text[: index.removal.start].rstrip(b" \t\\\r\n"))
    return [Edit(start, index.removal.end, ""), Edit(0, 0, f"--extra-index-url {url}{line_end}")]


def create_page_edit(page: Reference, variant: str, source: SourceText) -> Edit | None:
    """Return the edit that names the index of one build instead of a page or an index of all builds.

    Nobody says which releases such a page lists; an index of its own has those of a build. None where the page is not
    written out.
    """
    url, before = render_index_url(variant), source.text[: page.span.start]
    if page.value.pieces[0].span != page.span:
        return None
    if (links := _LINKS.search(before)) is not None:
        return Edit(links.start(), page.span.end, f"--extra-index-url{links[1].decode()}{url}")
    is_index = re.search(rb"(?:--index-url|--extra-index-url|-i)[ =]+['\"]?$", before)
    return Edit(page.span.start, page.span.end, url) if is_index else None


def find_other_accelerator(reference: Reference) -> str:
    """Return the accelerator other than CUDA that a reference names; empty if it names none."""
    if reference.name == "intel-extension-for-pytorch":
        return reference.name
    named = re.search(r"(?:/whl/(?:test/|nightly/)?|\+)(rocm|xpu)", reference.text)
    return named[1] if named else ""


def create_index_edit(unit: InstallUnit, chosen: TorchBuild, source: SourceText) -> Edit:
    """Return the edit that adds the index of a build to a list or a command. Raises NoFix where that is not possible."""
    kind, url = kind_of(source.path), find_index_url(chosen)
    if kind == "requirements":
        line_end = "\r\n" if b"\r\n" in source.text else "\n"
        return Edit(0, 0, f"--extra-index-url {url}{line_end}")
    pips = [one for one in unit.find_references(Sort.REQUIREMENT) if one.style is not VersionStyle.CONDA]
    first = pips[0]
    start = source.text.rfind(b"\n", 0, first.span.start) + 1
    item = re.match(rb"[ \t]*- ['\"]?", source.text[start : first.span.start])
    if kind == "yaml" and item and start + item.end() == first.span.start:
        dash = item[0].decode().rstrip("'\"")
        return Edit(start, start, f"{dash}--extra-index-url {url}\n")
    last = max(pips, key=lambda one: one.span.end)
    if kind in ("docker", "shell", "make") and last.removal is not None and not unit.fixed:
        return Edit(last.removal.end, last.removal.end, f" --extra-index-url {url}")
    raise NoFix(
        f"no index here has torch {chosen.torch} for {chosen.variant}; add {url}, or choose another build with --cuda"
    )


def create_name_edits(unit: InstallUnit, old: str, new: str) -> Iterator[Edit]:
    """Yield the edits that rename a file's indexes from the old variant to the new one: ``pytorch-cu128``."""
    for name in unit.find_references(Sort.NAME):
        for match in re.finditer(rf"(?<![A-Za-z0-9]){old}(?![0-9])", name.text):
            edit = name.value.create_edit(*match.span(), new)
            if edit is not None:
                yield edit
