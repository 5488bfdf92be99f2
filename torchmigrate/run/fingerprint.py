"""The identity of this version of the tool, so that results are reused by the same version only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec

import torchmigrate
from torchmigrate.engine.registry import offered, source_files
from torchmigrate.foreign import grammars
from torchmigrate.run.cache import digest


@cache
def fingerprint() -> bytes:
    """Return a key of the tool, of its grammars and of other packages' rules.

    It is made of the version and of the name, size and time of every source file: cheap, and right while rules are being written.

    """
    lines = [torchmigrate.__version__, sys.version, sys.platform]
    for folder in _folders():
        lines += [f"{path}:{status.st_size}:{status.st_mtime_ns}" for path, status in source_files(folder)]
    lines += grammars.state()
    return digest(os.fsencode("\n".join(lines)))


def _folders() -> Iterator[str]:
    yield os.path.dirname(os.path.abspath(torchmigrate.__file__))
    rules_package = find_spec("torchmigrate.rules")
    yield from (rules_package.submodule_search_locations or ()) if rules_package else ()
    for package in offered():
        yield from package.__path__
