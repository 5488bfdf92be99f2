"""The start of the recording, right after torch is imported."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from typing import Any

from . import (
    distributed_calls,
    executed_lines,
    file_loads,
    script_calls,
    seen_warnings,
    stream_captures,
    used_variables,
)
from .places import Places
from .recorder import Recorder


class Recording:
    """What all parts of the recording share."""

    def __init__(self, options: dict[str, Any], start: str) -> None:
        self.options = options
        self.recorder = Recorder(options["folder"])
        self.places = Places(options["root"], start)
        self.is_compiling = _find_compiling_test()


def start_recording(start: str) -> None:
    """Begin the record of this process, and watch what it calls. ``start`` is its first working folder."""
    torch = sys.modules["torch"]
    options = json.loads(os.environ["TORCHMIGRATE_RECORD"])
    recording = Recording(options, start)
    recording.recorder.begin(
        {"torch": str(getattr(torch, "__version__", "")), "python": platform.python_version()}
    )
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=recording.recorder.begin_again)
    for part in (
        seen_warnings,
        file_loads,
        script_calls,
        distributed_calls,
        stream_captures,
        used_variables,
        executed_lines,
    ):
        try:
            part.watch(recording)
        except Exception as error:
            name = part.__name__.rpartition(".")[2]
            recording.recorder.note(
                ("fault", name), {"kind": "fault", "part": name, "text": type(error).__name__}
            )


def _find_compiling_test() -> Callable[[], bool]:
    """Return the function that says whether code is being compiled, where a wrapper must do nothing but call."""
    torch: Any = sys.modules["torch"]
    compiler = getattr(torch, "compiler", None)
    found = getattr(compiler, "is_compiling", None)
    return found if found is not None else (lambda: False)
