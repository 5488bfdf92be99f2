"""Which lines of the project's code a run has reached.

Since Python 3.12 the interpreter reports each line once, which costs nothing afterwards. Older Pythons would report every
line again and again, so there a run notes the imported modules only, unless it is asked for lines.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any

_TOOLS = (5, 4, 3)
"""Numbers of tools that `sys.monitoring` leaves to others than debuggers, coverage, profilers and optimizers."""


def watch(recording: Any) -> None:
    """Watch which lines are executed, or at least which modules are imported."""
    lines = _Lines(recording)
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None and lines.monitor(monitoring):
        mode = "lines"
    elif recording.options.get("lines"):
        lines.trace()
        mode = "lines"
    else:
        mode = "modules"
    recording.recorder.note(("coverage", mode), {"kind": "coverage", "mode": mode})
    lines.note_modules_later()


class _Lines:
    def __init__(self, recording: Any) -> None:
        self._recorder = recording.recorder
        self._places = recording.places
        self._seen: set[tuple[CodeType, int]] = set()

    def _note(self, code: CodeType, line: int | None) -> None:
        if line is None:
            return
        at = self._places.describe_line(code.co_filename, line)
        if at is not None:
            key = ("line", at["path"], line, at.get("cell"))
            if not self._recorder.knows(key):
                self._recorder.note(key, {"kind": "line", "at": at})

    def _is_own(self, code: CodeType) -> bool:
        return bool(self._places.find_owner(code.co_filename).kind == 0)

    def monitor(self, monitoring: Any) -> bool:
        """Let the interpreter report each line of the project's code once; return whether it does."""
        tool = next((one for one in _TOOLS if monitoring.get_tool(one) is None), None)
        if tool is None:
            return False
        events, disable = monitoring.events, monitoring.DISABLE

        def begin(code: CodeType, offset: int) -> Any:
            if self._is_own(code):
                monitoring.set_local_events(tool, code, events.LINE)
            return disable

        def reach(code: CodeType, line: int) -> Any:
            self._note(code, line)
            return disable

        monitoring.use_tool_id(tool, "torchmigrate record")
        monitoring.register_callback(tool, events.PY_START, begin)
        monitoring.register_callback(tool, events.LINE, reach)
        monitoring.set_events(tool, events.PY_START)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            begin(frame.f_code, 0)
            if self._is_own(frame.f_code):
                self._note(frame.f_code, frame.f_lineno)
            frame = frame.f_back
        return True

    def trace(self) -> None:
        """Trace the project's code, unless a debugger or a measurement of coverage does already."""
        if sys.gettrace() is not None:
            return
        seen = self._seen

        def reach(frame: FrameType, event: str, _: Any) -> Any:
            key = (frame.f_code, frame.f_lineno)
            if event == "line" and key not in seen:
                seen.add(key)
                self._note(*key)
            return reach

        def enter(frame: FrameType, event: str, _: Any) -> Any:
            return reach if self._is_own(frame.f_code) else None

        threading.settrace(enter)
        sys.settrace(enter)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if self._is_own(frame.f_code):
                self._note(frame.f_code, frame.f_lineno)
                frame.f_trace = reach
            frame = frame.f_back

    def note_modules_later(self) -> None:
        """Note the modules of the project at the end, and those that are there already at once."""
        import atexit

        self._note_modules()
        atexit.register(self._note_modules)
        finder = _ModuleFinder(self._note_modules)
        sys.meta_path.insert(0, finder)

    def _note_modules(self) -> None:
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            # Modules of torch that have no file say a relative one.
            if isinstance(file, str) and (os.path.isabs(file) or module is sys.modules.get("__main__")):
                owner = self._places.find_owner(file)
                if owner.kind == 0:
                    key = ("module", owner.name)
                    if not self._recorder.knows(key):
                        self._recorder.note(key, {"kind": "module", "path": owner.name})


class _ModuleFinder:
    """A finder that finds nothing, and looks at the imported modules again when another one is sought."""

    def __init__(self, look: Any) -> None:
        self._look = look
        self._number = 0

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Look at the modules, but not at each import of a package of many."""
        number = len(sys.modules)
        if number > self._number + 50:
            self._number = number
            self._look()
