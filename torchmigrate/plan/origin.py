"""What a plan was made of and when: the project, its commit, and the addresses of its files on the host of its code."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from torchmigrate.project.folders import is_within
from torchmigrate.project.git import Git, GitError

_REMOTE = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^/@]*@)?(?P<host>[\w.-]+)(?::\d+)?/|(?:[\w.-]+@)?(?P<name>[\w.-]+):(?!/))"
    r"(?P<path>[^?#\s]+?)(?:\.git)?/?",
    re.ASCII,
)
"""The address of a repository: a URL, whose user and password are left out, or ``user@host:path``."""

_PAGES = {
    "github": "blob/{commit}",
    "gitlab": "-/blob/{commit}",
    "bitbucket": "src/{commit}",
    "codeberg": "src/commit/{commit}",
    "gitea": "src/commit/{commit}",
    "forgejo": "src/commit/{commit}",
}
"""Where hosts show the files of a commit, by a word of the host's name."""


@dataclass(frozen=True, slots=True)
class PlanOrigin:
    """The state of a project that a plan was made of."""

    project: str = ""
    date: str = ""
    """The day of the plan, as in 2026-11-26."""
    commit: str = ""
    """The digest of the commit; "" outside of git."""
    has_changes: bool = False
    """Whether files in git differ from the commit."""
    root: str = ""
    """The folder that links begin at."""
    link_base: str = ""
    """The address of that folder on the host of the code; "" if it is not known."""

    def create_link(self, path: str, line: int | None = None) -> str:
        """Return the address of a file, and of a line, from 1; "" if it is not known, or the file is not below the folder."""
        place = os.path.realpath(path)
        if not self.link_base or not is_within(place, self.root):
            return ""
        name = quote(os.path.relpath(place, self.root).replace(os.sep, "/").encode(errors="surrogateescape"))
        mark = "" if line is None else f"#lines-{line}" if "//bitbucket." in self.link_base else f"#L{line}"
        return f"{self.link_base}/{name}{mark}"


def find_origin(folder: str, link_base: str | None) -> PlanOrigin:
    """Return the origin of a plan for the project in ``folder``; without ``link_base``, the address follows from git."""
    today = datetime.date.today().isoformat()
    root = os.path.realpath(folder)
    try:
        git = Git.from_folder(root)
        root = git.top
        commit = git.resolve_commit("HEAD")
        changes = git.run_command("status", "--porcelain", "--untracked-files=no")
        base = _guess_base(git, commit) if link_base is None else link_base
    except GitError:
        commit, changes, base = "", b"", link_base or ""
    return PlanOrigin(os.path.basename(root), today, commit, bool(changes.strip()), root, base.rstrip("/"))


def _guess_base(git: Git, commit: str) -> str:
    """Return the address of a commit at the first known host that has it, or ""."""
    for remote in _list_remotes_with(git, commit):
        address = git.run_command("config", "--get", f"remote.{remote}.url").decode(errors="replace")
        if base := describe_base(address.strip(), commit):
            return base
    return ""


def _list_remotes_with(git: Git, commit: str) -> Iterator[str]:
    """Yield the remotes from which a branch with the commit was fetched or pushed, ``origin`` first."""
    branches = git.run_command("branch", "--remotes", "--contains", commit, "--format=%(refname:lstrip=2)")
    names = dict.fromkeys(line.partition("/")[0] for line in branches.decode(errors="replace").splitlines())
    yield from sorted(names, key=lambda name: name != "origin")


def describe_base(address: str, commit: str) -> str:
    """Return the address of the files of a commit in the repository at ``address``, or "" for an unknown kind of host."""
    found = _REMOTE.fullmatch(address)
    host = (found["host"] or found["name"]).lower() if found else ""
    page = next((page for word, page in _PAGES.items() if word in host), None)
    if found is None or page is None:
        return ""
    return f"https://{host}/{quote(found['path'].strip('/'))}/{page.format(commit=commit)}"
