"""Asks uv or pip on this machine which releases an environment would get after its move, and before it.

Nothing is installed or built, and no download is kept. Pins are only preferred, so that one question tells which of
them cannot stay; what could not be installed before the move either is not counted. The indexes of torch's builds are
left out: the tables know what they have, and the release on the default index has the same requirements.
"""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from torchmigrate.documents.references import Reference, VersionStyle, normalize_name
from torchmigrate.documents.upgrade_rules import find_cuda_tag
from torchmigrate.documents.version_clauses import parse_clauses
from torchmigrate.documents.wheel_pages import is_page
from torchmigrate.model.vocabulary import Sort
from torchmigrate.project.program_search import find_program

_TIME_LIMIT = 120.0
"""The time limit for an answer, in seconds."""

_UV = ("pip", "compile", "--quiet", "--no-python-downloads", "--no-header", "--no-annotate", "--no-build")
_PIP = ("install", "--dry-run", "--ignore-installed", "--no-input", "--only-binary=:all:", "--target=.")
_GLIBC = 28
"""The minor version of glibc 2 that torch's default wheels need; see `torchmigrate/tables/data/wheels_read.json`."""
_OLDEST_GLIBC = 5
"""The minor version of glibc 2 of the oldest wheels that run there too (PEP 600)."""
_MOST_LEFT_OUT = 12
"""How many times something is left out of a question."""

_OFFLINE = re.compile(
    r"dns error|error sending request|Failed to fetch|ConnectionError|Network is unreachable|timed? ?out|network was disabled"
)
_NO_WHEEL = re.compile(r"(?:Wheels are required for `|No matching distribution found for )(?P<name>[\w.-]+)")
_NAMED = re.compile(r"\b(?:The user requested|you\s+require) ([\w.-]+)")
"""The packages that a conflict names, in the words of pip and of uv."""


@dataclass(frozen=True, slots=True)
class ResolverQuestion:
    """What a resolver is asked: the lines of a requirements file, and the releases that stay where they can."""

    lines: tuple[str, ...]
    preferred: tuple[str, ...]
    python: str
    kept: tuple[str, ...] = ()
    """The pins that are given up only where a conflict names them; uv gives up preferred ones without need."""


@dataclass(frozen=True, slots=True)
class ResolverAnswer:
    """The answer of a resolver."""

    resolves: bool | None
    """Whether the environment resolves; None if the resolver could not be asked."""
    text: str
    """The answer as a clause for messages."""
    versions: tuple[tuple[str, str], ...] = ()
    """The release of each package."""
    left_out: tuple[str, ...] = ()
    """The packages without a wheel, about which nothing is known."""
    conflicting: frozenset[str] = frozenset()
    """The packages of a conflict whose pins were not only preferred, but can be given up."""


class ResolverNotApplicable(Exception):
    """The exception for an environment that no resolver can be asked about; its text is the reason."""


def find_resolver() -> str | None:
    """Return the path of uv, else of pip; None if there is neither."""
    return find_program("uv") or find_program("pip") or find_program("pip3")


def create_question(
    references: Iterable[Reference],
    own_names: frozenset[str],
    python: str,
    *,
    held: Mapping[str, str] | None = None,
    preferred: Iterable[str] = (),
    bounded: bool = False,
) -> ResolverQuestion:
    """Return the question about references. Raises ResolverNotApplicable.

    Packages in ``held`` have exactly that release, or are left out if it is empty; upper bounds hold only if ``bounded``. The
    index is never asked for ``own_names``, the projects in these files: whoever registered such a name there would
    answer, and what their extras install is among the references.
    """
    held = held or {}
    lines = dict.fromkeys(f"{name}=={release}" for name, release in held.items() if release)
    pins: dict[str, None] = {}
    for one in references:
        if one.sort is Sort.REQUIREMENT and one.name in (own_names | held.keys()):
            continue
        line, pin = _render_line(one, bounded=bounded)
        lines[line] = None
        pins[pin] = None
    known = {*held, *map(_find_name, pins)}
    pins |= dict.fromkeys(pin for pin in preferred if _find_name(pin) not in known)
    # Files that are installed together ask the same, whichever of them is asked about.
    return ResolverQuestion(tuple(sorted(filter(None, lines))), tuple(sorted(filter(None, pins))), python)


def ask_resolver(question: ResolverQuestion, *, keeps_sources: bool = False) -> ResolverAnswer:
    """Ask the resolver; what has no wheel at all, and pins in conflict that can be given up, are left out of the question.

    A pinned release without a wheel is given up as well, or left out if ``keeps_sources``.
    """
    left_out: list[str] = []
    answer = _ask_once(question)
    for _ in range(_MOST_LEFT_OUT):
        firm = set() if keeps_sources else set(map(_find_name, _list_firm_pins(question)))
        names = [name for name in answer.left_out if name not in firm][:1]
        smaller = _leave_out(question, names, answer.conflicting)
        if smaller == question:
            break
        left_out += names
        question = smaller
        answer = _ask_once(question)
    return replace(answer, left_out=tuple(left_out))


def _list_firm_pins(question: ResolverQuestion) -> tuple[str, ...]:
    """Return the pins that the resolver holds until it is asked without them: pip knows no preference."""
    resolver = find_resolver()
    is_uv = resolver is not None and Path(resolver).stem == "uv"
    return question.kept if is_uv else (*question.preferred, *question.kept)


def _leave_out(
    question: ResolverQuestion, names: Sequence[str], conflicting: frozenset[str]
) -> ResolverQuestion:
    """Return the question without some packages, and without the pins of others."""
    lines = tuple(line for line in question.lines if _find_name(line) not in names)
    preferred, kept = (
        tuple(pin for pin in pins if _find_name(pin) not in {*names, *conflicting})
        for pins in (question.preferred, question.kept)
    )
    return replace(question, lines=lines, preferred=preferred, kept=kept)


def _find_name(line: str) -> str:
    found = re.match(r"[\w.-]+", line)
    return normalize_name(found[0]) if found else ""


@functools.cache
def _ask_once(question: ResolverQuestion) -> ResolverAnswer:
    """Ask the resolver for packages for a Python on Linux; each answer is cached in the process."""
    resolver = find_resolver()
    if resolver is None:
        return ResolverAnswer(None, "no resolver can check this: neither uv nor pip is installed")
    name = "uv" if Path(resolver).stem == "uv" else "pip"
    with tempfile.TemporaryDirectory() as folder:
        asked, solved = Path(folder) / "requirements.in", Path(folder) / "requirements.txt"
        firm = _list_firm_pins(question)
        asked.write_text(
            "".join(f"{line}\n" for line in dict.fromkeys((*question.lines, *firm))), encoding="utf-8"
        )
        solved.write_text("".join(f"{line}\n" for line in question.preferred), encoding="utf-8")
        arguments = (
            _list_uv_arguments(question.python) if name == "uv" else _list_pip_arguments(question.python)
        )
        output = (f"--output-file={solved}",) if name == "uv" else ()
        command = [resolver, *arguments[:-1], *output, *arguments[-1:], str(asked)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=folder, timeout=_TIME_LIMIT, check=False
            )
            solution = solved.read_text(encoding="utf-8")
        except (OSError, subprocess.TimeoutExpired) as error:
            return ResolverAnswer(None, f"{name} could not check this: {type(error).__name__}")
    if done.returncode == 0:
        text = f"{name} can resolve the requirements for Python {question.python}"
        return ResolverAnswer(True, text, _read_versions(done.stdout if name == "pip" else solution))
    if _OFFLINE.search(done.stderr):
        return ResolverAnswer(None, f"{name} could not check this: it cannot reach a package index")
    reason = _extract_reason(done.stderr + done.stdout)
    text = f"{name} cannot resolve the requirements for Python {question.python}: {reason}"
    missing, named = (
        dict.fromkeys(normalize_name(found) for found in pattern.findall(done.stderr + done.stdout))
        for pattern in (_NO_WHEEL, _NAMED)
    )
    pinned = {_find_name(pin) for pin in firm}
    return ResolverAnswer(
        False, text, left_out=tuple(missing), conflicting=frozenset(pinned & {*missing, *named})
    )


def _read_versions(output: str) -> tuple[tuple[str, str], ...]:
    """Return the release of each package in a list that uv wrote, or in what pip says that it "would install"."""
    if found := re.search(r"Would install (.*)", output):
        pairs = re.findall(r"(\S+)-([^\s-]+)", found[1])
    else:
        pairs = re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", output)
    return tuple((normalize_name(name), version) for name, version in pairs)


def _list_uv_arguments(python: str) -> tuple[str, ...]:
    # pip takes the best version of all indexes, uv by default only that of the first index with the package.
    return (
        *_UV,
        f"--python-version={python}",
        f"--python-platform=x86_64-manylinux_2_{_GLIBC}",
        "--index-strategy=unsafe-best-match",
    )


def _list_pip_arguments(python: str) -> tuple[str, ...]:
    systems = [f"manylinux_2_{minor}" for minor in range(_GLIBC, _OLDEST_GLIBC - 1, -1)]
    systems += ["manylinux2014", "manylinux2010", "manylinux1", "linux"]
    platforms = (f"--platform={system}_x86_64" for system in systems)
    return (*_PIP, f"--python-version={python}", *platforms, "--platform=any", "-r")


def _extract_reason(output: str) -> str:
    """Return the reason in a resolver's output, cut to 200 characters."""
    text = " ".join(output.split())
    found = next((found for pattern in _COMPLAINTS if (found := pattern.search(text))), None)
    return (found["why"] if found else text)[:200].strip(" .")


_COMPLAINTS = (
    re.compile(r"cause: (?P<why>Because .*?)(?:, we can conclude| And because|$)"),
    re.compile(r"The conflict is caused by: (?P<why>.*?)(?:To fix this|Additionally,|$)"),
    re.compile(r"ERROR: (?P<why>No matching distribution found .*)"),
    re.compile(r"cause: (?P<why>.*)"),
)
"""The phrases with which uv and pip give a reason."""


def _render_line(reference: Reference, *, bounded: bool) -> tuple[str, str]:
    """Return the line that asks for a reference, and the pin that is preferred. Raises ResolverNotApplicable.

    A line has the lower bounds only, unless the reference may not change, or is ``bounded`` and no pin. Both are empty for
    what a resolver does not need.
    """
    if reference.sort is Sort.INDEX and reference.option:
        if find_cuda_tag(reference) or _TORCH_INDEX.search(reference.text):
            return "", ""
        if reference.undecided:
            raise ResolverNotApplicable(f"the index depends on `{reference.undecided}`")
        if reference.option == "--torch-backend":
            return "", ""
        return (
            f"{'--extra-index-url' if reference.option == 'index' else reference.option} {reference.text}",
            "",
        )
    if reference.sort is Sort.WHEEL and not is_page(reference):
        raise ResolverNotApplicable("it requires one specific wheel")
    if reference.sort is not Sort.REQUIREMENT or reference.style is VersionStyle.CONDA:
        return "", ""
    if reference.undecided:
        raise ResolverNotApplicable(f"the version of {reference.name} depends on `{reference.undecided}`")
    clauses = parse_clauses(reference)
    marker = f" ; {reference.marker}" if reference.marker else ""
    if reference.fixed or reference.several or any(clause.local for clause in clauses):
        kept = [clause.convert_to_pep508() for clause in clauses]
        return f"{reference.name}{reference.extras}{','.join(dict.fromkeys(kept))}{marker}", ""
    exact = [clause.public_version for clause in clauses if clause.is_exact]
    loose = [
        clause.convert_to_pep508() if bounded and not clause.is_exact else _loosen(clause.convert_to_pep508())
        for clause in clauses
    ]
    specifier = ",".join(dict.fromkeys(filter(None, loose)))
    pin = f"{reference.name}=={exact[0]}" if len(exact) == 1 else ""
    return f"{reference.name}{reference.extras}{specifier}{marker}", pin


_TORCH_INDEX = re.compile(r"download(?:-r2)?\.pytorch\.org/whl|/pytorch-wheels/")


def _loosen(specifier: str) -> str:
    """Return a specifier without its upper bounds: ``==1.2`` becomes ``>=1.2``, ``<2`` nothing."""
    parts = []
    for part in specifier.split(","):
        if part.startswith(("==", "~=")):
            parts.append(">=" + part[2:].removesuffix(".*"))
        elif not part.startswith("<"):
            parts.append(part)
    return ",".join(parts)


def list_changed(answer: ResolverAnswer, references: Sequence[Reference]) -> dict[str, str]:
    """Return the packages whose requirement does not admit the release in an answer, with that release.

    A release candidate is left out: a resolver takes one where the last release would have to be built. So is a placeholder
    such as nvidia-tensorrt 99.0.0, which only says that the package comes from elsewhere.
    """
    versions = {name: version for name, version in answer.versions if _is_release(version)}
    return {
        one.name: versions[one.name]
        for one in references
        if one.sort is Sort.REQUIREMENT
        and one.style is not VersionStyle.CONDA
        and one.name in versions
        and not all(
            clause.allows_any([versions[one.name]]) for clause in parse_clauses(one) if clause.is_upper
        )
    }


def _is_release(version: str) -> bool:
    try:
        parsed = Version(version)
    except InvalidVersion:
        return True
    return not parsed.is_prerelease and parsed.release[0] not in _PLACEHOLDERS


_PLACEHOLDERS = (99, 999, 9999)
"""First numbers of releases that hold a name."""
