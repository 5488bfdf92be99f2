"""The repositories that a survey is asked for: folders, lists of paths and addresses, and lists of the GitHub CLI."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from torchmigrate.project.folders import is_project, is_repository

_ADDRESS = re.compile(
    r"git\+(?P<url>(?P<transport>https|ssh|file)://(?P<host>[A-Za-z0-9_.][\w.:@-]*)?/(?P<path>[^\s@#?]+))(?:@(?P<ref>[^\s@]+))?"
)
_REF = re.compile(r"(?!-)[\w./+-]+")


class ListError(Exception):
    """A list, or an entry of one, cannot be read; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository: a folder of this machine, or a git address."""

    name: str
    """Unique in a survey, and the same on every machine: the path below the given folder, or that of the address."""
    folder: str = ""
    """The absolute path of the folder; "" for an address."""
    url: str = ""
    ref: str = ""
    """The branch, tag or commit of an address; "" is the default branch."""
    transport: str = ""
    """The protocols over which git may reach the address, as in ``GIT_ALLOW_PROTOCOL``."""

    @property
    def location(self) -> str:
        """Where the repository is, as the results say it: an address, or a name below a folder that they do not tell."""
        return f"git+{self.url}{'@' + self.ref if self.ref else ''}" if self.url else self.name


def list_repositories(paths: Iterable[str], lists: Iterable[str]) -> list[Repository]:
    """Return the repositories below the folders ``paths`` and those of the files ``lists``, by name.

    A path may also be an address. Raises ListError.
    """
    found = [one for path in paths for one in _parse_entry(path, os.curdir)]
    found += [one for file in lists for one in _read_list(file)]
    named: dict[str, Repository] = {}
    for one in sorted(set(found), key=lambda one: (one.name, one.url, one.ref, one.folder)):
        name, number = one.name, 1
        while name in named:
            number += 1
            name = f"{one.name}~{number}"
        if not any((one.folder, one.url, one.ref) == (o.folder, o.url, o.ref) for o in named.values()):
            named[name] = replace(one, name=name)
    return [named[name] for name in sorted(named)]


def _read_list(file: str) -> Iterator[Repository]:
    """Yield the repositories of a list: one path or address in a line, or what `gh repo list --json` prints."""
    try:
        with open(file, encoding="utf-8-sig") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ListError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if text.lstrip().startswith("["):
        yield from _read_github_list(file, text)
        return
    for number, line in enumerate(text.splitlines(), 1):
        entry = re.sub(r"(^|\s)#.*", "", line).strip()
        try:
            yield from _parse_entry(entry, os.path.dirname(file)) if entry else ()
        except ListError as error:
            raise ListError(f"{file}:{number}: {error}") from None


def _read_github_list(file: str, text: str) -> Iterator[Repository]:
    """Yield the repositories of `gh repo list --json url,defaultBranchRef,isArchived`, without those that are archived."""
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise ListError(f"{file} is not JSON: {error}") from None
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("url"), str):
            raise ListError(
                f"{file}: an entry has no `url`; list them with `gh repo list --json url,isArchived`"
            )
        if not entry.get("isArchived"):
            yield _parse_address("git+" + entry["url"] + _find_branch(entry))


def _find_branch(entry: dict[str, Any]) -> str:
    branch = entry.get("defaultBranchRef")
    name = branch.get("name") if isinstance(branch, dict) else None
    return f"@{name}" if isinstance(name, str) and name else ""


def _parse_entry(entry: str, base: str) -> list[Repository]:
    """Return the repositories of an address, of a repository's folder, or of a folder that holds repositories."""
    if entry.startswith("git+"):
        return [_parse_address(entry)]
    if re.match(r"\w+://", entry):
        raise ListError(f"{entry} is no address of a repository; write it as git+{entry}")
    folder = os.path.realpath(os.path.join(base, os.path.expanduser(entry)))
    if not os.path.isdir(folder):
        raise ListError(f"{entry} is not a folder")
    if found := list(_find_repositories(folder, folder)):
        return found
    raise ListError(f"{entry} holds no repository: no folder in it has .git or the metadata of a project")


def _parse_address(entry: str) -> Repository:
    match = _ADDRESS.fullmatch(entry)
    if match is None or (match["ref"] and not _REF.fullmatch(match["ref"])):
        raise ListError(
            f"{entry} is no address: write git+https://HOST/PATH, git+ssh://… or git+file:///…, with @REF"
        )
    if not match["host"] and match["transport"] != "file":
        raise ListError(f"{entry} has no host")
    parts = match["path"].removesuffix("/").removesuffix(".git").split("/")
    name = "/".join(parts[-2:])
    # Users may have git replace one of these protocols by the other (`url.BASE.insteadOf`).
    transport = "file" if match["transport"] == "file" else "https:ssh"
    return Repository(name, url=match["url"], ref=match["ref"] or "", transport=transport)


def _find_repositories(folder: str, top: str) -> Iterator[Repository]:
    """Yield the outermost repositories and projects in a folder, without following links."""
    if is_repository(folder) or is_project(folder):
        inside = os.path.relpath(folder, top)
        yield Repository(
            os.path.basename(top) if inside == os.curdir else inside.replace(os.sep, "/"), folder
        )
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from _find_repositories(entry.path, top)
