"""A survey: what it says about each repository, what it keeps, and what one repository can do to it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.survey.made import (
    CLEAN,
    CODE,
    commit_all,
    git,
    make_repository,
    read_results,
    read_table,
    run_survey,
)
from torchmigrate.survey.inspection import Limits
from torchmigrate.survey.repositories import Repository, list_repositories
from torchmigrate.survey.run import SurveyRequest, answer_in_processes
from torchmigrate.survey.run import run_survey as run_request
from torchmigrate.survey.store import Store
from torchmigrate.survey.tables import TABLES, read_schema

LIMITS = Limits(60, 4 << 30, 1 << 30)


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library, an application that requires it, and a folder without git."""
    top = tmp_path_factory.mktemp("repositories")
    make_repository(top / "library", owner="@base")
    make_repository(top / "group" / "application", requires="library")
    shutil.rmtree(make_repository(top / "plain", CLEAN) / ".git")
    return top


@pytest.fixture(scope="module")
def surveyed(repositories: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("output")
    done = run_survey(repositories, "--fix", "-o", output)
    assert done.return_value == 0, done.output
    return output


def test_the_records_say_what_a_plan_says(surveyed: Path) -> None:
    rows = {row["repository"]: row for row in read_table(surveyed, "repositories")}
    assert list(rows) == ["group/application", "library", "plain"]
    library = rows["library"]
    assert (library["min_version"], library["works_until"], library["error"]) == ("2.4", "2.13", 1)
    assert library["allows_target"] is True
    assert (library["owners"], library["needed_by"]) == (["@base"], ["group/application"])
    assert [rows[name]["wave"] for name in rows] == [2, 1, 1]
    assert rows["plain"]["works_until"] == rows["plain"]["target_version"]
    found = read_table(surveyed, "findings")
    assert Counter(row["repository"] for row in found) == {"group/application": 2, "library": 2}
    broken = next(row for row in found if row["severity"] == "error")
    assert (broken["code"], broken["family"], broken["path"], broken["line"]) == (
        "RM701",
        "removed-api",
        "module.py",
        4,
    )


def test_the_records_fit_their_schema(surveyed: Path) -> None:
    schema = read_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for table in TABLES:
        rows = read_table(surveyed, table)
        assert rows
        for row in rows:
            jsonschema.validate(row, {**schema, "anyOf": [{"$ref": f"#/$defs/{table}"}]})


def test_the_tables_hold_the_same_rows(surveyed: Path) -> None:
    with sqlite3.connect(surveyed / "survey.sqlite") as database:
        for table in TABLES:
            rows = read_table(surveyed, table)
            assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (len(rows),)
        owners = database.execute("SELECT owners FROM repositories WHERE repository = 'library'").fetchone()
    assert json.loads(owners[0]) == ["@base"]
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    for table in TABLES:
        assert parquet.read_table(surveyed / f"{table}.parquet").to_pylist() == read_table(surveyed, table)


def test_a_patch_makes_what_fix_makes(repositories: Path, surveyed: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(repositories / "library", tmp_path / "copy"))
    identity = ("-c", "user.name=b", "-c", "user.email=b@example.org")
    git(copy, *identity, "am", "--quiet", str(surveyed / "patches" / "library.patch"))
    assert "torch.linalg.qr" in (copy / "module.py").read_text()
    assert len(git(copy, "log", "--oneline").splitlines()) == 1 + next(
        row["commits"] for row in read_table(surveyed, "repositories") if row["repository"] == "library"
    )
    assert not (surveyed / "patches" / "plain.patch").exists()
    # The repository itself is as it was.
    assert git(repositories / "library", "status", "--porcelain") == ""
    assert (repositories / "library" / "module.py").read_text() == CODE


def test_only_what_changed_is_looked_at_again(repositories: Path, tmp_path: Path) -> None:
    top, output = Path(shutil.copytree(repositories, tmp_path / "copy")), tmp_path / "out"
    assert run_survey(top, "-o", output).return_value == 0
    assert "0 repositories looked at" in run_survey(top, "-o", output).output
    (top / "library" / "module.py").write_text(CLEAN)
    assert "1 repository looked at" in run_survey(top, "-o", output).output
    assert "3 repositories looked at" in run_survey(top, "-o", output, "--target-version", "2.14").output
    fresh = tmp_path / "fresh"
    run_survey(top, "-o", fresh, "--target-version", "2.14")
    assert read_results(output) == read_results(fresh)


def test_an_interrupted_run_goes_on_and_ends_the_same(repositories: Path, tmp_path: Path) -> None:
    listed = list_repositories([str(repositories)], [])
    request = SurveyRequest((), False, False, LIMITS)
    straight, broken = (Store(str(tmp_path / name)) for name in ("straight", "broken"))

    def answer(jobs: Any) -> Any:
        return answer_in_processes(jobs, LIMITS, 1)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    run_request(listed, request, straight, answer, lambda done, total: None)
    with pytest.raises(KeyboardInterrupt):
        run_request(listed, request, broken, answer, interrupt)
    backwards = run_request(
        listed, request, broken, lambda jobs: answer(reversed(list(jobs))), lambda *_: None
    )
    assert (backwards.looked_at, backwards.unchanged) == (2, 1)
    for store in (straight, broken):
        assert run_survey("--report", store.folder).return_value == 0
    assert read_results(Path(straight.folder)) == read_results(Path(broken.folder))


def test_a_repository_costs_itself_alone(tmp_path: Path) -> None:
    top = tmp_path / "top"
    make_repository(top / "good", CLEAN)
    bad = make_repository(top / "settings", CLEAN)
    (bad / "torchmigrate.toml").write_text("no-such-setting = 1\n")
    broken = make_repository(top / "no-git", CLEAN)
    (broken / ".git" / "HEAD").write_text("nonsense")
    large = make_repository(top / "large", CLEAN)
    (large / "data.bin").write_bytes(os.urandom(3 << 20))
    if hasattr(os, "mkfifo"):
        os.mkfifo(top / "good" / "pipe.py")
    commit_all(large)
    done = run_survey(top, f"git+file://{large}", "--max-size", "1", "-o", tmp_path / "out")
    assert done.return_value == 2
    rows = {row["repository"]: row["failure"] for row in read_table(tmp_path / "out", "repositories")}
    assert rows["good"] is None
    assert "no-such-setting" in rows["settings"]
    assert rows["no-git"].startswith("git ")
    assert "--max-size" in rows["large"]
    assert rows["top/large"]
    assert all(f"torchmigrate: {name}: " in done.output for name in ("settings", "no-git", "large"))


def test_the_memory_of_a_run_does_not_grow_with_its_repositories(tmp_path: Path) -> None:
    request = SurveyRequest((), False, False, LIMITS)

    def measure_peak(number: int) -> int:
        listed = [Repository(f"r{index}", folder=f"/nowhere/{index}") for index in range(number)]
        store = Store(str(tmp_path / str(number)))
        tracemalloc.start()
        run_request(listed, request, store, answer, lambda *_: None)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    def answer(jobs: Any) -> Any:
        for repository, _ in jobs:
            steps = [f"{repository.name} {number:050}" for number in range(2_000)]
            yield repository, {"state": "s", "result": {"plan": {"steps": steps}}}

    # An answer has more than 100,000 bytes.
    assert measure_peak(100) - measure_peak(10) < 90 * 2_000


@pytest.mark.parametrize(
    ("limits", "said"),
    [(Limits(0.05, 4 << 30, 1 << 30), "--timeout"), (Limits(60, 1 << 24, 1 << 30), "--memory")],
)
def test_limits_hold(limits: Limits, said: str, tmp_path: Path) -> None:
    make_repository(tmp_path / "one")
    listed = list_repositories([str(tmp_path)], [])
    store = Store(str(tmp_path / "out"))
    answer = lambda jobs: answer_in_processes(jobs, limits, 1)  # noqa: E731
    totals = run_request(listed, SurveyRequest((), False, False, limits), store, answer, lambda *_: None)
    assert totals.failed == 1
    (kept,) = store.iterate()
    assert said in kept.error


def test_hooks_and_filters_of_a_repository_do_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    folder = make_repository(tmp_path / "top" / "one")
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    (folder / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    for name in ("applypatch-msg", "pre-applypatch", "post-checkout", "post-commit", "post-index-change"):
        (folder / ".git" / "hooks" / name).parent.mkdir(exist_ok=True)
        (folder / ".git" / "hooks" / name).symlink_to(script)
    for key in (
        "filter.evil.clean",
        "filter.evil.smudge",
        "core.fsmonitor",
        "diff.evil.command",
        "core.sshCommand",
    ):
        git(folder, "config", key, str(script))
    for where in (folder, f"git+file://{folder}"):
        run_survey(where, "--fix", "-o", tmp_path / "out")
        assert not mark.exists()
    (row,) = read_table(tmp_path / "out", "repositories")
    assert row["failure"] is None


def test_an_address_is_cloned_at_its_ref(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "team" / "one")
    git(folder, "branch", "old")
    (folder / "module.py").write_text(CLEAN)
    commit_all(folder)
    for ref, errors in (("", 0), ("@old", 1)):
        done = run_survey(f"git+file://{folder}{ref}", "-o", tmp_path / "out")
        assert done.return_value == 0, done.output
        (row,) = read_table(tmp_path / "out", "repositories")
        assert (row["repository"], row["error"]) == ("team/one", errors)
        assert row["commit"] == git(folder, "rev-parse", ref[1:] or "HEAD").strip()
        assert "1 unchanged" in run_survey(f"git+file://{folder}{ref}", "-o", tmp_path / "out").output
    done = run_survey(f"git+file://{tmp_path}/nowhere", "-o", tmp_path / "out")
    assert done.return_value == 2


def test_two_surveys_are_compared_by_what_was_resolved(
    repositories: Path, surveyed: Path, tmp_path: Path
) -> None:
    top = Path(shutil.copytree(repositories, tmp_path / "copy"))
    (top / "library" / "module.py").write_text("\n\n" + CODE.replace("torch.qr", "torch.linalg.qr"))
    shutil.rmtree(top / "plain")
    run_survey(top, "-o", tmp_path / "out")
    done = run_survey("--compare", surveyed, tmp_path / "out")
    assert done.output.splitlines() == [
        "repository\tresolved\tnew\tleft",
        "library\t1\t0\t1",
        "plain\t-\t-\tno longer surveyed",
        "total\t1\t0\t3",
    ]
    assert "cannot be read" in str(run_survey("--compare", tmp_path / "none", tmp_path / "out").exception)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a folder"),
        (["nowhere"], "nowhere is not a folder"),
        (["https://example.org/a/b"], "write it as git+https://example.org/a/b"),
        (["git+https://example.org/a/b@-x"], "is no address"),
        (["git+ext::sh"], "is no address"),
        (["--unsafe", "."], "--unsafe requires --fix"),
        (["--from", "missing.txt"], "missing.txt cannot be read"),
        (["--target-version", "9.9", "."], "9.9"),
    ],
)
def test_wrong_usage_is_said_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    done = run_survey(*arguments)
    assert said in str(getattr(done.exception, "message", done.exception))
    assert list(tmp_path.iterdir()) == [tmp_path / "pyproject.toml"]
