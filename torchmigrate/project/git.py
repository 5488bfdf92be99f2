"""The only module that starts git, set up so that a stranger's repository cannot make it run a program.

The configuration of a repository names programs that git starts by itself: a file system monitor, hooks, filters, diff
drivers, signing programs, transports. Whoever checks a downloaded project has agreed to none of them. The user's own
configuration (global and system) holds as always.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cached_property

from torchmigrate.project.folders import is_repository, iter_upward
from torchmigrate.project.program_search import find_program

_TIMEOUT = 300
"""Seconds after which a git process is ended: a FIFO among the repository's files makes it wait forever."""

_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "protocol.allow": "never",
    # A folder that looks like a bare repository is a repository to git, also inside of the tree of another one.
    "safe.bareRepository": "explicit",
    "commit.gpgSign": "false",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "core.quotePath": "false",
    "i18n.commitEncoding": "utf-8",
}
"""Settings for every call, stronger than any configuration file."""

_ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",
    # Nobody is there to type a password.
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    "LC_ALL": "C",
}
_KEPT = re.compile(
    r"GIT_(?:(?:AUTHOR|COMMITTER)_\w+|CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM)|EXEC_PATH"
    r"|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM)"
)
"""The variables of git that are passed on: who commits, and where the user's own configuration lies."""

_DRIVER = re.compile(r"(filter|hook)\.(.+)\.\w+")
"""A setting of a filter, or of a hook that the configuration defines."""

_SWITCHED_OFF: Mapping[str, Mapping[str, str]] = {
    "filter": {"clean": "", "smudge": "", "process": "", "required": "false"},
    "hook": {"command": "true", "enabled": "false"},
}


class GitError(Exception):
    """Git is missing, fails or takes too long; the message is for the user."""


class Git:
    """Git, run in a folder."""

    def __init__(self, folder: str, *, transport: str = "") -> None:
        """``transport`` has the protocols, separated by colons, over which git may reach other repositories; "" is none."""
        self._folder = folder
        self._transport = transport

    @classmethod
    def from_folder(cls, folder: str) -> Git:
        """Return git for the work tree that holds ``folder``.

        The root is found without git: `folder` may look like a bare repository, which git would take first.
        """
        folder = os.path.realpath(folder)
        *_, root = iter_upward(folder)
        return cls(root if is_repository(root) else folder)

    @property
    def top(self) -> str:
        """The real path of the work tree's root. Raises GitError."""
        return os.path.realpath(os.fsdecode(self.run_command("rev-parse", "--show-toplevel").rstrip(b"\n")))

    def run_command(self, command: str, *arguments: str, given: bytes = b"") -> bytes:
        """Return what a git command prints, with ``given`` as its standard input. Raises GitError."""
        return self._run_process(self._neutral_settings, command, *arguments, given=given)

    def resolve_commit(self, ref: str) -> str:
        """Return the digest of the commit that ``ref`` names. Raises GitError."""
        if ref.startswith("-"):
            raise GitError(f"{ref!r} is not a revision")
        options = ("--verify", "--quiet", "--end-of-options")
        return self.run_command("rev-parse", *options, f"{ref}^{{commit}}").decode().strip()

    @cached_property
    def _neutral_settings(self) -> dict[str, str]:
        """The settings that switch off the filters and hooks of the repository's own configuration."""
        settings = {}
        for key in self._iter_own_settings():
            if found := _DRIVER.fullmatch(key):
                kind, name = found.groups()
                for variable, value in _SWITCHED_OFF[kind].items():
                    settings[f"{kind}.{name}.{variable}"] = value
        if odd := next((key for key in settings if "=" in key), None):
            # `-c` would end the key at that character, and the program would stay.
            raise GitError(f"the repository's git configuration has a key with `=`, {odd!r}; remove it first")
        return settings

    def _iter_own_settings(self) -> Iterator[str]:
        """Yield the keys from the repository's configuration files, and from those that they include."""
        printed = self._run_process({}, "config", "--list", "--show-scope", "-z")
        records = iter(split_records(printed))
        for scope, setting in zip(records, records, strict=True):
            if scope in (b"local", b"worktree"):
                yield os.fsdecode(setting.partition(b"\n")[0])

    def _run_process(self, settings: Mapping[str, str], *arguments: str, given: bytes = b"") -> bytes:
        transport = {"protocol.allow": "user"} if self._transport else {}
        overrides = [f"{key}={value}" for key, value in {**_SETTINGS, **transport, **settings}.items()]
        options = [word for override in overrides for word in ("-c", override)]
        try:
            done = subprocess.run(
                [_find_git(), *options, "--no-optional-locks", "--no-pager", *arguments],
                cwd=self._folder,
                # `protocol.<name>.allow` in a configuration file is stronger than `protocol.allow`, but not than this.
                env={**_clean_environment(), "GIT_ALLOW_PROTOCOL": self._transport},
                input=given,
                capture_output=True,
                check=False,
                timeout=_TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            raise GitError(f"git {arguments[0]} took more than {_TIMEOUT} seconds") from None
        except OSError as error:
            raise GitError(f"git cannot be run: {error.strerror}") from None
        if done.returncode:
            raise GitError(f"git {arguments[0]}: {_find_reason(done.stderr.decode(errors='replace'))}")
        return done.stdout


def split_records(printed: bytes) -> list[bytes]:
    """Return the records of an output that ends each with a null byte."""
    return printed.split(b"\0")[:-1]


def _find_reason(printed: str) -> str:
    """Return the most informative line of git's error output."""
    lines = printed.strip().splitlines() or ["no reason given"]
    fatal = [line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")]
    # In a partial clone, git would now fetch the object, with programs that the repository names.
    hint = "; this is a partial clone, so fetch its objects first" if "promisor" in printed else ""
    return (fatal or lines)[-1] + hint


def _clean_environment() -> dict[str, str]:
    """Return the environment without the variables that make git use another repository or start other programs."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith("GIT_") or _KEPT.fullmatch(key)
    }
    return {**kept, **_ENVIRONMENT}


def _find_git() -> str:
    """Return the path of git. Raises GitError."""
    path = find_program("git")
    if path is None:
        raise GitError("git is not installed")
    return path
