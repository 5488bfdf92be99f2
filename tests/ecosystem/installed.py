"""Installs the packages of `installed.txt` into a folder of their own, on top of the torch that runs the tests.

The folder stays in the cache of `packages`; nothing of the running environment changes.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

from .packages import cache

REQUIREMENTS = Path(__file__).with_name("installed.txt")


def site() -> Path:
    """A folder to put on ``PYTHONPATH``; made by pip on the first call for this interpreter and these requirements.

    Raises subprocess.CalledProcessError where pip does not find a wheel.
    """
    version = "cp{}{}".format(*sys.version_info)
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    folder = cache() / f"installed-{version}-{digest}"
    if not folder.is_dir():
        cache().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache(), prefix=".install-") as name:
            target = Path(name) / "site"
            command = [
                *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
                *(
                    "--no-deps",
                    "--only-binary=:all:",
                    "--target",
                    str(target),
                    "--requirement",
                    str(REQUIREMENTS),
                ),
            ]
            subprocess.run(command, check=True)
            target.rename(folder)
    return folder
