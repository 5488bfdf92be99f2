"""Runs the fixtures of a family with a broken module instead of the original.

Each trial has a process of its own, forked from one that has not imported any rule: nothing that a module leaves behind
outlives its trial. The other modules are compiled once, before.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import multiprocessing
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType
from typing import ParamSpec, TypeVar

from tests.mutations.mutants import MOVED, Mutant
from tests.rules.cases import Case, cases, declared_otherwise
from torchmigrate.model.findings import Finding, Span

P = ParamSpec("P")
T = TypeVar("T")
ROOT = Path(__file__).parents[2]
RULES = ROOT / "rules"


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: ``caught`` is the case that tells, None if it survives."""

    mutant: Mutant
    caught: str | None


def moved(finding: Finding) -> Finding:
    """The finding, one character shorter."""
    assert finding.span is not None
    assert finding.location is not None
    return finding._replace(
        span=Span(finding.span.start, finding.span.end - 1),
        location=finding.location._replace(end_column=finding.location.end_column - 1),
    )


def family_of(path: Path) -> str:
    """The family that a module belongs to."""
    return path.relative_to(RULES).parts[0]


def tried(mutants: Sequence[Mutant], jobs: int) -> Iterator[Outcome]:
    """The outcome of each mutant, in no particular order."""
    codes = {str(path): compile(path.read_bytes(), path, "exec") for path in RULES.rglob("*.py")}
    context = multiprocessing.get_context("fork")
    with context.Pool(1, _install, [codes]) as pool:
        plain, imported = pool.apply(_described)
    for name in imported:  # once here, and not in every process
        importlib.import_module(name)
    assert not any(map(_is_rule, sys.modules))
    with context.Pool(jobs, _install, [codes], maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(partial(_try, plain), mutants, chunksize=1)


def _described() -> tuple[dict[str, str], list[str]]:
    """What every case gives without a fault, and the modules that it takes, without those of rules."""
    plain = {str(case): case.described(older=False) for case in cases()}
    return plain, [name for name in sys.modules if name.startswith(_PRELOADED) and not _is_rule(name)]


_PRELOADED = ("torchmigrate.", "libcst.", "packaging.")


def _is_rule(name: str) -> bool:
    return name.startswith("torchmigrate.rules.")


def _try(plain: dict[str, str], mutant: Mutant) -> Outcome:
    _codes[str(mutant.path)] = compile(mutant.text, str(mutant.path), "exec")
    concerned = _concerned(mutant)
    telling = (case for case in concerned if _result(case.described, older=False) != plain[str(case)])
    own = (case for case in concerned if case.path.parent.name == mutant.path.stem)
    wrong = (case for case in own if _result(_fixed, case) != _result(_wanted, case))
    case = next(telling, None) or next(wrong, None)
    if case is not None:
        return Outcome(mutant, str(case))
    return Outcome(mutant, "the declared safety" if declared_otherwise() else None)


def _result(function: Callable[P, T], *given: P.args, **named: P.kwargs) -> T | str:
    try:
        return function(*given, **named)
    except Exception as error:  # a mutant may do anything
        return repr(error)


def _fixed(case: Case) -> dict[str, bytes]:
    return {path: result.after for path, result in case.fixed.items() if result.after != result.before}


def _wanted(case: Case) -> dict[str, bytes]:
    wanted = {file: file.with_name(f"{file.stem}.fixed{file.suffix}") for file in case.files}
    return {str(file): result.read_bytes() for file, result in wanted.items() if result.exists()}


_codes: dict[str, CodeType] = {}
"""What the modules of rules run in this process, by path."""


def _install(codes: dict[str, CodeType]) -> None:
    """Has the modules of rules run ``_codes``: their files are those of the working tree, whatever is in them."""
    loader = importlib.machinery.SourceFileLoader
    whole = loader.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
        return _codes.get(str(Path(self.path).resolve())) or whole(self, name)

    _codes.update(codes)
    loader.get_code = get_code  # type: ignore[assignment, method-assign]
    setattr(builtins, MOVED, moved)


def _concerned(mutant: Mutant) -> list[Case]:
    """The cases of the family, those of the rule itself first, then those that its code is found in."""
    family = family_of(mutant.path)
    found = [case for case in cases() if case.path.parent.parent.name == family]
    code = re.search(r'\bcode="(\w+)"', mutant.text)
    return sorted(
        found,
        key=lambda case: (
            case.path.parent.name != mutant.path.stem,
            code is None or f" {code[1]} " not in case.recorded,
        ),
    )
