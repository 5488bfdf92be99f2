"""`torchmigrate probe --project`: the files of a project, checked by `torchmigrate.probe.project_findings`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import click

from torchmigrate.console.terminal import escape_line
from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.documents.references import Environment, Reference
from torchmigrate.model.findings import Finding
from torchmigrate.model.torch_versions import parse_version
from torchmigrate.prefilter.project_file_kinds import (
    MAX_METADATA_BYTES,
    find_kind,
    kind_of,
    may_concern_rules,
)
from torchmigrate.probe import project_findings, wording
from torchmigrate.probe.machine_facts import MachineFacts
from torchmigrate.project import file_search
from torchmigrate.project.folders import find_tree_root, iter_upward
from torchmigrate.run.profiles import Profiles
from torchmigrate.text.source_text import SourceError


def _print_warning(path: str, why: str) -> None:
    """Print to standard error that a file cannot be read."""
    click.echo(escape_line(f"warning: {path}: {why}"), err=True)


Unread = Callable[[str, str], None]
"""Called with the path of a file that cannot be read, and the reason."""
NamedTorch = tuple[ProjectDocument, Environment, list[Reference]]


def judge_files(
    paths: Sequence[str],
    facts: MachineFacts,
    unread: Unread = _print_warning,
    *,
    target: str | None = None,
    after_fix: bool = False,
) -> list[Finding]:
    """Return the verdicts on what the files at ``paths`` would install on a machine. Raises ConfigError.

    ``target`` is the newest torch that an installer may take; None stands for the newest of the tables. With ``after_fix``
    the files are judged as `fix --unsafe --relax` would leave them; what it cannot move is said.
    """
    fixed = _fix_files(paths, target) if after_fix else None
    found: list[Finding] = []
    passed = outside = 0
    for document, environment, references in _find_named_torch(paths, fixed, unread):
        installed = [one for one in references if project_findings.is_installed_to_run(one)]
        passed += not installed
        found += project_findings.judge_environment(document, environment, installed, facts, target)
        outside += target is not None and not project_findings.allows_torch(installed, target)
    if not found:
        found.append(wording.create_info("RT031", "no file here requires torch"))
    if outside:
        hint = (
            "run `torchmigrate fix --unsafe --relax` to see what holds them back"
            if after_fix
            else "add --after-fix to check the project as `torchmigrate fix --unsafe --relax` would leave it"
        )
        message = f"{_count_places(outside)} {'do' if outside > 1 else 'does'} not allow torch {target}"
        found.append(wording.create_info("RT031", message, hint))
    if passed:
        message = (
            f"{_count_places(passed)} where tests, documentation or development tools require torch"
            f" {'were' if passed > 1 else 'was'} not checked"
        )
        found.append(wording.create_info("RT031", message))
    return found


def _count_places(count: int) -> str:
    return "1 place" if count == 1 else f"{count} places"


def _find_named_torch(
    paths: Sequence[str], fixed: Mapping[str, bytes] | None, unread: Unread
) -> Iterator[NamedTorch]:
    """Yield the environments that name a torch; what a lock file has chosen stands for the ranges of its project.

    Of fixed files the locks are out of date, so that the ranges stand for themselves.
    """
    chosen: dict[str, list[NamedTorch]] = {}

    def read_lock(path: str) -> Iterator[NamedTorch]:
        """Yield the environments of a lock file once."""
        if (place := os.path.realpath(path)) not in chosen:
            chosen[place] = list(_read_named_torch(path, _read_lock(path), unread))
            yield from chosen[place]

    for path, data in _read_files(paths, unread):
        kind = kind_of(path)
        lock = _find_lock(path, data) if kind == "toml" and fixed is None else None
        if kind == "lock":
            yield from read_lock(path) if fixed is None else ()
            continue
        if lock is not None:
            yield from read_lock(lock)
            if chosen[os.path.realpath(lock)]:
                continue
        yield from _read_named_torch(path, (fixed or {}).get(os.path.realpath(path), data), unread)


def _read_named_torch(path: str, data: bytes, unread: Unread) -> Iterator[NamedTorch]:
    """Yield the environments of a file that name a torch."""
    kind = find_kind(path)
    if kind is None or not may_concern_rules(kind.name, data, pins=True):
        return
    if len(data) > MAX_METADATA_BYTES and kind.name != "lock":
        return
    try:
        document = ProjectDocument.decode_source(path, data)
        for environment, references in project_findings.find_torch_references(document):
            yield document, environment, references
    except (SourceError, RecursionError) as error:
        unread(path, str(error))


def _read_files(paths: Sequence[str], unread: Unread) -> Iterator[tuple[str, bytes]]:
    """Yield the files that may determine what is installed where the project runs; notebooks run anywhere."""
    within = file_search.find_files(paths, wanted=_is_judged, excludes=Profiles({}).get_excludes)
    for error in within.errors:
        unread(error.path, error.message)
    for file in within.inputs:
        if not _is_judged(file.path):
            continue
        try:
            yield file.path, file.read_bytes()
        except OSError as error:
            unread(file.path, str(error))


def _is_judged(path: str) -> bool:
    return kind_of(path) not in (None, "notebook")


_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pixi.lock", "Pipfile.lock", "pylock.toml")


def _find_lock(path: str, data: bytes) -> str | None:
    """Return the lock file of a project, by its own file: beside it, or above it if that lists the project as a member."""
    folder = os.path.dirname(os.path.abspath(path))
    top = find_tree_root(folder)
    name = re.search(rb"(?m)^name\s*=\s*[\"']([\w.-]+)[\"']", data)
    for above in iter_upward(folder):
        for lock in (os.path.join(above, name) for name in _LOCKS):
            if os.path.isfile(lock) and (
                above == folder or (name and _lists_member(_read_lock(lock), name[1].decode()))
            ):
                return os.path.relpath(lock) if not os.path.isabs(path) else lock
        if above == top:
            break
    return None


def _lists_member(lock: bytes, name: str) -> bool:
    """Return whether a lock file of uv lists a package of this name that lies in the project."""
    pattern = (
        rf"(?m)^name = \"{re.escape(name)}\"\r?\n(?:version = .*\r?\n)?source = \{{ (?:editable|virtual) ="
    )
    return re.search(pattern.encode(), lock) is not None


def _read_lock(path: str) -> bytes:
    """Return the content of a lock file; nothing if it cannot be read."""
    try:
        return file_search.read_file(path)
    except OSError:
        return b""


def _fix_files(paths: Sequence[str], target: str | None) -> dict[str, bytes]:
    """Return what `fix --unsafe --relax` makes of the files, by their real paths, without writing them. Raises ConfigError."""
    from torchmigrate.cli.requested_files import find_files
    from torchmigrate.run import runner
    from torchmigrate.run.cache import Cache
    from torchmigrate.run.selection import RuleSelection

    stated: dict[str, object] = {"jobs": 1, "unsafe_fixes": True, "relax": True, "select": ("CU",)}
    if target is not None:
        stated["target_version"] = parse_version(target)
    asked = find_files(paths, None, Profiles(stated))
    sorts = RuleSelection([profile.settings for profile in asked.profiles]).get_file_sorts(Cache(None))
    return {
        os.path.realpath(one.path): one.after
        for tree in asked.build_trees(sorts)
        for one in runner.fix_tree(tree)
        if one.applied
    }
