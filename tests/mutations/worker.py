"""Runs trials in forks of a process that has imported everything; started in a copy of the repository.

Each line of the input is the JSON list of a mutant's key, the file that lists its tests (None: all), their files, and
whether the mutant acts on imports and needs a new process; each line of the output says whether all tests pass.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import pkgutil
import signal
import sys
from collections.abc import Sequence

import pytest

import torchmigrate
from tests.mutations import switch
from torchmigrate.engine.registry import load_rules

OPTIONS = ("-x", "-q", "-n0", "--no-header", "-p", "no:cacheprovider", "-p", "tests.mutations.selection")
_PROGRAMS = (".__main__", ".sitecustomize")
SECONDS = 400
"""How long the tests may take for one mutant; one that they do not end with is caught."""


def main() -> None:
    """Answer each line of the input."""
    for module in pkgutil.walk_packages(torchmigrate.__path__, "torchmigrate."):
        if not module.name.endswith(_PROGRAMS) and ".snippets" not in module.name:
            importlib.import_module(module.name)
    importlib.import_module("tests.rules.cases")
    load_rules.cache_clear()
    context = multiprocessing.get_context("fork")
    for line in sys.stdin:
        process = context.Process(target=_run, args=json.loads(line))
        process.start()
        process.join(SECONDS)
        if process.is_alive():
            assert process.pid is not None
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
        print(json.dumps(process.exitcode == 0), flush=True)


def _run(key: str, tests: str | None, files: Sequence[str], imports_again: bool) -> None:
    os.setsid()
    switch.active = os.environ["MUTANT"] = key
    if tests is not None:
        os.environ["MUTANT_TESTS"] = tests
    with open(os.devnull, "r+") as nothing:
        for descriptor in (0, 1, 2):
            os.dup2(nothing.fileno(), descriptor)
        if imports_again:
            os.execv(sys.executable, [sys.executable, "-m", "pytest", *OPTIONS, *files])
        os._exit(pytest.main([*OPTIONS, *files]))


if __name__ == "__main__":
    main()
