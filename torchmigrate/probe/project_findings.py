"""The verdict on what a project's files would install on a machine: each environment is judged as if it were installed.

Everything here is pure. `torchmigrate.probe.target_findings` and `torchmigrate.probe.gpu_findings` judge the build, as they do that of an installed torch.
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

from torchmigrate.documents.base_images import TORCH_TAG
from torchmigrate.documents.build_choice import requires_torch
from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.documents.python_versions import parse_minors
from torchmigrate.documents.reference_patterns import INDEX_URL
from torchmigrate.documents.references import Environment, InstallRole, InstallUnit, Reference, VersionStyle
from torchmigrate.documents.requirement_purposes import Purpose
from torchmigrate.documents.upgrade_rules import TORCH_NAMES, find_cuda_tag, find_nightly_variant
from torchmigrate.documents.version_clauses import list_patches, marker_applies, parse_clauses
from torchmigrate.model.findings import Finding
from torchmigrate.model.torch_versions import parse_version
from torchmigrate.model.vocabulary import Severity, Sort
from torchmigrate.probe import floor_findings, gpu_findings, target_findings, wording
from torchmigrate.probe.build_fit import find_candidates, find_platform, judge_fit
from torchmigrate.probe.install_commands import COMPANIONS
from torchmigrate.probe.machine_facts import InstalledTorch, MachineFacts
from torchmigrate.tables import torch_builds
from torchmigrate.tables.build_selection import PLATFORM, find_python_range, is_known_variant, is_published
from torchmigrate.tables.torch_builds import TorchBuild
from torchmigrate.text.finding_factory import create_finding

_TORCH_IMAGES = ("pytorch/pytorch", "nvidia/pytorch")
_SERVING_PURPOSES = (Purpose.RUN, Purpose.EXTRA)
_INSTALLING_ROLES = (InstallRole.INSTALL, InstallRole.LOCK)


class UnclearInstallation(Exception):
    """It is unclear what an environment installs; the message is the reason, as a clause."""


class WantedTorch(NamedTuple):
    """The torch that an installer takes."""

    torch: str
    """The minor version."""
    version: str
    variant: str
    """The variant; "" for the default."""
    build: TorchBuild | None
    """That build; None where there is none."""


class TorchWheel(NamedTuple):
    """A wheel of torch, by the file name in its URL."""

    version: Version
    tags: frozenset[Tag]


def find_torch_references(document: ProjectDocument) -> list[tuple[Environment, list[Reference]]]:
    """Find the environments of a project file that name a torch, or an image with one, and the references that do so.

    Raises SourceError if the file is malformed.
    """
    found: dict[int, tuple[Environment, list[Reference]]] = {}
    for one in document.references:
        is_torch = one.sort is Sort.REQUIREMENT and one.name in TORCH_NAMES
        is_torch = is_torch or (one.sort is Sort.WHEEL and _parse_torch_wheel(one) is not None)
        if is_torch or (one.sort is Sort.IMAGE and one.name in _TORCH_IMAGES):
            environment = one.unit.environment
            found.setdefault(id(environment), (environment, []))[1].append(one)
    return list(found.values())


def allows_torch(named: list[Reference], torch: str) -> bool:
    """Return whether requirements and images on torch allow a minor version of it; true where that is unclear."""
    for one in named:
        match = TORCH_TAG.fullmatch(one.text) if one.sort is Sort.IMAGE else None
        if match and torch_builds.get_minor(match["torch"]) != torch:
            return False
        if one.sort is Sort.REQUIREMENT and not all(
            clause.allows_any(list_patches(torch)) for clause in parse_clauses(one)
        ):
            return False
    return True


def is_installed_to_run(reference: Reference) -> bool:
    """Return whether a machine that runs the project installs this, and not only its tests, documentation or developers."""
    return reference.unit.role in _INSTALLING_ROLES and reference.purpose in _SERVING_PURPOSES


def judge_environment(
    document: ProjectDocument,
    environment: Environment,
    named: list[Reference],
    facts: MachineFacts,
    newest: str | None = None,
) -> Iterator[Finding]:
    """Judge the torch that an environment names in ``named``; the finding is at the first of these references.

    ``newest`` is the newest minor version of torch that an installer may take; None for that of the tables. What several
    entries of a lock file have in common is one finding.
    """
    inside = _restrict_facts(environment, facts)
    reported: set[tuple[str, str]] = set()
    asked = [one for one in named if one.sort is Sort.REQUIREMENT and _is_marker_true(one, inside)]
    images = [one for one in named if one.sort is Sort.IMAGE]
    wheels = [(one, wheel) for one in named if (wheel := _parse_torch_wheel(one))]
    asked += [one for one, wheel in wheels if _is_wheel_installable(wheel, inside)]
    # A lock file may have a torch for each of several extras, and each gets a verdict of its own.
    locked = [one for one in asked if one.unit.role is InstallRole.LOCK]
    ways = {(one.text, id(one.unit)): [one] for one in locked}.values() if locked else [asked]
    for way in ways:
        place = (way or images)[:1]
        if not place:
            return
        try:
            found = list(_judge_installation(environment, way, images, inside, newest))
        except UnclearInstallation as unsaid:
            message = f"it is unclear whether the torch installed here supports this machine: {unsaid}"
            found = [wording.create_info("RT031", message)]
        for one in found:
            if (one.code, one.message) in reported:
                continue
            reported.add((one.code, one.message))
            yield create_finding(one.code, one.message, one.severity, document, place[0].span, hint=one.hint)


def _restrict_facts(environment: Environment, facts: MachineFacts) -> MachineFacts:
    """Return the machine's facts as an environment has them: its companions only, and a Python that it allows."""
    # The companions that the environment asks for are installed with torch, and by the same command.
    companions = {one.name: "" for one in environment.find_references(Sort.REQUIREMENT, *COMPANIONS)}
    bare = dataclasses.replace(facts, torch=None, packages=companions, requires={}, extensions=())
    if environment.of_image:
        bare = dataclasses.replace(
            bare,
            python=dataclasses.replace(bare.python, version=None, free_threaded=False),
            platform=dataclasses.replace(bare.platform, glibc=None),
        )
    stated = [numbers for one in environment.find_references(Sort.PYTHON) if (numbers := parse_minors(one))]
    allowed = set.intersection(*stated) if stated else set()
    if not allowed or (bare.python.version and torch_builds.parse_number(bare.python.version)[1] in allowed):
        return bare
    # Another Python has to be installed for it; which one is clear only if a single one is allowed.
    version = f"3.{allowed.pop()}" if len(allowed) == 1 else None
    return dataclasses.replace(bare, python=dataclasses.replace(bare.python, version=version))


def _is_marker_true(reference: Reference, facts: MachineFacts) -> bool:
    """Return whether a requirement's marker holds on this machine."""
    python = torch_builds.get_minor(facts.python.version) if facts.python.version else None
    span = (python, python) if python else find_python_range(parse_version(torch_builds.list_versions()[-1]))
    return marker_applies(reference, span, (facts.platform.system, facts.platform.machine))


def _judge_installation(
    environment: Environment,
    asked: list[Reference],
    images: list[Reference],
    facts: MachineFacts,
    newest: str | None,
) -> Iterator[Finding]:
    """Judge what an environment installs. Raises UnclearInstallation where that is unclear."""
    if environment.of_image and facts.platform.system != "Linux":
        raise UnclearInstallation(f"images do not run directly on {facts.platform.system}")
    if wheel := next((wheel for one in asked if (wheel := _parse_torch_wheel(one))), None):
        version = wheel.version
        wanted = _resolve_version(version.base_version, version.local or "", str(version), facts)
    else:
        wanted = (
            _resolve_requirements(environment, asked, facts, newest)
            if asked
            else _resolve_image(images[-1], facts)
        )
    floors = list(floor_findings.find_floor_problems(wanted.torch, facts))
    if floors:
        yield from floors
    elif wanted.build is None:
        yield _report_unpublished(wanted, find_platform(facts) or "")
    else:
        yield from _judge_as_installed(wanted.version, wanted.build, facts)


def _report_unpublished(wanted: WantedTorch, platform: str) -> Finding:
    """Create the finding about a build that does not exist. Raises UnclearInstallation where it may only be missing in the tables."""
    if platform != PLATFORM or is_published(parse_version(wanted.torch), wanted.variant) is not False:
        raise UnclearInstallation(
            f"torch {wanted.torch} ({wanted.variant}) for {platform} is not in the tables"
        )
    return wording.create_error("RT011", f"torch {wanted.version} was not published for {wanted.variant}")


def _judge_as_installed(version: str, build: TorchBuild, facts: MachineFacts) -> Iterator[Finding]:
    """Judge a build as if it were installed. Raises UnclearInstallation where the tables know too little about it."""
    if unknown := {one.reason for gpu in facts.gpus if (one := judge_fit(gpu, build, facts)).runs is None}:
        raise UnclearInstallation(f"for torch {version} ({build.variant}), {' and '.join(sorted(unknown))}")
    hip = build.variant.removeprefix("rocm") if build.variant.startswith("rocm") else None
    xpu = build.variant if build.variant == "xpu" else None
    torch = InstalledTorch(f"{version}+{build.variant}", build.cuda, hip, xpu, build.compiled)
    found = list(gpu_findings.check_gpus(dataclasses.replace(facts, torch=torch)))
    failing = [one for one in found if one.severity is not Severity.INFO]
    yield from failing or [
        *found,
        wording.create_info("RT032", target_findings.describe_support(version, facts, build)),
    ]


def _resolve_requirements(
    environment: Environment, asked: list[Reference], facts: MachineFacts, limit: str | None
) -> WantedTorch:
    """Return the newest release that the requirements allow and this machine can install. Raises UnclearInstallation."""
    for one in asked:
        if one.style is VersionStyle.CONDA or one.name == "pytorch":
            raise UnclearInstallation("conda's builds are not in the tables")
        if one.undecided:
            raise UnclearInstallation(f"the version depends on `{one.undecided}`")
    conditions = [clause for one in asked for clause in parse_clauses(one)]
    releases = {}
    known = torch_builds.list_versions()
    # A pin beyond the limit is a pin all the same.
    offered = known[: known.index(limit) + 1] if limit in known else known
    for torch in (*reversed(offered), *known[len(offered) :]):
        newest = next(build.version for build in torch_builds.load_builds() if build.torch == torch)
        for version in (newest, *list_patches(torch)):
            if torch not in releases and all(clause.allows_any([version]) for clause in conditions):
                releases[torch] = version
    if not releases:
        raise UnclearInstallation(_explain_unknown(list(dict.fromkeys(one.text for one in asked))))
    units = {one.unit for one in asked} if asked[0].unit.role is InstallRole.LOCK else environment.units
    variants = _find_variants(units, {clause.local for clause in conditions} - {""})
    for torch, version in releases.items():
        for variant in variants:
            if build := _find_variant_build(find_candidates(torch, facts), variant):
                return WantedTorch(torch, version, variant, build)
    return WantedTorch(*next(iter(releases.items())), variants[0], None)


def _explain_unknown(asked: list[str]) -> str:
    """Return why no release satisfies the requirements: several alternatives, or one that the tables do not have."""
    if len(asked) > 1:
        return f"the version may be any of {', '.join(f'`{text}`' for text in asked)}"
    return f"the tables cover torch {torch_builds.list_versions()[0]} to {torch_builds.list_versions()[-1]}, but `{asked[0]}` is required"


def _find_variants(units: Iterable[InstallUnit], local: set[str]) -> tuple[str, ...]:
    """Return the variants that an installer looks for, in order; "" is the platform's default. Raises UnclearInstallation."""
    indexes = [index for unit in units if requires_torch(unit) for index in unit.find_references(Sort.INDEX)]
    named = local or {_parse_index_variant(index) for index in indexes} - {""}
    if len(named) > 1:
        raise UnclearInstallation(f"the build may be any of {', '.join(sorted(named))}")
    beside = not local and any(index.option == "--extra-index-url" for index in indexes)
    return (*named, "") if beside or not named else (*named,)


def _parse_index_variant(index: Reference) -> str:
    """Return the variant that an index has; "" for an index of all packages. Raises UnclearInstallation."""
    if index.undecided or index.several or find_nightly_variant(index):
        raise UnclearInstallation(f"it comes from the index `{index.text or index.undecided}`")
    last = index.text.rstrip("/").rpartition("/")[2]
    if tag := find_cuda_tag(index):
        return tag.name
    if is_known_variant(last):
        return last
    if index.option == "--torch-backend" or (INDEX_URL.fullmatch(index.text) and last != "whl"):
        raise UnclearInstallation(f"the build `{last}` is not in the tables")
    return ""


def _find_variant_build(builds: list[TorchBuild], variant: str) -> TorchBuild | None:
    """Return the build of a variant, or the default build for ""; None where there is none."""
    return next((b for b in builds if (b.variant == variant if variant else b.default)), None)


def _parse_torch_wheel(reference: Reference) -> TorchWheel | None:
    """Parse the file name of a wheel in a URL; None where the wheel is not torch's."""
    if reference.sort is not Sort.WHEEL or reference.undecided:
        return None
    try:
        name, version, _, tags = parse_wheel_filename(unquote(reference.text.rpartition("/")[2]))
    except InvalidWheelFilename:
        return None
    return TorchWheel(version, frozenset(tags)) if name == "torch" else None


def _is_wheel_installable(wheel: TorchWheel, facts: MachineFacts) -> bool:
    """Return whether a wheel is for this machine's Python and platform."""
    python = f"cp{''.join(facts.python.version.split('.')[:2])}" if facts.python.version else ""
    system = {"Linux": "linux", "Windows": "win", "Darwin": "macosx"}.get(facts.platform.system, "")
    return any(
        tag.interpreter.startswith(python)
        and re.search(rf"{system}.*{facts.platform.machine.lower()}\Z", tag.platform)
        for tag in wheel.tags
    )


def _resolve_version(version: str, variant: str, text: str, facts: MachineFacts) -> WantedTorch:
    """Return the build of an exact version and variant. Raises UnclearInstallation, with ``text``, where the tables lack the version."""
    torch = torch_builds.get_minor(version)
    if torch not in torch_builds.list_versions():
        raise UnclearInstallation(_explain_unknown([text]))
    return WantedTorch(torch, version, variant, _find_variant_build(find_candidates(torch, facts), variant))


def _resolve_image(image: Reference, facts: MachineFacts) -> WantedTorch:
    """Return the build in one of PyTorch's own images. Raises UnclearInstallation for other images."""
    match = TORCH_TAG.fullmatch(image.text)
    if image.undecided or match is None:
        raise UnclearInstallation("which build the image contains is unknown")
    return _resolve_version(match["torch"], f"cu{match['cuda'].replace('.', '')}", image.text, facts)
