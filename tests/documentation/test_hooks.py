"""The hooks of pre-commit are given the files that `check` looks at; `--accept` writes their patterns."""

from __future__ import annotations

import re
from pathlib import Path

from torchmigrate.prefilter import foreign_languages

HOOKS = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"


def test_the_hooks_are_given_the_files_that_are_checked(accept: bool) -> None:
    written = HOOKS.read_text(encoding="utf-8")
    line = f"  files: '{foreign_languages.path_pattern()}'"
    expected = re.sub(r"(?m)^  files: .*$", lambda _: line, written)
    if accept:
        HOOKS.write_text(expected, encoding="utf-8")
    assert written.count("- id:") == written.count("  files: ")
    assert accept or written == expected
