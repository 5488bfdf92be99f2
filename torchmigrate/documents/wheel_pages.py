"""PyG's pages of wheels for one torch and CUDA, and the packages from them: they move with torch, as far as there are wheels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from torchmigrate.documents.file_edits import create_version_edit
from torchmigrate.documents.references import Environment, Reference, find_references_in
from torchmigrate.documents.version_clauses import parse_clauses
from torchmigrate.model.findings import Edit, NoFix
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import page_wheels
from torchmigrate.tables.torch_builds import TorchBuild

_PAGE = re.compile(
    r"(?P<host>https?://[^/]*)/whl/torch-(?P<torch>\d+\.[\d.]*\d)(?:(?:\+|%2B)(?P<variant>\w+))?\.html\Z"
)
_HOST = "https://data.pyg.org"
_BUILD = re.compile(r"(?:pt\d+)?(?P<variant>cpu|cu\d+)?")
"""The local version of a wheel from a page: ``pt25cu124``."""


def is_page(reference: Reference) -> bool:
    """Return whether a reference is a page of wheels of PyG or DGL."""
    return reference.sort is Sort.WHEEL and reference.text.endswith(".html")


def uses_pages(environments: Iterable[Environment]) -> bool:
    """Return whether packages come from such pages, and are not compiled on installation."""
    environments = list(environments)
    pins = find_references_in(environments, Sort.REQUIREMENT)
    return any(map(is_page, find_references_in(environments, Sort.WHEEL))) or any(
        page_wheels.is_on_pages(one.name) and any(clause.local for clause in parse_clauses(one))
        for one in pins
    )


@dataclass(slots=True)
class PageEdits:
    """The edits of an environment's pages, and of the packages from them; complete after `PageEdits.collect_edits`."""

    environment: Environment
    chosen: TorchBuild
    is_cpu: bool
    """Whether the environment takes the CPU build, whatever the chosen one is."""
    edits: list[Edit] = field(default_factory=list)
    moved: set[str] = field(default_factory=set)
    """The packages that have wheels for the chosen build, whose requirements admit them after the edits."""

    def collect_edits(self) -> None:
        """Collect the edits. Raises NoFix if one of them is not possible; what has no wheel is left to the blockers."""
        pages = [one for one in self.environment.find_references(Sort.WHEEL) if is_page(one)]
        tags = {match["variant"] for one in pages if (match := _PAGE.match(one.text))}
        variant = "cpu" if self.is_cpu or tags == {"cpu"} else self.chosen.variant
        if not uses_pages([self.environment]):
            return
        pins = [
            r for r in self.environment.find_references(Sort.REQUIREMENT) if page_wheels.is_on_pages(r.name)
        ]
        releases = {one.name: page_wheels.find_release(one.name, self.chosen.torch, variant) for one in pins}
        if not all(releases.values()) or not (address := page_wheels.find_page_torch(self.chosen, variant)):
            return
        for page in pages:
            self._edit_page(page, address, variant)
        for one in pins:
            self._edit_pin(one, releases[one.name], variant)
        self.moved |= releases.keys()

    def _edit_page(self, page: Reference, address: str, variant: str) -> None:
        match = None if page.undecided else _PAGE.match(page.text)
        if match is None:
            if not page.undecided:
                raise NoFix(f"it is unclear which page is that of the new torch instead of `{page.text}`")
            return  # the page is found by the installed torch
        whole = "" if match["variant"] else f"+{variant}"
        changes = [("host", _HOST), ("torch", address + whole), *([] if whole else [("variant", variant)])]
        for group, new in changes:
            if match[group] == new:
                continue
            edit = page.value.create_edit(*match.span(group), new)
            if edit is None or page.several:
                raise NoFix(f"the address `{page.text}` is assembled from several variables")
            self.edits.append(edit)

    def _edit_pin(self, one: Reference, release: str, variant: str) -> None:
        for clause in parse_clauses(one):
            if not clause.local:
                if clause.is_upper and not clause.allows_any([release]):
                    self.edits.append(create_version_edit(one, clause, clause.raise_version(release, "")))
                continue
            build = _BUILD.fullmatch(clause.local)
            if build is None:
                raise NoFix(f"blocked by `{one.shown}`: it is a custom build")
            local = f"pt{self.chosen.torch.replace('.', '')}{variant if build['variant'] else ''}"
            self.edits.append(create_version_edit(one, clause, f"{release}+{local}"))
