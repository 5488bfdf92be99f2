"""Fixes over several files: all of their parts are made, or none; what is missing is said at each place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support import settings_of
from torchmigrate.engine import registry
from torchmigrate.engine.rule_context import Context
from torchmigrate.model.findings import Edit, FileResult, Finding, Fix, MultiFileFix, NoFix
from torchmigrate.model.rule import Rule
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.prefilter.triggers import Trigger
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import runner, selection
from torchmigrate.run.cache import Cache
from torchmigrate.run.journals import find_journals
from torchmigrate.run.multi_file import FixResult, group_for_writing
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.transaction import NotWritten, read_journal, write_together
from torchmigrate.run.tree import Tree
from torchmigrate.semantics.use import Use

RULE = Rule(
    code="ZZ901", symbols=("torch.old",), message="old", name="old", family="test", safety=Safety.SAFE
)
A, B, C = (f"import torch\ntorch.old({n})\n".encode() for n in (1, 2, 3))


@RULE.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    assert use.call is not None
    text = ctx.get_text(use.call)

    def fix() -> Fix:
        paths = tuple(sorted({mention.path for mention in ctx.project.find_uses("torch.old")}))
        if "none" in text:
            raise NoFix("it says none")
        change = ctx.rename_use(use, "torch.new")
        changes = (Edit(*ctx.source.span_of(use.node), "torch.new #"),) if "unproved" in text else (change,)
        return Fix(changes, Safety.SAFE, "Rename it", joint=MultiFileFix("old", paths))

    yield ctx.finding(use, fix=fix)


@pytest.fixture(autouse=True)
def rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "load_rules", lambda: {RULE.code: RULE})
    monkeypatch.setattr(registry, "collect_triggers", lambda: [Trigger.from_rule(RULE)])
    monkeypatch.setattr(selection, "_prefilters", {})
    monkeypatch.setattr(selection, "_rule_sets", {})


def tree(files: Mapping[str, bytes], named: str = "") -> Tree:
    settings, minimum = settings_of(["--jobs", "1"])
    inputs = [InputFile(path, data) for path, data in files.items()]
    chosen = [one for one in inputs if named in one.path]
    others = [one for one in inputs if one not in chosen]
    return Tree(chosen, create_uniform_profile(settings, minimum), others)


def reasons(results: Iterator[FileResult]) -> dict[str, str | None]:
    return {one.path: f.withheld for one in results for f in one.findings if f.fix is None}


def fixed(files: Mapping[str, bytes], **how: object) -> dict[str, FixResult]:
    return {one.path: one for one in runner.fix_tree(tree(files), **how)}  # type: ignore[arg-type]


def test_all_parts_are_made() -> None:
    files = {"a.py": A, "b.py": B}
    results = list(runner.check_tree(tree(files)))
    assert [f.fix.joint for one in results for f in one.findings if f.fix] == [
        MultiFileFix("old", ("a.py", "b.py"))
    ] * 2
    assert all(b"torch.new" in one.after for one in fixed(files).values())


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (
            b"import torch\ntorch.old('none')\n",
            "b.py has to change together with this file, but has no fix for its part; see its finding",
        ),
        (
            B.replace(b")\n", b")  # torchmigrate: ignore ZZ901\n"),
            "b.py has to change together with this file, but no selected rule reports anything there; select more rules, or change both by hand",
        ),
    ],
)
def test_a_part_that_is_missing_withholds_the_others(other: bytes, reason: str) -> None:
    files = {"a.py": A, "b.py": other}
    assert (reasons(runner.check_tree(tree(files)))["a.py"] or "").startswith(reason)
    results = fixed(files)
    assert not any(one.applied for one in results.values())
    assert (reasons(one.result for one in results.values())["a.py"] or "").startswith(reason)


def test_a_file_that_was_not_named_withholds_them() -> None:
    said = reasons(runner.check_tree(tree({"a.py": A, "b.py": B}, named="a")))
    assert said == {"a.py": "b.py has to change together with this file, but is not among the files to fix"}


def test_a_comment_silences_a_part_as_a_whole() -> None:
    files = {"a.py": A + b"torch.old(4)  # torchmigrate: ignore ZZ901\n", "b.py": B}
    said = reasons(runner.check_tree(tree(files)))
    assert (
        said["a.py"]
        == "a comment suppresses another part of this fix; change both by hand, or remove the comment"
    )
    assert (
        said["b.py"]
        == "a.py has to change together with this file, but has no fix for its part; see its finding"
    )


def test_a_part_that_cannot_be_proved_undoes_the_others() -> None:
    files = {"a.py": A, "b.py": b"import torch\nprint(\n    torch.old('unproved'\n    ))\n", "c.py": C}
    results = fixed(files)
    assert not any(one.applied or one.before != one.after for one in results.values())
    assert "cannot be proved" in results["b.py"].result.errors[0].message
    assert reasons(one.result for one in results.values())["c.py"] == (
        "another file has to change together with this one, and could not be changed"
    )


def test_a_part_that_is_declined_undoes_the_others_and_nothing_is_asked_twice() -> None:
    asked: list[str] = []

    def choose(finding: Finding) -> bool:
        asked.append(f"{finding.path}:{finding.location.line if finding.location else 0}")
        return finding.path != "b.py"

    results = fixed({"a.py": A + b"torch.old(5)\n", "b.py": B}, choose=choose)
    assert not any(one.applied for one in results.values())
    assert asked == ["a.py:2", "a.py:3", "b.py:2"]


def test_results_are_the_same_from_the_cache_and_from_workers(tmp_path: Path) -> None:
    for name, data in (("a.py", A), ("b.py", B.replace(b"2", b"'none'"))):
        (tmp_path / name).write_bytes(data)
    settings, minimum = settings_of([])
    inputs = [InputFile(str(tmp_path / name)) for name in ("a.py", "b.py")]
    seen = []
    for _ in range(2):
        cache = Cache(str(tmp_path / "kept"))
        seen.append(
            list(runner.check_tree(Tree(inputs, create_uniform_profile(settings, minimum)), cache=cache))
        )
        cache.close()
    assert seen[0] == seen[1]
    assert (reasons(iter(seen[0]))[inputs[0].path] or "").endswith("has no fix for its part; see its finding")


def test_what_goes_together_is_written_together() -> None:
    def one(path: str, *names: str) -> FixResult:
        fixes = [Fix((), Safety.SAFE, "", joint=MultiFileFix(name, ())) for name in names]
        found = [Finding("ZZ901", "", Severity.INFO, path, fix=fix) for fix in fixes]
        return FixResult(path, b"", b"", tuple(found), FileResult(path))

    groups = group_for_writing([one("a", "x"), one("b"), one("c", "y"), one("d", "x", "y"), one("e", "z")])
    assert [[member.path for member in group] for group in groups] == [["b"], ["a", "c", "d"], ["e"]]


def test_of_files_that_are_written_together_all_are_or_none(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.py", "b.py", "c.py")]
    for path in paths:
        path.write_bytes(b"old")
    paths[1].chmod(0o444)
    files = [(str(path), b"new", b"old") for path in paths]
    with pytest.raises(NotWritten) as raised:
        write_together(files, tmp_path)
    assert (raised.value.path, str(raised.value.error)) == (str(paths[1]), "it is read-only")
    assert [path.read_bytes() for path in paths] == [b"old"] * 3
    paths[1].chmod(0o644)
    write_together(files, tmp_path)
    assert [path.read_bytes() for path in paths] == [b"new"] * 3
    assert len(list(tmp_path.iterdir())) == 3


def test_replacements_before_one_that_fails_are_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_bytes(b"old")
    replace = os.replace

    def fails(source: Path, target: Path) -> None:
        if target.name == "b.py":
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(NotWritten) as raised:
        write_together([(str(tmp_path / name), b"new", b"old") for name in ("a.py", "b.py")], tmp_path)
    assert raised.value.path == str(tmp_path / "b.py")
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == [b"old", b"old"]


def test_what_cannot_be_taken_back_is_said_and_can_be_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_bytes(b"old")
    replace = os.replace

    def once(source: Path, target: Path) -> None:
        monkeypatch.setattr(os, "replace", never)
        replace(source, target)

    def never(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", once)
    with pytest.raises(NotWritten) as raised:
        write_together([(str(tmp_path / name), b"new", b"old") for name in ("a.py", "b.py")], tmp_path)
    assert raised.value.stays == [str(tmp_path / "a.py")]
    monkeypatch.undo()
    (journal,) = find_journals(tmp_path)
    left = read_journal(journal, {str(tmp_path / name) for name in ("a.py", "b.py")})
    assert left is not None
    left.complete()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.py": b"new", "b.py": b"new"}
