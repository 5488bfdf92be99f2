"""What a survey keeps: one file for each repository, from which all results are made, in any order of completion.

OUTPUT/kept/NAME.json      the answer about a repository, and what it is valid for
OUTPUT/patches/NAME.patch  its patch, with --fix
OUTPUT/history.jsonl       the totals of each run
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from torchmigrate.cli.output import replace_file
from torchmigrate.survey.repositories import Repository


@dataclass(frozen=True, slots=True)
class Kept:
    """The answer about one repository."""

    name: str
    location: str
    settings: str
    """The digest of what the answer depends on besides the repository: the tool and the options."""
    state: str
    """The commit of a clone, or the digest of the files; "" after an error."""
    error: str
    result: dict[str, Any]
    """The plan and the metadata; empty after an error."""
    patch: str
    """The digest of the patch; "" if there is none."""


class Store:
    """The folder with the results of a survey. Its methods raise `torchmigrate.cli.options.Failure`."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def load(self, name: str) -> Kept | None:
        """Return what is kept about a repository; None if that is nothing, or cannot be read."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            with open(self._find_place("kept", name, "json"), encoding="utf-8") as file:
                kept = Kept(**json.load(file))
            if not kept.patch or os.path.exists(self.find_patch(name)):
                return kept
        return None

    def save(self, repository: Repository, settings: str, answer: dict[str, Any]) -> Kept:
        """Keep the answer about a repository, and return it. The patch is written first: an answer without it is none."""
        patch = base64.b85decode(answer.get("patch", ""))
        place = self.find_patch(repository.name)
        if patch:
            with self._write(place) as file:
                file.buffer.write(patch)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.remove(place)
        kept = Kept(
            repository.name,
            repository.location,
            settings,
            answer.get("state", ""),
            answer.get("error", ""),
            answer.get("result", {}),
            sha256(patch).hexdigest() if patch else "",
        )
        with self._write(self._find_place("kept", kept.name, "json")) as file:
            json.dump({name: getattr(kept, name) for name in Kept.__slots__}, file, sort_keys=True)
        return kept

    def find_patch(self, name: str) -> str:
        """Return the path of a repository's patch, whether or not there is one."""
        return self._find_place("patches", name, "patch")

    def list_names(self) -> list[str]:
        """Return the names of the repositories of the last run, in order; [] if there was none."""
        try:
            with open(os.path.join(self.folder, "repositories.json"), encoding="utf-8") as file:
                return [str(name) for name in json.load(file)]
        except (OSError, ValueError):
            return []

    def write_names(self, names: list[str]) -> None:
        """Write the names of the repositories of this run: what is kept about others is no longer part of the results."""
        with self.write_text("repositories.json") as file:
            json.dump(names, file, indent=0)

    def iterate(self) -> Iterator[Kept]:
        """Yield what is kept about the repositories of the last run, one at a time, by name."""
        for name in self.list_names():
            if kept := self.load(name):
                yield kept

    @contextlib.contextmanager
    def write_text(self, name: str) -> Iterator[Any]:
        """Yield a stream for the new content of a file of the results."""
        with self._write(os.path.join(self.folder, name)) as file:
            yield file

    @contextlib.contextmanager
    def _write(self, place: str) -> Iterator[Any]:
        from torchmigrate.cli.options import Failure

        try:
            os.makedirs(os.path.dirname(place) or os.curdir, exist_ok=True)
        except OSError as error:
            raise Failure(f"{os.path.dirname(place)} cannot be made: {error.strerror}") from None
        with replace_file(place) as file:
            yield file

    def _find_place(self, kind: str, name: str, suffix: str) -> str:
        plain = re.sub(r"[^\w.~-]+", "_", name, flags=re.ASCII)
        # Two names may have the same plain form, and one of a path may be longer than a file's name.
        plain = (
            plain
            if plain == name and len(plain) < 120
            else f"{plain[:110]}-{sha256(name.encode()).hexdigest()[:8]}"
        )
        return os.path.join(self.folder, kind, f"{plain}.{suffix}")
