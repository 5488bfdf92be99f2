"""The list of repositories: folders, lists, addresses, and what the GitHub CLI prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchmigrate.survey.order import order_repositories
from torchmigrate.survey.repositories import ListError, list_repositories
from torchmigrate.survey.store import Kept


def test_a_folder_names_what_it_holds(tmp_path: Path) -> None:
    for name in ("a/.git", "b/c/.git", "b/c/inner/.git", ".hidden/.git", "plain"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "setup.py").write_text("")
    (tmp_path / "link").symlink_to("a")
    assert [one.name for one in list_repositories([str(tmp_path)], [])] == ["a", "b/c", "project"]
    (one,) = list_repositories([str(tmp_path / "a")], [])
    assert (one.name, one.folder) == ("a", str(tmp_path / "a"))
    with pytest.raises(ListError, match="holds no repository"):
        list_repositories([str(tmp_path / "plain")], [])


def test_a_list_has_paths_and_addresses(tmp_path: Path) -> None:
    (tmp_path / "mine" / ".git").mkdir(parents=True)
    listed = tmp_path / "repos.txt"
    listed.write_text(
        "# ours\nmine  # the first\n\ngit+https://github.com/team/one.git@v1.2\ngit+ssh://git@example.org/team/two\n"
        "git+https://github.com/team/one@main\n"
    )
    found = list_repositories([str(tmp_path / "mine")], [str(listed)])
    assert [(one.name, one.url, one.ref) for one in found] == [
        ("mine", "", ""),
        ("team/one", "https://github.com/team/one", "main"),
        ("team/one~2", "https://github.com/team/one.git", "v1.2"),
        ("team/two", "ssh://git@example.org/team/two", ""),
    ]
    listed.write_text("mine\nnowhere\n")
    with pytest.raises(ListError, match=r"repos\.txt:2: nowhere is not a folder"):
        list_repositories([], [str(listed)])


def test_a_list_of_the_github_cli_leaves_archived_repositories_out(tmp_path: Path) -> None:
    listed = tmp_path / "repos.json"
    entries = [
        {"url": "https://github.com/team/one", "isArchived": False, "defaultBranchRef": {"name": "trunk"}},
        {"url": "https://github.com/team/two", "isArchived": True},
    ]
    listed.write_text(json.dumps(entries))
    assert [one.location for one in list_repositories([], [str(listed)])] == [
        "git+https://github.com/team/one@trunk"
    ]
    listed.write_text('[{"name": "one"}]')
    with pytest.raises(ListError, match="`url`"):
        list_repositories([], [str(listed)])


def kept(name: str, requires: list[str], packages: list[str] | None = None) -> Kept:
    return Kept(name, name, "", "", "", {"packages": packages or [name], "requires": requires}, "")


def test_libraries_come_first_and_circles_together() -> None:
    order = order_repositories(
        [
            kept("app", ["a", "numpy"]),
            kept("a", ["b"]),
            kept("b", ["c", "base"]),
            kept("c", ["a"]),
            kept("base", []),
        ]
    )
    assert order.waves == {"base": 1, "a": 2, "b": 2, "c": 2, "app": 3}
    assert order.waits_for["app"] == ("a",)
    assert order.needed_by["a"] == ("app", "c")


def test_a_package_of_two_repositories_orders_nothing() -> None:
    order = order_repositories([kept("one", [], ["same"]), kept("fork", [], ["same"]), kept("app", ["same"])])
    assert order.waves == {"one": 1, "fork": 1, "app": 1}
