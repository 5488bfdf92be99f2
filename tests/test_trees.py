"""Facts come from all files that can observe each other, whatever is named; findings are for what was named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest

from torchmigrate.cli import commands
from torchmigrate.run import snapshot

PATCHED = (
    "import torch\nif torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():\n    pass\n"
)
PATCHING = 'from unittest import mock\nmock.patch("torch.cuda.is_current_stream_capturing")\n'
SCRIPTING = "import torch\n\n\n@torch.jit.script\ndef f(x):\n    return x\n"
TRACING = "import torch\n\nfrom model import f\n\n\ndef g(x):\n    return f(x)\n\n\ntraced = torch.jit.trace(g, example)\n"
COMPAT = "import torch\nscript = torch.jit.script\n"
USING = "from pkg.compat import script\n\n\n@script\ndef f(x):\n    return x\n"
METADATA = '[project]\nname = "x"\ndependencies = ["torch>=2.12"]\n'


class Outcome(NamedTuple):
    status: int
    out: bytes
    err: bytes

    @property
    def findings(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.out)["findings"]
        return found

    @property
    def codes(self) -> list[tuple[str, str]]:
        return [(finding["path"], finding["code"]) for finding in self.findings]


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs the program in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, stdin: str = "") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["torchmigrate", *arguments])
        read, write = os.pipe()
        with os.fdopen(write, "w") as stream:
            stream.write(stdin)
        with os.fdopen(read) as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            with pytest.raises(SystemExit) as raised:
                commands.main()
        captured = capfdbinary.readouterr()
        assert isinstance(raised.value.code, int)
        return Outcome(raised.value.code, captured.out, captured.err)

    return call


def put(**files: str) -> None:
    """Writes files; ``__`` in a name stands for a slash, and Python's suffix is added where there is none."""
    for name, text in files.items():
        path = Path(name.replace("__", "/"))
        path = path if path.name in NAMES else path.with_name(f"{path.name}.py")
        path = path.with_name(NAMES.get(path.name, path.name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


NAMES = {"pyproject": "pyproject.toml", "settings": "torchmigrate.toml", "gitignore": ".gitignore"}


def repository() -> None:
    os.mkdir(".git")


JSON = ("--output-format", "json", "-q", "--no-cache", "--target-version", "2.15")


class TestObservers:
    """What another file does to a symbol counts, wherever in the tree it lies."""

    LAYOUTS = (
        ("a", "test_a"),
        ("src__pkg__a", "tests__test_a"),
        ("packages__one__a", "packages__two__b"),
        ("packages__one__src__a", "integration__tests__b"),
    )

    @pytest.mark.parametrize(("file", "observer"), LAYOUTS)
    @pytest.mark.parametrize("way", ["check", "fix", "staged", "stdin", "from below"])
    def test_a_patch_withholds_the_fix(
        self, run: Run, file: str, observer: str, way: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository()
        put(pyproject=METADATA, **{file: PATCHED, observer: PATCHING})
        name = file.replace("__", "/") + ".py"
        if "packages" in file:
            put(packages__one__pyproject=METADATA)
        if way == "fix":
            assert run("fix", name, "--no-cache", "-q").out == b""
        elif way == "staged":
            outcome = run("fix", "--apply", "--exit-zero", "--quiet", "--force-exclude", "--no-cache", name)
            assert outcome.status == 0
            assert Path(name).read_text() == PATCHED
        elif way == "stdin":
            (finding,) = run("check", "-", "--stdin-filename", name, *JSON, stdin=PATCHED).findings
            assert "patches the old name" in finding["withheld"]
        else:
            if way == "from below":
                monkeypatch.chdir(Path(name).parent)
                name = Path(name).name
            (finding,) = run("check", name, *JSON).findings
            assert finding["path"] == name
            assert "patches the old name" in finding["withheld"]

    def test_without_one_the_fix_is_safe(self, run: Run) -> None:
        repository()
        put(pyproject=METADATA, a=PATCHED, b="import torch\n")
        (finding,) = run("check", "a.py", *JSON).findings
        assert finding["fix"]["safety"] == "safe"

    def test_a_trace_elsewhere_decides_what_takes_the_place_of_script(self, run: Run) -> None:
        repository()
        put(pyproject=METADATA, model=SCRIPTING, tools__export=TRACING)
        (finding,) = run("check", "model.py", *JSON).findings
        assert "trace rejects compiled functions" in finding["fix"]["title"]

    def test_a_name_of_torchs_from_another_module_is_seen(self, run: Run) -> None:
        repository()
        put(pyproject=METADATA, pkg____init__="", pkg__compat=COMPAT, use=USING)
        assert run("check", "use.py", *JSON).codes == [("use.py", "TS101")]

    @pytest.mark.parametrize(
        "ignored", ["build__b", "third__b"], ids=["a usual folder without code", "ignored by git"]
    )
    def test_what_is_excluded_is_no_observer(self, run: Run, ignored: str) -> None:
        repository()
        put(pyproject=METADATA, gitignore="third/\n", a=PATCHED, **{ignored: PATCHING})
        (finding,) = run("check", "a.py", *JSON).findings
        assert finding["fix"]["safety"] == "safe"

    def test_errors_of_others_are_theirs(self, run: Run) -> None:
        repository()
        put(pyproject=METADATA, a="x = 1\n", b="import torch\ntorch.jit.script(\n")
        assert run("check", "a.py", *JSON).status == 0
        assert run("check", ".", *JSON).status == 2

    def test_an_import_that_an_unnamed_file_relies_on_stays(self, run: Run) -> None:
        repository()
        code = "import torch\nfrom torch.jit import annotate\nfrom typing import List\nx = annotate(List[int], [])\n"
        put(pyproject=METADATA, a=code, b="from a import annotate\n")
        run("fix", "--apply", "--no-cache", "-q", "a.py")
        assert "import annotate" in Path("a.py").read_text()
        put(b="")
        put(a=code)
        run("fix", "--apply", "--no-cache", "-q", "a.py")
        assert "import annotate" not in Path("a.py").read_text()

    @pytest.mark.parametrize("leaves_out", ["extend-exclude = ['examples']", ""])
    def test_a_project_in_what_is_left_out_stands_alone(self, run: Run, leaves_out: str) -> None:
        repository()
        put(pyproject=f"{METADATA}[tool.torchmigrate]\n{leaves_out}\n", b=PATCHING)
        put(examples__one__pyproject=METADATA, examples__one__a=PATCHED)
        (finding,) = run("check", "examples/one", *JSON).findings
        assert (finding["withheld"] is None) == bool(leaves_out)

    def test_a_folder_of_no_project_in_what_is_left_out_does_not(self, run: Run) -> None:
        repository()
        put(pyproject=f"{METADATA}[tool.torchmigrate]\nextend-exclude = ['examples']\n", b=PATCHING)
        put(examples__one__a=PATCHED)
        (finding,) = run("check", "examples/one", *JSON).findings
        assert "patches the old name" in finding["withheld"]


class TestNoProject:
    """Where nothing tells who else there is, a fix that would have to know is unsafe, and says so."""

    REASON = "other files of the project may depend on the old code"

    def test_a_file_alone(self, run: Run) -> None:
        put(a=PATCHED)
        (finding,) = run("check", "a.py", "--min-version", "2.12", *JSON).findings
        assert finding["fix"]["safety"] == "unsafe"
        assert self.REASON in finding["fix"]["title"]
        assert run("fix", "a.py", "--min-version", "2.12", "--no-cache", "-q").out == b""
        assert (
            b"is_capturing" in run("fix", "a.py", "--unsafe", "--min-version", "2.12", "--no-cache", "-q").out
        )

    def test_standard_input_without_a_name(self, run: Run) -> None:
        repository()
        put(pyproject=METADATA)
        (finding,) = run("check", "-", "--min-version", "2.12", *JSON, stdin=PATCHED).findings
        assert (finding["path"], finding["fix"]["safety"]) == ("-", "unsafe")

    def test_a_fix_that_asks_nothing_of_the_project_stays_safe(self, run: Run) -> None:
        put(a="from torch.jit import Final\nx: Final[int] = 1\n")
        assert {f["fix"]["safety"] for f in run("check", "a.py", *JSON).findings} == {"safe"}

    def test_an_import_that_becomes_unused_stays(self, run: Run) -> None:
        code = "import torch\nfrom torch.jit import annotate\nfrom typing import List\nx = annotate(List[int], [])\n"
        put(a=code)
        run("fix", "--apply", "--unsafe", "--no-cache", "-q", "a.py")
        assert "import annotate" not in Path("a.py").read_text()
        put(a=code + "from torch.jit import Final\ny: Final[int] = 1\n")
        run("fix", "--apply", "--no-cache", "-q", "a.py")
        assert "y: Final[int]" in Path("a.py").read_text()

    def test_a_folder_that_is_named_is_taken_for_a_whole(self, run: Run) -> None:
        put(p__a=PATCHED)
        (finding,) = run("check", "p", "--min-version", "2.12", *JSON).findings
        assert finding["fix"]["safety"] == "safe"

    @pytest.mark.parametrize("metadata", ["pyproject.toml", "setup.py", "setup.cfg", ".torchmigrate.toml"])
    def test_metadata_makes_a_project_without_a_repository(self, run: Run, metadata: str) -> None:
        put(src__a=PATCHED, tests__b=PATCHING)
        Path(metadata).write_text("")
        (finding,) = run("check", "src/a.py", "--min-version", "2.12", *JSON).findings
        assert "patches the old name" in finding["withheld"]

    def test_metadata_in_the_home_folder_makes_none(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        put(pyproject=METADATA, scratch__a=PATCHED)
        monkeypatch.setenv("HOME", os.getcwd())
        monkeypatch.setenv("USERPROFILE", os.getcwd())
        (finding,) = run("check", "scratch/a.py", *JSON).findings
        assert finding["fix"]["safety"] == "unsafe"


class TestMonorepo:
    """Each file has the settings, the oldest torch and the target of its own project."""

    @pytest.fixture
    def two(self, run: Run) -> Run:
        repository()
        put(
            a__pyproject='[project]\nname="a"\ndependencies=["torch>=2.4"]\n[tool.torchmigrate]\ntarget-version="2.13"\n',
            a__src__m=PATCHED,
            b__pyproject='[project]\nname="b"\ndependencies=["torch>=2.12"]\n[tool.torchmigrate]\nignore=["TS155"]\n',
            b__src__m=PATCHED + "from torch.jit import Final\nx: Final[int] = 1\n",
        )
        return run

    @pytest.mark.parametrize("paths", [("a/src/m.py", "b/src/m.py"), (".",), ("b", "a")])
    def test_in_one_run(self, two: Run, paths: tuple[str, ...]) -> None:
        found = {f["path"]: f for f in two("check", *paths, "--output-format", "json", "-q").findings}
        assert "needs torch 2.12, but the project supports 2.4" in found["a/src/m.py"]["withheld"]
        assert found["b/src/m.py"]["fix"]["safety"] == "safe"
        assert {f["code"] for f in found.values()} == {"SC201"}

    def test_fixing_goes_by_each_project(self, two: Run) -> None:
        two("fix", ".", "--apply", "-q")
        assert Path("a/src/m.py").read_text() == PATCHED
        assert "is_capturing" in Path("b/src/m.py").read_text()

    def test_the_command_line_wins_over_all(self, two: Run) -> None:
        found = two("check", ".", "--min-version", "2.12", "--ignore", "TS", *JSON[:3]).findings
        assert [f["fix"]["safety"] for f in found] == ["safe", "safe"]

    def test_one_line_says_what_the_run_judges_by(self, two: Run) -> None:
        assert two("check", "a").err == b"torchmigrate: torch 2.4 (a/pyproject.toml:3) to 2.13\n"
        expected = "torchmigrate: torch 2.4 (the oldest of several projects, a/pyproject.toml:3; see --show-settings FILE) to 2.15\n"
        assert two("check", ".").err == expected.encode()

    def test_settings_of_a_project_that_is_not_named_stop_nobody(self, two: Run) -> None:
        Path("a/torchmigrate.toml").write_text("nonsense = [")
        assert two("check", "b", *JSON).codes == [("b/src/m.py", "SC201")]
        assert two("check", ".").status == 2

    def test_facts_are_shared_between_projects_that_select_different_rules(self, two: Run) -> None:
        put(a__settings='select = ["TS"]\n', a__test=PATCHING)
        put(b__settings='select = ["SC"]\n')
        found = {f["path"]: f for f in two("check", ".", *JSON).findings if f["code"] == "SC201"}
        assert list(found) == ["b/src/m.py"]
        assert "patches the old name" in found["b/src/m.py"]["withheld"]

    def test_fail_on_is_that_of_the_files_project(self, two: Run) -> None:
        assert two("check", ".", "-q").status == 0
        put(b__settings='fail-on = "info"\n')
        assert two("check", ".", "-q").status == 1
        assert two("check", "a", "-q").status == 0


class TestShow:
    """What a run would go by can be asked for, and nothing is checked then."""

    def test_settings_with_their_origins(self, run: Run) -> None:
        repository()
        put(
            base__settings='fail-on = "error"\nignore = ["TS155"]\n',
            a__pyproject=METADATA
            + '[tool.torchmigrate]\nextend = "../base/torchmigrate.toml"\nignore = ["SC"]\n'
            '[tool.torchmigrate.per-file-ignores]\n"x" = ["TS"]\n',
            a__m=PATCHED,
            b__m=PATCHED,
        )
        outcome = run("check", "--show-settings", "a/m.py", "--ignore", "CU", "--target-version", "latest")
        lines = outcome.out.decode().splitlines()
        assert outcome.status == 0
        assert lines[0] == "# a/m.py"
        for line in (
            'ignore = ["TS155", "SC", "CU"]  # command line, a/pyproject.toml:6, base/torchmigrate.toml:2',
            'fail-on = "error"  # base/torchmigrate.toml:1',
            'min-version = "2.12"  # a/pyproject.toml:3',
            'target-version = "2.15"  # command line',
            'per-file-ignores = {"x" = ["TS"]}  # a/pyproject.toml:7',
            "unsafe-fixes = false  # default",
        ):
            assert line in lines
        other = run("check", "--show-settings", "b/m.py").out.decode()
        assert 'min-version = "2.0"  # default: the project\'s metadata does not name torch' in other

    def test_what_is_printed_is_a_configuration_file(self, run: Run) -> None:
        from torchmigrate.settings import config

        put(a=PATCHED)
        Path("torchmigrate.toml").write_bytes(run("check", "--show-settings", "a.py").out)
        assert run("check", "a.py", "-q", "--exit-zero").status == 0
        assert config.read_layers("torchmigrate.toml")[0].values["fail_on"] == "warning"

    def test_files(self, run: Run) -> None:
        repository()
        put(a=PATCHED, sub__b="", build__c="", gitignore="d.py\n", d="", notes__pyproject="")
        outcome = run("check", "--show-files")
        assert (outcome.status, outcome.out) == (0, b"a.py\nnotes/pyproject.toml\nsub/b.py\n")
        assert run("check", "--show-files", "--select", "TS", "sub").out == b"sub/b.py\n"
        missing = run("check", "--show-files", "nowhere", "a.py")
        assert (missing.status, missing.out) == (2, b"a.py\n")
        assert b"nowhere: error: cannot be read" in missing.err


@pytest.mark.parametrize("target", ["2.99", "1.13"])
def test_a_target_that_is_not_known_is_refused_with_what_is(run: Run, target: str) -> None:
    outcome = run("check", "--target-version", target)
    assert outcome.status == 2
    assert f"torch {target} is unknown; torchmigrate covers torch 2.0 to 2.15".encode() in outcome.err


def test_a_minimum_above_the_target_is_refused(run: Run) -> None:
    put(pyproject=METADATA, a="x = 1\n")
    outcome = run("check", "--target-version", "2.11")
    assert outcome.status == 2
    assert b"2.12 (pyproject.toml:3), is newer than the target, 2.11" in outcome.err
    assert b"torchmigrate covers torch 2.0 to 2.15" in outcome.err
    assert run("check", "--target-version", "2.11", "--min-version", "2.13").status == 2
    assert run("check", "--target-version", "latest").status == 0


class TestKnown:
    """What is kept of a tree gives the same as a look at all of it."""

    @pytest.fixture(autouse=True)
    def _settled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every file counts as written a while ago; the inode and the times still tell a change."""
        monkeypatch.setattr(snapshot, "_SETTLED", -(10**12))

    FILES: ClassVar[dict[str, tuple[str, ...]]] = {
        "pkg____init__": ("", "from .compat import script\n", "from .compat import *\n"),
        "pkg__compat": (COMPAT, "import torch\nscript = torch.compile\n", "from .base import *\n", "x = 1\n"),
        "pkg__base": (COMPAT, "import torch\n", ""),
        "use": (USING, "from pkg import script\nscript(f)\n", "from pkg.base import torch\ntorch.jit.script(f)\n", ""),
        "other": (PATCHED, PATCHING, TRACING, "from pkg.new import script as s\n@s\ndef f(x): ...\n", ""),
        "pkg__new": (COMPAT, "", "from .compat import script\n"),
    }  # fmt: skip

    def test_after_any_changes(self, run: Run) -> None:
        import random

        repository()
        put(pyproject=METADATA)
        chance = random.Random(13)
        differing = 0
        for _ in range(60):
            for name in chance.sample(sorted(self.FILES), chance.randint(1, 2)):
                path = (
                    Path(name.replace("__", "/") + ".py") if "init" not in name else Path("pkg/__init__.py")
                )
                if chance.random() < 0.2:
                    path.unlink(missing_ok=True)
                else:
                    path.parent.mkdir(exist_ok=True)
                    path.write_text(chance.choice(self.FILES[name]))
            named = chance.choice(["use.py", "other.py", "."])
            if not os.path.exists(named):
                continue
            kept = run("check", named, "--output-format", "json", "-q").findings
            assert kept == run("check", named, *JSON[:3], "--no-cache").findings
            differing += bool(kept)
        assert differing > 20

    def test_only_what_has_changed_is_looked_at(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        from torchmigrate.project import file_search

        repository()
        put(pyproject=METADATA, a=PATCHED, b=PATCHING, c=SCRIPTING)
        run("check", "a.py")
        read: list[str] = []
        reading = file_search.read_file

        def noted(path: str) -> bytes:
            read.append(os.path.basename(path))
            return reading(path)

        monkeypatch.setattr(file_search, "read_file", noted)
        run("check", "a.py")
        assert read == []
        put(b=PATCHING + "# other\n")
        run("check", "a.py")
        assert set(read) == {"a.py", "b.py"}


class TestLinks:
    """A linked folder is reported where it really lies, and nothing outside is written."""

    def test_a_diff_applies_with_git(self, run: Run) -> None:
        subprocess.run(["git", "init", "-q"], check=True)
        put(pyproject=METADATA, lib__pkg__a=PATCHED)
        os.mkdir("ex")
        os.symlink("../lib/pkg", "ex/pkg")
        for named in (".", "ex/pkg", "ex/pkg/a.py"):
            diff = run("fix", named, "-q").out
            subprocess.run(["git", "apply", "-p0", "--check"], input=diff, check=True)
            assert diff.startswith(b"--- lib/pkg/a.py")

    def test_per_file_ignores_match_the_real_place(self, run: Run) -> None:
        put(
            pyproject=METADATA + "[tool.torchmigrate.per-file-ignores]\n'lib/*' = ['SC']\n",
            lib__pkg__a=PATCHED,
        )
        os.mkdir("ex")
        os.symlink("../lib/pkg", "ex/pkg")
        assert run("check", "ex/pkg", *JSON).codes == []

    def test_nothing_outside_is_written_and_that_is_said(self, run: Run) -> None:
        put(outside__a=PATCHED, here__pyproject=METADATA, here__b=PATCHED)
        os.symlink("../outside", "here/out")
        os.symlink("../outside/a.py", "here/a.py")
        outcome = run("fix", "here", "--apply")
        assert Path("outside/a.py").read_text() == PATCHED
        assert Path("here/b.py").read_text() != PATCHED
        assert b"2 links lead out of the checked folders" in outcome.err
        assert b"here/a.py, here/out" in run("check", "here", "--verbose").err
