"""Patterns that are none: the rest of the run is as without them, none takes long, and what matches nothing is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faults.support import CHECK, OLD, plant, run

MALFORMED = ["[", "[[:alpha:]", "[[:nope:]]", "old/["]
ODD = ["[z-a]", "[[=a=]]", "[a&&b]", "[a--b]", "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", "**/" * 30 + "b"]


@pytest.mark.parametrize("pattern", [*MALFORMED, *ODD])
@pytest.mark.parametrize("place", [".gitignore", "exclude", "per-file-ignores"])
def test_no_pattern_ends_a_run(tmp_path: Path, pattern: str, place: str) -> None:
    files = {"a" * 200 + ".py": OLD, "old.py": OLD, ".git/HEAD": b""}
    if place == ".gitignore":
        files[place] = f"*.pyc\n{pattern}\nold.py\n".encode()
    elif place == "exclude":
        files["torchmigrate.toml"] = f"exclude = {json.dumps([pattern, 'old.py'])}\n".encode()
    else:
        ignores = f"{json.dumps(pattern)} = ['TS']\n'old.py' = ['TS']\n"
        files["torchmigrate.toml"] = f"[per-file-ignores]\n{ignores}".encode()
    flags = [flag for flag in CHECK if flag != "--isolated"]
    done = run(*flags, "--output-format", "json", ".", folder=plant(tmp_path, files))
    assert done.err == b""
    assert {finding["path"] for finding in done.document["findings"]} == {"a" * 200 + ".py"}
    assert done.status == (2 if pattern in MALFORMED else 0)
    where = place if place == ".gitignore" else str(tmp_path / "torchmigrate.toml")
    assert list(done.errors) == ([where] if pattern in MALFORMED else [])
