"""The verdict on what a project's files would install on a machine: each environment is judged as if it were installed.

Everything here is pure. `torchmigrate.probe.target` and `torchmigrate.probe.on_gpus` judge the build, as they do that of an installed torch.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from torchmigrate.documents import pythons
from torchmigrate.documents.build import concerns_torch
from torchmigrate.documents.document import Document
from torchmigrate.documents.images import TORCH_TAG
from torchmigrate.documents.purposes import Purpose
from torchmigrate.documents.references import Environment, Reference, Role, Style, Unit
from torchmigrate.documents.specifiers import applies, clauses, patches
from torchmigrate.documents.spellings import INDEX_URL
from torchmigrate.documents.upgrade import TORCH, nightly_of, tag_of
from torchmigrate.model.findings import Finding
from torchmigrate.model.versions import parse
from torchmigrate.model.vocabulary import Severity, Sort
from torchmigrate.probe import on_gpus, saying, target
from torchmigrate.probe.facts import Facts, Torch
from torchmigrate.probe.fit import candidates, fit, platform_of
from torchmigrate.tables import matrix, wheels
from torchmigrate.tables.matrix import Build
from torchmigrate.text.findings import finding

_IMAGES = ("pytorch/pytorch", "nvidia/pytorch")
_SERVES = (Purpose.RUN, Purpose.EXTRA)
_INSTALLS = (Role.INSTALL, Role.LOCK)


class Unsaid(Exception):
    """It is unclear what an environment installs; the message is the reason, as a clause."""


class Wanted(NamedTuple):
    """The torch that an installer takes."""

    torch: str
    """The minor version."""
    version: str
    variant: str
    """The variant; "" for the default."""
    build: Build | None
    """That build; None where there is none."""


class Wheel(NamedTuple):
    """A wheel of torch, by the file name in its URL."""

    version: Version
    tags: frozenset[Tag]


def torches(document: Document) -> list[tuple[Environment, list[Reference]]]:
    """Find the environments of a project file that name a torch, or an image with one, and the references that do so.

    Raises SourceError if the file is malformed.
    """
    found: dict[int, tuple[Environment, list[Reference]]] = {}
    for one in document.references:
        is_torch = one.sort is Sort.REQUIREMENT and one.name in TORCH
        is_torch = is_torch or (one.sort is Sort.WHEEL and _wheel(one) is not None)
        if is_torch or (one.sort is Sort.IMAGE and one.name in _IMAGES):
            environment = one.unit.environment
            found.setdefault(id(environment), (environment, []))[1].append(one)
    return list(found.values())


def installs(reference: Reference) -> bool:
    """Whether a machine that runs the project installs this, and not only its tests, documentation or developers."""
    return reference.unit.role in _INSTALLS and reference.purpose in _SERVES


def findings(
    document: Document, environment: Environment, named: list[Reference], facts: Facts
) -> Iterator[Finding]:
    """Judge the torch that an environment names in ``named``; the finding is at the first of these references."""
    inside = _inside(environment, facts)
    asked = [one for one in named if one.sort is Sort.REQUIREMENT and _applies(one, inside)]
    images = [one for one in named if one.sort is Sort.IMAGE]
    asked += [one for one in named if (wheel := _wheel(one)) and _installable(wheel, inside)]
    # A lock file may have a torch for each of several extras, and each gets a verdict of its own.
    locked = [one for one in asked if one.unit.role is Role.LOCK]
    ways = {(one.text, id(one.unit)): [one] for one in locked}.values() if locked else [asked]
    for way in ways:
        place = (way or images)[:1]
        if not place:
            return
        try:
            found = list(_judged(environment, way, images, inside))
        except Unsaid as unsaid:
            message = f"it is unclear whether the torch installed here supports this machine: {unsaid}"
            found = [saying.info("RT031", message)]
        for one in found:
            yield finding(one.code, one.message, one.severity, document, place[0].span, hint=one.hint)


def _inside(environment: Environment, facts: Facts) -> Facts:
    """Return the machine's facts as an environment has them: nothing installed, and a Python that it allows."""
    bare = dataclasses.replace(facts, torch=None, packages={}, requires={}, extensions=())
    if environment.of_image:
        bare = dataclasses.replace(
            bare,
            python=dataclasses.replace(bare.python, version=None, free_threaded=False),
            platform=dataclasses.replace(bare.platform, glibc=None),
        )
    stated = [numbers for one in environment.of(Sort.PYTHON) if (numbers := pythons.numbers(one))]
    allowed = set.intersection(*stated) if stated else set()
    if not allowed or (bare.python.version and matrix.number(bare.python.version)[1] in allowed):
        return bare
    # Another Python has to be installed for it; which one is clear only if a single one is allowed.
    version = f"3.{allowed.pop()}" if len(allowed) == 1 else None
    return dataclasses.replace(bare, python=dataclasses.replace(bare.python, version=version))


def _applies(reference: Reference, facts: Facts) -> bool:
    """Whether a requirement's marker holds on this machine."""
    python = matrix.minor(facts.python.version) if facts.python.version else None
    span = (python, python) if python else wheels.python_range(parse(matrix.versions()[-1]))
    return applies(reference, span, (facts.platform.system, facts.platform.machine))


def _judged(
    environment: Environment, asked: list[Reference], images: list[Reference], facts: Facts
) -> Iterator[Finding]:
    """Judge what an environment installs. Raises Unsaid where that is unclear."""
    if environment.of_image and facts.platform.system != "Linux":
        raise Unsaid(f"images do not run directly on {facts.platform.system}")
    if wheel := next((wheel for one in asked if (wheel := _wheel(one))), None):
        version = wheel.version
        wanted = _exactly(version.base_version, version.local or "", str(version), facts)
    else:
        wanted = _required(environment, asked, facts) if asked else _brought(images[-1], facts)
    floors = list(target.below_floor(wanted.torch, facts))
    if floors:
        yield from floors
    elif wanted.build is None:
        yield _unpublished(wanted, platform_of(facts) or "")
    else:
        yield from _as_installed(wanted.version, wanted.build, facts)


def _unpublished(wanted: Wanted, platform: str) -> Finding:
    """Create the finding about a build that does not exist. Raises Unsaid where it may only be missing in the tables."""
    if platform != wheels.PLATFORM or wheels.published(parse(wanted.torch), wanted.variant) is not False:
        raise Unsaid(f"torch {wanted.torch} ({wanted.variant}) for {platform} is not in the tables")
    return saying.error("RT011", f"torch {wanted.version} was not published for {wanted.variant}")


def _as_installed(version: str, build: Build, facts: Facts) -> Iterator[Finding]:
    """Judge a build as if it were installed. Raises Unsaid where the tables know too little about it."""
    if unknown := {one.reason for gpu in facts.gpus if (one := fit(gpu, build, facts)).runs is None}:
        raise Unsaid(f"for torch {version} ({build.variant}), {' and '.join(sorted(unknown))}")
    hip = build.variant.removeprefix("rocm") if build.variant.startswith("rocm") else None
    xpu = build.variant if build.variant == "xpu" else None
    torch = Torch(f"{version}+{build.variant}", build.cuda, hip, xpu, build.compiled)
    found = list(on_gpus.findings(dataclasses.replace(facts, torch=torch)))
    failing = [one for one in found if one.severity is not Severity.INFO]
    yield from failing or [*found, saying.info("RT032", target.by_tables(version, facts, build))]


def _required(environment: Environment, asked: list[Reference], facts: Facts) -> Wanted:
    """Return the newest release that the requirements allow and this machine can install. Raises Unsaid."""
    for one in asked:
        if one.style is Style.CONDA or one.name == "pytorch":
            raise Unsaid("conda's builds are not in the tables")
        if one.undecided:
            raise Unsaid(f"the version depends on `{one.undecided}`")
    conditions = [clause for one in asked for clause in clauses(one)]
    releases = {}
    for torch in reversed(matrix.versions()):
        newest = next(build.version for build in matrix.builds() if build.torch == torch)
        for version in (newest, *patches(torch)):
            if torch not in releases and all(clause.allows([version]) for clause in conditions):
                releases[torch] = version
    if not releases:
        raise Unsaid(_unknown(list(dict.fromkeys(one.text for one in asked))))
    units = {one.unit for one in asked} if asked[0].unit.role is Role.LOCK else environment.units
    variants = _variants(units, {clause.local for clause in conditions} - {""})
    for torch, version in releases.items():
        for variant in variants:
            if build := _of(candidates(torch, facts), variant):
                return Wanted(torch, version, variant, build)
    return Wanted(*next(iter(releases.items())), variants[0], None)


def _unknown(asked: list[str]) -> str:
    """Return why no release satisfies the requirements: several alternatives, or one that the tables do not have."""
    if len(asked) > 1:
        return f"the version may be any of {', '.join(f'`{text}`' for text in asked)}"
    return f"the tables cover torch {matrix.versions()[0]} to {matrix.versions()[-1]}, but `{asked[0]}` is required"


def _variants(units: Iterable[Unit], local: set[str]) -> tuple[str, ...]:
    """Return the variants that an installer looks for, in order; "" is the platform's default. Raises Unsaid."""
    indexes = [index for unit in units if concerns_torch(unit) for index in unit.of(Sort.INDEX)]
    named = local or {_variant(index) for index in indexes} - {""}
    if len(named) > 1:
        raise Unsaid(f"the build may be any of {', '.join(sorted(named))}")
    beside = not local and any(index.option == "--extra-index-url" for index in indexes)
    return (*named, "") if beside or not named else (*named,)


def _variant(index: Reference) -> str:
    """Return the variant that an index has; "" for an index of all packages. Raises Unsaid."""
    if index.undecided or index.several or nightly_of(index):
        raise Unsaid(f"it comes from the index `{index.text or index.undecided}`")
    last = index.text.rstrip("/").rpartition("/")[2]
    if tag := tag_of(index):
        return tag.name
    if wheels.is_known(last):
        return last
    if index.option == "--torch-backend" or (INDEX_URL.fullmatch(index.text) and last != "whl"):
        raise Unsaid(f"the build `{last}` is not in the tables")
    return ""


def _of(builds: list[Build], variant: str) -> Build | None:
    """Return the build of a variant, or the default build for ""; None where there is none."""
    return next((b for b in builds if (b.variant == variant if variant else b.default)), None)


def _wheel(reference: Reference) -> Wheel | None:
    """Parse the file name of a wheel in a URL; None where the wheel is not torch's."""
    if reference.sort is not Sort.WHEEL or reference.undecided:
        return None
    try:
        name, version, _, tags = parse_wheel_filename(unquote(reference.text.rpartition("/")[2]))
    except InvalidWheelFilename:
        return None
    return Wheel(version, frozenset(tags)) if name == "torch" else None


def _installable(wheel: Wheel, facts: Facts) -> bool:
    """Whether a wheel is for this machine's Python and platform."""
    python = f"cp{''.join(facts.python.version.split('.')[:2])}" if facts.python.version else ""
    system = {"Linux": "linux", "Windows": "win", "Darwin": "macosx"}.get(facts.platform.system, "")
    return any(
        tag.interpreter.startswith(python)
        and re.search(rf"{system}.*{facts.platform.machine.lower()}\Z", tag.platform)
        for tag in wheel.tags
    )


def _exactly(version: str, variant: str, text: str, facts: Facts) -> Wanted:
    """Return the build of an exact version and variant. Raises Unsaid, with ``text``, where the tables lack the version."""
    torch = matrix.minor(version)
    if torch not in matrix.versions():
        raise Unsaid(_unknown([text]))
    return Wanted(torch, version, variant, _of(candidates(torch, facts), variant))


def _brought(image: Reference, facts: Facts) -> Wanted:
    """Return the build in one of PyTorch's own images. Raises Unsaid for other images."""
    match = TORCH_TAG.fullmatch(image.text)
    if image.undecided or match is None:
        raise Unsaid("which build the image contains is unknown")
    return _exactly(match["torch"], f"cu{match['cuda'].replace('.', '')}", image.text, facts)
