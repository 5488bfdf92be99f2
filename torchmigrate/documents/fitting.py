"""Whether an environment fits together once torch has moved: what holds it back, by name, or nothing.

Everything that is pinned, bounded or made for one torch has to be known to go with the new one. What is not known
holds back too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torchmigrate.documents import images, pythons, said
from torchmigrate.documents.build import is_for_cpu
from torchmigrate.documents.neighbours import Neighbour
from torchmigrate.documents.references import Environment, Reference, Style, normalized
from torchmigrate.documents.specifiers import Clause, applies, clauses
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import cuda_code, failing, requirements
from torchmigrate.tables.matrix import Build, major, number

FAMILY = requirements.FAMILY | {"pytorch"}


@dataclass(frozen=True, slots=True)
class State:
    """An environment as it would be: what it is made of, and where it is going."""

    environment: Environment
    text: str
    """Its text once the edits are made."""
    neighbours: tuple[Neighbour, ...]
    chosen: Build
    releases: dict[str, str]
    """The release of each package of the family that would be installed."""
    replaced: frozenset[str]
    """The libraries whose requirements name those of the new build instead."""
    resolves: bool = False
    """Whether a resolver is to say what the tables do not tell of packages that are made for no single torch."""

    @property
    def cuda(self) -> str:
        """The CUDA major of the build."""
        return major(self.chosen.cuda)


def held_back(state: State) -> str:
    """The first thing that is not known to fit, with why; empty if everything does."""
    for check in (_unread, _required, _wheels, _requirements, _of_image, _neighbours, _pythons, _leftovers):
        for found in check(state):
            return found
    return ""


def _unread(state: State) -> Iterator[str]:
    if state.environment.unread:
        yield f"`{state.environment.unread.strip()}` stands where its command could not be read"


def _all(state: State) -> Iterator[tuple[Reference, str]]:
    """The requirements of the environment and of its neighbours, with the file of those."""
    for unit in state.environment.units:
        for one in unit.of(Sort.REQUIREMENT):
            yield one, ""
    for neighbour in state.neighbours:
        for one in neighbour.references:
            if one.sort is Sort.REQUIREMENT:
                yield one, f" ({neighbour.path.rpartition('/')[2]})"


def _requirements(state: State) -> Iterator[str]:
    for one, where in _all(state):
        if one.name in FAMILY | state.replaced or not applies(one, state.chosen.python):
            continue
        if reason := _refuses(one, state):
            yield f"held back by `{one.name}{'' if one.undecided else one.text}`{where}: {reason}"


def _of_image(state: State) -> Iterator[str]:
    """What is pinned beside the torch of an image, which brings another Python and another numpy with a new one."""
    found = [images.TORCH_TAG.fullmatch(one.text) for one in _images_with_torch(state)]
    if not any(match and number(match["torch"])[:2] < number(state.chosen.torch) for match in found):
        return
    for one, where in _all(state):
        if one.name in FAMILY | state.replaced | _OF_EACH_PYTHON:
            continue
        if any(clause.is_upper for clause in clauses(one)):
            yield (
                f"held back by `{one.name}{one.text}`{where}: whether it goes with the Python"
                f" {images.python_of(state.chosen) or ''} and the numpy of the new image is not known here"
            )


_OF_EACH_PYTHON = {"numpy", "pip", "setuptools", "wheel"}
"""Of these a release that has a wheel for a Python runs on it, with the numpy that is pinned; see `_wheels`."""


def _images_with_torch(state: State) -> Iterator[Reference]:
    for environment in (state.environment, *(neighbour.environment for neighbour in state.neighbours)):
        yield from environment.of(Sort.IMAGE, "pytorch/pytorch")


def _refuses(one: Reference, state: State) -> str:
    """Why a package is not known to fit; empty if it is."""
    library = re.fullmatch(r"nvidia-[\w-]+-cu(\d\d)", one.name)
    if library:
        if library[1] != state.cuda:
            return f"a library of CUDA {library[1]}"
        pinned = any(clause.is_upper for clause in clauses(one)) and not state.chosen.default
        build = f"torch {state.chosen.version} in {state.chosen.variant}"
        return f"which release of it {build} requires is not known here" if pinned else ""
    if one.undecided:
        return f"its version depends on `{one.undecided}`"
    asked = clauses(one)
    local = next((clause.local for clause in asked if clause.local), "")
    if local:
        return f"a build of its own (`+{local}`)"
    if one.style is Style.CONDA:
        return _conda(one, state)
    upper = [clause for clause in asked if clause.is_upper]
    release = state.releases["torch"]
    wanted = _newest(one.name, upper) if upper else ""
    before = any(clause.operator == "<" and clause.public == wanted for clause in upper)
    if reason := failing.fails(one.name, wanted, release, before=before):
        return reason
    reason = cuda_code.refuses(one.name, wanted, state.chosen.cuda or "", before=before)
    if reason and not is_for_cpu([state.environment, *(beside.environment for beside in state.neighbours)]):
        return reason
    if not (requirements.is_linked(one.name) or requirements.is_known(one.name, wanted)) and (
        state.resolves or not (upper or _BESIDE_TORCH.search(one.name))
    ):
        return ""  # of what is not bounded an installer takes a release that fits
    if not upper:
        newest = requirements.newest(one.name)
        if newest is None and requirements.is_linked(one.name):
            return "it is compiled against one torch, and for which there are builds is not known here"
        reason = requirements.refuses(one.name, newest or "", release)
        return f"of its newest release, {newest}, {reason}" if reason and newest else reason
    return requirements.refuses(one.name, wanted, release)


_BESIDE_TORCH = re.compile(r"torch|cuda|cu1\d|gpu|triton|flash|attn|nvidia")
"""Names of packages that may be made for one torch, or for one CUDA."""


def _newest(name: str, upper: list[Clause]) -> str:
    """The newest release that the bounds may let in."""
    bound = min(upper, key=lambda clause: number(clause.public)).public.removesuffix(".*")
    newest = requirements.newest(name)
    exact = any(clause.operator in ("==", "===") for clause in upper)
    return newest if newest and not exact and number(newest) < number(bound) else bound


def _conda(one: Reference, state: State) -> str:
    if one.name in ("pytorch", "pytorch-cuda", "cudatoolkit", "cuda", "cuda-version") or one.name.startswith(
        "cuda-"
    ):
        asked = re.search(r"\d+", one.text)
        return f"conda's CUDA {asked[0]}" if asked and asked[0] != state.cuda else ""
    return (
        "which torch goes with conda's builds is not known here" if requirements.is_linked(one.name) else ""
    )


def _required(state: State) -> Iterator[str]:
    """What the new releases require of what is pinned."""
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
                    yield f"held back by `{one.name}{one.text}`{where}: {name} {release} requires {needed}"


def _let_in(clause: Clause) -> list[str]:
    """Versions that stand for those that an upper bound lets in."""
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
    """What another file says of the family has to let the new releases in; it does not move with this one."""
    for neighbour in state.neighbours:
        if neighbour.environment.unread:
            yield f"`{neighbour.environment.unread.strip()}` in {neighbour.path.rpartition('/')[2]} could not be read"
        if neighbour.environment.held:
            yield f"{neighbour.environment.held} ({neighbour.path.rpartition('/')[2]})"
        for one in neighbour.references:
            name = "torch" if one.name == "pytorch" else one.name
            where = neighbour.path.rpartition("/")[2]
            if one.sort is Sort.REQUIREMENT and name in state.releases:
                kept = [c for c in clauses(one) if c.is_upper and not c.allows([state.releases[name]])]
                if kept or one.undecided:
                    yield f"`{one.name}{one.text}` in {where} would have to move with it"
            if one.sort is Sort.IMAGE and one.name in ("pytorch/pytorch", "nvidia/pytorch"):
                if one.text.startswith(f"{state.chosen.version}-"):
                    continue
                yield f"the image {one.name}:{one.text} in {where} has a torch of its own"


def _python_references(state: State) -> Iterable[Reference]:
    yield from state.environment.of(Sort.PYTHON)
    for neighbour in state.neighbours:
        yield from neighbour.environment.of(Sort.PYTHON)


def _possible(state: State) -> tuple[set[int], str]:
    """The Pythons that the environment may have, and what is asked for that leaves none."""
    every = [state.environment, *(neighbour.environment for neighbour in state.neighbours)]
    brought = any(one.of(Sort.IMAGE, "pytorch/pytorch") for one in every) and images.python_of(state.chosen)
    known = (brought, brought) if brought else state.chosen.python
    return pythons.possible(list(_python_references(state)), known)


def python_of(state: State) -> str:
    """The oldest Python that the environment may have."""
    left, _ = _possible(state)
    return f"3.{min(left)}" if left else state.chosen.python[0]


def _pythons(state: State) -> Iterator[str]:
    first, last = state.chosen.python
    left, asked = _possible(state)
    if not left:
        yield f"torch {state.chosen.version} has wheels for Python {first} to {last}, and `{asked}` is asked for"
    environments = [state.environment, *(neighbour.environment for neighbour in state.neighbours)]
    if any(one.of_image and not _brings_known_python(one) for one in environments):
        yield f"torch {state.chosen.version} has wheels for Python {first} to {last}, and which one is here is not known"


def _brings_known_python(environment: Environment) -> bool:
    """Whether an image, or what is done in it, tells the Python."""
    brought = any(one.name == "pytorch/pytorch" for one in environment.of(Sort.IMAGE))
    return brought or any(pythons.numbers(one) for one in environment.of(Sort.PYTHON))


def _wheels(state: State) -> Iterator[str]:
    """A Python for which everything that is pinned has a wheel."""
    left, _ = _possible(state)
    if len(left) > 1:  # those that the table tells of; one that is stated has what is pinned today
        left = {n for n in left if requirements.tells_wheels(f"3.{n}")}
    for one, where in _all(state) if left else ():
        upper = [clause for clause in clauses(one) if clause.is_upper]
        if one.name in FAMILY | state.replaced or not upper or one.style is Style.CONDA:
            continue
        versions = [max(_let_in(clause), key=number, default=clause.public) for clause in upper]
        version = min(versions, key=number)
        fitting = {n for n in left if requirements.has_wheel(one.name, version, f"3.{n}") is not False}
        if not fitting:
            oldest, newest = min(left), max(left)
            yield f"held back by `{one.name}{one.text}`{where}: no wheel for a Python from 3.{oldest} to 3.{newest}"
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
    """What the text still says that is for another CUDA or an older torch, and what is built from its sources."""
    neighbours = "\n".join(neighbour.text for neighbour in state.neighbours)
    for text, own in ((state.text, True), (neighbours, False)):
        text = said.without_comments(text)
        for match in said.OLD_CUDA.finditer(text):
            if state.chosen.cuda and match["major"] != state.cuda:
                yield f"held back by `{said.word(text, match)}`, which is for CUDA {match['major']}"
        for match in said.OLD_TORCH.finditer(text):
            if "=" in match[0] and said.INSIDE.match(text, max(match.start() - 1, 0)):
                continue  # the pin of a package whose name ends in torch's: that is its own version
            if number(match["version"]) < number(state.chosen.torch):
                yield f"held back by `{said.word(text, match)}`, which is for torch {match['version']}"
        for match in _SOURCES.finditer(text):
            name = normalized(match["name"])
            name = _REPOSITORIES.get(name, name)
            if own and requirements.refuses(name, requirements.newest(name) or "0", state.releases["torch"]):
                yield f"held back by `{match['name']}`, which is built from its sources: for which torch is not known here"
        for match in _FILE.finditer(text):
            yield f"held back by `{match[0]}`: for which torch it is built is not known here"
