"""Asks uv or pip on this machine whether an environment can be installed after its move.

Nothing is installed or built, and no download is kept; a package without a wheel counts as one that does not resolve.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from torchmigrate.documents.environment_blockers import ProposedState, find_oldest_python
from torchmigrate.documents.project_documents import ProjectDocument, read_references
from torchmigrate.documents.references import Environment, Reference, VersionStyle
from torchmigrate.documents.version_clauses import parse_clauses
from torchmigrate.model.findings import Edit
from torchmigrate.model.vocabulary import Sort
from torchmigrate.text.notebook import Notebook
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceText

_TIME_LIMIT = 120.0
"""The time limit for an answer, in seconds."""

_UV = ("pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-build")
_PIP = ("install", "--dry-run", "--ignore-installed", "--no-input", "--only-binary=:all:", "--target=.")
_GLIBC = 28
"""The minor version of glibc 2 that torch's default wheels need; see `torchmigrate/tables/data/wheels_read.json`."""
_OLDEST_GLIBC = 5
"""The minor version of glibc 2 of the oldest wheels that run there too (PEP 600)."""

_OFFLINE = re.compile(
    r"dns error|error sending request|Failed to fetch|ConnectionError|Network is unreachable|timed? ?out|network was disabled"
)


class ResolverAnswer(NamedTuple):
    """The answer of a resolver."""

    resolves: bool | None
    """Whether the environment resolves; None if the resolver could not be asked."""
    text: str
    """The answer as a clause for messages."""


class ResolverNotApplicable(Exception):
    """The exception for an environment that no resolver can be asked about; its text is the reason."""


def find_resolver() -> str | None:
    """Return the path of uv, else of pip; None if there is neither."""
    return shutil.which("uv") or shutil.which("pip") or shutil.which("pip3")


def check_environment(state: ProposedState, source: SourceText, edits: Sequence[Edit]) -> ResolverAnswer:
    """Ask whether the environment of ``state`` resolves after the edits of ``source``."""
    after = _read_after_edits(state.environment, source, edits)
    references = [one for unit in after.units for one in unit.references]
    references += [one for neighbour in state.neighbours for one in neighbour.references]
    try:
        lines = tuple(dict.fromkeys(line for one in references if (line := _render_line(one))))
    except ResolverNotApplicable as reason:
        return ResolverAnswer(None, f"no resolver can check this: {reason}")
    return ask_resolver(lines, find_oldest_python(state))


@functools.cache
def ask_resolver(lines: tuple[str, ...], python: str) -> ResolverAnswer:
    """Ask the resolver about the lines of a requirements file, for a Python on Linux; each answer is cached in the process."""
    resolver = find_resolver()
    if resolver is None:
        return ResolverAnswer(None, "no resolver can check this: neither uv nor pip is installed")
    name = "uv" if Path(resolver).stem == "uv" else "pip"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requirements.txt"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        command = [
            resolver,
            *(_list_uv_arguments if name == "uv" else _list_pip_arguments)(python),
            str(file),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=folder, timeout=_TIME_LIMIT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return ResolverAnswer(None, f"{name} could not check this: {type(error).__name__}")
    if done.returncode == 0:
        return ResolverAnswer(True, f"{name} can resolve the requirements for Python {python}")
    if _OFFLINE.search(done.stderr):
        return ResolverAnswer(None, f"{name} could not check this: it cannot reach a package index")
    reason = _extract_reason(done.stderr + done.stdout)
    return ResolverAnswer(False, f"{name} cannot resolve the requirements for Python {python}: {reason}")


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


def _read_after_edits(environment: Environment, source: SourceText, edits: Sequence[Edit]) -> Environment:
    """Return the environment as it is read after the edits."""
    data = source.replace_commands(edits) if isinstance(source, Notebook) else source.apply_edits(edits)
    is_document = isinstance(source, ProjectDocument)
    after = read_references(
        ProjectDocument.decode_source(source.path, data) if is_document else read_source(source.path, data)
    )
    before = list(dict.fromkeys(one.unit.environment for one in read_references(source)))
    return list(dict.fromkeys(one.unit.environment for one in after))[before.index(environment)]


def _render_line(reference: Reference) -> str:
    """Return a reference as a line of a requirements file; empty for one that a resolver does not need. Raises ResolverNotApplicable."""
    if reference.sort is Sort.INDEX and reference.option:
        if reference.undecided:
            raise ResolverNotApplicable(f"the index depends on `{reference.undecided}`")
        if reference.option == "--torch-backend":
            raise ResolverNotApplicable("uv chooses the build for the machine that it runs on")
        return f"{'--extra-index-url' if reference.option == 'index' else reference.option} {reference.text}"
    if reference.sort is Sort.WHEEL:
        raise ResolverNotApplicable("it requires one specific wheel")
    if reference.sort is not Sort.REQUIREMENT:
        return ""
    if reference.style is VersionStyle.CONDA:
        raise ResolverNotApplicable("it uses conda")
    if reference.undecided:
        raise ResolverNotApplicable(f"the version of {reference.name} depends on `{reference.undecided}`")
    specifiers = (
        clause.convert_to_pep508() + (f"+{clause.local}" if clause.local else "")
        for clause in parse_clauses(reference)
    )
    specifier = ",".join(dict.fromkeys(specifiers))
    marker = f" ; {reference.marker}" if reference.marker else ""
    return f"{reference.name}{reference.extras}{specifier}{marker}"
