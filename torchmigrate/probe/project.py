"""Whether what a project's files would install fits a machine: each environment is judged as if its torch were there.

Everything here is pure. What a build needs is judged by `torchmigrate.probe.target` and `on_gpus`, as that of an
installed torch is.
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
    """What an environment installs cannot be known, because …: the message is the reason."""


class Wanted(NamedTuple):
    """What an installer takes: a release, its version, the variant ("" for the default), and that build if there is one."""

    torch: str
    version: str
    variant: str
    build: Build | None


class Wheel(NamedTuple):
    """What the URL of a wheel of torch's says."""

    version: Version
    tags: frozenset[Tag]


def torches(document: Document) -> list[tuple[Environment, list[Reference]]]:
    """The environments of a project file that name a torch, or an image that brings one, and where they do.

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
    """Whether a machine that runs the project installs this: no test, no documentation, no tool of its developers."""
    return reference.unit.role in _INSTALLS and reference.purpose in _SERVES


def findings(
    document: Document, environment: Environment, named: list[Reference], facts: Facts
) -> Iterator[Finding]:
    """The verdict on the torch that an environment names in ``named``, at the first place that does.

    A lock file may have one for each of several extras: each has its own.
    """
    inside = _inside(environment, facts)
    asked = [one for one in named if one.sort is Sort.REQUIREMENT and _applies(one, inside)]
    images = [one for one in named if one.sort is Sort.IMAGE]
    asked += [one for one in named if (wheel := _wheel(one)) and _installable(wheel, inside)]
    locked = [one for one in asked if one.unit.role is Role.LOCK]
    ways = {(one.text, id(one.unit)): [one] for one in locked}.values() if locked else [asked]
    for way in ways:
        place = (way or images)[:1]
        if not place:
            return
        try:
            found = list(_judged(environment, way, images, inside))
        except Unsaid as unsaid:
            reason = f"whether the torch that this installs fits cannot be said: {unsaid}"
            found = [saying.info("RT031", reason)]
        for one in found:
            yield finding(one.code, one.message, one.severity, document, place[0].span, hint=one.hint)


def _inside(environment: Environment, facts: Facts) -> Facts:
    """The facts of the machine as the environment has them: without what is installed, with a Python that it allows."""
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
    # Another Python has to be made for it: only one that is named can be judged.
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
    if environment.of_image and facts.platform.system != "Linux":
        raise Unsaid(f"an image does not run on {facts.platform.system} itself")
    wheels_asked = [wheel for one in asked if (wheel := _wheel(one))]
    if wheels_asked:
        wanted = _given(wheels_asked[0], facts)
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
    """No such variant; raises Unsaid where the tables may only not have it."""
    if platform != wheels.PLATFORM or wheels.published(parse(wanted.torch), wanted.variant) is not False:
        raise Unsaid(
            f"whether torch {wanted.torch} was published in {wanted.variant} for {platform} is not known"
        )
    return saying.error("RT011", f"torch {wanted.version} has no wheel in {wanted.variant}")


def _as_installed(version: str, build: Build, facts: Facts) -> Iterator[Finding]:
    """What is said of an installed torch is said of one that would be. Raises Unsaid where the tables know too little."""
    if unknown := {one.reason for gpu in facts.gpus if (one := fit(gpu, build, facts)).runs is None}:
        raise Unsaid(f"of torch {version} in {build.variant}, {' and '.join(sorted(unknown))}")
    hip = build.variant.removeprefix("rocm") if build.variant.startswith("rocm") else None
    xpu = build.variant if build.variant == "xpu" else None
    torch = Torch(f"{version}+{build.variant}", build.cuda, hip, xpu, build.compiled)
    found = list(on_gpus.findings(dataclasses.replace(facts, torch=torch)))
    failing = [one for one in found if one.severity is not Severity.INFO]
    yield from failing or [*found, saying.info("RT032", target.by_tables(version, facts, build))]


def _required(environment: Environment, asked: list[Reference], facts: Facts) -> Wanted:
    """What an installer takes for requirements: the newest release that they allow and this machine can install."""
    for one in asked:
        if one.style is Style.CONDA or one.name == "pytorch":
            raise Unsaid("which builds conda has is not known here")
        if one.undecided:
            raise Unsaid(f"its version depends on `{one.undecided}`")
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
    """Why no release is what is ``asked``: extras and markers may give one of several, or the tables do not have it."""
    if len(asked) > 1:
        return f"it is one of {', '.join(f'`{text}`' for text in asked)}"
    return f"the tables know torch {matrix.versions()[0]} to {matrix.versions()[-1]}, and `{asked[0]}` is asked for"


def _variants(units: Iterable[Unit], local: set[str]) -> tuple[str, ...]:
    """The variants that an installer looks for, the first before the second; "" is the default of the platform."""
    indexes = [index for unit in units if concerns_torch(unit) for index in unit.of(Sort.INDEX)]
    named = local or {_variant(index) for index in indexes} - {""}
    if len(named) > 1:
        raise Unsaid(f"its build is one of {', '.join(sorted(named))}")
    beside = not local and any(index.option == "--extra-index-url" for index in indexes)
    return (*named, "") if beside or not named else (*named,)


def _variant(index: Reference) -> str:
    """The variant that an index gives; "" for one of all packages."""
    if index.undecided or index.several or nightly_of(index):
        raise Unsaid(f"its index is `{index.text or index.undecided}`")
    last = index.text.rstrip("/").rpartition("/")[2]
    if tag := tag_of(index):
        return tag.name
    if wheels.is_known(last):
        return last
    if index.option == "--torch-backend" or (INDEX_URL.fullmatch(index.text) and last != "whl"):
        raise Unsaid(f"its build is `{last}`")
    return ""


def _of(builds: list[Build], variant: str) -> Build | None:
    return next((b for b in builds if (b.variant == variant if variant else b.default)), None)


def _wheel(reference: Reference) -> Wheel | None:
    """What the name of a wheel in a URL says; None where it is none of torch's."""
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


def _given(wheel: Wheel, facts: Facts) -> Wanted:
    """What a URL of a wheel names."""
    torch, variant = matrix.minor(wheel.version.base_version), wheel.version.local or ""
    if torch not in matrix.versions():
        raise Unsaid(_unknown([str(wheel.version)]))
    return Wanted(torch, wheel.version.base_version, variant, _of(candidates(torch, facts), variant))


def _brought(image: Reference, facts: Facts) -> Wanted:
    """What one of PyTorch's own images has."""
    match = TORCH_TAG.fullmatch(image.text)
    if image.undecided or match is None:
        raise Unsaid("the image brings it")
    if matrix.minor(match["torch"]) not in matrix.versions():
        raise Unsaid(_unknown([image.text]))
    torch, variant = matrix.minor(match["torch"]), f"cu{match['cuda'].replace('.', '')}"
    return Wanted(torch, match["torch"], variant, _of(candidates(torch, facts), variant))
