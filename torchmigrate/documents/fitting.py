"""Blockers in an environment: the requirements, Pythons, images and commands that may not fit the new torch.

Everything that is pinned, bounded or built for one torch has to be known to work with the new one. What is unknown
is a blocker too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchmigrate.documents import images, pythons, said
from torchmigrate.documents.build import is_for_cpu
from torchmigrate.documents.neighbours import Neighbour
from torchmigrate.documents.references import Environment, Reference, Style, normalized, references_in
from torchmigrate.documents.specifiers import Clause, applies, clauses
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import cuda_code, requirements
from torchmigrate.tables.matrix import Build, major, number

FAMILY = requirements.FAMILY | {"pytorch"}


@dataclass(frozen=True, slots=True)
class State:
    """An environment as it would be after the edits, with the related environments of other files."""

    environment: Environment
    text: str
    """The text of the environment after the edits."""
    neighbours: tuple[Neighbour, ...]
    chosen: Build
    releases: dict[str, str]
    """Package of the torch family → the release that would be installed."""
    replaced: frozenset[str]
    """The libraries whose requirements follow the new build."""
    resolves: bool = False
    """Whether packages that the tables lack are left to a resolver, unless they are built for one torch."""

    @property
    def cuda(self) -> str:
        """The CUDA major of the build."""
        return major(self.chosen.cuda)

    @property
    def environments(self) -> list[Environment]:
        """The environment and the related ones."""
        return [self.environment, *(neighbour.environment for neighbour in self.neighbours)]


def held_back(state: State) -> str:
    """Return the first blocker, as a reason for no fix; empty if there is none."""
    for check in (_unread, _required, _wheels, _requirements, _of_image, _neighbours, _pythons, _leftovers):
        for found in check(state):
            return found
    return ""


def _unread(state: State) -> Iterator[str]:
    if state.environment.unread:
        yield f"the command around `{state.environment.unread.strip()}` could not be read"


def _all(state: State) -> Iterator[tuple[Reference, str]]:
    """Yield all requirements, with `` (file name)`` for those of other files."""
    yield from ((one, "") for one in state.environment.of(Sort.REQUIREMENT))
    for neighbour in state.neighbours:
        for one in neighbour.references:
            if one.sort is Sort.REQUIREMENT:
                yield one, f" ({neighbour.path.rpartition('/')[2]})"


def _requirements(state: State) -> Iterator[str]:
    """Yield the packages that do not support the new torch, or may not."""
    for one, where in _all(state):
        if one.name in FAMILY | state.replaced or not applies(one, state.chosen.python):
            continue
        if reason := _refuses(one, state):
            yield f"blocked by `{one.name}{'' if one.undecided else one.text}`{where}: {reason}"


def _of_image(state: State) -> Iterator[str]:
    """Yield the pins on top of an image with torch: the new image has another Python and another numpy."""
    brought = references_in(state.environments, Sort.IMAGE, "pytorch/pytorch")
    found = [images.TORCH_TAG.fullmatch(one.text) for one in brought]
    if not any(match and number(match["torch"])[:2] < number(state.chosen.torch) for match in found):
        return
    for one, where in _all(state):
        if one.name in FAMILY | state.replaced | _OF_EACH_PYTHON:
            continue
        if any(clause.is_upper for clause in clauses(one)):
            yield (
                f"blocked by `{one.name}{one.text}`{where}: it is unclear whether it works with the Python"
                f" {images.python_of(state.chosen) or ''} and the numpy of the new image"
            )


_OF_EACH_PYTHON = {"numpy", "pip", "setuptools", "wheel"}
"""Packages whose wheel for a Python is enough to run on it, with the numpy that is pinned."""


def _refuses(one: Reference, state: State) -> str:
    """Return why a package does not support the new torch, or may not; empty if it does."""
    if library := re.fullmatch(r"nvidia-[\w-]+-cu(\d\d)", one.name):
        if library[1] != state.cuda:
            return f"it is a library for CUDA {library[1]}"
        pinned = any(clause.is_upper for clause in clauses(one)) and not state.chosen.default
        build = f"torch {state.chosen.version} ({state.chosen.variant})"
        return f"it is unclear which release {build} requires" if pinned else ""
    if one.undecided:
        return f"its version depends on `{one.undecided}`"
    if local := next((clause.local for clause in clauses(one) if clause.local), ""):
        return f"it is a custom build (`+{local}`)"
    if one.style is Style.CONDA:
        return _conda(one, state)
    upper = [clause for clause in clauses(one) if clause.is_upper]
    return _refuses_release(one.name, upper, state)


def _refuses_release(name: str, upper: list[Clause], state: State) -> str:
    """Return why the newest release within some upper bounds does not support the new torch, or may not."""
    torch = state.releases["torch"]
    wanted = _newest(name, upper) if upper else ""
    before = any(clause.operator == "<" and clause.public == wanted for clause in upper)
    if reason := cuda_code.fails(name, wanted, torch, before=before):
        return reason
    reason = cuda_code.refuses(name, wanted, state.chosen.cuda or "", before=before)
    if reason and not is_for_cpu(state.environments):
        return reason
    is_free = state.resolves or not (upper or _BESIDE_TORCH.search(name))
    if is_free and not (requirements.is_linked(name) or requirements.is_known(name, wanted)):
        return ""  # without a bound, an installer takes a release that fits
    if upper:
        return requirements.refuses(name, wanted, torch)
    newest = requirements.newest(name)
    if newest is None and requirements.is_linked(name):
        return "it is compiled against one torch, and it is unclear for which versions there are builds"
    reason = requirements.refuses(name, newest or "", torch)
    return f"{reason} (newest release: {newest})" if reason and newest else reason


_BESIDE_TORCH = re.compile(r"torch|cuda|cu1\d|gpu|triton|flash|attn|nvidia")
"""Words in the names of packages that may be built for one torch or one CUDA."""


def _newest(name: str, upper: list[Clause]) -> str:
    """Return the newest release that upper bounds allow."""
    bound = min(upper, key=lambda clause: number(clause.public)).public.removesuffix(".*")
    newest = requirements.newest(name)
    exact = any(clause.operator in ("==", "===") for clause in upper)
    return newest if newest and not exact and number(newest) < number(bound) else bound


def _conda(one: Reference, state: State) -> str:
    """Return why a conda package does not support the new torch, or may not; empty if it does."""
    if one.name in ("pytorch", "pytorch-cuda", "cudatoolkit", "cuda", "cuda-version") or one.name.startswith(
        "cuda-"
    ):
        asked = re.search(r"\d+", one.text)
        return f"it selects CUDA {asked[0]}" if asked and asked[0] != state.cuda else ""
    return "it is unclear which torch conda's builds support" if requirements.is_linked(one.name) else ""


def _required(state: State) -> Iterator[str]:
    """Yield the pins that contradict the requirements of the new releases."""
    # conda's packages have versions and dependencies of their own.
    pinned = {one.name: (one, where) for one, where in _all(state) if one.style is not Style.CONDA}
    for name, release in state.releases.items():
        for needed in requirements.required_by(name, release):
            key = normalized(needed.name)
            if key not in pinned or key in FAMILY | state.replaced:
                continue
            one, where = pinned[key]
            for clause in clauses(one):
                if clause.is_upper and not any(
                    needed.specifier.contains(version, prereleases=True) for version in _let_in(clause)
                ):
                    yield f"blocked by `{one.name}{one.text}`{where}: {name} {release} requires {needed}"


def _let_in(clause: Clause) -> list[str]:
    """Return typical versions among those that an upper bound allows."""
    public = clause.public.removesuffix(".*")
    if clause.operator in ("==", "===", "=", ""):
        return [public, f"{public}.99"] if clause.public.endswith(".*") else [public]
    if clause.operator == "<":
        numbers = [*number(public)]
        while numbers and numbers[-1] == 0:
            numbers.pop()
        return [".".join(map(str, [*numbers[:-1], numbers[-1] - 1, 999]))] if numbers else []
    return [public, ".".join([*public.split(".")[:-1], "999"])] if clause.operator == "~=" else [public]


def _neighbours(state: State) -> Iterator[str]:
    """Yield what in the related files excludes the new releases: those files do not change, or have changed already."""
    for neighbour in state.neighbours:
        where = neighbour.path.rpartition("/")[2]
        if neighbour.environment.unread:
            yield f"`{neighbour.environment.unread.strip()}` in {where} could not be read"
        if neighbour.environment.blocker:
            yield f"{neighbour.environment.blocker} ({where})"
        for one in neighbour.references:
            name = "torch" if one.name == "pytorch" else one.name
            if one.sort is Sort.REQUIREMENT and name in state.releases:
                kept = [c for c in clauses(one) if c.is_upper and not c.allows([state.releases[name]])]
                if kept or one.undecided:
                    yield f"`{one.name}{one.text}` in {where} would have to change too"
            if one.sort is Sort.IMAGE and one.name in ("pytorch/pytorch", "nvidia/pytorch"):
                if one.text.startswith(f"{state.chosen.version}-"):
                    continue
                yield f"the image {one.name}:{one.text} in {where} brings its own torch"


def _possible(state: State) -> tuple[set[int], str]:
    """Return the minor versions of Python that the environment may have, or none and the text that excludes them."""
    has_image = bool(references_in(state.environments, Sort.IMAGE, "pytorch/pytorch"))
    brought = images.python_of(state.chosen) if has_image else None
    known = (brought, brought) if brought else state.chosen.python
    return pythons.possible(references_in(state.environments, Sort.PYTHON), known)


def python_of(state: State) -> str:
    """Return the oldest Python that the environment may have."""
    left, _ = _possible(state)
    return f"3.{min(left)}" if left else state.chosen.python[0]


def _pythons(state: State) -> Iterator[str]:
    """Yield that the Python is one without wheels of the new torch, or is unknown."""
    has = f"torch {state.chosen.version} has wheels for Python {' to '.join(state.chosen.python)}"
    left, asked = _possible(state)
    if not left:
        yield f"{has}, but `{asked}` is required"
    if any(one.of_image and not _brings_known_python(one) for one in state.environments):
        yield f"{has}, and the Python version here is unknown"


def _brings_known_python(environment: Environment) -> bool:
    """Return whether an image, or a command in it, determines the Python."""
    brought = environment.of(Sort.IMAGE, "pytorch/pytorch")
    return bool(brought) or any(pythons.numbers(one) for one in environment.of(Sort.PYTHON))


def _wheels(state: State) -> Iterator[str]:
    """Yield the first pin that leaves no Python for which all pins have a wheel."""
    left, _ = _possible(state)
    if len(left) > 1:  # a single Python has wheels of all pins today
        left = {n for n in left if requirements.tells_wheels(f"3.{n}")}
    for one, where in _all(state) if left else ():
        upper = [clause for clause in clauses(one) if clause.is_upper]
        if one.name in FAMILY | state.replaced or not upper or one.style is Style.CONDA:
            continue
        versions = [max(_let_in(clause), key=number, default=clause.public) for clause in upper]
        version = min(versions, key=number)
        fitting = {n for n in left if requirements.has_wheel(one.name, version, f"3.{n}") is not False}
        if not fitting:
            range_ = f"3.{min(left)} to 3.{max(left)}"
            yield f"blocked by `{one.name}{one.text}`{where}: it has no wheel for Python {range_}"
            return
        left = fitting


_SOURCES = re.compile(
    r"(?:git\+|git clone\s+(?:-\S+\s+(?:[\w.-]+\s+)??)*)\S*?/(?P<name>[\w.-]+?)(?:\.git)?(?=[@#\s\"'&;]|$)"
)
_FILE = re.compile(r"[^\s\"'=]+\.whl\b|setup\.py\s+(?:install|develop|bdist_wheel)")
_REPOSITORIES = {
    "flash-attention": "flash-attn",
    "vision": "torchvision",
    "audio": "torchaudio",
    "ao": "torchao",
}


def _leftovers(state: State) -> Iterator[str]:
    """Yield the parts of the text that are for another CUDA or an older torch, and packages built from source."""
    neighbours = "\n".join(neighbour.text for neighbour in state.neighbours)
    for text, own in ((state.text, True), (neighbours, False)):
        text = said.without_comments(text)
        for match in said.named_versions(text):
            found = match.groupdict()
            if state.chosen.cuda and found.get("major", state.cuda) != state.cuda:
                yield f"blocked by `{said.word(text, match)}`, which is for CUDA {found['major']}"
            if "version" in found and number(found["version"]) < number(state.chosen.torch):
                yield f"blocked by `{said.word(text, match)}`, which is for torch {found['version']}"
        for match in _SOURCES.finditer(text):
            name = normalized(match["name"])
            name = _REPOSITORIES.get(name, name)
            if own and requirements.refuses(name, requirements.newest(name) or "0", state.releases["torch"]):
                yield f"blocked by `{match['name']}`: it is built from source, and it is unclear which torch it supports"
        for match in _FILE.finditer(text):
            yield f"blocked by `{match[0]}`: it is unclear which torch it was built for"
