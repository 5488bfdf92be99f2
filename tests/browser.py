"""A browser that shows our pages, where the machine has one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--dump-dom")

Test = TypeVar("Test", bound=Callable[..., None])


def needs_browser(test: Test) -> Test:
    """Marks a test of what a browser makes of a page, which is the same whichever Python wrote it."""
    marked: Test = pytest.mark.skipif(_CHROMIUM is None, reason="no Chromium on this machine")(test)
    return pytest.mark.browser(marked)  # type: ignore[no-any-return]


def read_document(page: str, folder: Path) -> str:
    """Return the document as a browser has it when the scripts of `page`, which is written to `folder`, have run."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    command = [str(_CHROMIUM), *_FLAGS, f"--user-data-dir={folder / 'profile'}", file.as_uri()]
    lines = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as browser:
        assert browser.stdout is not None
        for line in browser.stdout:
            lines.append(line)
            if line.endswith("</html>\n"):
                break
        # Once all is said, a browser on a busy machine may take minutes to end.
        os.killpg(browser.pid, signal.SIGKILL)
    return "".join(lines)
