"""Files that are saved for the Lite Interpreter."""

from __future__ import annotations

from .._authoring.authoring import MADE

METHODS = ("._save_for_lite_interpreter", "._save_to_buffer_for_lite_interpreter")

OWNERS = ("", *MADE, "torch.utils.mobile_optimizer.optimize_for_mobile()")
"""What has these methods: any object, and results of which more is known."""

SAVES = tuple(f"{owner}{METHODS[0]}" for owner in OWNERS)
"""The symbols that save such a file."""
