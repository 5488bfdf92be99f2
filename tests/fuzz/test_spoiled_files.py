"""Project files and sources in other languages, spoiled: nothing fails, and a second fix changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.fuzz.conftest import Fuzz
from tests.fuzz.harness import settings
from tests.fuzz.spoiled import spoiled
from tests.rules.cases import FIXTURES, Case, cases
from torchmigrate.model.tool_faults import is_tool_fault
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import runner
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree

FLAGS = (
    ("--unsafe", "--relax", "--target-version", "2.13"),
    ("--unsafe", "--target-version", "2.15", "--min-version", "2.6"),
    ("--target-version", "2.10"),
)


def list_files(suffixes: Sequence[str], names: Sequence[str] = ()) -> list[Path]:
    """List the files of fixtures with these suffixes or beginnings of names."""
    files = sorted(path for path in FIXTURES.rglob("*") if path.is_file())
    return [
        path
        for path in files
        if ".fixed" not in path.name
        and (path.suffix in suffixes or path.name.startswith(tuple(names)))
        and is_text(path.read_bytes())
    ]


def is_text(data: bytes) -> bool:
    """Return whether a file is UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


KINDS: Mapping[str, Sequence[Path]] = {
    "requirements": list_files([".txt", ".in"]),
    "TOML": list_files([".toml", ".lock"]),
    "YAML": list_files([".yml", ".yaml"]),
    "images": list_files([], ["Dockerfile", "Containerfile"]),
    "scripts": list_files([".sh", ".cfg", ".gradle"]),
    "sources": list_files([".cpp", ".cu", ".h", ".hpp", ".java", ".kt", ".swift", ".cmake"]),
}


def run(files: Mapping[str, bytes], flags: Sequence[str]) -> dict[str, bytes]:
    """Fix files that belong together, and return what they become. Nothing may fail but reading."""
    chosen, minimum = settings(tuple(flags))
    inputs = [InputFile(path, data) for path, data in files.items()]
    after = dict(files)
    for one in runner.fix_tree(Tree(inputs, create_uniform_profile(chosen, minimum))):
        for error in one.result.errors:
            assert not is_tool_fault(error), error
            assert "cannot be proved" not in error.message, error
        if one.applied:
            after[one.path] = one.after
    return after


@pytest.mark.parametrize("kind", KINDS)
def test_spoiled_files_are_read_as_far_as_they_go(fuzz: Fuzz, kind: str) -> None:
    def check(data: st.DataObject, path: Path, chosen: Sequence[str]) -> None:
        text = data.draw(spoiled(path.read_bytes().decode()))
        files = {path.name: text.encode()}
        once = run(files, chosen)
        assert run(once, chosen) == once, "a second run changes something"

    fuzz.run(25, check, st.data(), st.sampled_from(KINDS[kind]), st.sampled_from(FLAGS))


def test_projects_with_a_spoiled_file_are_fixed_at_once(fuzz: Fuzz) -> None:
    folders = [case for case in cases() if case.path.is_dir() and len(case.files) > 1]

    def check(data: st.DataObject, case: Case, chosen: Sequence[str]) -> None:
        files = {str(path.relative_to(case.path)): path.read_bytes() for path in case.files}
        name = data.draw(st.sampled_from([name for name in files if is_text(files[name])]))
        files[name] = data.draw(spoiled(files[name].decode())).encode()
        once = run(files, chosen)
        assert run(once, chosen) == once, "a second run changes something"

    fuzz.run(60, check, st.data(), st.sampled_from(folders), st.sampled_from(FLAGS))
