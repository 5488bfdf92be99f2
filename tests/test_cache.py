"""What runs keep: results that are right whatever happened to the files or to the cache in between."""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from torchmigrate.engine import registry
from torchmigrate.engine.engine import Engine, FileScan
from torchmigrate.model.findings import FileResult
from torchmigrate.model.torch_versions import Version
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import cache, fingerprint, parallel, runner, selection, snapshot
from torchmigrate.run.cache import Cache
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree
from torchmigrate.run.wire import pack

from .support import settings_of
from .test_elsewhere import TOGETHER

EXAMPLE = Path(__file__).parents[1] / "fixtures" / "example"
HIT = "import torch\n\n\n@torch.jit.script\ndef f(x):\n    return x\n"

Check = Callable[..., list[FileResult]]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes every file one that was written a while ago."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 10**10)


@pytest.fixture
def check(cache_dir: str) -> Check:
    """Checks some files with a cache that lasts for the test."""

    def run(
        *files: Path,
        flags: tuple[str, ...] = (),
        folder: str | None = cache_dir,
        found_minimum: Version = (2, 0),
        root: str | Path = "",
    ) -> list[FileResult]:
        settings = replace(settings_of(flags)[0], min_version=None)
        with Cache(folder) as kept:
            inputs = [InputFile(str(file)) for file in files]
            tree = Tree(inputs, create_uniform_profile(settings, found_minimum), root=str(root))
            results = runner.check_tree(tree, cache=kept)
            return [result for result in results if result.has_content]

    return run


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that rules look at, in order."""
    names: list[str] = []
    scan = Engine.scan_file

    def counting(self: Engine, path: str, *rest: object) -> FileScan:
        names.append(os.path.basename(path))
        return scan(self, path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "scan_file", counting)
    return names


@pytest.fixture
def hit(tmp_path: Path) -> Path:
    """A file with a finding."""
    path = tmp_path / "hit.py"
    path.write_text(HIT)
    return path


def database(cache_dir: str) -> Path:
    return Path(cache_dir, cache.FILE_NAME)


def forge(cache_dir: str, key: bytes, data: bytes) -> None:
    """Puts bytes of any kind into the cache, as if they had been written by it."""
    checksum = hashlib.blake2b(data, digest_size=16).digest()
    with Cache(cache_dir) as kept:
        kept._fresh[key] = checksum + data


class TestResults:
    """A run with a cache says what one without says."""

    def test_of_an_unchanged_project_are_the_same_and_cost_no_look(
        self, check: Check, scanned: list[str], later: None
    ) -> None:
        files = sorted(path for path in EXAMPLE.rglob("*") if path.is_file())
        expected = check(*files, folder=None, root=EXAMPLE)
        assert expected
        assert check(*files, root=EXAMPLE) == expected
        scanned.clear()
        assert check(*files, root=EXAMPLE) == expected
        assert not scanned

    def test_follow_files_that_only_searches_read(
        self, check: Check, tmp_path: Path, scanned: list[str], later: None
    ) -> None:
        files, reader = [tmp_path / name for name in TOGETHER], tmp_path / "main.cpp"
        for file in files:
            file.write_bytes(TOGETHER[file.name])
        reader.write_text("int main() {}\n")

        def look(**more: None) -> list[FileResult]:
            return check(*files, root=tmp_path, flags=("--unsafe",), found_minimum=(2, 10), **more)

        expected = look()
        scanned.clear()
        assert look() == expected
        assert not scanned
        reader.write_text("#include <torch/script.h>\n")
        assert look() == look(folder=None) != expected

    def test_are_judged_again_where_an_answer_has_changed(
        self, check: Check, tmp_path: Path, scanned: list[str], later: None
    ) -> None:
        other, user, marked = (tmp_path / name for name in ("other.py", "user.py", "marked.py"))
        other.write_text("import torch\n\nx = torch.qr(a)\n")
        user.write_text("import torch\n\nscripted = torch.jit.script(f)\n")
        marked.write_text("import torch\n\n\n@torch.jit.ignore\ndef f(x):\n    return x\n")
        files, flags = [other, user, marked], ("--no-keep-torchscript-support",)

        def check_both() -> tuple[list[FileResult], set[str]]:
            expected = check(*files, folder=None, root=tmp_path, flags=flags)
            scanned.clear()
            assert check(*files, root=tmp_path, flags=flags) == expected
            return expected, set(scanned)

        check_both()
        for number in range(3):
            user.write_text(user.read_text() + f"y = {number}\n")
            before, names = check_both()
        assert names == {"user.py"}
        user.write_text("import torch\n\ny = torch.lu(f)\n")
        after, names = check_both()
        assert names == {
            "user.py"
        }  # the first look at the other, when nothing was known to script it, is kept
        assert before[-1] != after[-1]
        marked.unlink()
        files.remove(marked)
        check_both()

    def test_no_file_is_read_for_them(
        self, check: Check, hit: Path, later: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = check(hit)

        def read(file: InputFile) -> bytes:
            raise AssertionError(file.path)

        monkeypatch.setattr(InputFile, "read_bytes", read)
        assert check(hit) == expected

    def test_of_the_other_files_are_kept_when_one_changes(
        self, check: Check, hit: Path, scanned: list[str], later: None
    ) -> None:
        other = hit.with_name("other.py")
        other.write_text(HIT.replace("f(", "g("))
        check(hit, other)
        other.write_text(HIT.replace("f(", "h("))
        expected = check(hit, other, folder=None)
        scanned.clear()
        assert check(hit, other) == expected
        assert scanned.count("hit.py") < scanned.count("other.py")

    def test_follow_a_change_that_keeps_size_and_time(self, check: Check, hit: Path, later: None) -> None:
        before = hit.stat()
        assert check(hit)
        hit.write_text(HIT.replace("script", "scrypt"))
        os.utime(hit, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert hit.stat().st_size == before.st_size
        assert not check(hit)

    def test_are_not_kept_by_time_for_a_file_that_was_just_written(self, check: Check, hit: Path) -> None:
        """Within the resolution of its time stamps, a file can change without their changing."""
        check(hit)
        with Cache(str(hit.parent)) as kept:
            settings, minimum = settings_of([])
            inputs = [InputFile(str(hit))]
            tree = Tree(inputs, create_uniform_profile(settings, minimum))
            shot = snapshot.Snapshot(kept, b"", tree, snapshot.Stamps(inputs))
            shot.store_results([pack(FileResult(str(hit), suppressed=1))], {})
            assert shot.load_results() is None

    def test_follow_what_another_file_exports(self, check: Check, tmp_path: Path, later: None) -> None:
        compat, user = tmp_path / "compat.py", tmp_path / "user.py"
        compat.write_text("import torch\nscript = torch.jit.script\n")
        user.write_text("from compat import script\n\n\n@script\ndef f(x):\n    return x\n")
        assert [result.path for result in check(compat, user)] == [str(compat), str(user)]
        compat.write_text("import torch\nscript = torch.compile\n")
        assert not check(compat, user)

    @pytest.mark.parametrize("root", ["", "tmp_path"])
    def test_through_other_files_survive_an_answer_that_comes_late(
        self, check: Check, tmp_path: Path, later: None, root: str
    ) -> None:
        """The first look at a file, without links to others, is kept, and must not replace the second."""
        texts = {
            "__init__.py": "",
            "hmm.py": "import torch\nfrom .util import lazy\n\n\n@lazy\ndef f(x):\n    return torch.ger(x, x)\n",
            "saves.py": "import torch\n\n\ndef save(m):\n    torch.jit.trace(m, torch.ones(2, 3)).save('m.pt')\n",
            "util.py": "import torch\n\nlazy = torch.jit.script_if_tracing\n",
        }
        files = [tmp_path / "pkg" / name for name in texts]
        files[0].parent.mkdir()
        for file, text in zip(files, texts.values(), strict=True):
            file.write_text(text)
        expected = check(*files, folder=None, root=root and tmp_path)
        assert {one.code for one in expected[0].findings} == {"RM732", "TS157"}
        for _ in range(3):
            assert check(*files, root=root and tmp_path) == expected
        files[2].write_text(texts["saves.py"].replace("trace(m, torch.ones(2, 3))", "script(m)"))
        expected = check(*files, folder=None, root=root and tmp_path)
        for _ in range(3):
            assert check(*files, root=root and tmp_path) == expected
        files[3].write_text("def lazy(f):\n    return f\n")
        expected = check(*files, folder=None, root=root and tmp_path)
        for _ in range(3):
            assert check(*files, root=root and tmp_path) == expected

    def test_depend_on_settings_and_on_the_minimum(self, check: Check, hit: Path, later: None) -> None:
        assert check(hit)
        assert not check(hit, flags=("--select", "SC"))
        assert check(hit)[0].findings[0].fix is not None
        assert check(hit, flags=("--script-replacement", "eager")) != check(hit)
        hit.write_text("import torch\nx = torch.cuda.is_current_stream_capturing()\n")
        for minimum, has_fix in (((2, 0), False), ((2, 12), True), ((2, 0), False)):
            (result,) = check(hit, found_minimum=minimum)
            assert (result.findings[0].fix is not None) is has_fix

    def test_of_fixing_are_those_without_it(self, hit: Path, cache_dir: str) -> None:
        settings, minimum = settings_of(["--unsafe"])
        results = []
        for folder in (None, cache_dir, cache_dir):
            with Cache(folder) as kept:
                inputs = [InputFile(str(hit))]
                results.append(
                    list(runner.fix_tree(Tree(inputs, create_uniform_profile(settings, minimum)), cache=kept))
                )
        assert results[0][0].applied
        assert results[1] == results[2] == results[0]

    def test_do_not_depend_on_how_they_are_shown(
        self, check: Check, hit: Path, scanned: list[str], later: None
    ) -> None:
        check(hit)
        scanned.clear()
        check(hit, flags=("--output-format", "github", "--jobs", "1", "--fail-on", "info", "--show", "info"))
        assert not scanned

    def test_hold_the_edits_of_fixes_where_those_are_shown(
        self, check: Check, hit: Path, scanned: list[str], later: None
    ) -> None:
        flags = ("--output-format", "json")
        assert not any(f.fix.edits for result in check(hit) for f in result.findings if f.fix)
        for _ in range(2):
            fixes = [f.fix for result in check(hit, flags=flags) for f in result.findings if f.fix]
            assert fixes
            assert all(fix.edits and len(fix.locations) == len(fix.edits) for fix in fixes)

    def test_depend_on_the_state_of_the_tool(
        self, check: Check, hit: Path, scanned: list[str], later: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        check(hit)
        scanned.clear()
        monkeypatch.setattr(selection, "compute_fingerprint", lambda: b"another")
        check(hit)
        assert scanned

    def test_of_what_could_not_be_read_are_not_kept(self, check: Check, hit: Path, later: None) -> None:
        gone = hit.with_name("gone.py")
        assert check(hit, gone)[-1].errors
        gone.write_text("x = 1\n")
        assert not check(hit, gone)[-1].errors

    def test_of_processes_are_kept_too(self, tmp_path: Path, check: Check, scanned: list[str]) -> None:
        files = [tmp_path / f"m{number:03}.py" for number in range(parallel.WORTHWHILE)]
        for number, file in enumerate(files):
            file.write_text(HIT.replace("f(", f"f{number}("))
        first = check(*files, flags=("--jobs", "2"))
        assert len(first) == len(files)
        scanned.clear()
        assert check(*files, flags=("--jobs", "1", "--select", "TS")) != []
        alone = len(scanned)
        scanned.clear()
        assert check(*files, flags=("--jobs", "1")) == first
        assert len(scanned) <= alone - len(files)


def test_the_fingerprint_is_that_of_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rule.py").write_text("x = 1\n")
    monkeypatch.setattr(fingerprint, "_list_folders", lambda: iter([str(tmp_path)]))
    made = fingerprint.compute_fingerprint.__wrapped__
    before = made()
    assert made() == before
    (tmp_path / "rule.py").write_text("x = 23\n")
    registry.list_source_files.cache_clear()
    assert made() != before


class TestDamage:
    """Whatever is wrong with the file costs time only."""

    def test_at_any_place_changes_no_result(
        self, check: Check, hit: Path, cache_dir: str, later: None
    ) -> None:
        expected = check(hit)
        whole = database(cache_dir).read_bytes()
        chance = random.Random(7)
        for _ in range(60):
            data = bytearray(whole)
            for _ in range(chance.choice([1, 8, 600])):
                data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
            database(cache_dir).write_bytes(data)
            assert check(hit) == expected
        database(cache_dir).write_bytes(whole[: len(whole) // 2])
        assert check(hit) == expected

    def test_beyond_reading_begins_a_new_file(
        self, check: Check, hit: Path, cache_dir: str, scanned: list[str], later: None
    ) -> None:
        check(hit)
        database(cache_dir).write_bytes(b"no database" * 1000)
        check(hit)
        check(hit)
        scanned.clear()
        check(hit)
        assert not scanned

    def test_that_is_meant_to_run_code_does_not(self, cache_dir: str, tmp_path: Path) -> None:
        mark = tmp_path / "mark"

        class Forged:
            def __reduce__(self) -> tuple[object, ...]:
                return (os.mkdir, (str(mark),))

        forge(cache_dir, b"k", pickle.dumps(Forged()))
        assert Cache(cache_dir).get(b"k", FileScan) is None
        assert not mark.exists()
        pickle.loads(pickle.dumps(Forged()))  # as it would have gone
        assert mark.exists()

    @pytest.mark.parametrize(
        "forged", [b"", b"[]", b"[" * 10**6, b'[["a.py",[],[],0],[{},[],[],1]]', pack(FileResult("a.py"))]
    )
    def test_that_has_a_right_checksum_is_no_value(self, cache_dir: str, forged: bytes) -> None:
        forge(cache_dir, b"k", pack(FileScan(FileResult("a.py"))))
        assert Cache(cache_dir).get(b"k", FileScan) == FileScan(FileResult("a.py"))
        forge(cache_dir, b"k", forged)
        assert Cache(cache_dir).get(b"k", FileScan) is None

    @pytest.mark.parametrize("way", ["a file", "a folder in its place"])
    def test_to_the_folder(self, check: Check, hit: Path, tmp_path: Path, way: str) -> None:
        folder = tmp_path / "there"
        if way == "a file":
            folder.write_text("")
        else:
            (folder / cache.FILE_NAME).mkdir(parents=True)
        assert check(hit, folder=str(folder)) == check(hit, folder=None)


def test_two_runs_may_write_at_once(cache_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "PATIENCE", 60.0)  # the disk may be busy

    def run(number: int) -> None:
        with Cache(cache_dir) as kept:
            for key in range(50):
                kept.put(b"%d %d" % (number, key), key)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
    kept = Cache(cache_dir)
    assert all(kept.get(b"%d %d" % (number, key), int) == key for number in range(8) for key in range(50))


def test_a_run_does_without_a_cache_that_another_one_holds(
    check: Check, hit: Path, cache_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = check(hit)
    holding = sqlite3.connect(database(cache_dir), isolation_level=None)
    holding.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(cache, "PATIENCE", 0.0)
    assert check(hit) == expected
    holding.execute("ROLLBACK")
    holding.close()


def test_what_is_old_goes(cache_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Cache(cache_dir) as kept:
        kept.put(b"old", 1)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + (cache.KEPT_DAYS + 1) * 24 * 3600)
    with Cache(cache_dir) as kept:
        assert kept.get(b"old", int) == 1
        kept.put(b"new", 2)
    kept = Cache(cache_dir)
    assert (kept.get(b"old", int), kept.get(b"new", int)) == (None, 2)


class TestProgram:
    """The options and the command."""

    @pytest.fixture
    def run(self, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
        """Runs Python in an empty folder."""

        def call(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, *arguments]
            return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

        return call

    def test_a_run_in_which_nothing_hits_loads_no_rule_with_a_cache_or_without(
        self, run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
    ) -> None:
        watched = "import sys; from torchmigrate.cli.commands import main\ntry: main()\n"
        watched += "finally: print([name for name in sys.modules if name.startswith('torchmigrate.rules.')])"
        for number in (1, 2):
            (tmp_path / "a.py").write_text(f"import torch\nx = torch.ones({number})\n")
            done = run("-c", watched, "check", "a.py")
            assert done.returncode == 0
            assert "torchmigrate.rules." not in done.stdout

    def test_clean(
        self, run: Callable[..., subprocess.CompletedProcess[str]], hit: Path, cache_dir: str
    ) -> None:
        assert run("-m", "torchmigrate", "check", "--no-cache", hit.name).returncode == 1
        assert not os.path.exists(cache_dir)
        assert "There is no cache" in run("-m", "torchmigrate", "clean").stdout
        assert run("-m", "torchmigrate", "check", hit.name).returncode == 1
        assert database(cache_dir).exists()
        assert "Removed" in run("-m", "torchmigrate", "clean").stdout
        assert not os.path.exists(cache_dir)
