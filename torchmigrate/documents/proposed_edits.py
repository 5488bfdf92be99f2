"""The edits of an environment for its move to another build of torch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from torchmigrate.documents import package_indexes
from torchmigrate.documents.base_images import create_cog_edits, create_image_edits, find_cog_versions
from torchmigrate.documents.build_choice import (
    find_index_variants,
    provides_torch,
    requires_only_cpu,
    requires_torch,
)
from torchmigrate.documents.comment_edits import create_comment_edits
from torchmigrate.documents.conda_moves import create_conda_edits, is_from_conda, list_leaving
from torchmigrate.documents.file_edits import check_variable_uses, create_version_edit
from torchmigrate.documents.library_edits import LibraryEdits
from torchmigrate.documents.package_indexes import can_use_default_index, concerns_windows, has_mixed_index
from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.documents.references import (
    Environment,
    InstallUnit,
    Reference,
)
from torchmigrate.documents.upgrade_rules import (
    COMPANIONS,
    TORCH_NAMES,
    explain_missing_build,
    find_cuda_tag,
    find_excluding_clauses,
    list_companion_releases,
)
from torchmigrate.documents.version_clauses import (
    VersionClause,
    parse_clauses,
)
from torchmigrate.documents.wheel_pages import PageEdits, is_page
from torchmigrate.model.findings import Edit, NoFix
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import build_selection, torch_builds
from torchmigrate.tables.torch_builds import TorchBuild, render_index_url
from torchmigrate.text.source_text import SourceText


@dataclass(slots=True)
class ProposedEdits:
    """The edits of one environment in one file; the results are complete after `ProposedEdits.collect_edits`."""

    environment: Environment
    source: SourceText
    options: RuleOptions
    chosen: TorchBuild
    moves_related: bool = False
    """Whether other files move too: an index stays, since it may serve their pins."""
    beside: tuple[str, ...] = ()
    """The files that install this one, or that it installs."""
    adds_index: bool = False
    """Whether no index is named, and the default one lacks the chosen build."""
    edits: list[Edit] = field(default_factory=list)
    pins: int = 0
    tags: set[str] = field(default_factory=set)
    keeps_index: bool = False
    only_variant: str = ""
    """The variant of the only index, if that stays and replaces the default index."""
    moves_image: bool = False
    leaves_conda: bool = False
    """Whether pip installs torch after the move, and conda does today."""
    replaced: set[str] = field(default_factory=set)
    deleted: list[str] = field(default_factory=list)
    """The libraries that are deleted."""
    reasons: list[str] = field(default_factory=list)
    """Why parts of the environment cannot move."""
    _page_edit: Edit | None = None
    """The edit that replaces a page of all builds by the index of one."""
    _indexes: list[Reference] = field(init=False)
    _needs_indexes: bool = field(init=False)

    def __post_init__(self) -> None:
        self._indexes = self.environment.find_references(Sort.INDEX)
        self._needs_indexes = has_mixed_index(self._indexes) or concerns_windows(self.source, self.beside)

    @property
    def fix_title(self) -> str:
        """The title of the fix."""
        if self.moves_image and not self.pins and not self.tags:
            return f"Use the image with torch {self.chosen.version}"
        version = self.chosen.version if self.pins else self.chosen.torch
        variant = "cpu" if requires_only_cpu([self.environment]) else self.chosen.variant
        return f"Use torch {version} ({variant})" + (" from pip" if self.leaves_conda else "")

    @property
    def family_releases(self) -> dict[str, str]:
        """Package of the torch family → the release that would be installed."""
        found = {"torch": self.chosen.version}
        for name in (*COMPANIONS, "triton"):
            if self.environment.find_references(Sort.REQUIREMENT, name) and (
                known := list_companion_releases(name, self.options.target)
            ):
                found[name] = known[0]
        return found

    def collect_edits(self) -> None:
        """Collect the edits, and the reasons against them. Raises NoFix for an environment without any release to move to."""
        concerned = provides_torch if self.moves_related else requires_torch
        units = [unit for unit in self.environment.units if concerned(unit) or _pins_triton(unit)]
        for reference in (r for unit in self.environment.units for r in unit.references):
            if other := package_indexes.find_other_accelerator(reference):
                raise NoFix(f"it is unclear which {other} builds the target has")
        if len(variants := find_index_variants([self.environment], concerned)) > 1:
            raise NoFix(f"the file uses several builds: {', '.join(sorted(variants))}")
        for unit in units:
            if unit.fixed:
                raise NoFix(unit.fixed)
            with self.noting_reason():
                if is_from_conda(unit):
                    self._leave_conda(unit)
        for unit in units:
            with self.noting_reason():
                self._edit_unit(unit)
        with self.noting_reason():
            pages = PageEdits(self.environment, self.chosen, requires_only_cpu([self.environment]))
            pages.collect_edits()
            self.edits += pages.edits
            self.replaced |= pages.moved
        # An image that only runs has no finding of its own, which its part of a multi-file fix would need.
        runs = not self.moves_related and not requires_only_cpu([self.environment])
        with self.noting_reason():
            images = create_image_edits(self.environment, self.source, self.options, self.chosen, runs=runs)
            self.moves_image = bool(images)
            self.edits += images
        with self.noting_reason():
            if runs or self.options.relax:  # the part of another file has a finding of its own then
                self.edits += create_cog_edits(self.environment, self.source, self.chosen)
        if self.edits:
            view = self.source.original.decode("latin-1")
            self.edits += create_comment_edits(view, self.environment, self.chosen, self.edits)
        if isinstance(self.source, ProjectDocument):
            check_variable_uses(self.source, self.edits)

    @contextlib.contextmanager
    def noting_reason(self) -> Iterator[None]:
        """Note why a part cannot move, so that the proposal tells what stands in the way of the other parts too."""
        try:
            yield
        except NoFix as reason:
            self.reasons += [] if str(reason) in self.reasons else [str(reason)]

    def _edit_unit(self, unit: InstallUnit) -> None:
        """Collect the edits of one unit, except for those of images."""
        for wheel in unit.find_references(Sort.WHEEL):
            if not is_page(wheel):
                raise NoFix(f"blocked by `{wheel.text.rpartition('/')[2]}`: it is one specific wheel")
        for index in unit.find_references(Sort.INDEX):
            if "/nightly" in index.text:
                raise NoFix("an index of nightly builds has no releases")
            if index.undecided:
                raise NoFix(f"it is unclear which builds `{index.text}` has")
            self._edit_index(unit, index)
        for names in (TORCH_NAMES, COMPANIONS, ("triton",)):
            for requirement in unit.find_references(Sort.REQUIREMENT, *names):
                if requirement.name not in self.replaced:
                    self._edit_requirement(requirement)
        adds = self.adds_index and not self._page_edit and not self.leaves_conda  # which has named its index
        if adds and unit.find_references(Sort.REQUIREMENT, *TORCH_NAMES):
            if find_cog_versions(self.environment):
                # Source: https://github.com/replicate/cog/blob/main/docs/yaml.md#python_packages
                raise NoFix(
                    "Cog's `python_packages` take no index; use `python_requirements`, or the default build by `--cuda`"
                )
            self.edits.append(package_indexes.create_index_edit(unit, self.chosen, self.source))
            self.keeps_index = True
        libraries = LibraryEdits(unit, self.source, self.chosen, self.options.target, set(self.replaced))
        libraries.collect_edits()
        self.edits += libraries.edits
        self.deleted += libraries.deleted
        self.replaced |= libraries.replaced
        self.pins += libraries.libraries

    def _leave_conda(self, unit: InstallUnit) -> None:
        """Collect the edits that let pip install torch instead of conda. Raises NoFix."""
        self.replaced |= list_leaving(unit)
        releases = {name: list_companion_releases(name, self.options.target)[0] for name in COMPANIONS}
        has_default = self.chosen.default and not concerns_windows(self.source, self.beside)
        variant = "cpu" if requires_only_cpu([self.environment]) else self.chosen.variant
        index = "" if has_default and variant != "cpu" else render_index_url(variant)
        edits, gone = create_conda_edits(unit, self.source, {"torch": self.chosen.version, **releases}, index)
        self.edits += edits
        self.leaves_conda = True
        self.pins += len(gone)
        self.replaced.update(gone)

    def _edit_index(self, unit: InstallUnit, index: Reference) -> None:
        """Delete an index, or change its variant."""
        tag = find_cuda_tag(index)
        if unit.ignores_indexes:
            variant = self.chosen.variant if tag is not None else ""
            self.edits += package_indexes.create_own_line_edits(index, variant, self.source)
            self.tags |= {tag.name} if tag is not None else set()
            self.keeps_index = True
            return
        if tag is None:
            return
        alone = "extra" not in index.option and len(self._indexes) == 1
        if not explain_missing_build(tag.name, self.options):
            self.only_variant = tag.name if alone else ""
            return
        self.tags.add(tag.name)
        if index.several:
            raise NoFix("the file gives several values for the index")
        stays = self.moves_related or self._needs_indexes
        if index.removal and not stays and can_use_default_index(index, unit, self.chosen, self.source):
            self.edits.append(Edit(index.removal.start, index.removal.end, ""))
            return
        self.keeps_index = True
        self.only_variant = self.chosen.variant if alone else ""
        edit = package_indexes.create_links_edit(index, self.chosen.variant, self.source)
        if edit is not None and index.removal and any(edit.text == other.text for other in self.edits):
            edit = Edit(index.removal.start, index.removal.end, "")  # one line names the index
        edit = edit or index.value.create_edit(
            tag.start, tag.end, self.chosen.variant, build_selection.load_image_versions()
        )
        if edit is None:
            raise NoFix("the index is assembled from several variables")
        self.edits.append(edit)
        self.edits += package_indexes.create_name_edits(unit, tag.name, self.chosen.variant)

    def _edit_requirement(self, reference: Reference) -> None:
        """Collect the edits of a requirement on torch, a companion or triton."""
        is_torch = reference.name in TORCH_NAMES
        found = find_excluding_clauses(reference, self.options)
        for clause in found:
            new = (
                self.chosen.version
                if is_torch
                else list_companion_releases(reference.name, self.options.target)[0]
            )
            self._edit_clause(
                reference, clause, clause.raise_version(new, self._choose_local_version(reference, clause))
            )
            self.pins += 1
        for clause in parse_clauses(reference):
            if (
                clause not in found
                and clause.local.startswith("cu")
                and explain_missing_build(clause.local, self.options)
            ):
                self.tags |= {clause.local} if is_torch else set()
                build = self._choose_local_version(reference, clause)
                self._edit_clause(reference, clause, clause.public_version + (f"+{build}" if build else ""))

    def _choose_local_version(self, reference: Reference, clause: VersionClause) -> str:
        """Return the local version to pin: none where the default index has the build; ``cpu`` stays."""
        if not clause.local.startswith("cu"):
            return clause.local
        is_torch = reference.name in TORCH_NAMES
        release = "" if is_torch else list_companion_releases(reference.name, self.options.target)[0]
        if not is_torch and not torch_builds.find_companion_torch(reference.name, release):
            return ""  # this release has no build for each CUDA
        named = any(
            tag.name == self.chosen.variant for index in self._indexes if (tag := find_cuda_tag(index))
        )
        mixed = package_indexes.find_mixed_page(self._indexes) is not None
        stays = self.keeps_index or self.moves_related or named or mixed
        return "" if self.chosen.default and not stays else self.chosen.variant

    def _edit_clause(self, reference: Reference, clause: VersionClause, version: str) -> None:
        """Replace the version of one condition. Raises NoFix where that is not possible."""
        edit = create_version_edit(reference, clause, version)
        if "+" in version and (page := package_indexes.find_mixed_page(self._indexes)):
            self._leave_page(page, reference, version)
        self.edits.append(edit)

    def _leave_page(self, page: Reference, reference: Reference, version: str) -> None:
        """Collect the edit that replaces a page of all builds by the index of a pinned one. Raises NoFix."""
        edit = package_indexes.create_page_edit(page, version.partition("+")[2], self.source)
        if edit is None or self._page_edit not in (None, edit):
            raise NoFix(f"it is unclear whether `{page.text}` lists {reference.name} {version}")
        self.edits += [] if self._page_edit else [edit]
        self._page_edit = edit
        self.keeps_index = True


def _pins_triton(unit: InstallUnit) -> bool:
    """Return whether a unit pins triton, of which each torch requires one release."""
    return any(
        clause.is_exact
        for one in unit.find_references(Sort.REQUIREMENT, "triton")
        for clause in parse_clauses(one)
    )
