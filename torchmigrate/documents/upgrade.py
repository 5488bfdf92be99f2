"""What has to change together in an installation so that it gives the target torch, as one fix.

A pin, the index, the companions and the libraries beside it go together: half of such a change installs nothing. So
every finding in a unit carries the same fix, which is made here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from torchmigrate.documents.reader import INDEX_URL
from torchmigrate.documents.references import Reference, Role, Style, Unit
from torchmigrate.documents.requirements import logical_lines
from torchmigrate.documents.specifiers import Clause, applies, clauses, lowest, patches
from torchmigrate.model.findings import Edit, Fix, NoFix, Span
from torchmigrate.model.options import Options
from torchmigrate.model.versions import Version, render
from torchmigrate.model.vocabulary import Safety, Sort
from torchmigrate.tables import matrix, wheels
from torchmigrate.tables.matrix import Build
from torchmigrate.text.source import Source

TORCH = ("torch", "pytorch")
COMPANIONS = ("torchvision", "torchaudio")

_TAG = re.compile(r"(?:/whl|/pytorch-wheels)/(?:(?P<channel>test|nightly)/)?(?P<tag>cu\d{2,3})(?=[/\s]|\Z)")
_BACKEND = re.compile(r"cu\d{2,3}")
_OFFICIAL = re.compile(r"https?://download(?:-r2)?\.pytorch\.org/")


@dataclass(frozen=True, slots=True)
class Tag:
    """The variant that an index gives; ``start`` and ``end`` are where it stands in the reference's value."""

    name: str
    start: int
    end: int


def tag_of(reference: Reference) -> Tag | None:
    """The CUDA variant that an index or a wheel's URL names; None for others, and for nightly builds."""
    if reference.undecided:
        return None
    if reference.option == "--torch-backend":
        found = _BACKEND.fullmatch(reference.text)
        return Tag(found[0], 0, len(found[0])) if found else None
    match = _TAG.search(reference.text)
    if match is None or match["channel"] == "nightly" or not INDEX_URL.fullmatch(reference.text):
        return None
    return Tag(match["tag"], *match.span("tag"))


def lacks(tag: str, options: Options) -> str:
    """Why a variant does not serve the target, as the end of a sentence; empty if it does, or nobody knows."""
    target = render(options.target)
    if wheels.published(options.target, tag) is False:
        last = wheels.last_with(tag)
        since = f"; the last release that has it is {render(last)}" if last and last < options.target else ""
        return f"torch {target} has no {tag} build{since}"
    found = wheels.build(options.target, tag)
    if found is not None and found.compiled and (missing := wheels.missing(found, options.gpu_architectures)):
        return f"the {tag} build of torch {target} has no code for {', '.join(missing)}"
    return ""


def excluding(reference: Reference, options: Options) -> list[Clause]:
    """The conditions of a requirement on torch that keep the target out, and would let an older one in."""
    allowed = patches(wheels.release(options.target))
    if not applies(reference, wheels.python_range(options.target)):
        return []
    return [
        clause
        for clause in clauses(reference)
        if clause.is_upper and not clause.allows(allowed) and (clause.minor or (0, 0)) <= options.target
    ]


def release_of(name: str, target: Version) -> list[str]:
    """The releases of a companion that go with a torch; the first is the one to write."""
    if name == "triton":
        pinned = wheels.library(target, "triton")
        if pinned is None:
            return []
        release = pinned.lstrip("~=")
        return patches(release) if pinned.startswith("~=") else [release]
    found = matrix.companion(name, render(target))
    return [found, *patches(found)] if found else []


def left_behind(reference: Reference, options: Options) -> list[Clause]:
    """The conditions of a companion's requirement that keep out the release that goes with the target."""
    allowed = release_of(reference.name, options.target)
    if not allowed or not applies(reference, wheels.python_range(options.target)):
        return []
    newest = tuple(map(int, allowed[0].split(".")[:2]))
    return [
        clause
        for clause in clauses(reference)
        if clause.is_upper and not clause.allows(allowed) and (clause.minor or (0, 0)) <= newest
    ]


def is_other_build(clause: Clause, options: Options) -> str:
    """Why the build that a local version names does not serve the target; empty if it does, or names none."""
    return lacks(clause.local, options) if clause.local else ""


def stays(unit: Unit, options: Options) -> bool:
    """Whether a unit installs an older torch on purpose: tests that pin it."""
    return unit.role is Role.TEST and any(
        excluding(torch, options) for torch in unit.of(Sort.REQUIREMENT, *TORCH)
    )


def fix(reference: Reference, source: Source, options: Options) -> Fix:
    """The fix for the whole unit of a reference; raises NoFix where there is none."""
    unit = reference.unit
    if unit.role is Role.LOCK:
        raise NoFix(
            "a lock file is written by its tool: upgrade torch with it, once the project's own files are mended"
        )
    if unit.fixed:
        raise NoFix(unit.fixed)
    if stays(unit, options):
        raise NoFix("this installs an older torch, which tests often do on purpose")
    chosen = wheels.choose(options.target, options.gpu_architectures)
    if chosen is None:
        raise NoFix(no_build(options))
    plan = _Plan(unit, source, options, chosen)
    plan.make()
    if not plan.edits:
        raise NoFix("nothing that is asked for here is older than the target")
    if any(span.start <= edit.start < span.end for span in _ignored(source) for edit in plan.edits):
        raise NoFix("a line that would have to change with it is marked to be left alone")
    safety = Safety.SAFE if plan.is_safe() else Safety.UNSAFE
    return Fix(tuple(dict.fromkeys(sorted(plan.edits))), safety, plan.title)


def no_build(options: Options) -> str:
    """Why no build of the target can be named."""
    wanted = ", ".join(options.gpu_architectures)
    last = wheels.last_for(options.gpu_architectures)
    older = f"; the last that has is {last.torch} in {last.variant}" if last else ""
    return (
        f"no build of torch {render(options.target)} is known to have code for {wanted}{older}"
        if wanted
        else (f"no CUDA build of torch {render(options.target)} is known")
    )


@dataclass(slots=True)
class _Plan:
    unit: Unit
    source: Source
    options: Options
    chosen: Build
    edits: list[Edit] = field(default_factory=list)
    pins: int = 0
    tags: set[str] = field(default_factory=set)
    keeps_index: bool = False

    @property
    def title(self) -> str:
        return f"Ask for torch {self.chosen.version if self.pins else self.chosen.torch} in {self.chosen.variant}"

    def make(self) -> None:
        """Collects the edits. Raises _Refused if one that is needed cannot be made."""
        if any(r.style is Style.CONDA for r in self.unit.of(Sort.REQUIREMENT, *TORCH, *COMPANIONS)):
            raise NoFix("which builds conda's channels have is not known here")
        if found := _OTHER_TORCH.search(self.source.text):
            raise NoFix(
                f"{found[0].decode()} goes with a torch of its own, and which that is is not known here"
            )
        for reference in self.unit.references:
            if other := _other_accelerator(reference):
                raise NoFix(
                    f"{other} has builds of its own, and which of them the target has is not known here"
                )
        tags = {tag.name for index in self.unit.of(Sort.INDEX) if (tag := tag_of(index))}
        if len(tags) > 1:
            raise NoFix(f"it offers several builds to choose from: {', '.join(sorted(tags))}")
        for index in self.unit.of(Sort.INDEX):
            self._index(index)
        for torch in self.unit.of(Sort.REQUIREMENT, *TORCH):
            self._torch(torch)
        for companion in self.unit.of(Sort.REQUIREMENT, *COMPANIONS):
            self._companion(companion)
        if self.unit.of(Sort.REQUIREMENT, *TORCH):
            for companion in self.unit.of(Sort.REQUIREMENT, "triton"):
                self._companion(companion)
            self._libraries()

    def is_safe(self) -> bool:
        """Whether what is there cannot be installed at all, because the file itself asks for a torch without it."""
        torches = self.unit.of(Sort.REQUIREMENT, *TORCH)
        bounds = [lowest(torch) for torch in torches]
        # A build that the tables do not know was given up before they begin.
        newest = [wheels.last_with(tag) or wheels.COMPLETE_SINCE for tag in self.tags]
        return (
            self.pins == 0
            and bool(self.tags)
            and self.unit.role is Role.INSTALL
            and bool(bounds)
            and all(bound is not None and bound > last for bound in bounds for last in newest)
        )

    def _index(self, index: Reference) -> None:
        tag = tag_of(index)
        if tag is None or not lacks(tag.name, self.options):
            return
        self.tags.add(tag.name)
        if index.several:
            raise NoFix("the file gives several values for the index")
        if index.removal is not None and self._may_go(index):
            self.edits.append(Edit(index.removal.start, index.removal.end, ""))
            return
        self.keeps_index = True
        edit = index.value.edit(tag.start, tag.end, self.chosen.variant, wheels.full_cuda_versions())
        if edit is None:
            raise NoFix("the index is put together from several places")
        self.edits.append(edit)
        self.edits += _renamed(self.unit, tag.name, self.chosen.variant)

    def _may_go(self, index: Reference) -> bool:
        """Whether the default index gives the chosen build: not on Windows, where it gives the one for the CPU."""
        if not self.chosen.default or not _OFFICIAL.match(index.text) or index.option == "--torch-backend":
            return False
        if index.value.pieces[0].span != index.span:
            return False  # it comes from a variable, to be chosen from outside
        only_there = any(r.name.startswith("pytorch-triton") for r in self.unit.of(Sort.REQUIREMENT))
        return (
            not only_there
            and re.search(rb"(?i)\bwindows\b|win32|win_amd64|\.bat\b", self.source.text) is None
        )

    def _torch(self, torch: Reference) -> None:
        found = excluding(torch, self.options)
        local = [
            clause
            for clause in clauses(torch)
            if clause.local and clause.local.startswith("cu") and clause not in found
        ]
        for clause in found:
            build = self._local(clause)
            self._write(torch, clause, clause.raised(self.chosen.version, build))
            self.pins += 1
        for clause in local:
            if lacks(clause.local, self.options):
                self.tags.add(clause.local)
                build = self._local(clause)
                self._write(torch, clause, clause.public + (f"+{build}" if build else ""))

    def _local(self, clause: Clause) -> str:
        """The local version to pin: none where the index goes and the default one gives the build; ``cpu`` stays."""
        if not clause.local.startswith("cu"):
            return clause.local
        return "" if self.chosen.default and not self.keeps_index else self.chosen.variant

    def _companion(self, companion: Reference) -> None:
        allowed = release_of(companion.name, self.options.target)
        found = left_behind(companion, self.options)
        for clause in found:
            self._write(companion, clause, clause.raised(allowed[0], self._local_of(companion, clause)))
            self.pins += 1
        for clause in clauses(companion):
            if clause not in found and clause.local.startswith("cu") and lacks(clause.local, self.options):
                build = self._local_of(companion, clause)
                self._write(companion, clause, clause.public + (f"+{build}" if build else ""))

    def _local_of(self, companion: Reference, clause: Clause) -> str:
        pinned = matrix.companion_torch(companion.name, release_of(companion.name, self.options.target)[0])
        return self._local(clause) if pinned else ""

    def _libraries(self) -> None:
        for reference in self.unit.of(Sort.REQUIREMENT):
            edit = library_edit(reference, self.options)
            if edit is not None:
                self.edits.append(edit)
                self.pins += 1

    def _write(self, reference: Reference, clause: Clause, version: str) -> None:
        if reference.fixed:
            raise NoFix(reference.fixed)
        if reference.several:
            raise NoFix(f"the file gives several values for the version of {reference.name}")
        edit = reference.value.edit(clause.start, clause.end, version)
        if edit is None:
            raise NoFix(f"the version of {reference.name} is put together from several places")
        self.edits.append(edit)


def _other_accelerator(reference: Reference) -> str:
    """The accelerator other than CUDA that a reference names."""
    if reference.name == "intel-extension-for-pytorch":
        return reference.name
    named = re.search(r"(?:/whl/(?:test/|nightly/)?|\+)(rocm|xpu)", reference.text)
    return named[1] if named else ""


_OTHER_TORCH = re.compile(rb"torch[-_](?:npu|mlu|musa|directml|xla)\b")

_LIBRARY = re.compile(r"nvidia-(?P<name>[\w-]+)-cu1[12]")


def is_older_library(reference: Reference, chosen: Build) -> bool:
    """Whether a requirement names a CUDA library of an older major than the chosen build's."""
    match = _LIBRARY.fullmatch(reference.name)
    return bool(match) and not reference.name.endswith(f"-cu{(chosen.cuda or '').split('.')[0]}")


def library_edit(reference: Reference, options: Options) -> Edit | None:
    """The edit that names the library which the target itself requires, where it is known by the same name."""
    chosen = wheels.choose(options.target, options.gpu_architectures)
    if chosen is None or not chosen.default or not is_older_library(reference, chosen):
        return None
    match = _LIBRARY.fullmatch(reference.name)
    if match is None or reference.fixed or reference.undecided or reference.several:
        return None
    name = f"{match['name']}-cu{(chosen.cuda or '').split('.')[0]}"
    version = wheels.library(options.target, name)
    if version is None:
        return None
    exact = f"=={version}" if reference.text else ""
    return Edit(reference.span.start, reference.span.end, f"nvidia-{name}{exact}")


def _renamed(unit: Unit, old: str, new: str) -> Iterator[Edit]:
    """The edits that take the old variant out of the names that the file gives to its indexes."""
    for name in unit.of(Sort.NAME):
        for match in re.finditer(rf"(?<![A-Za-z0-9]){old}(?![0-9])", name.text):
            edit = name.value.edit(*match.span(), new)
            if edit is not None:
                yield edit


def _ignored(source: Source) -> Iterator[Span]:
    """The lines that a comment marks to be left alone, at their end or on the line before."""
    if b"torchmigrate: ignore" not in source.text:
        return
    pending = False
    for line in logical_lines(source.text.decode("latin-1")):
        text = source.text[line.start : line.end]
        marked = b"torchmigrate: ignore" in text
        if text.lstrip().startswith(b"#"):
            pending = pending or marked
            continue
        if marked or pending:
            yield line
        pending = False
