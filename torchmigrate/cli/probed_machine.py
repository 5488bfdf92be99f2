"""`torchmigrate check --with-probe`: the verdict on the machine, beside the findings in the project."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from torchmigrate.cli.options import Failure
from torchmigrate.cli.probe_call import get_target, remove_ignored, require_program
from torchmigrate.cli.probed_project import judge_files
from torchmigrate.model.findings import FileResult
from torchmigrate.probe import collector
from torchmigrate.probe.install_commands import ProbeCall
from torchmigrate.probe.verdict import judge_machine
from torchmigrate.settings.settings import Settings


def probe_machine(settings: Settings, named: str | None, paths: Sequence[str]) -> FileResult:
    """Return the verdict on this machine, an interpreter and what ``paths`` install.

    The interpreter is the one ``named``, or the one on PATH: a ``.venv`` in the project is not run without being asked for.
    """
    python = (
        collector.find_python(named, os.environ, Path.cwd()) if named else collector.find_on_path(os.environ)
    )
    if python is None:
        raise Failure("no Python interpreter is on PATH to probe; choose one with --python PATH")
    asked = ProbeCall(shlex.join(["torchmigrate", "probe", *(["--python", named] if named else [])]), python)
    facts = collector.collect_facts(require_program(python, named), os.environ)
    verdict = judge_machine(facts, get_target(settings), asked)
    # What cannot be read there, the check itself has said.
    found = [*verdict.findings, *judge_files(paths, facts, unread=lambda path, why: None)]
    return FileResult("", findings=tuple(remove_ignored(found, settings)))
