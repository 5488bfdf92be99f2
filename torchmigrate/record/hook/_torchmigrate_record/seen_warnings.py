"""Warnings of torch, and those that name it: which line of the project they come from, and how often.

`warnings.warn` is replaced by a function that calls it with the frames of the recording left out, so that every warning keeps
its place. Warnings from C++ do not pass there; a filter that never matches sees those, and so does what shows them.
"""

from __future__ import annotations

import re
import sys
import threading
import warnings
from types import FrameType
from typing import Any

from .places import is_torch
from .script_builtins import keep_builtin

MOST_TEXT = 300
"""The characters of a text that are kept."""

_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][\w.+@~ -]+)+[/\\](?=[\w.+@~-])")
"""The folders of an absolute path."""
_ADDRESS = re.compile(r"https?://\S+")


def watch(recording: Any) -> None:
    """Watch the warnings of this process."""
    _Watch(recording).begin()


class _Watch:
    def __init__(self, recording: Any) -> None:
        self._recorder = recording.recorder
        self._places = recording.places
        self._warn = warnings.warn
        self._local = threading.local()
        """What this thread is just doing: whether it warns, and the text that the filter has seen."""

    def begin(self) -> None:
        """Replace the functions of `warnings`."""
        original_show = getattr(warnings, "_showwarnmsg", None)
        watcher = self

        def warn(message, category=None, stacklevel=1, source=None, **options):  # type: ignore[no-untyped-def]
            local = watcher._local
            if not getattr(local, "is_busy", False):
                local.is_busy = True
                try:
                    watcher._note_call(message, category, sys._getframe(1))
                finally:
                    local.is_busy = False
            level, options = watcher._adapt(sys._getframe(1), stacklevel, options)
            local.is_noted = True
            try:
                watcher._warn(message, category, level, source, **options)
            finally:
                local.is_noted = False

        warn.__doc__, warn.__module__ = self._warn.__doc__, "warnings"
        warnings.warn = warn
        keep_builtin(self._warn, warn)
        if original_show is not None:

            def _showwarnmsg(msg: Any) -> None:
                watcher._note_shown(msg)
                original_show(msg)

            warnings._showwarnmsg = _showwarnmsg  # type: ignore[attr-defined]
        # Other filters keep their meaning, and nothing that was shown once is shown again.
        warnings.filters.insert(0, ("default", _NeverMatching(self), Warning, None, 0))  # type: ignore[attr-defined]

    def _adapt(
        self, frame: FrameType | None, level: int, options: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        """Return the level that leaves out the frames of the recording: that of `warn` here, and of wrappers around it."""
        prefixes = options.get("skip_file_prefixes") or ()
        here, skipped = __file__.rpartition("/")[0] or __file__, 1
        if prefixes:
            inside = frame is not None and frame.f_code.co_filename.startswith(tuple(prefixes))
            return max(level, 2) + (not inside), {"skip_file_prefixes": (*prefixes, here)}
        left = max(level, 1) - 1
        while frame is not None and left > 0:
            frame = frame.f_back
            if frame is not None and frame.f_code.co_filename.startswith(here):
                skipped += 1
            elif frame is not None and "importlib" not in frame.f_code.co_filename:
                left -= 1
        return max(level, 1) + skipped, options

    def _note_call(self, message: object, category: object, frame: FrameType | None) -> None:
        if isinstance(message, Warning):
            category = type(message)
        name = getattr(category, "__name__", "UserWarning") if category is not None else "UserWarning"
        self._note(str(message), name, frame)

    def note_filtered(self, text: str) -> None:
        """Note a warning that reaches the filters, unless `warn` has noted it."""
        local = self._local
        if getattr(local, "is_noted", False) or getattr(local, "is_busy", False):
            return
        local.is_busy = True
        try:
            self._note(text, "Warning", sys._getframe(2))
            local.filtered = text
        finally:
            local.is_busy = False

    def _note_shown(self, shown: Any) -> None:
        local, text = self._local, str(shown.message)
        filtered, local.filtered = getattr(local, "filtered", None), None
        if getattr(local, "is_noted", False) or filtered == text or getattr(local, "is_busy", False):
            return
        local.is_busy = True
        try:
            self._note(text, shown.category.__name__, sys._getframe(2))
        finally:
            local.is_busy = False

    def _note(self, text: str, category: str, frame: FrameType | None) -> None:
        """Note a warning if torch gives it, or if it names torch."""
        try:
            places = self._places
            caller = places.skip_neutral(frame)
            by_torch = caller is not None and is_torch(places.find_owner(caller.f_code.co_filename))
            if not by_torch and "torch" not in text.lower():
                return
            at = places.describe_frame(places.find_frame(caller))
            culprit = places.find_culprit(caller)
            package = places.describe_package(culprit.name) if culprit.kind == 1 else None
            said = _clean(text)
            key = ("warning", category, said, package, at and (at["path"], at["line"], at.get("cell")))
            fact = {"kind": "warning", "category": category, "message": said, "at": at, "package": package}
            self._recorder.note(key, fact)
        except Exception:
            return


class _NeverMatching:
    """A pattern for the text of a warning that sees the text, and matches none."""

    def __init__(self, watcher: _Watch) -> None:
        self._watcher = watcher

    def match(self, text: str) -> None:
        """Let the watcher note the text."""
        self._watcher.note_filtered(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return (re.compile, ("(?!)",))  # as which the filters travel to processes that record nothing


def _clean(text: str) -> str:
    """Return the text of a warning on one line, without the folders of paths in it."""
    kept = _ADDRESS.sub(lambda found: found[0].replace("/", "\0"), " ".join(text.split()))
    return _PATH.sub("", kept).replace("\0", "/")[:MOST_TEXT]
