"""Files that are saved for the Lite Interpreter."""

from __future__ import annotations

from .._authoring.authoring import MADE

METHODS = ("._save_for_lite_interpreter", "._save_to_buffer_for_lite_interpreter")

SAVES = tuple(f"{made}{METHODS[0]}" for made in ("", *MADE))
"""The symbols that save such a file."""
