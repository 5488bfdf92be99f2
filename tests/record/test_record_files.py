"""Records as files: bad ones, those of others, old ones, and what they may decide."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from torchmigrate.project.project_facts import Project
from torchmigrate.record.file_evidence import compute_text_digest
from torchmigrate.record.record_facts import RECORDED_INPUTS
from torchmigrate.record.run_record import load_record
from torchmigrate.run.recorded_mentions import create_mentions

from .projects import check, create_project, record, run_tool

WARNING = "import torch\n\n\ndef f():\n    torch.old()\n\n\nf()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a record of one warning."""
    made = create_project(tmp_path, {"a.py": WARNING})
    assert record(made, sys.executable, "a.py").returncode == 0
    return made


def get_path(project: Path) -> Path:
    return project / ".torchmigrate" / "record.jsonl"


def change_header(project: Path, **fields: object) -> None:
    header, *facts = get_path(project).read_text().splitlines()
    changed = json.dumps({**json.loads(header), **fields})
    get_path(project).write_text("\n".join([changed, *facts]) + "\n")


def test_a_warning_that_no_rule_knows_is_reported_at_its_line(project: Path) -> None:
    (finding,) = check(project)
    assert (finding["code"], finding["line"], finding["severity"]) == ("RM790", 5, "warning")
    assert "`torch.old` is deprecated" in finding["message"]
    assert finding["evidence"] == "seen once (FutureWarning)"


def test_it_can_be_suppressed_and_left_out(project: Path) -> None:
    assert check(project, "--ignore", "RM790") == []
    text = WARNING.replace("torch.old()", "torch.old()  # torchmigrate: ignore RM790")
    (project / "a.py").write_text(text)
    record(project, sys.executable, "a.py")
    assert check(project) == []


def test_the_cache_knows_the_record(project: Path) -> None:
    cache = ("--cache-dir", str(project.parent / "cache"))
    for _ in range(2):
        assert "RM790" in run_tool(project, "check", *cache).stdout
    get_path(project).unlink()
    assert "RM790" not in run_tool(project, "check", *cache).stdout


def test_lines_that_move_are_found_again(project: Path) -> None:
    (project / "a.py").write_text("# new\n" + WARNING)
    (finding,) = check(project)
    assert finding["line"] == 6


def test_lines_that_change_are_left_out(project: Path) -> None:
    (project / "a.py").write_text(WARNING.replace("torch.old()", "torch.old( )"))
    done = run_tool(project, "check", "--no-cache")
    assert "RM790" not in done.stdout
    assert "left out, because the code there has changed: a.py:5" in done.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not a line of JSON with an object"),
        ("[]", "not a line of JSON with an object"),
        ("[" * 100_000, "not a line of JSON with an object"),
        ('{"count": 1}', "`kind` must be a text"),
        ('{"kind": "warning", "category": 1}', "`category` must be a text"),
        (
            '{"kind": "line", "at": {"path": "../a.py", "line": 1, "text": ""}}',
            "`at` must lie in the project",
        ),
        ('{"kind": "line", "at": {"path": "/a.py", "line": 1, "text": ""}}', "`at` must lie in the project"),
        ('{"kind": "line", "at": {"path": "a.py", "line": -1, "text": ""}}', "`line` must be a number"),
        (
            '{"kind": "load", "weights_only": "passes", "globals": ["os.system(1)"]}',
            "`globals` must be names",
        ),
        (
            '{"kind": "call", "maker": "trace", "signature": {"args": [{"shape": [1], "dtype": "x(", "device": "cpu"}], "kwargs": {}}}',
            "a dtype and a device must be names",
        ),
        (f'{{"kind": "call", "maker": "trace", "signature": {{"args": {"[" * 2000}', "not a line of JSON"),
    ],
)
def test_a_bad_line_is_named_and_the_record_not_used(project: Path, line: str, said: str) -> None:
    with get_path(project).open("a") as out:
        out.write(f"{line}\n")
    done = run_tool(project, "check", "--no-cache")
    assert f"record.jsonl:{len(get_path(project).read_text().splitlines())}: {said}" in done.stderr
    assert "the record is not used" in done.stderr
    assert "Traceback" not in done.stderr
    assert "RM790" not in done.stdout
    merged = run_tool(project, "record", "--merge", str(get_path(project)))
    assert merged.returncode == 2
    assert said in merged.stderr


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"\xff\xfe\x00", ":1: not a line of JSON with an object"),
        (b"{}\n", "not a record of torchmigrate"),
        (b'{"torchmigrate_record": 99}\n', "was made by a newer torchmigrate"),
    ],
)
def test_a_file_that_is_no_record(project: Path, data: bytes, said: str) -> None:
    get_path(project).write_bytes(data)
    done = run_tool(project, "check", "--no-cache")
    assert said in done.stderr
    assert done.returncode == 0


def test_kinds_of_later_versions_are_skipped(project: Path) -> None:
    with get_path(project).open("a") as out:
        out.write('{"kind": "weather", "count": 1}\n')
    assert [finding["code"] for finding in check(project)] == ["RM790"]


LOADS = "import torch\nx = torch.load('a.pt')\n"


def add_load(project: Path, *, merge: bool) -> None:
    """Let a record say that a load passes with `weights_only=True`; ``merge`` accepts it as the user does."""
    (project / "a.py").write_text(LOADS)
    record(project, sys.executable, "a.py")
    (line,) = [one for one in get_path(project).read_text().splitlines() if '"kind": "load"' in one]
    text = get_path(project).read_text().replace(line, line.replace('"unknown"', '"passes"'))
    assert '"passes"' in text
    get_path(project).write_text(text)
    if merge:
        assert run_tool(project, "record", "--merge", str(get_path(project))).returncode == 0


def test_a_record_that_was_changed_decides_nothing(project: Path) -> None:
    add_load(project, merge=False)
    (finding,) = check(project)
    assert finding["severity"] == "warning"
    assert finding["fix"]["safety"] == "unsafe"
    assert finding["evidence"].startswith("a record that was not made here says: loaded once")
    assert "was not made here" in run_tool(project, "check", "--no-cache").stderr


def test_the_user_accepts_a_record_by_merging_it(project: Path) -> None:
    add_load(project, merge=True)
    (finding,) = check(project)
    assert (finding["severity"], finding["fix"]["safety"]) == ("info", "safe")
    assert finding["fix"]["title"] == "Add `weights_only=True`; recorded runs have loaded every file so, once"


def test_a_record_of_another_folder_decides_nothing(project: Path, tmp_path: Path) -> None:
    add_load(project, merge=True)
    other = tmp_path / "other"
    shutil.copytree(project, other)
    (finding,) = check(other)
    assert finding["fix"]["safety"] == "unsafe"


def test_without_a_key_the_record_is_shown_only(tmp_path: Path) -> None:
    project = create_project(tmp_path, {"a.py": WARNING})
    (tmp_path / "state").write_text("a file where the folder would be")
    done = record(project, sys.executable, "a.py")
    assert "cannot be sealed" in done.stderr
    (finding,) = check(project)
    assert finding["evidence"].startswith("a record that was not made here says")


def test_one_record_of_two_machines(project: Path) -> None:
    text = get_path(project).read_text()
    (project / "one.jsonl").write_text(text)
    (project / "two.jsonl").write_text(text)
    assert run_tool(project, "record", "--merge", "one.jsonl", "two.jsonl").returncode == 0
    (finding,) = check(project)
    assert finding["evidence"] == "seen 2 times (FutureWarning)"


def test_options_that_do_not_go_together(project: Path) -> None:
    done = run_tool(project, "record", "--merge", "--prove", "one.jsonl")
    assert done.returncode == 2
    assert "--merge runs no command" in done.stderr
    assert run_tool(project, "record").returncode == 2


def test_recorded_inputs_are_facts_about_the_project(project: Path) -> None:
    (project / "a.py").write_text("import torch\nm = torch.jit.script(n)\n")
    place = {"path": "a.py", "line": 2, "text": compute_text_digest("m = torch.jit.script(n)")}
    tensor = {"shape": [2, 4], "dtype": "float32", "device": "cpu", "grad": False}
    fact = {
        "kind": "call",
        "count": 1,
        "of": place,
        "maker": "script",
        "signature": {"args": [tensor, {**tensor, "dtype": "int64"}], "kwargs": {}},
        "output": tensor,
        "grad": False,
        "at": None,
    }
    header = json.loads(get_path(project).read_text().splitlines()[0])
    get_path(project).write_text(f"{json.dumps(header)}\n{json.dumps(fact)}\n")
    own = load_record(str(project))._replace(is_own=True)
    files = Project([str(project / "a.py")], lambda path: Path(path).read_bytes(), record=own)
    (mention,) = create_mentions(own, files)
    assert (mention.symbol, mention.line) == (RECORDED_INPUTS, 2)
    tensors = [{"dtype": dtype, "sizes": [2, 4]} for dtype in ("float32", "int64")]
    assert json.loads(str(dict(mention.constants)["inputs"])) == [tensors, {}]
    assert list(create_mentions(load_record(str(project)), files)) == [], "one of somebody else"


def test_verified_fixes_that_no_run_has_executed_are_named(tmp_path: Path) -> None:
    text = "from typing import List\n\nimport torch\n\n\ndef f():\n    return torch.jit.annotate(List[int], [])\n"
    project = create_project(tmp_path, {"used.py": text, "unused.py": text, "a.py": "import used, torch\n"})
    assert record(project, sys.executable, "a.py").returncode == 0
    done = run_tool(
        project, "fix", "--apply", "--no-keep-torchscript-support", "--verify", f"{sys.executable} a.py"
    )
    assert "verified by" in done.stdout, done.stdout + done.stderr
    notes = [line for line in done.stdout.splitlines() if line.startswith("note: the fix of")]
    (note,) = notes
    assert "TS154 in unused.py:7" in note
    assert "no recorded run has reached this line" in note
