"""One question to uv or pip on this machine: how it is asked, and how its answer is read.

Nothing is installed or built, and no download is kept. The indexes of torch's builds are left out of questions: the
tables know what they have, and the release on the default index has the same requirements.
"""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from torchmigrate.documents.references import normalize_name
from torchmigrate.documents.resolver_questions import ResolverQuestion, find_name
from torchmigrate.project.program_search import find_program
from torchmigrate.tables.package_requirements import FAMILY

_TIME_LIMIT = 120.0
"""The time limit for an answer, in seconds."""

_UV = ("pip", "compile", "--quiet", "--no-python-downloads", "--no-header", "--no-annotate", "--no-build")
_PIP = ("install", "--dry-run", "--ignore-installed", "--no-input", "--only-binary=:all:", "--target=.")
_GLIBC = 28
"""The minor version of glibc 2 that torch's default wheels need; see `torchmigrate/tables/data/wheels_read.json`."""
_OLDEST_GLIBC = 5
"""The minor version of glibc 2 of the oldest wheels that run there too (PEP 600)."""

_OFFLINE = re.compile(
    r"dns error|error sending request|Failed to fetch|ConnectionError|Network is unreachable|timed out|TimeoutError|network was disabled"
)
_MARKERS = re.compile(r"(?<=[\w\]])\{[^{}]*\}")
"""The markers of a requirement, as uv writes them: ``evdev{'linux' in sys_platform}>=1.3``."""
_UNREACHED = re.compile(r"Failed to fetch: `?\w+://(?P<host>[^/`\s]+)")
_NO_WHEEL = re.compile(r"(?:Wheels are required for `|No matching distribution found for )(?P<name>[\w.-]+)")
_UNUSABLE = re.compile(
    r"(?P<requirement>(?:[\w.-]+(?:[<>=!~]=?[\w.*+]+,?)+(?= has)|(?<=all versions of )[\w.-]+(?= have))) ha(?:s|ve) no usable wheels"
)
"""The requirement of which uv says that none of its releases can be installed."""
_NAMED = re.compile(r"\b(?:The user requested|you\s+require) ([\w.-]+)")
"""The packages that a conflict names, in the words of pip and of uv."""


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
    conflict: str = ""
    """The first conflict for which pins were given up; empty if there was none."""
    unreached: str = ""
    """The host of the index that cannot be reached; empty if it is not known, or all can."""
    blamed: tuple[str, ...] = ()
    """The packages of the question that the reason names, in its order."""
    contradicted: tuple[str, ...] = ()
    """The packages that were left out because they fit the others in no release."""
    ignored: tuple[str, ...] = ()
    """The packages that others require, and that the question had to be asked without, since they never had a wheel."""
    unusable: str = ""
    """A requirement, as a resolver words it, none of whose releases has a wheel for this Python; empty if it names none."""


def find_resolver() -> str | None:
    """Return the path of uv, else of pip; None if there is neither."""
    return find_program("uv") or find_program("pip") or find_program("pip3")


def is_uv() -> bool:
    resolver = find_resolver()
    return resolver is not None and Path(resolver).stem == "uv"


def list_firm_pins(question: ResolverQuestion) -> tuple[str, ...]:
    """Return the pins that the resolver holds until it is asked without them: pip knows no preference."""
    return question.kept if is_uv() else (*question.preferred, *question.kept)


@functools.cache
def ask_once(question: ResolverQuestion) -> ResolverAnswer:
    """Ask the resolver for packages for a Python on Linux; each answer is cached in the process."""
    resolver = find_resolver()
    if resolver is None:
        return ResolverAnswer(None, "no resolver can check this: neither uv nor pip is installed")
    name = "uv" if is_uv() else "pip"
    with tempfile.TemporaryDirectory() as folder:
        asked, solved = Path(folder) / "requirements.in", Path(folder) / "requirements.txt"
        firm = list_firm_pins(question)
        asked.write_text(
            "".join(f"{line}\n" for line in dict.fromkeys((*question.lines, *firm))), encoding="utf-8"
        )
        solved.write_text("".join(f"{line}\n" for line in question.preferred), encoding="utf-8")
        arguments = (
            _list_uv_arguments(question.python) if name == "uv" else _list_pip_arguments(question.python)
        )
        output = [f"--output-file={solved}"] if name == "uv" else []
        output += ["--resolution=lowest-direct"] if question.lowest else []
        output += ["--no-deps"] if question.alone else []
        if question.ignored:
            without = Path(folder) / "overrides.txt"
            lines = (f"{one} ; python_version < '0'\n" for one in question.ignored)
            without.write_text("".join(lines), encoding="utf-8")
            output.append(f"--override={without}")
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
    told, errors = (_MARKERS.sub("", one) for one in (done.stderr + done.stdout, done.stderr))
    # pip goes on without an index that it cannot reach, and tells of both.
    if _OFFLINE.search(errors) and "ResolutionImpossible" not in errors:
        host = found["host"] if (found := _UNREACHED.search(errors)) else ""
        text = f"{name} could not check this: it cannot reach {host or 'a package index'}"
        return ResolverAnswer(None, text, unreached=host)
    reason = _extract_reason(told)
    text = f"{name} cannot resolve the requirements for Python {question.python}: {reason}"
    missing, named = (
        dict.fromkeys(normalize_name(found) for found in pattern.findall(told))
        for pattern in (_NO_WHEEL, _NAMED)
    )
    pinned = {find_name(pin) for pin in firm}
    unusable = _UNUSABLE.search(" ".join(errors.split()))
    asked_for = set(map(find_name, question.lines)) - FAMILY
    return ResolverAnswer(
        False,
        text,
        left_out=tuple(missing),
        conflicting=frozenset(pinned & {*missing, *named}),
        blamed=tuple(name for name in map(find_name, reason.split()) if name in asked_for),
        unusable=unusable["requirement"] if unusable else "",
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
