"""What the ecosystem tests rely on, on small examples: the oracle, the replay of edits, the unpacking, touched functions."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from .oracle import Package, uses_of
from .packages import pinned, unpack
from .replay import applied, explains
from .silences import Entry, unreviewed
from .touched import touched


def seen(folder: Path, **files: str) -> list[tuple[str, int, str, str]]:
    """File, line, name and form of every use in a package of the given files."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return [(Path(use.path).stem, use.line, use.name, use.form) for use in uses_of(Package(folder))]


@pytest.mark.parametrize(
    ("source", "name", "form"),
    [
        ("import torch as t\nt.jit.script(f)", "torch.jit.script", "call"),
        ("from torch import jit as J\n@J.ignore\ndef f(): ...", "torch.jit.ignore", "decorator"),
        ("import torch\nx: 'torch.jit.Final[int]' = 1", "torch.jit.Final", "string annotation"),
        (
            "import torch\nisinstance(m, (int, torch.jit.ScriptModule))",
            "torch.jit.ScriptModule",
            "isinstance",
        ),
        ("import torch\ntorch.jit.script = None", "torch.jit.script", "assignment"),
        ("import torch\nhasattr(torch, 'jit')", "torch.jit", "hasattr"),
        ("import torch\ngetattr(torch, 'jit').trace(f)", "torch.jit.trace", "call"),
        (
            "import torch\npatch('torch.cuda.is_current_stream_capturing')",
            "torch.cuda.is_current_stream_capturing",
            "string",
        ),
        ("import torch\nx.device().is_current_stream_capturing()", "?.is_current_stream_capturing", "call"),
    ],
)
def test_a_use_is_seen_in_every_form(tmp_path: Path, source: str, name: str, form: str) -> None:
    assert ("a", 2, name, form) in seen(tmp_path, a=source)


def test_a_name_is_followed_through_the_package(tmp_path: Path) -> None:
    found = seen(
        tmp_path,
        compat="import torch\nfuse = torch.jit.script\n",
        again="from .compat import *\n",
        user="from again import fuse as f\nf(g)\n",
    )
    assert ("user", 2, "torch.jit.script", "call") in found


def test_other_things_of_the_same_name_are_no_use(tmp_path: Path) -> None:
    assert seen(tmp_path, a="import numba, torch\nnumba.jit.script(f)\nself.jit.script(f)\n") == []


def test_edits_explain_what_they_change_and_nothing_more() -> None:
    def edit(line: int, start: int, end: int, content: str) -> dict[str, object]:
        where = {"start": {"line": line, "column": start}, "end": {"line": line, "column": end}}
        return {**where, "content": content}

    edits = [edit(2, 1, 2, "B"), edit(1, 1, 1, "x\n"), edit(1, 1, 1, "y\n")]
    assert explains(edits, "a\nb\n", "a\nB\n")
    assert explains(edits, "a\nb\n", "y\nx\na\nb\n")
    assert explains(edits, "import a, b\nb\n", "import b\nB\n")
    assert explains([edit(1, 2, 3, ""), edit(1, 2, 2, "x"), edit(1, 2, 2, "y")], "abc\n", "ayxc\n")
    assert applied([edit(2, 1, 2, "B"), edit(2, 1, 2, "C"), edit(1, 1, 1, "x")], "a\nb\n") == "xa\nB\n"
    assert not explains([edit(1, 1, 3, "x"), edit(1, 1, 2, "y")], "abc\n", "xyc\n")
    assert not explains(edits, "import a, b\nb\n", "import c\nB\n")
    assert not explains(edits, "a\nb\n", "A\nB\n")
    assert not explains(edits, "a\nb\n", "a\nB")


def test_the_count_of_a_reviewed_entry_is_exact() -> None:
    entry = Entry("package", {"name": "torch.*"}, 1, "reason")
    use = {"name": "torch.jit"}
    assert unreviewed([entry], [use]) == []
    assert len(unreviewed([entry], [use, use])) == 1
    assert len(unreviewed([entry], [use, {"name": "other"}])) == 1


def test_only_python_files_are_unpacked_and_none_outside(tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a/b.py", "")
        archive.writestr("a/b.so", "")
    unpack(wheel, tmp_path / "good")
    assert [path.name for path in (tmp_path / "good").rglob("*.*")] == ["b.py"]
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("../evil.py", "")
    with pytest.raises(ValueError, match="leads out"):
        unpack(wheel, tmp_path / "bad")
    assert not (tmp_path / "evil.py").exists()


def test_a_requirement_without_a_hash_is_refused(tmp_path: Path) -> None:
    (tmp_path / "packages.txt").write_text("timm==1.0.31\n")
    with pytest.raises(ValueError, match="timm"):
        pinned(tmp_path / "packages.txt")


def test_a_function_is_touched_by_what_it_is_and_what_it_names(tmp_path: Path) -> None:
    texts = {
        "before": "import a, b\nC = b(1)\nclass C:\n def f(s): 1\ndef g(): b\ndef h(): a\n@b\ndef i(): 1\ndef j(): 1\n",
        "after": "import a\nC = 2\nclass C:\n def f(s): 1\ndef g(): b\ndef h(): a\ndef i(): 1\n\ndef j(): 1\n",
    }
    for name, text in texts.items():
        (tmp_path / name / "p").mkdir(parents=True)
        (tmp_path / name / "p" / "m.py").write_text(text)
    assert touched(tmp_path / "before", tmp_path / "after") == {"p.m.C.f", "p.m.g", "p.m.i"}
