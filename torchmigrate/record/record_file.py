"""The file of a record: JSON Lines, a header and then the facts; described by `record.schema.json`.

A record is data of the checked tree, and anybody may have written it. It is read within bounds, checked line by line, and
nothing in it is ever executed. Only a record with a seal, which `torchmigrate record` sets with a key of this user for this
folder, may change severities and fixes; any other one is shown and decides nothing.
"""

from __future__ import annotations

import datetime
import hmac
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torchmigrate.record import FOLDER
from torchmigrate.record.fact_lines import FactError, parse_fact
from torchmigrate.record.record_facts import Fact

NAME = "record.jsonl"
VERSION = 1
"""The version of the format; it grows when a field goes or changes its meaning, not when one is added."""
MOST_BYTES = 64 << 20
"""The size of the largest record that is read."""


class RecordError(Exception):
    """Raised for a file that is no record, with the reason."""


@dataclass(frozen=True)
class RecordFile:
    """The content of a record."""

    base: str
    """The folder that its paths are relative to."""
    header: Mapping[str, Any]
    facts: tuple[Fact, ...]
    is_own: bool
    """Whether the present user has made or merged it, for this folder."""
    digest: bytes = b""
    """A digest of the file and of who has made it."""
    lines: tuple[str, ...] = field(default=(), repr=False)
    """The facts as they are written."""


def find_record(folder: str) -> str | None:
    """Return the path of the record in a project's folder, if there is one."""
    path = os.path.join(folder, FOLDER, NAME)
    return path if os.path.isfile(path) else None


def read_record(path: str, base: str) -> RecordFile:
    """Read and check a record. Raises RecordError."""
    try:
        if os.path.getsize(path) > MOST_BYTES:
            raise RecordError(f"{path} is larger than {MOST_BYTES >> 20} MiB")
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror or error}") from None
    lines = data.decode("utf-8", "replace").splitlines()
    if not lines:
        raise RecordError(f"{path} is empty")
    header = _parse_line(lines[0], path, 1)
    version = header.get("torchmigrate_record")
    if type(version) is not int:
        raise RecordError(f"{path}:1: not a record of torchmigrate")
    if version > VERSION:
        raise RecordError(f"{path} was made by a newer torchmigrate; update torchmigrate, or record again")
    facts = []
    for number, line in enumerate(lines[1:], 2):
        try:
            fact = parse_fact(_parse_line(line, path, number))
        except FactError as error:
            raise RecordError(f"{path}:{number}: {error}") from None
        facts += [] if fact is None else [fact]
    body, key = tuple(lines[1:]), _read_key()
    seal = header.get("seal")
    unsealed = {name: value for name, value in header.items() if name != "seal"}
    is_own = (
        key is not None
        and isinstance(seal, str)
        and hmac.compare_digest(seal.encode(), _compute_seal(key, base, unsealed, body).encode())
    )
    identity = hmac.digest(b"own" if is_own else b"other", data, "sha256")
    return RecordFile(base, header, tuple(facts), is_own, identity, body)


def _parse_line(line: str, path: str, number: int) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise RecordError(f"{path}:{number}: not a line of JSON with an object")
    return found


def write_record(path: str, base: str, versions: Mapping[str, Iterable[str]], lines: Iterable[str]) -> bool:
    """Write a record, sealed for the folder ``base``, in place of an older one; return whether it could be sealed.

    Raises OSError.
    """
    body = tuple(lines)
    header: dict[str, Any] = {
        "torchmigrate_record": VERSION,
        "made": datetime.date.today().isoformat(),
        **{name: sorted(set(values)) for name, values in versions.items()},
    }
    key = _read_key() or _make_key()
    if key is not None:
        header["seal"] = _compute_seal(key, base, header, body)
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    if os.path.basename(folder) == FOLDER:
        hide_folder(folder)
    beside = f"{path}.{os.getpid()}"
    try:
        with open(beside, "w", encoding="utf-8", newline="\n") as out:
            out.write("".join(f"{line}\n" for line in (json.dumps(header), *body)))
        os.replace(beside, path)
    finally:
        if os.path.exists(beside):
            os.unlink(beside)
    return key is not None


def hide_folder(folder: str) -> None:
    """Let git ignore everything in a folder. Raises OSError."""
    ignoring = os.path.join(folder, ".gitignore")
    if not os.path.exists(ignoring):
        with open(ignoring, "w", encoding="utf-8") as out:
            out.write("# Written by `torchmigrate record`.\n*\n")


def merge_lines(lines: Iterable[str]) -> list[str]:
    """Return each fact once, with the sum of its counts, in an order that does not depend on that of ``lines``."""
    counts: Counter[str] = Counter()
    for line in lines:
        fact = json.loads(line)
        count = fact.pop("count", 1)
        fact.pop("id", None)
        counts[json.dumps(fact, sort_keys=True)] += count if type(count) is int else 1
    return [
        json.dumps({**json.loads(fact), "count": count}, sort_keys=True)
        for fact, count in sorted(counts.items())
    ]


def _compute_seal(key: bytes, base: str, header: Mapping[str, Any], body: Iterable[str]) -> str:
    text = "\n".join([os.path.realpath(base), json.dumps(header, sort_keys=True), *body])
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256").hex()


def _get_key_path() -> str:
    """Return the path of the user's key, which stays when caches are removed."""
    if sys.platform == "win32":
        folder = os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    else:
        folder = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(folder, "torchmigrate", "record.key")


def _read_key() -> bytes | None:
    try:
        with open(_get_key_path(), "rb") as file:
            key = file.read(64)
    except OSError:
        return None
    return key if len(key) == 32 else None


def _make_key() -> bytes | None:
    """Make the user's key; None if it cannot be kept."""
    path, key = _get_key_path(), os.urandom(32)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        opened = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(opened, "wb") as out:
            out.write(key)
    except FileExistsError:
        return _read_key()
    except OSError:
        return None
    return key
