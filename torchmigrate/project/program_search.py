"""The search for the programs that torchmigrate starts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping


def find_program(name: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the path of a program on ``PATH``, passing over relative folders: the checked project may be one of them."""
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    found = shutil.which(name, path=os.pathsep.join(filter(os.path.isabs, folders)))
    # Windows looks in the current folder, too, whatever the path is.
    return found if found is not None and os.path.isabs(found) else None
