"""The benchmarks compute what they say; nothing here depends on how long anything takes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import __main__, commands, compare, report, trees
from benchmarks.compare import Goal, Ratio
from benchmarks.measure import Costs
from benchmarks.results import RECORDED, Results, Tree

from .ecosystem.packages import Package


def results() -> Results:
    """A run on one tree and on copies of it, with easy numbers."""
    ours = Costs([2.0, 3.0, 8.0], [4.0, 4.0, 4.0], 50, 60)
    ruff = Costs([2.0, 2.0, 2.0], [8.0, 8.0, 8.0], 120, 120)
    tree = Tree(10, 1.0, {commands.TWO: ours, commands.ONE: ours, commands.RUFF: ruff})
    tree.costs[commands.TORCHFIX] = Costs(cpu=[400.0])
    growth = {copies: Tree(10 * copies, copies, {commands.ONE: grown(copies)}) for copies in (1, 2, 16)}
    return Results("2030-01-01", {"torchmigrate": "1"}, "a machine", 0.1, 3, {"torch": tree}, "torch", growth)


def grown(copies: int) -> Costs:
    """Linear time and no growth, but for the most copies."""
    return Costs([copies], [2.0 * copies + (copies == 16) * 8], 250 if copies == 16 else 50, 50)


def test_a_ratio_is_taken_pair_by_pair() -> None:
    # The ratio of the medians would be 3/4.
    assert Ratio.of([1, 3, 8], [4, 2, 8]) == Ratio(1.0, 0.25, 1.5)


def test_what_ran_once_is_the_partner_of_all() -> None:
    assert Ratio.of([1, 2, 3], [2]) == Ratio(1.0, 0.5, 1.5)
    assert Ratio.of([1], []) is None
    with pytest.raises(ValueError, match="3 runs and 2 make no pairs"):
        Ratio.of([1, 2, 3], [1, 2])


@pytest.mark.parametrize(
    ("value", "text"),
    [(1 / 134, "1/134"), (0.52, "0.52"), (2, "2"), (2.04, "2.04"), (250.3, "250"), (1234.5, "1234")],
)
def test_ratios_are_shown_with_three_digits(value: float, text: str) -> None:
    assert compare.shown(value) == text


def test_goals_are_met_up_to_the_limit() -> None:
    assert str(Goal("wall", 2, 2.0)) == "wall ≤ 2: ok"
    assert str(Goal("CPU", 1 / 150, 1 / 149)) == "CPU ≤ 1/150: missed"


def test_the_rows_compare_what_ran() -> None:
    fix, ruff = compare.rows(results())
    assert (fix.recorded, ruff.recorded) == (True, False)
    assert (fix.theirs, fix.wall, fix.cpu, fix.memory) == (
        "TorchFix, recorded",
        None,
        Ratio(0.01, 0.01, 0.01),
        None,
    )
    assert [str(goal) for goal in fix.goals] == ["CPU ≤ 1/150: missed"]
    assert (ruff.wall, ruff.cpu, ruff.memory) == (
        Ratio(1.5, 1, 4),
        Ratio(0.5, 0.5, 0.5),
        Ratio(0.5, 0.5, 0.5),
    )
    assert [str(goal) for goal in ruff.goals] == ["wall ≤ 2: ok"]


def test_growth_is_judged_where_the_copies_are_most() -> None:
    one, two, most = compare.growth(results())
    assert (one.per_file, two.per_file, most.per_file) == (1.0, 1.0, 1.25)
    assert not one.goals
    assert [str(goal) for goal in most.goals] == ["CPU per file ≤ 1.1: missed", "MB ≤ 200: missed"]
    assert len(compare.goals(results())) == 4


def test_every_goal_belongs_to_commands_that_run(tmp_path: Path) -> None:
    on_tree = {*commands.of_tree(tmp_path, tmp_path, tmp_path), commands.TORCHFIX}
    on_start = commands.of_start(tmp_path / "start", tmp_path).keys()
    for one in compare.COMPARISONS:
        ran = on_start if compare.START in one.limits else on_tree
        assert {one.ours, one.theirs} <= ran
        assert one.limits.keys() <= {compare.START, *trees.PACKAGES}
        assert {what for limits in one.limits.values() for what in limits} <= {"wall", "CPU"}


def test_a_record_is_read_as_it_was_written() -> None:
    assert Results.from_json(results().to_json()) == results()
    with pytest.raises(ValueError, match="not a record of the benchmarks: KeyError"):
        Results.from_json('{"trees": {}}')


def test_the_tables_have_a_line_for_each_comparison() -> None:
    lines = [*report.text_of("torch", results().trees["torch"]), *report.text(results())]
    words = [" ".join(line.split()) for line in lines]
    assert "torch: 10 files, 1.0 MB" in words
    assert "all families, 2 processes 3.00 4.00 50 60" in words
    assert "TorchFix 400.00" in words
    row = ("torch", commands.TWO, commands.RUFF, "1.5 (1…4)", "0.5", "0.5", "wall ≤ 2: ok")
    assert " ".join(row) in words
    assert f"| {' | '.join(row)} |" in report.markdown(results()).splitlines()
    assert f"2 20 {commands.ONE} 2.0 1.00 50 50" in words


def test_the_page_agrees_with_the_recorded_run() -> None:
    text = __main__.PAGE.read_text(encoding="utf-8")
    assert report.markdown(Results.from_json(RECORDED.read_text(encoding="utf-8"))) in text


def test_the_section_is_replaced_between_its_marks() -> None:
    text = report.in_page(f"a\n{report.BEGIN}\nold\n{report.END}\nb\n", results())
    assert text == f"a\n{report.markdown(results())}\nb\n"
    with pytest.raises(ValueError, match="no <!-- speed -->"):
        report.in_page("a\n", results())


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every package is one file, nothing is installed, and every command does nothing; a folder to work in."""
    monkeypatch.setenv("TORCHMIGRATE_ECOSYSTEM", str(tmp_path / "packages"))
    (tmp_path / "packages" / "timm-1").mkdir(parents=True)
    (tmp_path / "packages" / "timm-1" / "timm.py").write_text("import torch\n")
    monkeypatch.setattr(trees, "package", lambda name: Package(name, "1", ""))
    monkeypatch.setattr(commands, "installed", lambda requirement, folder: folder)
    titles = commands.of_tree(tmp_path, tmp_path, tmp_path)
    nothing = dict.fromkeys(titles, (sys.executable, "-c", ""))
    monkeypatch.setattr(commands, "of_tree", lambda *_: nothing)
    monkeypatch.setattr(__main__, "bind", lambda: None)
    return tmp_path


def test_growth_doubles_the_files(tiny: Path) -> None:
    measured = dict(__main__.grow("timm", tiny, (1, 2, 4)))
    assert [(copies, tree.files) for copies, tree in measured.items()] == [(1, 1), (2, 2), (4, 4)]
    both = [commands.TWO, commands.ONE]
    assert [list(tree.costs) for tree in measured.values()] == [both, [commands.TWO], both]
    assert all(len(costs.wall) == 1 for tree in measured.values() for costs in tree.costs.values())


def test_a_run_prints_its_tables_and_writes_a_record(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tiny / "record.json"
    status = __main__.main(
        ["--only", "timm", "--only", "growth", "--growth", "timm", "--pairs", "2", "--json", str(file)]
    )
    written = Results.from_json(file.read_text())
    assert list(written.trees) == ["timm"]
    assert {len(costs.wall) for costs in written.trees["timm"].costs.values()} == {2}
    assert list(written.growth) == list(__main__.COPIES)
    assert status == (not all(goal.met for goal in compare.goals(written)))
    printed = capsys.readouterr().out
    assert printed.startswith(written.heading())
    assert printed.endswith("\n".join(report.text(written)) + "\n")


def test_what_cannot_be_run_is_said_in_one_line(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "of_tree", lambda *_: {commands.WARM: ("sh", "-c", "exit 3")})
    assert __main__.main(["--only", "timm"]) == 2
    assert capsys.readouterr().err == "python -m benchmarks: exit status 3: sh -c exit 3: it said nothing\n"


def test_a_broken_record_leaves_the_page_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record, page = tmp_path / "results.json", tmp_path / "benchmarks.md"
    page.write_text(f"a\n{report.BEGIN}\n{report.END}\n")
    monkeypatch.setattr(__main__, "RECORDED", record)
    monkeypatch.setattr(__main__, "PAGE", page)
    record.write_text("[]")
    assert __main__.main(["--page"]) == 2
    assert "results.json: not a record of the benchmarks" in capsys.readouterr().err
    assert page.read_text() == f"a\n{report.BEGIN}\n{report.END}\n"
    record.write_text(results().to_json())
    assert __main__.main(["--page"]) == 0
    assert page.read_text() == f"a\n{report.markdown(results())}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pairs", "0"], "--pairs: at least 1"),
        (["--json", "/no/such/file"], "--json: /no/such is no folder"),
    ],
)
def test_options_are_checked_before_anything_runs(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        __main__.parsed(arguments)
    assert message in capsys.readouterr().err
