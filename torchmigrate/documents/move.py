"""The move of an environment to the target torch, as one fix: all of it goes, or nothing does.

A pin, the index, the companions, the libraries and the image go together: half of such a change installs nothing. So
every finding in an environment carries the same fix, which is made here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from torchmigrate.documents.fitting import State, held_back
from torchmigrate.documents.neighbours import Missing, Neighbour, neighbours
from torchmigrate.documents.references import Environment, Reference, Role
from torchmigrate.documents.relocation import Relocation, concerns_torch
from torchmigrate.documents.requirements import logical_lines
from torchmigrate.documents.specifiers import applies
from torchmigrate.documents.upgrade import (
    TORCH,
    lacks,
    no_build,
    stays,
    tag_of,
)
from torchmigrate.model.findings import Edit, Fix, NoFix, Span
from torchmigrate.model.options import Options
from torchmigrate.model.versions import render
from torchmigrate.model.vocabulary import Safety, Sort
from torchmigrate.project.project import Project
from torchmigrate.tables import wheels
from torchmigrate.tables.matrix import Build
from torchmigrate.text.edits import apply
from torchmigrate.text.source import Source

_MEANT = re.compile(
    r"(?:torch|pt|pytorch)[-_.]?v?[12][-_.]?\d+|(?:cu|cuda)[-_.]?1[0-3][-_.]?\d|(?:^|[-_./])(?:min(?:imum|imal)?|oldest|lowest"
    r"|legacy|old|jetson|rocm|xpu|npu|hpu|gaudi|habana|ascend|musa|tpu)(?=[-_./]|$)",
    re.IGNORECASE,
)


def fix(reference: Reference, source: Source, options: Options, project: Project) -> Fix:
    """The fix for the whole environment of a reference; raises NoFix where there is none."""
    unit, environment = reference.unit, reference.unit.environment
    if unit.role is Role.LOCK:
        raise NoFix(
            "a lock file is written by its tool: upgrade torch with it, once the project's own files are mended"
        )
    if unit.role is Role.DOC:
        raise NoFix("documentation says what was tried: it follows the project's own files")
    if reason := unit.fixed or environment.held:
        raise NoFix(reason)
    if any(stays(one, options) for one in environment.units):
        raise NoFix("this installs an older torch, which tests often do on purpose")
    if unit.role is Role.TEST:
        raise NoFix("what is tested is chosen there, for the machines that it runs on")
    if meant := _MEANT.search("/".join(source.path.replace(os.sep, "/").split("/")[-2:])):
        raise NoFix(f"the file is for one version, as its name says: {meant[0].strip('-_./')}")
    chosen = _build(environment, options)
    if chosen is None:
        raise NoFix(no_build(options))
    relocation = Relocation(environment, source, options, chosen)
    relocation.make()
    if not relocation.edits:
        raise NoFix("nothing that is asked for here is older than the target")
    edits = tuple(dict.fromkeys(sorted(_smallest(edit, source.original) for edit in relocation.edits)))
    if any(after.start < before.end for before, after in pairwise(edits)):
        raise NoFix("one place would have to say two things")
    if any(span.start <= edit.start < span.end for span in _ignored(source) for edit in edits):
        raise NoFix("a line that would have to change with it is marked to be left alone")
    try:
        beside = tuple(neighbours(os.path.realpath(source.path), environment, project))
    except Missing as missing:
        raise NoFix(f"what `{missing.name}` brings is not known here") from None
    if not _knows_torch(environment, beside):
        raise NoFix("which torch is installed here is said elsewhere")
    elsewhere = [
        Edit(one.span.start, one.span.end, "")
        for one in environment.of(Sort.REQUIREMENT)
        if not applies(one, chosen.python)
    ]
    text = _edited(source, environment, (*edits, *elsewhere))
    state = State(environment, text, beside, chosen, relocation.releases, frozenset(relocation.replaced))
    said = _resolved(state, source, edits) if options.resolve else ""
    if held := "" if said else held_back(state):
        raise NoFix(held)
    safety = Safety.SAFE if relocation.is_safe() else Safety.UNSAFE
    return Fix(edits, safety, relocation.title + said)


def _resolved(state: State, source: Source, edits: tuple[Edit, ...]) -> str:
    """What a resolver says of a move; empty if it could not be asked. Raises NoFix where it finds no solution."""
    from torchmigrate.documents import resolve

    if held := held_back(replace(state, resolves=True)):
        raise NoFix(held)
    answer = resolve.asked(state, source, edits)
    if answer.resolves is None and (held := held_back(state)):
        raise NoFix(f"{held}; {answer.said}")
    if answer.resolves is False:
        raise NoFix(answer.said)
    return f" ({answer.said})"


def _smallest(edit: Edit, text: bytes) -> Edit:
    """The edit without what it leaves as it is, so that two that come to the same are the same."""
    old, new = text[edit.start : edit.end].decode("latin-1"), edit.text
    front = _common(old, new)
    back = _common(old[front:][::-1], new[front:][::-1])
    return Edit(edit.start + front, edit.end - back, new[front : len(new) - back])


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common from their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def _build(environment: Environment, options: Options) -> Build | None:
    """The build to move to: the one that is asked for where the target has it, else the best for the GPUs."""
    tags = {
        tag.name
        for unit in environment.units
        if concerns_torch(unit)
        for index in unit.of(Sort.INDEX)
        if (tag := tag_of(index))
    }
    if len(tags) == 1 and not lacks(variant := tags.pop(), options):
        if wheels.published(options.target, variant) is None:
            raise NoFix(
                f"whether torch {render(options.target)} is published for {variant} is not known here"
            )
        return wheels.build(options.target, variant)
    return wheels.choose(options.target, options.gpu_architectures)


def _edited(source: Source, environment: Environment, edits: tuple[Edit, ...]) -> str:
    """The text of the environment once the edits are made."""
    if not environment.spans:
        return apply(source.original, list(edits)).decode("latin-1")
    parts = []
    for span in environment.spans:
        inside = [
            Edit(edit.start - span.start, edit.end - span.start, edit.text)
            for edit in edits
            if span.start <= edit.start and edit.end <= span.end
        ]
        parts.append(apply(source.original[span.start : span.end], inside).decode("latin-1"))
    return "\n".join(parts)


def _knows_torch(environment: Environment, beside: tuple[Neighbour, ...]) -> bool:
    """Whether an environment, or what goes into the same one, says which torch there is."""
    images = any(image.name == "pytorch/pytorch" for image in environment.of(Sort.IMAGE))
    asked = any(one.environment.of(Sort.REQUIREMENT, *TORCH) for one in beside)
    return images or asked or bool(environment.of(Sort.REQUIREMENT, *TORCH))


def _ignored(source: Source) -> Iterator[Span]:
    """The lines that a comment marks to be left alone, at their end or on the line before."""
    if b"torchmigrate: ignore" not in source.original:
        return
    pending = False
    for line in logical_lines(source.original.decode("latin-1")):
        text = source.original[line.start : line.end]
        marked = b"torchmigrate: ignore" in text
        if text.lstrip().startswith(b"#"):
            pending = pending or marked
            continue
        if marked or pending:
            yield line
        pending = False
