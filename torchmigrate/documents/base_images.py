"""The base images of environments, and the images with the target torch that replace them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from torchmigrate.documents.architecture_lists import VARIABLE_NAMES, create_edit, find_unsupported_entries
from torchmigrate.documents.references import Environment, InstallRole, Reference
from torchmigrate.model.findings import Edit, NoFix, Span
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.model.torch_versions import Version, parse_version, render_version
from torchmigrate.model.vocabulary import Sort
from torchmigrate.prefilter.project_file_kinds import kind_of
from torchmigrate.tables.torch_builds import TorchBuild, get_major, load_table
from torchmigrate.text.source_text import SourceText

CUDA_TAG = re.compile(r"(?P<cuda>\d+\.\d+)(?:\.\d+)?(?P<rest>-[\w.-]+)?")
TORCH_TAG = re.compile(
    r"(?P<torch>\d+\.\d+(?:\.\d+)?)-cuda(?P<cuda>\d+(?:\.\d+)?)-cudnn\d+-(?P<flavour>runtime|devel)"
)
_FLAVOUR = re.compile(r"-(?P<cudnn>cudnn\d*-)?(?P<flavour>base|runtime|devel)-(?P<system>\w+[\d.]*)")


OTHER_TORCH_IMAGES = {
    "runpod/pytorch": "https://hub.docker.com/r/runpod/pytorch/tags",
    "r8.im/cog-base": "https://github.com/replicate/cog/blob/main/docs/base-images.md",
}
"""Images with torch that others publish: repository → where its tags are listed."""
_OTHER_TORCH = re.compile(
    r"(?:^|-torch)(?P<torch>\d+\.\d+(?:\.\d+)?)(?=-py|\Z)|-torch(?P<digits>\d{3,4})(?!\d)"
)
"""The torch in the tag of such an image: ``2.4.0-py3.11-…``, ``…-torch280-…``, ``…-torch2.3.1``."""


def find_image_torch(image: Reference) -> str:
    """Return the torch version that the tag of an image names; empty for an image that has none, or whose tag does not tell."""
    if image.undecided:
        return ""
    if image.name == "pytorch/pytorch":
        match = TORCH_TAG.fullmatch(image.text)
        return match["torch"] if match else ""
    found = _OTHER_TORCH.search(image.text) if image.name in OTHER_TORCH_IMAGES else None
    if found is None:
        return ""
    digits = found["digits"]
    return found["torch"] or f"{digits[0]}.{digits[1:-1]}.{digits[-1]}"


def create_image_edits(
    environment: Environment, source: SourceText, options: RuleOptions, chosen: TorchBuild, *, runs: bool
) -> list[Edit]:
    """Return the edits of images, and of the architectures that their compiler no longer supports. Raises NoFix.

    An image of CUDA that compiles nothing changes only if the tag may, for images that only run (``runs``).
    """
    every = environment.find_references(Sort.IMAGE)
    compiles = any(image.name == "nvidia/cuda" and has_compiler(image) for image in every)
    edits: list[Edit] = []
    for image in every:
        if image.name == "nvidia/cuda" and not (compiles or (runs and CUDA_TAG.match(image.text))):
            continue
        edit = _create_image_edit(image, options.target, chosen, unverified=options.allow_unverified_images)
        if edit is None:
            continue
        edits.append(edit)
        text, docker = source.original.decode("latin-1"), kind_of(source.path) == "docker"
        edits += _create_path_edits(image, edit, text, chosen)
        if image.name == "pytorch/pytorch":
            allowing = _create_pip_setting_edit(image, text, docker=docker)
            edits += [allowing] if allowing else []
    if edits and chosen.cuda:
        edits += [
            create_edit(variable, chosen.cuda)
            for variable in environment.find_references(Sort.VARIABLE, *VARIABLE_NAMES)
            if find_unsupported_entries(variable, chosen.cuda)
        ]
    return edits


def _create_path_edits(image: Reference, edit: Edit, text: str, chosen: TorchBuild) -> Iterator[Edit]:
    """Yield the edits of the paths to the CUDA of an image, ``/usr/local/cuda-11.6``, in its environment."""
    pattern = TORCH_TAG if image.name == "pytorch/pytorch" else CUDA_TAG
    # The edit has only what is new of the tag: without the first digit of `12.6` instead of `11.8`.
    written = edit.text
    if image.span.start <= edit.start and edit.end <= image.span.end:
        written = text[image.span.start : edit.start] + edit.text
    old, new = pattern.match(image.text), CUDA_TAG.match(written.rpartition(":")[2])
    cuda = chosen.cuda if image.name == "pytorch/pytorch" else new and new["cuda"]
    spans = image.unit.environment.spans or [Span(0, len(text))]
    if old is None or not cuda or old["cuda"].count(".") != 1:
        return
    for span in spans:
        for found in re.finditer(
            rf"(?<=/usr/local/cuda-){re.escape(old['cuda'])}(?![.\d])", text[span.start : span.end]
        ):
            yield Edit(span.start + found.start(), span.start + found.end(), ".".join(cuda.split(".")[:2]))


def find_cog_versions(environment: Environment) -> list[Reference]:
    """Return the CUDA versions that a `cog.yaml` gives for its image, under the key ``cuda``."""
    return [one for one in environment.find_references(Sort.VARIABLE, "CUDA_VERSION") if one.option]


def create_cog_edits(environment: Environment, source: SourceText, chosen: TorchBuild) -> list[Edit]:
    """Return the edits of the CUDA version that the image of a `cog.yaml` has, if it is of another major version, or none.

    Raises NoFix where it cannot be added.
    """
    edits: list[Edit] = []
    for one in find_cog_versions(environment) if chosen.cuda else ():
        if one.option == "gpu":
            edits.append(_create_cog_line(one, source, chosen.cuda or ""))
        elif get_major(one.text) != get_major(chosen.cuda):
            edit = one.value.create_edit(0, len(one.text), chosen.cuda or "")
            edits += [edit] if edit else []
    return edits


def _create_cog_line(place: Reference, source: SourceText, cuda: str) -> Edit:
    """Return the edit that adds a CUDA version below ``gpu: true``. Raises NoFix."""
    start = source.text.rfind(b"\n", 0, place.span.start) + 1
    line = re.match(rb"([ \t]+)gpu[ \t]*:[ \t]*true\Z", source.text[start : place.span.start])
    if line is None:
        raise NoFix(
            "Cog stops at a torch that is newer than its own table, unless `build` names a CUDA version; "
            f'add `cuda: "{cuda}"` beside `gpu: true`'
        )
    line_end = "\r\n" if b"\r\n" in source.text else "\n"
    return Edit(place.span.end, place.span.end, f'{line_end}{line[1].decode()}cuda: "{cuda}"')


def _create_image_edit(
    image: Reference, target: Version, chosen: TorchBuild, *, unverified: bool = False
) -> Edit | None:
    """Return the edit that names the image for the target; None if the present one can stay.

    Raises NoFix if the image has to change and no image for the target is known; with ``unverified`` a regular tag does.
    """
    if image.name == "pytorch/pytorch":
        match = TORCH_TAG.fullmatch(image.text)
        if image.undecided or match is None:
            raise NoFix("it is unclear which torch the image contains")
        return (
            None
            if parse_version(match["torch"]) >= target
            else _create_torch_image_edit(image, match, target, chosen, unverified=unverified)
        )
    if image.name == "nvidia/cuda":
        match = CUDA_TAG.match(image.text)
        if image.undecided or match is None:
            raise NoFix("it is unclear which CUDA the image has")
        same = get_major(match["cuda"]) == get_major(chosen.cuda)
        return None if same else _create_cuda_image_edit(image, match, chosen.cuda or "")
    if image.name == "nvidia/pytorch":
        raise NoFix("the image has its own torch")
    torch = find_image_torch(image)
    if torch and parse_version(torch) < target:
        raise NoFix("the tag of a newer image has to be looked up")
    return None


_CONDA = re.compile(r"(?<![\w.-])(?:(?:micro)?mamba|(?:mini)?conda)(?![\w.-])")
_PIP = re.compile(r"(?P<uv>\buv\s+)?(?<![\w./-])pip(?:3(?:\.\d+)?)?[\"',\s]+install\b")
_OWN_ENVIRONMENT = re.compile(
    r"break[-_]system[-_]packages|-m\s+venv\b|\bvirtualenv\b|\buv\s+venv\b", re.IGNORECASE
)

_ASSIGNED = re.compile(r"(?<![\w$])[A-Z][A-Z0-9_]*[\"']?\s*[:=]\s*[\"']?(?:\$\{(?:\w+:-)?)?[\w./-]*:?$")
"""The text before an image that is the value of a variable or a build argument."""


@dataclass(frozen=True, slots=True)
class _Installs:
    """The commands of a file that install packages, its comments aside."""

    conda: str
    """The first program of conda's that it runs; empty if none."""
    pip: Sequence[re.Match[str]]
    """The calls of pip, by their offsets in characters."""
    owns_environment: bool
    """Whether pip installs into an environment of its own (``-m venv``) instead of the system's."""


@lru_cache(maxsize=1)
def _find_installs(text: str) -> _Installs:
    """Return the commands of a file that install packages, addresses aside; the images of one file ask one after the other."""
    code = re.sub(r"(?m)^[ \t]*#.*$|https?://\S+", lambda found: " " * len(found[0]), text)
    conda = _CONDA.search(code)
    return _Installs(
        conda[0] if conda else "", tuple(_PIP.finditer(code)), _OWN_ENVIRONMENT.search(code) is not None
    )


def _create_pip_setting_edit(image: Reference, text: str, *, docker: bool) -> Edit | None:
    """Return the edit that lets the file's pip commands install into the new image; None if none is needed.

    The images in the tables have the Python of Ubuntu 24.04, into which pip installs only with a special option
    (PEP 668), and no conda: https://github.com/pytorch/pytorch/pull/170338,
    https://github.com/DIAGNijmegen/rse-grand-challenge/issues/4765. Raises NoFix where one line is not enough.
    """
    installs = _find_installs(text)
    if installs.conda:
        raise NoFix(f"blocked by `{installs.conda}`, which the new image does not have")
    line = text[text.rfind("\n", 0, image.span.start) + 1 : image.span.start]
    if not docker and _ASSIGNED.search(line):
        raise NoFix("it is unclear what is built on top of this image")
    after = bisect_left(installs.pip, image.span.end, key=re.Match.start)
    if after == len(installs.pip) or installs.owns_environment:
        return None
    called = list(islice(installs.pip, after, None))
    unready = next((one for one in called if one["uv"] and not _installs_into_system(one)), None)
    if unready or not docker:
        found = unready or called[0]
        asked = f"{'UV' if found['uv'] else 'PIP'}_BREAK_SYSTEM_PACKAGES=1"
        raise NoFix(
            f"blocked by `{found[0]}`: it needs {asked} in the new image, where the system manages Python"
        )
    programs = sorted({"UV" if one["uv"] else "PIP" for one in called})
    settings = " ".join(f"{program}_BREAK_SYSTEM_PACKAGES=1" for program in programs)
    end = text.find("\n", image.span.end) + 1
    line_end = "\r\n" if text[end - 2 : end] == "\r\n" else "\n"
    return Edit(end, end, f"ENV {settings}{line_end}")


def _installs_into_system(command: re.Match[str]) -> bool:
    """Return whether a command of uv installs into the system's Python, and not into an environment that it looks for."""
    rest = re.compile(r"(?:\\\r?\n|[^\n;&|])*").match(command.string, command.end())
    return "UV_SYSTEM_PYTHON" in command.string or (rest is not None and "--system" in rest[0])


def find_image_python(chosen: TorchBuild) -> str:
    """Return the Python of the `pytorch/pytorch` image with a build of torch, else that of the newest image known."""
    rows = load_table("images")["pytorch"]
    known = (row["python"] for row in rows if (row["torch"], row["cuda"]) == (chosen.torch, chosen.cuda))
    return str(next(known, rows[-1]["python"]))


def has_compiler(image: Reference) -> bool:
    """Return whether an image has the CUDA compiler; torch's wheels do not use what other images have of CUDA."""
    return "devel" in image.text or image.undecided != ""


def _check_editable(image: Reference) -> None:
    """Raise NoFix for an image that may not be edited."""
    if reason := image.fixed or image.unit.fixed:
        raise NoFix(reason)
    if image.unit.role is InstallRole.TEST:
        raise NoFix("workflows often build for several CUDA versions on purpose")
    if image.several:
        raise NoFix("the file gives several values for the tag")


def _create_torch_image_edit(
    image: Reference, match: re.Match[str], target: Version, chosen: TorchBuild, *, unverified: bool
) -> Edit:
    """Return the edit to the `pytorch/pytorch` image with a build, of the same flavor. Raises NoFix if it is unknown."""
    _check_editable(image)
    rows = load_table("images")["pytorch"]
    known = [
        row
        for row in rows
        if (row["torch"], row["cuda"]) == (chosen.torch, chosen.cuda) and match["flavour"] in row["flavours"]
    ]
    newest = known[0] if known else rows[-1] | {"version": chosen.version, "cuda": chosen.cuda}
    new = f"{newest['version']}-cuda{newest['cuda']}-cudnn{newest['cudnn']}-{match['flavour']}"
    if not known and not unverified:
        raise NoFix(
            f"no {match['flavour']} image of torch {render_version(target)} with CUDA {chosen.cuda} is known; if"
            f" `docker manifest inspect {image.name}:{new}` finds it, pass --allow-unverified-images, or choose another"
            " build with --cuda"
        )
    if found := image.value.create_edit(0, len(image.text), new):
        return found
    raise NoFix("the tag is assembled from several variables")


def _create_cuda_image_edit(image: Reference, match: re.Match[str], cuda: str) -> Edit:
    """Return the edit to the `nvidia/cuda` image with a CUDA version, of the same flavor. Raises NoFix if it is unknown."""
    _check_editable(image)
    rest = _FLAVOUR.fullmatch(match["rest"] or "")
    row = next((row for row in load_table("images")["cuda"] if row["cuda"] == cuda), None)
    if rest is None or row is None:
        raise NoFix(f"no image with CUDA {cuda} is known for this tag")
    flavour = ("cudnn-" if rest["cudnn"] else "") + rest["flavour"]
    if flavour not in row["flavours"] or rest["system"] not in row["systems"]:
        raise NoFix(f"no {flavour} image with CUDA {cuda} is known for {rest['system']}")
    new = f"{row['version']}-{flavour}-{rest['system']}"
    if found := image.value.create_edit(0, len(image.text), new):
        return found
    start = image.value.create_edit(0, match.start("rest"), row["version"])
    if start is None or match["rest"] != f"-{flavour}-{rest['system']}":
        raise NoFix("the tag is assembled from several variables")
    return start
