"""The edits of the packages that torch brings: pins that repeat what it requires, and the libraries of its CUDA."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet

from torchmigrate.documents import upgrade_rules
from torchmigrate.documents.file_edits import create_version_edit, find_list_item
from torchmigrate.documents.references import InstallUnit, Reference, VersionStyle, normalize_name
from torchmigrate.documents.upgrade_rules import COMPANIONS, TORCH_NAMES
from torchmigrate.documents.version_clauses import find_lower_bound, parse_clauses
from torchmigrate.model.findings import Edit, NoFix
from torchmigrate.model.torch_versions import Version
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables.package_requirements import find_requirements
from torchmigrate.tables.torch_builds import TorchBuild
from torchmigrate.text.source_text import SourceText


@dataclass(slots=True)
class LibraryEdits:
    """The edits of one unit; the results are complete after `LibraryEdits.collect_edits`."""

    unit: InstallUnit
    source: SourceText
    chosen: TorchBuild
    target: Version
    replaced: set[str]
    """The packages that change; at first those that others have changed."""
    edits: list[Edit] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    """The packages that are deleted."""
    libraries: int = 0
    """How many libraries of CUDA change."""

    def collect_edits(self) -> None:
        """Collect the edits. Raises NoFix if one of them is not possible."""
        self._edit_frozen_pins()
        self._edit_libraries()

    def _edit_frozen_pins(self) -> None:
        """Update pins of packages that torch requires.

        A pin that repeats what the old torch required follows the new one, as does a late one in a list that pip froze.
        """
        torches = [
            c
            for one in self.unit.find_references(Sort.REQUIREMENT, *TORCH_NAMES)
            for c in parse_clauses(one)
            if c.is_exact
        ]
        old = {} if len(torches) != 1 else _find_requirements(torches[0].public_version)
        new = _find_requirements(self.chosen.version)
        frozen = any(map(_is_frozen_library, self.unit.find_references(Sort.REQUIREMENT)))
        for reference in self.unit.find_references(Sort.REQUIREMENT):
            pin = next((clause for clause in parse_clauses(reference) if clause.is_exact), None)
            if pin is None or reference.name in ("triton", *COMPANIONS) or reference.undecided or pin.local:
                continue
            # pip replaces what conda has installed, where torch needs that.
            if reference.style is VersionStyle.CONDA:
                continue
            wanted = new.get(reference.name)
            repeats = self.chosen.default and str(old.get(reference.name, "")) == f"=={pin.public_version}"
            if wanted is None:
                if repeats:
                    self._delete_library(reference)
                continue
            follows = repeats or (frozen and reference.name in _PURE_PACKAGES)
            if follows and not wanted.contains(pin.public_version) and (release := find_lower_bound(wanted)):
                self.edits.append(create_version_edit(reference, pin, release))
                self.replaced.add(reference.name)

    def _delete_library(self, reference: Reference) -> None:
        """Delete a library that torch no longer requires, unless the library for the new CUDA replaces it."""
        is_replaced = upgrade_rules.create_library_edit(reference, self.chosen, self.target)
        if is_replaced or reference.removal is None:
            return
        if reference.fixed:
            raise NoFix(reference.fixed)
        self.edits.append(Edit(reference.removal.start, reference.removal.end, ""))
        self.deleted.append(reference.shown)
        self.replaced.add(reference.name)

    def _edit_libraries(self) -> None:
        """Replace the libraries of the old CUDA by those of the new one."""
        for reference in self.unit.find_references(Sort.REQUIREMENT):
            is_outdated = upgrade_rules.is_outdated_library(reference, self.chosen) or (
                _is_frozen_library(reference)
                and bool(self.unit.find_references(Sort.REQUIREMENT, *TORCH_NAMES))
            )
            if not is_outdated or reference.name in self.replaced:
                continue
            edit = upgrade_rules.create_library_edit(reference, self.chosen, self.target)
            removal = reference.removal or find_list_item(reference, self.source)
            if edit is None and removal is not None and not reference.fixed:
                edit = Edit(removal.start, removal.end, "")
                self.deleted.append(reference.shown)
            if edit is None:
                raise NoFix(
                    f"blocked by `{reference.shown}`: remove it and the other CUDA libraries; torch"
                    " installs its own"
                )
            self.edits.append(edit)
            self.replaced.add(reference.name)
            self.libraries += 1


def _is_frozen_library(reference: Reference) -> bool:
    """Return whether a requirement pins a CUDA library, each release of which belongs to one release of torch."""
    pinned = any(clause.is_exact for clause in parse_clauses(reference))
    return pinned and re.fullmatch(r"nvidia-[\w-]+-cu1\d", reference.name) is not None


_PURE_PACKAGES = ("setuptools", "sympy", "typing-extensions")
"""Pure Python packages that torch requires and that nearly every other package bounds from below only."""


def _find_requirements(torch: str) -> dict[str, SpecifierSet]:
    """Return the packages that a release of torch requires on Linux, with their specifiers."""
    return {normalize_name(needed.name): needed.specifier for needed in find_requirements("torch", torch)}
