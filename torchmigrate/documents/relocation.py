"""The edits of an environment for its move to another build of torch."""

from __future__ import annotations

from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet

from torchmigrate.documents import architectures, images, indexes, upgrade
from torchmigrate.documents.build import concerns_torch, gives_torch, is_for_cpu, tags
from torchmigrate.documents.document import Document
from torchmigrate.documents.merging import check_variables
from torchmigrate.documents.references import Environment, Reference, Role, Style, Unit, normalized
from torchmigrate.documents.specifiers import Clause, clauses, lowest, lowest_of
from torchmigrate.documents.upgrade import COMPANIONS, TORCH, excluding, lacks, release_of, tag_of
from torchmigrate.gates.kinds import kind_of
from torchmigrate.model.findings import Edit, NoFix
from torchmigrate.model.options import Options
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import matrix, requirements, wheels
from torchmigrate.tables.matrix import Build
from torchmigrate.text.source import Source


@dataclass(slots=True)
class Relocation:
    """The edits of one environment in one file; the results are complete after `Relocation.make`."""

    environment: Environment
    source: Source
    options: Options
    chosen: Build
    moves_related: bool = False
    """Whether other files move too: an index stays, since it may serve their pins."""
    beside: tuple[str, ...] = ()
    """The files that install this one, or that it installs."""
    edits: list[Edit] = field(default_factory=list)
    pins: int = 0
    tags: set[str] = field(default_factory=set)
    keeps_index: bool = False
    only_variant: str = ""
    """The variant of the only index, if that stays and replaces the default index."""
    moves_image: bool = False
    replaced: set[str] = field(default_factory=set)
    _indexes: list[Reference] = field(init=False)
    _needs_indexes: bool = field(init=False)

    def __post_init__(self) -> None:
        self._indexes = self.environment.of(Sort.INDEX)
        self._needs_indexes = indexes.stay(self._indexes) or indexes.on_windows(self.source, self.beside)

    @property
    def title(self) -> str:
        """The title of the fix."""
        if self.moves_image and not self.pins and not self.tags:
            return f"Use the image with torch {self.chosen.version}"
        version = self.chosen.version if self.pins else self.chosen.torch
        return f"Use torch {version} ({'cpu' if is_for_cpu([self.environment]) else self.chosen.variant})"

    @property
    def releases(self) -> dict[str, str]:
        """Package of the torch family → the release that would be installed."""
        found = {"torch": self.chosen.version}
        for name in (*COMPANIONS, "triton"):
            if self.environment.of(Sort.REQUIREMENT, name) and (
                known := release_of(name, self.options.target)
            ):
                found[name] = known[0]
        return found

    def make(self) -> None:
        """Collect the edits. Raises NoFix if one of them is not possible."""
        concerned = gives_torch if self.moves_related else concerns_torch
        units = [unit for unit in self.environment.units if concerned(unit)]
        for unit in units:
            if unit.fixed:
                raise NoFix(unit.fixed)
            if any(r.style is Style.CONDA for r in unit.of(Sort.REQUIREMENT, *TORCH, *COMPANIONS)):
                raise NoFix("it is unclear which builds conda's channels have")
        for reference in (r for unit in self.environment.units for r in unit.references):
            if other := indexes.other_accelerator(reference):
                raise NoFix(f"it is unclear which {other} builds the target has")
        if len(variants := tags([self.environment], concerned)) > 1:
            raise NoFix(f"the file uses several builds: {', '.join(sorted(variants))}")
        for unit in units:
            self._unit(unit)
        self._images()
        if isinstance(self.source, Document):
            check_variables(self.source, self.edits)

    def _unit(self, unit: Unit) -> None:
        """Collect the edits of one unit, except for those of images."""
        for wheel in unit.of(Sort.WHEEL):
            raise NoFix(f"blocked by `{wheel.text.rpartition('/')[2]}`: it is one specific wheel")
        for index in unit.of(Sort.INDEX):
            if "/nightly" in index.text:
                raise NoFix("an index of nightly builds has no releases")
            if index.undecided:
                raise NoFix(f"it is unclear which builds `{index.text}` has")
            self._index(unit, index)
        for names in (TORCH, COMPANIONS, ("triton",)):
            for requirement in unit.of(Sort.REQUIREMENT, *names):
                self._requirement(requirement)
        self._frozen(unit)
        self._libraries(unit)

    def is_safe(self) -> bool:
        """Return whether the present state cannot be installed at all, since the required torch has no such build."""
        torches = self.environment.of(Sort.REQUIREMENT, *TORCH)
        bounds = [lowest(torch) for torch in torches]
        # The last release with a variant that the tables lack is older than the tables.
        newest = [wheels.last_with(tag) or wheels.COMPLETE_SINCE for tag in self.tags]
        return (
            self.pins == 0
            and not self.moves_image
            and bool(self.tags)
            and all(wheels.last_with(tag) or not wheels.is_known(tag) for tag in self.tags)
            and all(unit.role is Role.INSTALL for unit in self.environment.units)
            and bool(bounds)
            and all(bound is not None and bound > last for bound in bounds for last in newest)
        )

    def _index(self, unit: Unit, index: Reference) -> None:
        """Delete an index, or change its variant."""
        tag = tag_of(index)
        if tag is None:
            return
        alone = "extra" not in index.option and len(self._indexes) == 1
        if not lacks(tag.name, self.options):
            self.only_variant = tag.name if alone else ""
            return
        self.tags.add(tag.name)
        if index.several:
            raise NoFix("the file gives several values for the index")
        may_go = not (self.moves_related or self._needs_indexes)
        if (
            index.removal is not None
            and may_go
            and indexes.default_serves(index, unit, self.chosen, self.source)
        ):
            self.edits.append(Edit(index.removal.start, index.removal.end, ""))
            return
        self.keeps_index = True
        self.only_variant = self.chosen.variant if alone else ""
        edit = index.value.edit(tag.start, tag.end, self.chosen.variant, wheels.full_cuda_versions())
        if edit is None:
            raise NoFix("the index is assembled from several variables")
        self.edits.append(edit)
        self.edits += indexes.renamed(unit, tag.name, self.chosen.variant)

    def _requirement(self, reference: Reference) -> None:
        """Collect the edits of a requirement on torch, a companion or triton."""
        is_torch = reference.name in TORCH
        found = excluding(reference, self.options)
        for clause in found:
            new = self.chosen.version if is_torch else release_of(reference.name, self.options.target)[0]
            self._write(reference, clause, clause.raised(new, self._local(reference, clause)))
            self.pins += 1
        for clause in clauses(reference):
            if clause not in found and clause.local.startswith("cu") and lacks(clause.local, self.options):
                self.tags |= {clause.local} if is_torch else set()
                build = self._local(reference, clause)
                self._write(reference, clause, clause.public + (f"+{build}" if build else ""))

    def _local(self, reference: Reference, clause: Clause) -> str:
        """Return the local version to pin: none where the default index has the build; ``cpu`` stays."""
        if not clause.local.startswith("cu"):
            return clause.local
        is_torch = reference.name in TORCH
        release = "" if is_torch else release_of(reference.name, self.options.target)[0]
        if not is_torch and not matrix.companion_torch(reference.name, release):
            return ""  # this release has no build for each CUDA
        named = any(tag.name == self.chosen.variant for index in self._indexes if (tag := tag_of(index)))
        stays = self.keeps_index or self.moves_related or named or bool(indexes.page_of_all(self._indexes))
        return "" if self.chosen.default and not stays else self.chosen.variant

    def _frozen(self, unit: Unit) -> None:
        """Update pins of packages that torch requires.

        A pin that repeats what the old torch required follows the new one. Others change only if they are too old.
        """
        torches = [c for one in unit.of(Sort.REQUIREMENT, *TORCH) for c in clauses(one) if c.is_exact]
        old = {} if len(torches) != 1 else _required(torches[0].public)
        new = _required(self.chosen.version)
        for reference in unit.of(Sort.REQUIREMENT):
            pin = next((clause for clause in clauses(reference) if clause.is_exact), None)
            if pin is None or reference.name in ("triton", *COMPANIONS) or reference.undecided or pin.local:
                continue
            wanted = new.get(reference.name)
            repeats = self.chosen.default and str(old.get(reference.name, "")) == f"=={pin.public}"
            if wanted is None:
                if repeats:
                    self._without(reference)
                continue
            is_late = (repeats or reference.name in _ANY_LATER) and not wanted.contains(pin.public)
            if is_late and (release := lowest_of(wanted)):
                self._write(reference, pin, release)
                self.replaced.add(reference.name)

    def _without(self, reference: Reference) -> None:
        """Delete a library that torch no longer requires, unless the library for the new CUDA replaces it."""
        if upgrade.library_edit(reference, self.chosen, self.options.target) or reference.removal is None:
            return
        if reference.fixed:
            raise NoFix(reference.fixed)
        self.edits.append(Edit(reference.removal.start, reference.removal.end, ""))
        self.replaced.add(reference.name)

    def _libraries(self, unit: Unit) -> None:
        """Replace the libraries of the old CUDA by those of the new one."""
        for reference in unit.of(Sort.REQUIREMENT):
            if not upgrade.is_older_library(reference, self.chosen) or reference.name in self.replaced:
                continue
            edit = upgrade.library_edit(reference, self.chosen, self.options.target)
            if edit is None:
                raise NoFix(
                    f"blocked by `{reference.name}{reference.text}`: remove it and the other CUDA libraries, torch brings"
                    " its own"
                )
            self.edits.append(edit)
            self.replaced.add(reference.name)
            self.pins += 1

    def _images(self) -> None:
        """Collect the edits of images, and of the architectures that their compiler no longer supports."""
        every = self.environment.of(Sort.IMAGE)
        compiles = any(image.name == "nvidia/cuda" and images.is_for_compiling(image) for image in every)
        # An image that only runs has no finding of its own, which its part of a multi-file fix would need.
        runs = not self.moves_related and not is_for_cpu([self.environment])
        for image in every:
            if image.name == "nvidia/cuda" and not (compiles or (runs and images.CUDA_TAG.match(image.text))):
                continue
            edit = images.edit(image, self.options.target, self.chosen)
            if edit is not None:
                self.edits.append(edit)
                if image.name == "pytorch/pytorch":
                    docker = kind_of(self.source.path) == "docker"
                    text = self.source.original.decode("latin-1")
                    allowing = images.installing(image, text, docker=docker)
                    self.edits += [allowing] if allowing else []
                self.moves_image = True
        if self.moves_image and self.chosen.cuda:
            for variable in self.environment.of(Sort.VARIABLE, *architectures.NAMES):
                if architectures.gone(variable, self.chosen.cuda):
                    self.edits.append(architectures.edit(variable, self.chosen.cuda))

    def _write(self, reference: Reference, clause: Clause, version: str) -> None:
        """Replace the version of one condition. Raises NoFix where that is not possible."""
        if reference.fixed:
            raise NoFix(reference.fixed)
        if reference.several:
            raise NoFix(f"the file gives several values for the version of {reference.name}")
        if "+" in version and (page := indexes.page_of_all(self._indexes)):
            raise NoFix(f"it is unclear whether `{page}` lists {reference.name} {version}")
        edit = reference.value.edit(clause.start, clause.end, version)
        if edit is None:
            raise NoFix(f"the version of {reference.name} is assembled from several variables")
        self.edits.append(edit)


_ANY_LATER = ("setuptools", "sympy", "typing-extensions")
"""Pure Python packages that torch requires and that nearly every other package bounds from below only."""


def _required(torch: str) -> dict[str, SpecifierSet]:
    """Return the packages that a release of torch requires on Linux, with their specifiers."""
    return {normalized(needed.name): needed.specifier for needed in requirements.required_by("torch", torch)}
