"""The probable facts that rules get about a project before all of its files were scanned."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support import settings_of
from torchmigrate.engine.engine import Engine
from torchmigrate.model.findings import FileResult, Finding, Location
from torchmigrate.model.vocabulary import Kind
from torchmigrate.project.expected_project import ExpectedProject
from torchmigrate.project.file_search import InputFile
from torchmigrate.project.mentions import FileFacts, Mention
from torchmigrate.project.project_facts import IncompleteProject, Project
from torchmigrate.project.rule_results import RuleResults
from torchmigrate.run import runner
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree

MARKED = "import torch\n\n\n@torch.jit.unused\ndef f(x):\n    return x\n"
SCRIPTS = "import torch\n\nmodel = torch.jit.script(load())\n"


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that an engine looks into, in order."""
    seen: list[str] = []
    scan = Engine._scan_opened

    def counting(self: Engine, path: str, *arguments: object) -> object:
        seen.append(Path(path).name)
        return scan(self, path, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "_scan_opened", counting)
    return seen


def checked(root: Path, files: dict[str, str], select: str = "TS1") -> dict[str, FileResult]:
    for name, text in files.items():
        (root / name).write_text(text)
    settings, minimum = settings_of(["--select", select, "--no-keep-torchscript-support"])
    inputs = [InputFile(str(root / name)) for name in files]
    results = runner.check_tree(Tree(inputs, create_uniform_profile(settings, minimum)))
    return {Path(result.path).name: result for result in results}


def withheld(result: FileResult) -> list[str]:
    return [finding.withheld for finding in result.findings if finding.withheld]


def test_a_file_that_only_asks_waits_for_those_that_answer(tmp_path: Path, looks: list[str]) -> None:
    results = checked(tmp_path, {"a.py": MARKED, "b.py": MARKED, "c.py": MARKED, "d.py": SCRIPTS})
    assert looks[:4] == ["a.py", "d.py", "b.py", "c.py"]
    assert sorted(looks[4:]) == ["a.py", "d.py"]  # which were told that nothing scripts
    for name in ("a.py", "b.py", "c.py"):
        assert withheld(results[name]) == [f"waits for `torch.jit.script` at {tmp_path / 'd.py'}:3"]


def test_a_file_that_was_told_right_is_not_looked_at_again(tmp_path: Path, looks: list[str]) -> None:
    results = checked(tmp_path, {"a.py": MARKED, "b.py": MARKED})
    assert looks == ["a.py", "b.py"]
    assert all(finding.fix is not None for result in results.values() for finding in result.findings)


def test_a_method_of_which_nothing_is_reported_waits_for_no_file(tmp_path: Path, looks: list[str]) -> None:
    """Whether the project defines such a method itself is asked last, for the answer has to wait for all files."""
    text = "import torch\n\n\ndef f(x, y, i):\n    return x.add_(y, alpha=2), x.scatter_(0, i, 1.0), x.addmm_(y, i)\n"
    checked(tmp_path, {"a.py": text}, "RM7")
    assert looks == ["a.py"]


def test_what_a_name_of_another_file_leads_to_is_heard_of_late(tmp_path: Path, looks: list[str]) -> None:
    """Where the file that scripts spells no word of it, those that asked are asked again."""
    files = {"a.py": MARKED, "b.py": MARKED, "compat.py": "import torch\n\ncompiled = torch.jit.script\n"}
    files["d.py"] = "import torch\nfrom compat import compiled\n\nmodel = compiled(load())\n"
    results = checked(tmp_path, files)
    assert "waits for" in " ".join(withheld(results["b.py"]))
    assert looks.count("b.py") == 2


def test_whatever_else_is_asked_has_to_wait() -> None:
    mention = Mention("torch.jit.script", Kind.CALL, "a.py", 1)
    expected = ExpectedProject([FileFacts(mentions=(mention,))], is_whole=True)
    expected.begin_file()
    assert expected.find_uses("torch.jit.script") == [mention]
    told = FileFacts()
    expected.note_assumptions(told)
    assert [one.symbols for one in told.assumed] == [("torch.jit.script",)]
    assert not told.provisional

    own = {"find_uses", "begin_file", "note_assumptions"}
    inherited = {
        *(
            "record_mentions",
            "create_assumption",
            "is_unchanged",
            "require_facts",
            "judge_fix",
            "record_exports",
        ),
        "derive_from_uses",  # which asks `find_uses`
        *("create_evidence", "may_be_warned"),  # which ask the record of a run, and no file
        *("list_searches", "digest_search"),  # which are not for rules
    }
    public = {name for name, _ in inspect.getmembers(Project, inspect.isfunction) if name[0] != "_"}
    for name in public - own - inherited:
        with pytest.raises(IncompleteProject):
            getattr(expected, name)("a.py")
        expected.note_assumptions(told)
        assert told.provisional, name
        expected.begin_file()
    with pytest.raises(IncompleteProject):
        assert "a.py" in expected


def test_a_file_that_has_to_wait_is_asked_for_no_more_findings() -> None:
    said, asked = RuleResults("a.py"), []

    def check(code: str) -> Iterator[Finding]:
        asked.append(code)
        raise IncompleteProject
        yield

    for code in ("TS101", "TS102"):
        said.run_check(code, partial(check, code), lambda: Location(1, 1, 1, 1))
    assert asked == ["TS101"]
    assert said.run_part("TS103", lambda: ["a note"], lambda: Location(1, 1, 1, 1)) == ["a note"]


def test_an_assumption_holds_as_long_as_the_answer_is_the_same() -> None:
    project = Project()
    kinds = frozenset({Kind.CALL})
    nothing = project.create_assumption(("torch.jit.script",), kinds)
    project.record_mentions([Mention("torch.jit.script", Kind.IMPORT, "a.py", 1)])
    assert project.is_unchanged([nothing])
    project.record_mentions([Mention("torch.jit.script", Kind.CALL, "a.py", 2)])
    assert not project.is_unchanged([nothing])
