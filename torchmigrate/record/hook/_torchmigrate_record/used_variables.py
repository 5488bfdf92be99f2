"""Environment variables of torch that have a new name, and that are set or read; their values are not recorded."""

from __future__ import annotations

import os
import sys
from typing import Any


def watch(recording: Any) -> None:
    """Note which of the variables are set, and watch who reads them."""
    names = frozenset(recording.options.get("variables", ()))
    recorder, places = recording.recorder, recording.places
    for name in sorted(names & set(os.environ)):
        fact = {"kind": "variable", "name": name, "use": "set", "at": None, "package": None}
        recorder.note(("variable", name), fact)
    original = type(os.environ).__getitem__

    def read(self: Any, key: Any) -> Any:
        if key in names:
            caller = places.skip_neutral(sys._getframe(1))
            owner = None if caller is None else places.find_owner(caller.f_code.co_filename)
            at = places.describe_frame(caller)
            if owner is not None and (at is not None or owner.name not in ("", "torch")):
                package = None if at is not None else places.describe_package(owner.name)
                where = at and (at["path"], at["line"], at.get("cell"))
                fact = {"kind": "variable", "name": key, "use": "read", "at": at, "package": package}
                recorder.note(("read", key, where, package), fact)
        return original(self, key)

    if names:
        type(os.environ).__getitem__ = read  # type: ignore[method-assign]
