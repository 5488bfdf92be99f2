"""What other programs call: `torchmigrate.check` and `torchmigrate.fix`; see ``docs/api.md``.

They do what the commands do, print nothing, write nothing, and keep nothing in the cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from torchmigrate.cli.asked import ask
from torchmigrate.cli.known import Known
from torchmigrate.cli.options import Failure
from torchmigrate.model.findings import FileError, Finding
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.run import runner
from torchmigrate.run.cache import Cache
from torchmigrate.run.joint import FixResult
from torchmigrate.run.profiles import Profiles
from torchmigrate.run.selection import Selection
from torchmigrate.settings.config import ConfigError, parse
from torchmigrate.settings.settings import key
from torchmigrate.text.read import read
from torchmigrate.text.source import SourceError

__all__ = ["Checked", "ConfigError", "FileError", "Finding", "Fixed", "Safety", "Severity", "check", "fix"]

Path = str | os.PathLike[str]
Setting = str | int | bool | Sequence[str] | Mapping[str, Sequence[str]]
Text = TypeVar("Text", str, bytes)


@dataclass(frozen=True, slots=True)
class Checked:
    """What `check` found."""

    findings: tuple[Finding, ...]
    """In the order of the files and of the places in them, without what comments or a baseline leave out."""
    errors: tuple[FileError, ...]
    """The files that could not be checked."""
    files: int
    """How many files were looked at."""


@dataclass(frozen=True, slots=True)
class Fixed(Generic[Text]):
    """What `fix` made of a source."""

    source: Text
    """The new source; the old one where nothing is to be fixed."""
    applied: tuple[Finding, ...]
    """What is mended, at its place in the old source."""
    findings: tuple[Finding, ...]
    """What is left, at its place in the new one."""
    errors: tuple[FileError, ...]
    """Why the source, or a fix, was left alone."""


def check(
    paths: Path | Iterable[Path] = ".",
    *,
    config: Path | None = None,
    isolated: bool = False,
    **settings: Setting,
) -> Checked:
    """What an upgrade breaks, deprecates or supersedes in files and folders, as ``torchmigrate check`` says it.

    ``config`` names a configuration file in the place of the projects' own, ``isolated`` reads none. ``settings`` are
    those of the documentation, with underscores, and win: ``target_version="2.15"``, ``select=["TS", "CU501"]``. One
    process does all, unless ``jobs`` says otherwise. A path that is not there is among the errors. Raises ConfigError.
    """
    named = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    asked = _Asked([os.fspath(path) for path in named], None, b"", _profiles(config, isolated, settings))
    known = asked.known()
    trees = asked.files.trees(asked.sorts)
    results = [known.new(result) for tree in trees for result in runner.check(tree)]
    return Checked(
        tuple(finding for result in results for finding in result.findings),
        (*asked.files.errors(asked.sorts), *(error for result in results for error in result.errors)),
        len(asked.files.inputs(asked.sorts)),
    )


def fix(
    source: Text,
    path: Path | None = None,
    *,
    config: Path | None = None,
    isolated: bool = False,
    **settings: Setting,
) -> Fixed[Text]:
    """A source with what is wrong mended, as ``torchmigrate fix --apply -`` does it; ``unsafe_fixes=True`` adds those.

    ``path`` is where the source lies or is to lie: it says of what kind the file is, which settings and which oldest
    torch hold, and which files can observe it. Without one it is a Python module that nothing is known of, and a fix
    that would have to know is unsafe. Everything but what is mended stays as it is, line ends included. The rest is as
    in `check`. Raises ConfigError.
    """
    name = None if path is None else os.fspath(path)
    encoding = "utf-8" if isinstance(source, bytes) else _encoding(name or "-", source)
    data = source if isinstance(source, bytes) else source.encode(encoding, "surrogatepass")
    after, fixed, errors = _fixed(name, data, _profiles(config, isolated, settings))
    made = after if isinstance(source, bytes) else after.decode(encoding)
    return Fixed(made if fixed.applied else source, fixed.applied, fixed.result.findings, errors)


def _fixed(
    name: str | None, data: bytes, profiles: Profiles
) -> tuple[bytes, FixResult, tuple[FileError, ...]]:
    asked = _Asked(["-"], name, data, profiles)
    (fixed,) = (one for tree in asked.files.trees(asked.sorts) for one in runner.fix(tree))
    fixed = replace(fixed, result=asked.known().new(fixed.result))
    return fixed.after, fixed, (*asked.files.errors(asked.sorts), *fixed.result.errors)


class _Asked:
    """What a call asks for. Raises ConfigError."""

    def __init__(self, paths: list[str], name: str | None, data: bytes, profiles: Profiles) -> None:
        try:
            self.files = ask(paths, name, profiles, lambda: data)
        except Failure as failure:
            raise ConfigError(failure.message) from None
        self.sorts = Selection([profile.settings for profile in self.files.profiles]).sorts(Cache(None))

    def known(self) -> Known:
        """What a baseline leaves out."""
        try:
            return Known(self.files.inputs(self.sorts), self.files.settings_of, None, writes=False)
        except Failure as failure:
            raise ConfigError(failure.message) from None


def _profiles(config: Path | None, isolated: bool, settings: Mapping[str, Setting]) -> Profiles:
    stated = parse({key(name): value for name, value in {"jobs": 1, **settings}.items()}, "argument")
    return Profiles(stated, None if config is None else os.fspath(config), isolated=isolated)


def _encoding(path: str, source: str) -> str:
    """The encoding that a source declares, which its bytes are to be in."""
    try:
        return read(path, source.encode("utf-8", "surrogatepass")).encoding
    except SourceError:
        return "utf-8"
