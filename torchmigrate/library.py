"""The Python interface: `torchmigrate.check` and `torchmigrate.fix`; see ``docs/api.md``.

They do what the commands do, but print nothing, write nothing, and do not use the cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from torchmigrate.cli.known_findings import KnownFindings
from torchmigrate.cli.options import Failure
from torchmigrate.cli.requested_files import find_files
from torchmigrate.model.findings import FileError, Finding
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.run import runner
from torchmigrate.run.cache import Cache
from torchmigrate.run.multi_file import FixResult
from torchmigrate.run.profiles import Profiles
from torchmigrate.run.selection import RuleSelection
from torchmigrate.settings.config import ConfigError, parse_table
from torchmigrate.settings.settings import toml_key
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceError

__all__ = ["Checked", "ConfigError", "FileError", "Finding", "Fixed", "Safety", "Severity", "check", "fix"]

Path = str | os.PathLike[str]
Setting = str | int | bool | Sequence[str] | Mapping[str, Sequence[str]]
Text = TypeVar("Text", str, bytes)


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of `check`."""

    findings: tuple[Finding, ...]
    """The findings in the order of files and places, without suppressed ones and those in a baseline."""
    errors: tuple[FileError, ...]
    """The files that could not be checked."""
    files: int
    """The number of files that were checked."""


@dataclass(frozen=True, slots=True)
class Fixed(Generic[Text]):
    """The result of `fix`."""

    source: Text
    """The new source, or the old one if nothing was fixed."""
    applied: tuple[Finding, ...]
    """The findings that were fixed, with places in the old source."""
    findings: tuple[Finding, ...]
    """The remaining findings, with places in the new source."""
    errors: tuple[FileError, ...]
    """Why the source was not checked, or a fix was not made."""


def check(
    paths: Path | Iterable[Path] = ".",
    *,
    config: Path | None = None,
    isolated: bool = False,
    **settings: Setting,
) -> Checked:
    """Return what an upgrade breaks, deprecates or supersedes in files and folders, as ``torchmigrate check`` does.

    ``config`` is a configuration file that replaces the projects' own; ``isolated`` reads none. ``settings`` are those of the
    documentation, with underscores, and override files: ``target_version="2.15"``, ``select=["TS", "CU501"]``. One process
    does all the work unless ``jobs`` is given. A missing path is among the errors. Raises ConfigError.
    """
    named = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    asked = _Request(
        [os.fspath(path) for path in named], None, b"", _create_profiles(config, isolated, settings)
    )
    known = asked.load_known()
    trees = asked.files.build_trees(asked.sorts)
    results = [known.remove_known(result) for tree in trees for result in runner.check_tree(tree)]
    return Checked(
        tuple(finding for result in results for finding in result.findings),
        (*asked.files.select_errors(asked.sorts), *(error for result in results for error in result.errors)),
        len(asked.files.select_inputs(asked.sorts)),
    )


def fix(
    source: Text,
    path: Path | None = None,
    *,
    config: Path | None = None,
    isolated: bool = False,
    **settings: Setting,
) -> Fixed[Text]:
    """Return a source after fixing, as ``torchmigrate fix --apply -`` does; ``unsafe_fixes=True`` adds unsafe fixes.

    ``path`` is where the source is or will be: it determines the kind of file, the settings, the oldest torch, and the files that
    can observe it. Without a path the source is a Python module outside of any project, and fixes that depend on the project
    are unsafe. Everything else in the source is unchanged, including line ends. Other parameters are as in `check`.
    Raises ConfigError.
    """
    name = None if path is None else os.fspath(path)
    encoding = "utf-8" if isinstance(source, bytes) else _find_encoding(name or "-", source)
    data = source if isinstance(source, bytes) else source.encode(encoding, "surrogatepass")
    after, fixed, errors = _fix_source(name, data, _create_profiles(config, isolated, settings))
    made = after if isinstance(source, bytes) else after.decode(encoding)
    return Fixed(made if fixed.applied else source, fixed.applied, fixed.result.findings, errors)


def _fix_source(
    name: str | None, data: bytes, profiles: Profiles
) -> tuple[bytes, FixResult, tuple[FileError, ...]]:
    asked = _Request(["-"], name, data, profiles)
    (fixed,) = (one for tree in asked.files.build_trees(asked.sorts) for one in runner.fix_tree(tree))
    fixed = replace(fixed, result=asked.load_known().remove_known(fixed.result))
    return fixed.after, fixed, (*asked.files.select_errors(asked.sorts), *fixed.result.errors)


class _Request:
    """The files and settings of a call. Raises ConfigError."""

    def __init__(self, paths: list[str], name: str | None, data: bytes, profiles: Profiles) -> None:
        try:
            self.files = find_files(paths, name, profiles, lambda: data)
        except Failure as failure:
            raise ConfigError(failure.message) from None
        self.sorts = RuleSelection([profile.settings for profile in self.files.profiles]).get_file_sorts(
            Cache(None)
        )

    def load_known(self) -> KnownFindings:
        """Return the findings that a baseline leaves out."""
        try:
            return KnownFindings(
                self.files.select_inputs(self.sorts), self.files.get_settings, None, writes=False
            )
        except Failure as failure:
            raise ConfigError(failure.message) from None


def _create_profiles(config: Path | None, isolated: bool, settings: Mapping[str, Setting]) -> Profiles:
    stated = parse_table(
        {toml_key(name): value for name, value in {"jobs": 1, **settings}.items()}, "argument"
    )
    return Profiles(stated, None if config is None else os.fspath(config), isolated=isolated)


def _find_encoding(path: str, source: str) -> str:
    """Return the encoding that a source declares."""
    try:
        return read_source(path, source.encode("utf-8", "surrogatepass")).encoding
    except SourceError:
        return "utf-8"
