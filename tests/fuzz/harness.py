"""The tool, run inside the test process, with a record of every step that fixing took."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.support import settings_of
from torchmigrate.engine.python_module import PythonModule
from torchmigrate.model.findings import Edit, FileError, Finding
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import file_checker, runner
from torchmigrate.run.garbage import PausedCollector
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree

UNSAFE = ("--unsafe", "--min-version", "2.12")
FLAGS = (
    UNSAFE,
    (*UNSAFE, "--no-keep-torchscript-support"),
    (*UNSAFE, "--no-keep-torchscript-support", "--script-replacement", "eager"),
    (*UNSAFE, "--device-agnostic", "--target-version", "2.15"),
)
"""Settings under which other fixes appear: what must hold does not depend on them."""


@dataclass(frozen=True)
class Step:
    """A set of edits that the tool made at once. The texts are its UTF-8 texts of the file before and after."""

    before: bytes
    edits: tuple[Edit, ...]
    after: bytes
    code: bytes
    """The whole file before, in its own encoding."""
    result: bytes
    """The whole file after."""


@dataclass(frozen=True)
class Outcome:
    """What one run made of one file: without fixing, ``after`` is ``before`` and nothing is applied."""

    before: bytes
    after: bytes
    findings: tuple[Finding, ...]
    """Those that are left."""
    applied: tuple[Finding, ...]
    errors: tuple[FileError, ...]
    steps: tuple[Step, ...]
    """From ``before`` to ``after``."""


settings = functools.cache(settings_of)


def check(data: bytes, flags: Sequence[str] = UNSAFE, path: str = "case.py") -> Outcome:
    """Looks at a file with this content."""
    chosen, minimum = settings(tuple(flags))
    (result,) = runner.check_tree(Tree([InputFile(path, data)], create_uniform_profile(chosen, minimum)))
    return Outcome(data, data, result.findings, (), result.errors, ())


def fix(data: bytes, flags: Sequence[str] = UNSAFE, path: str = "case.py") -> Outcome:
    """Fixes a file with this content."""
    chosen, minimum = settings(tuple(flags))
    with _recorded() as steps:
        (result,) = runner.fix_tree(Tree([InputFile(path, data)], create_uniform_profile(chosen, minimum)))
    after = result.after if result.applied else data
    taken = tuple(_path(steps, data, after))
    return Outcome(data, after, result.result.findings, result.applied, result.result.errors, taken)


@contextmanager
def _recorded() -> Iterator[list[Step]]:
    """Every set of edits that the tool tries out and finds right."""
    steps: list[Step] = []
    edited = PythonModule.apply_edits

    def recording(self: PythonModule, edits: Sequence[Edit]) -> PythonModule:
        changed = edited(self, edits)
        before, after = self.source, changed.source
        steps.append(Step(before.text, tuple(edits), after.text, before.raw, after.raw))
        return changed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PythonModule, "apply_edits", recording)
        yield steps


def _path(steps: list[Step], start: bytes, end: bytes) -> list[Step]:
    """The steps that lead from one content to another; those that were only tried out lead elsewhere."""
    reached: dict[bytes, list[Step]] = {start: []}
    for step in steps:  # in the order in which they were made
        if step.code in reached:
            reached.setdefault(step.result, [*reached[step.code], step])
    assert end in reached, "the file changed in a way that no edits tell of"
    return reached[end]


class _Unpaused(PausedCollector):
    """Leaves the cycle collector alone: to count all objects takes longer than a small file."""

    def __enter__(self) -> PausedCollector:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@contextmanager
def objects_uncounted() -> Iterator[None]:
    """Leaves out what a run does with the garbage collector, for that takes longer than a small file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_checker, "PausedCollector", _Unpaused)
        yield
