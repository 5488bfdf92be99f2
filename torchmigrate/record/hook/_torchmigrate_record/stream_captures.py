"""Where the program asks whether a stream is being captured, and what it is told."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from .places import is_torch

_ASKED = {
    "torch.cuda.graphs": "_cuda_isCurrentStreamCapturing",
    "torch.xpu.graphs": "_xpu_isCurrentStreamCapturing",
    "torch.mtia.mtia_graph": "_mtia_isCurrentStreamCapturing",
}
"""What the public functions of torch call, by their modules: so all ways to name these are seen."""


def watch(recording: Any) -> None:
    """Watch the functions that ask whether a stream is being captured."""
    for name, function in _ASKED.items():
        module = sys.modules.get(name)
        original = getattr(module, function, None)
        if original is not None:
            setattr(module, function, _wrap(original, recording))


def _wrap(original: Callable[[], bool], recording: Any) -> Callable[[], bool]:
    recorder, places = recording.recorder, recording.places

    def note(answer: str, frame: Any) -> None:
        with contextlib.suppress(Exception):
            caller = places.skip_neutral(frame)
            if caller is None or is_torch(places.find_owner(caller.f_code.co_filename)):
                return
            at = places.describe_frame(places.find_frame(caller))
            culprit = places.find_culprit(caller)
            package = places.describe_package(culprit.name) if culprit.kind == 1 else None
            where = at and (at["path"], at["line"], at.get("cell"))
            fact = {"kind": "capture", "at": at, "package": package, "answer": answer}
            recorder.note(("capture", where, package, answer), fact)

    def ask() -> bool:
        answer = "raises"
        try:
            result = original()
            answer = "captures" if result else "idle"
        finally:
            note(answer, sys._getframe(1).f_back)  # the public function's caller
        return result

    return ask
