"""Which files a run takes, in which order, and what it says of those that it cannot take."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from torchmigrate.project import file_search
from torchmigrate.project.file_search import FoundFiles, InputFile
from torchmigrate.project.ignores import EXCLUDE, Excludes, anchor_pattern


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(*paths: str) -> None:
    for path in paths:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        Path(path).touch()


def ignore(path: str, *lines: str) -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    Path(path).write_text("\n".join(lines) + "\n")


def paths(found: FoundFiles) -> list[str]:
    return [one.path for one in found.inputs]


def messages(found: FoundFiles) -> dict[str, str]:
    return {error.path: error.message for error in found.errors}


def walk(*arguments: str, exclude: Sequence[str] = EXCLUDE, force: bool = False) -> list[str]:
    found = file_search.find_files(
        arguments, excludes=lambda folder: Excludes.from_patterns(exclude, forced=force)
    )
    assert not found.errors
    return paths(found)


def test_a_folder_gives_its_files_in_the_order_of_names(tree: Path) -> None:
    make("b.py", "a/z.py", "a/b.pyi", "c.ipynb", "notes.txt", "a.pyc")
    assert walk(".") == ["a/b.pyi", "a/z.py", "b.py", "c.ipynb"]


def test_paths_are_shown_as_they_were_given(tree: Path) -> None:
    make("p/a.py")
    for given in ("p", "./p", "p/", "./p/a.py"):
        assert walk(given) == ["p/a.py"]
    assert walk(str(tree / "p")) == [str(tree / "p" / "a.py")]
    assert walk("p/../p") == ["p/../p/a.py"]


def test_a_file_that_two_arguments_reach_is_taken_once(tree: Path) -> None:
    make("p/a.py", "p/q/b.py")
    assert walk("p/a.py", "p", "./p/q", str(tree)) == ["p/a.py", "p/q/b.py"]


def test_a_link_and_its_target_are_one_file(tree: Path) -> None:
    make("z.py", "folder/b.py")
    os.symlink("z.py", "a.py")
    os.symlink("folder", "linked")
    assert walk(".") == ["folder/b.py", "z.py"]


class TestLinks:
    """Each file has one place, and what lies outside of what was named is not ours to write."""

    def test_in_the_tree_lead_to_files_at_their_real_place(self, tree: Path) -> None:
        make("lib/pkg/a.py", "lib/pkg/b.py")
        os.makedirs("ex")
        os.symlink("../lib/pkg", "ex/pkg")
        os.symlink("../lib/pkg/a.py", "ex/a.py")
        found = file_search.find_files(["."])
        assert paths(found) == ["lib/pkg/a.py", "lib/pkg/b.py"]
        assert found.unfollowed == ()

    def test_that_are_named_lead_to_the_real_place(self, tree: Path) -> None:
        make("lib/pkg/a.py")
        os.makedirs("ex")
        os.symlink("../lib/pkg", "ex/pkg")
        os.symlink("../lib/pkg/a.py", "ex/a.py")
        assert walk("ex/pkg") == ["lib/pkg/a.py"]
        assert walk("ex/a.py", "ex/pkg/a.py", "lib") == ["lib/pkg/a.py"]

    def test_out_of_what_was_named_are_not_followed_and_told(self, tree: Path) -> None:
        make("here/a.py", "there/b.py", "there/c.txt")
        os.symlink("../there", "here/folder")
        os.symlink("../there/b.py", "here/b.py")
        os.symlink("../there/c.txt", "here/c.txt")
        found = file_search.find_files(["here"])
        assert paths(found) == ["here/a.py"]
        assert found.unfollowed == ("here/b.py", "here/folder")
        both = file_search.find_files(["here", "there"])
        assert paths(both) == ["here/a.py", "there/b.py"]
        assert both.unfollowed == ()

    def test_to_what_is_excluded_are_told(self, tree: Path) -> None:
        make("build/a.py")
        os.symlink("build", "current")
        assert file_search.find_files(["."]).unfollowed == ("current",)

    def test_upward_and_to_each_other_end(self, tree: Path) -> None:
        make("p/a.py", "q/b.py")
        os.symlink("..", "p/up")
        os.symlink("../q", "p/q")
        os.symlink("../p", "q/p")
        found = file_search.find_files(["."])
        assert paths(found) == ["p/a.py", "q/b.py"]
        assert found.errors == ()
        assert found.unfollowed == ()


def test_each_folder_has_the_excludes_of_its_own_project(tree: Path) -> None:
    make("a/gen/x.py", "a/keep.py", "b/gen/y.py", "b/torchmigrate.toml", "b/other/z.py")

    def excludes(folder: str) -> Excludes:
        return Excludes.from_patterns(["other"] if folder.startswith(str(tree / "b")) else ["gen"])

    assert paths(file_search.find_files(["."], excludes=excludes)) == ["a/keep.py", "b/gen/y.py"]


def test_usual_folders_without_code_of_the_project_are_left_out(tree: Path) -> None:
    make("a.py", *(f"{name}/x.py" for name in EXCLUDE), "lib/site-packages/y.py")
    assert walk(".") == ["a.py"]


def test_an_excluded_folder_that_is_named_is_walked_unless_excludes_are_forced(tree: Path) -> None:
    make("build/a.py", "build/build/b.py")
    assert walk("build") == ["build/a.py"]
    assert walk("build", force=True) == []


def test_a_file_that_is_named_is_taken_unless_excludes_are_forced(tree: Path) -> None:
    make("build/a.py", "notes.txt")
    assert walk("build/a.py", "notes.txt") == ["build/a.py", "notes.txt"]
    assert walk("build/a.py", "notes.txt", force=True) == ["notes.txt"]


def test_forced_excludes_do_not_look_above_the_working_directory(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make("build/project/a.py")
    monkeypatch.chdir("build/project")
    assert walk("a.py", force=True) == ["a.py"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("old", ["src/new/a.py", "src/older/a.py"]),
        ("old*", ["src/new/a.py"]),
        ("src/old", ["src/new/a.py", "src/older/a.py"]),
        ("/old", ["src/new/a.py", "src/old/a.py", "src/older/a.py"]),
        ("./src/old/", ["src/new/a.py", "src/older/a.py"]),
        ("src/*/a.py", []),
        ("**/new/*.py", ["src/old/a.py", "src/older/a.py"]),
    ],
)
def test_excludes_are_patterns_of_gitignore(tree: Path, pattern: str, left: list[str]) -> None:
    make("src/new/a.py", "src/old/a.py", "src/older/a.py")
    assert walk(".", exclude=[anchor_pattern(pattern, str(tree))]) == left


def test_a_folder_whose_name_is_a_pattern_anchors_literally(tree: Path) -> None:
    make("[ab]/x/m.py", "a/x/m.py")
    assert walk(".", exclude=[anchor_pattern("x/m.py", str(tree / "[ab]"))]) == ["a/x/m.py"]


def test_an_excluded_name_can_be_taken_back(tree: Path) -> None:
    make("a_gen.py", "keep_gen.py", "b.py")
    assert walk(".", exclude=["*_gen.py", "!keep_gen.py"]) == ["b.py", "keep_gen.py"]


class TestGitignore:
    """What git leaves out is left out."""

    def test_nested_files_hold_below_their_folder(self, tree: Path) -> None:
        make("a.py", "gen.py", "p/gen.py", "p/b.py", "p/q/b.py", "p/q/c.py")
        ignore(".gitignore", "gen.py", "# b.py", "")
        ignore("p/.gitignore", "!gen.py", "/b.py")
        ignore("p/q/.gitignore", "c.py")
        assert walk(".") == ["a.py", "p/gen.py", "p/q/b.py"]

    def test_files_above_the_given_folder_hold_up_to_the_root(self, tree: Path) -> None:
        ignore(".gitignore", "above.py")
        ignore("repo/.gitignore", "/p/q/a.py")
        ignore("repo/p/.gitignore", "b.py")
        ignore("repo/.git/info/exclude", "c.py")
        make("repo/p/q/a.py", "repo/p/q/b.py", "repo/p/q/c.py", "repo/p/q/above.py", "repo/p/q/d.py")
        assert walk("repo/p/q") == ["repo/p/q/above.py", "repo/p/q/d.py"]

    def test_outside_of_a_repository_files_above_do_not_hold(self, tree: Path) -> None:
        ignore(".gitignore", "*.py")
        make("p/a.py")
        assert walk("p") == ["p/a.py"]

    def test_an_ignored_folder_that_is_named_is_walked(self, tree: Path) -> None:
        make(".git/HEAD", "gen/a.py", "gen/sub/b.py")
        ignore(".gitignore", "gen/")
        assert walk("gen") == ["gen/a.py", "gen/sub/b.py"]
        assert walk(".") == []

    def test_a_worktree_has_the_excludes_of_its_repository(self, tree: Path) -> None:
        ignore("main/.git/info/exclude", "x.py")
        ignore("main/.git/worktrees/w/commondir", "../..")
        ignore("w/.git", f"gitdir: {tree}/main/.git/worktrees/w")
        make("w/x.py", "w/y.py")
        assert walk("w") == ["w/y.py"]

    def test_agrees_with_git(self, tree: Path) -> None:
        make(
            *(f"{a}/{b}/{c}.py" for a in ("src", "lib", "x y") for b in ("build", "gen", "ä") for c in "abc")
        )
        ignore(".gitignore", "gen/*", "!gen/b.py", "lib/**/a.py", "/src/ä", "x y/", "[a-b]uild/c.*", r"\!x")
        ignore("lib/.gitignore", "!a.py", "c.*")
        subprocess.run(["git", "init", "-q"], check=True)
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--others", "--exclude-standard", "*.py"],
            check=True,
            capture_output=True,
        ).stdout
        expected = sorted(os.fsdecode(listing).split("\0")[:-1])
        assert len(expected) > 5
        assert sorted(walk(".", exclude=[".git"])) == expected

    @pytest.mark.parametrize("version", ["2", "4"])
    def test_what_git_tracks_is_not_ignored(self, tree: Path, version: str) -> None:
        long = "gen/" + "n" * 200 + ".py"  # in version 4, what the next name drops of it takes two bytes
        make(
            "a.py", "gen/b.py", long, "gen/new.py", "deep/gen/x/c.py", "deep/gen/new/d.py", "bc/e.py", "z.py"
        )
        subprocess.run(["git", "init", "-q"], check=True)
        subprocess.run(["git", "add", "a.py", "gen/b.py", long, "deep/gen/x/c.py", "z.py"], check=True)
        subprocess.run(["git", "update-index", "--index-version", version], check=True)
        ignore(".gitignore", "[az].py", "gen", "b*")
        assert walk(".", exclude=[".git"]) == ["a.py", "deep/gen/x/c.py", "gen/b.py", long, "z.py"]

    @pytest.mark.parametrize("form", ["--object-format=sha256", "--split-index"])
    def test_what_git_tracks_in_any_form_of_its_index(self, tree: Path, form: str) -> None:
        make("a.py", "b.py")
        subprocess.run(["git", "init", "-q", *([form] if "object" in form else [])], check=True)
        subprocess.run(
            ["git", "update-index", "--add", *([form] if "split" in form else []), "a.py"], check=True
        )
        ignore(".gitignore", "*.py")
        assert walk(".", exclude=[".git"]) == ["a.py"]

    def test_what_git_has_come_to_track_is_no_longer_ignored(self, tree: Path) -> None:
        make("a.py")
        subprocess.run(["git", "init", "-q"], check=True)
        ignore(".gitignore", "*.py")
        assert walk(".", exclude=[".git"]) == []
        subprocess.run(["git", "add", "-f", "a.py"], check=True)
        assert walk(".", exclude=[".git"]) == ["a.py"]

    def test_a_damaged_index_tracks_nothing(self, tree: Path) -> None:
        make("a.py", "b.py")
        ignore(".gitignore", "a.py")
        ignore(".git/index", "DIRC no index at all")
        assert walk(".", exclude=[".git"]) == ["b.py"]

    def test_ignore_files_that_cannot_be_read_are_passed_over(self, tree: Path) -> None:
        make("a.py")
        os.makedirs(".gitignore")
        assert walk(".") == ["a.py"]
        make("p/a.py")
        Path("p/.gitignore").write_bytes(b"\xff\xfe\x00\n*.\xff\n!\n")
        assert walk("p") == ["p/a.py"]


class TestWhatCannotBeTaken:
    """One message each; the rest is still found."""

    def test_a_path_that_does_not_exist(self, tree: Path) -> None:
        make("a.py")
        found = file_search.find_files(["nowhere", "a.py"])
        assert messages(found) == {"nowhere": "cannot be read: no such file or directory"}
        assert paths(found) == ["a.py"]

    def test_links_to_nothing_and_to_themselves(self, tree: Path) -> None:
        make("a.py")
        os.symlink("nothing", "broken.py")
        os.symlink("nothing", "irrelevant")
        os.symlink("circle.py", "circle.py")
        found = file_search.find_files(["."])
        assert paths(found) == ["a.py"]
        assert messages(found).keys() == {"broken.py", "circle.py"}
        assert messages(found)["broken.py"] == "this is a broken link"
        assert messages(file_search.find_files(["broken.py"])) == {"broken.py": "this is a broken link"}

    def test_what_is_no_file_but_has_the_name_of_one(self, tree: Path) -> None:
        make("folder.py/a.py")
        os.mkfifo("pipe.py")
        os.mkfifo("pipe")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket.py")
            found = file_search.find_files([".", "pipe"])
        assert paths(found) == ["folder.py/a.py"]
        assert messages(found) == {
            "folder.py": "this is a folder with the name of a file",
            "pipe": "this is a named pipe, not a regular file",
            "pipe.py": "this is a named pipe, not a regular file",
            "socket.py": "this is a socket, not a regular file",
        }

    def test_a_folder_that_cannot_be_read(self, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        make("p/a.py", "b.py")
        scandir = os.scandir

        def fails(path: str) -> object:  # changing the mode would not stop root
            if path == "p":
                raise PermissionError(13, "Permission denied")
            return scandir(path)

        monkeypatch.setattr(os, "scandir", fails)
        found = file_search.find_files(["."])
        assert messages(found) == {"p": "cannot be read: permission denied"}
        assert paths(found) == ["b.py"]

    def test_a_name_that_is_no_utf8_is_taken(self, tree: Path) -> None:
        Path(os.fsdecode(b"\xff.py")).touch()
        assert walk(".") == ["\udcff.py"]


def test_standard_input_has_the_name_that_is_given(tree: Path) -> None:
    make("a.py")
    found = file_search.find_files(["-", "a.py"], read_stdin=lambda: b"x", stdin_filename="p/s.py")
    assert found.inputs == (InputFile("p/s.py", b"x"), InputFile("a.py"))
    excluded = file_search.find_files(
        ["-"],
        read_stdin=lambda: b"x",
        stdin_filename="build/s.py",
        excludes=lambda folder: Excludes.from_patterns(EXCLUDE, forced=True),
    )
    assert excluded.inputs == ()


def test_the_caller_says_which_names_are_wanted(tree: Path) -> None:
    make("a.py", "requirements.txt", "b.txt")
    assert paths(file_search.find_files(["."], wanted=lambda name: name == "requirements.txt")) == [
        "requirements.txt"
    ]
