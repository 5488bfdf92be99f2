"""Projects as an editor sees them, and what can be done about findings; without an editor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from torchmigrate.engine import registry
from torchmigrate.engine.rule_context import Context
from torchmigrate.model.findings import Fix, MultiFileFix
from torchmigrate.model.rule import Rule
from torchmigrate.model.vocabulary import Safety
from torchmigrate.prefilter.triggers import Trigger
from torchmigrate.run import selection
from torchmigrate.run.cache import Cache
from torchmigrate.run.file_checker import FileCheck, FileChecker
from torchmigrate.semantics.use import Use
from torchmigrate.server import workspace as module
from torchmigrate.server.actions import ActionRequest, Actions
from torchmigrate.server.open_documents import TextDocument
from torchmigrate.server.open_project import MOST_BYTES, OpenProject
from torchmigrate.server.positions import Encoding, Position, Range
from torchmigrate.server.workspace import Documents, Workspace
from torchmigrate.settings.config import ConfigError

RULE = Rule(
    code="ZZ901", symbols=("torch.old",), message="old", name="old", family="test", safety=Safety.SAFE
)
OLD = b"import torch\n\ntorch.old(1)\n"
EVERYWHERE = Range(Position(0, 0), Position(99, 0))


@RULE.check
def check(use: Use, ctx: Context) -> Iterator[object]:
    """Finds every use; fails at some; has a fix over all files that use it."""
    assert use.call is not None
    if "fail" in ctx.get_text(use.call):
        raise RuntimeError("the rule fails")

    def fix() -> Fix:
        paths = tuple(sorted({mention.path for mention in ctx.project.find_uses("torch.old")}))
        joint = MultiFileFix("old", paths) if len(paths) > 1 else None
        return Fix((ctx.rename_use(use, "torch.new"),), Safety.SAFE, "Rename it", joint=joint)

    yield ctx.finding(use, fix=fix)


@pytest.fixture(autouse=True)
def rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """One rule, which costs no time to load."""
    monkeypatch.setattr(registry, "load_rules", lambda: {RULE.code: RULE})
    monkeypatch.setattr(registry, "collect_triggers", lambda: [Trigger.from_rule(RULE)])
    monkeypatch.setattr(selection, "_prefilters", {})
    monkeypatch.setattr(selection, "_rule_sets", {})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one file."""
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "a.py").write_bytes(OLD)
    return tmp_path.resolve()


def opened(root: Path) -> OpenProject:
    """A project, known."""
    project = OpenProject(str(root), Cache(None))
    project.refresh()
    project.check_files({}, [str(root / "a.py")])
    return project


def codes(project: OpenProject, path: Path, data: bytes | None = None) -> list[str] | None:
    """The rules with findings in a file, with a content that need not be saved; None where it is left out."""
    result = project.check_files({} if data is None else {str(path): data}, [str(path)]).get(str(path))
    return None if result is None else [finding.code for finding in result.findings]


def document(path: Path, text: str) -> Documents:
    """What is open where one file is."""
    return {str(path): TextDocument(path.as_uri(), 1, text, Encoding.UTF16)}


def actions(root: Path) -> Actions:
    """What can be done in a project."""
    return Actions(Workspace(None), Encoding.UTF16, lambda path: Path(path).as_uri())


def test_a_change_costs_the_look_at_one_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (root / f"other{number}.py").write_text("import torch\n")
    (root / "a.py").write_text("import torch\n")
    looked: list[str] = []
    look = FileChecker.check_file

    def counting(self: FileChecker, place: str, *arguments: object, **more: object) -> FileCheck:
        looked.append(Path(place).name)
        return look(self, place, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(FileChecker, "check_file", counting)
    monkeypatch.setattr("torchmigrate.run.snapshot._SETTLED", 0)
    project = opened(root)
    assert len(looked) == 6
    looked.clear()
    new = root / "new.py"
    assert codes(project, new, OLD) == ["ZZ901"]
    looked.clear()
    assert codes(project, new, b"import torch\n" + OLD) == ["ZZ901"]
    assert set(looked) == {"new.py"}


def test_what_is_left_out_has_no_findings(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("made.py\n")
    (root / "build").mkdir()
    left_out = [root / "made.py", root / "build" / "b.py"]
    for path in left_out:
        path.write_bytes(OLD)
    project = opened(root)
    assert [codes(project, path, OLD) for path in left_out] == [None, None]
    assert codes(project, root / "build" / "unsaved.py", OLD) is None
    assert codes(project, root / "new" / "unsaved.py", OLD) == ["ZZ901"]


def test_a_text_that_is_too_large_is_named_and_holds_up_nothing(root: Path) -> None:
    workspace, path = Workspace(None), root / "a.py"
    large = OLD + b"#" * MOST_BYTES
    (shown,) = workspace.check_document(document(path, large.decode()), str(path)).diagnostics
    assert shown.message.startswith("not checked here, since it has more than 2 MiB")
    assert not opened(root).fix_files({str(path): large}, [str(path)])
    assert codes(opened(root), root / "b.py", OLD) == ["ZZ901"]


def test_a_file_without_a_project_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    workspace = Workspace(None)
    monkeypatch.setattr(module, "find_tree_root", lambda folder: None)
    assert workspace.get_project(str(path)).root is None
    shown = workspace.check_document(document(path, OLD.decode()), str(path))
    assert [one.code for one in shown.diagnostics] == ["ZZ901"]
    workspace.folders = (str(tmp_path),)
    workspace.refresh()
    assert workspace.get_project(str(path)).root == str(tmp_path), "the folder that the editor shows holds it"


def test_settings_that_cannot_be_used_leave_what_was(root: Path) -> None:
    project = opened(root)
    settings = root / "torchmigrate.toml"
    settings.write_text("ignore = 3\n")
    with pytest.raises(ConfigError, match="`ignore` must be"):
        project.refresh()
    assert codes(project, root / "a.py") == ["ZZ901"]
    settings.write_text('per-file-ignores = { "a.py" = ["ZZ901"] }\n')
    project.refresh()
    assert codes(project, root / "a.py") == []


def test_files_are_read_again_when_they_are_said_to_have_changed(root: Path) -> None:
    project = opened(root)
    (root / "a.py").write_text("import torch\n")
    project.invalidate_files()
    assert codes(project, root / "a.py") == []
    (root / "a.py").unlink()
    project.refresh()
    assert codes(project, root / "a.py", OLD) == ["ZZ901"], "it is open, and not saved yet"


def test_a_rule_that_fails_costs_itself_and_is_for_the_log(root: Path) -> None:
    path = root / "a.py"
    text = OLD.decode() + "torch.old('fail')\n"
    shown = Workspace(None).check_document(document(path, text), str(path))
    assert shown.diagnostics == []
    (said,) = shown.faults
    assert "the rule fails" in said


def test_a_fix_over_several_files_changes_those_that_are_not_open(root: Path) -> None:
    (root / "b.py").write_bytes(b"\xef\xbb\xbf" + OLD)
    documents, made = document(root / "a.py", OLD.decode()), actions(root)
    place = str(root / "a.py")
    fix, silence = made.list_actions(documents, place, (root / "a.py").as_uri(), EVERYWHERE)
    assert (fix.title, fix.preferred, silence.title) == ("Rename it", True, "Suppress ZZ901 here")
    changes = made.perform(documents, place, fix.todo)
    edits = {name: edit.text for change in changes for name, (edit,) in change.edits.items()}
    assert edits == {(root / name).as_uri(): "torch.new(1)\n" for name in ("a.py", "b.py")}
    assert made.perform(documents, place, ActionRequest("all")) == [], (
        "as `fix a.py` leaves what others have to change with"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.old(1)  # why\n", "torch.old(1)  # why  # torchmigrate: ignore ZZ901\n"),
        ("torch.old(\r\n    1,\r\n)\r\n", "torch.old(  # torchmigrate: ignore ZZ901\r\n    1,\r\n)\r\n"),
        ("\tx = torch.old\\\n    (1)\n", "\tx = torch.old\\\n    (1)  # torchmigrate: ignore ZZ901\n"),
        (
            "if x:\n    f(torch.old(1), '''\n''')",
            "if x:\n    f(torch.old(1), '''\n''')  # torchmigrate: ignore ZZ901",
        ),
        (
            "torch.old(1)  # torchmigrate: ignore TS1 -- why\n",
            "torch.old(1)  # torchmigrate: ignore TS1, ZZ901 -- why\n",
        ),
    ],
)
def test_a_comment_that_silences_stands_where_it_may(root: Path, before: str, after: str) -> None:
    path = root / "a.py"
    documents, made = document(path, f"import torch\nif x:\n\tpass\n{before}"), actions(root)
    offered = made.list_actions(documents, str(path), path.as_uri(), EVERYWHERE)
    (silence,) = [one for one in offered if one.todo.kind == "silence"]
    ((change,),) = [made.perform(documents, str(path), silence.todo)]
    (edits,) = change.edits.values()
    lines = TextDocument("", 1, f"import torch\nif x:\n\tpass\n{before}", Encoding.UTF16)
    assert (
        lines.apply_changes(2, [(edit.range, edit.text) for edit in edits]).lines.text
        == f"import torch\nif x:\n\tpass\n{after}"
    )
