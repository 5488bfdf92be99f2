"""The plan of an upgrade: the order, what other versions make of each finding, and what its renderings let through."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import click
import jsonschema
import pytest
from click.testing import CliRunner

from tests.browser import needs_browser, read_document
from tests.support import settings_of
from torchmigrate import __version__
from torchmigrate import plan as room
from torchmigrate.cli.commands import cli
from torchmigrate.console.markdown_text import render_code, render_message
from torchmigrate.documents.minimum_torch import Minimum
from torchmigrate.engine import registry
from torchmigrate.engine.engine import Engine
from torchmigrate.model.findings import Edit, FileError, FileResult, Finding, Fix, Location, Place, Span
from torchmigrate.model.torch_versions import Version
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.plan import build, html, markdown, phrases, text
from torchmigrate.plan import json as as_json
from torchmigrate.plan.model import Effort, Plan, Stage
from torchmigrate.plan.origin import PlanOrigin, describe_base
from torchmigrate.project.code_owners import CodeOwners
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import runner
from torchmigrate.run.evaluation import (
    EvaluatedFinding,
    Evaluation,
    PossibleFix,
    evaluate_tree,
    list_releases,
)
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree
from torchmigrate.text.edit_hunks import EditHunk, create_hunks

ORIGIN = PlanOrigin(
    "house", "2026-11-26", "0123456789abcdef" * 2, True, os.getcwd(), "https://example.org/house/blob/main"
)
SCHEMA = json.loads((Path(room.__file__).parent / "plan.schema.json").read_text())

FILES = {
    "pkg/now.py": "import torch\n\nx = torch.load('x.pt')\n",
    "pkg/later.py": "import torch\n\nif torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():\n    pass\nq, r = torch.qr(a)\n",
    "pkg/model.py": "import torch\n\n\n@torch.jit.script\ndef f(x):\n    return x\n",
    "pkg/export.py": "import torch\n\ntorch.jit.save(m, 'm.pt')\n",
    "requirements.txt": "--extra-index-url https://download.pytorch.org/whl/cu118\ntorch==2.4.0\n",
}


def tree(minimum: Version, target: str = "2.15") -> Tree:
    settings, _ = settings_of(["--target-version", target])
    inputs = [InputFile(path, content.encode()) for path, content in FILES.items()]
    return Tree(inputs, create_uniform_profile(settings, minimum))


def planned(found: Sequence[Evaluation], minimum: Version = (2, 4), *, numpy: bool = False) -> Plan:
    asked = build.PlanRequest(
        Minimum(minimum, "pyproject.toml:3"),
        False,
        (2, 15),
        registry.load_rules(),
        lambda code: "https://example.org/why",
        lambda path: ("@me",) if path.startswith("pkg/") else (),
        ("pkg",),
        " --isolated",
        True,
        len(FILES),
        ORIGIN,
        lambda: numpy,
    )
    return build.build_plan(found, asked)


@pytest.mark.parametrize(
    ("minimum", "numpy", "named"), [((2, 2), True, True), ((2, 2), False, False), ((2, 3), True, False)]
)
def test_the_upgrade_that_brings_numpy_2_names_the_rule_of_ruff(
    found: list[Evaluation], minimum: Version, numpy: bool, named: bool
) -> None:
    (step,) = (one for one in planned(found, minimum, numpy=numpy).steps if one.stage is Stage.ENVIRONMENT)
    assert ("ruff check --select NPY201 pkg" in step.commands) is named
    assert ("numpy 2" in step.why) is named


@pytest.fixture(scope="module")
def found() -> list[Evaluation]:
    return list(evaluate_tree(tree((2, 4)), edits=True))


def test_each_release_says_what_a_check_for_it_says(found: list[Evaluation]) -> None:
    for release in [(2, 4), (2, 10), (2, 15)]:
        checked = runner.check_tree(tree((2, 4), f"2.{release[1]}"))
        expected = Counter((f.path, f.code, f.severity) for result in checked for f in result.findings)
        counted: Counter[tuple[str, str, Severity]] = Counter()
        for one in found:
            for count in one.counts:
                if count.release == release:
                    counted[one.result.path, count.code, count.severity] += count.number
        assert counted == expected, release


def test_a_chance_names_the_lowest_bound_under_which_a_check_has_a_fix(found: list[Evaluation]) -> None:
    by_code = {p.finding.code: p for one in found for p in one.prospects}
    capturing = by_code["SC201"]
    assert capturing.finding.fix is None
    assert capturing.chance is not None
    assert capturing.chance.minimum == (2, 12)
    assert capturing.hunks[0].after[2] == (
        "if torch.cuda.is_available() and torch.cuda.current_stream().is_capturing():"
    )
    below, at = (
        next(f for result in runner.check_tree(tree(bound)) for f in result.findings if f.code == "SC201")
        for bound in [(2, 11), (2, 12)]
    )
    assert below.fix is None
    assert at.fix is not None


def test_each_project_counts_from_its_own_bound_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, bound in {"old": "2.1", "new": "2.12"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyproject.toml").write_text(
            f'[project]\nname = "{name}"\ndependencies = ["torch>={bound}"]\n'
        )
        (tmp_path / name / "a.py").write_text(FILES["pkg/later.py"])
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        cli, ["plan", "-q", "--output-format", "json", "--select", "SC"], standalone_mode=False
    )
    document = json.loads(done.stdout)
    assert (document["min_version"], document["several_projects"]) == ("2.1", True)
    counts = {one["version"]: one["findings"]["info"] for one in document["releases"]}
    assert (counts["2.1"], counts["2.11"], counts["2.12"]) == (1, 1, 2)
    assert [step["stage"] for step in document["steps"]] == ["now", "bound"]


def test_releases_begin_with_torch_2() -> None:
    assert list_releases((1, 13), (2, 2)) == [(2, 0), (2, 1), (2, 2)]
    assert list_releases((2, 2), (2, 2)) == [(2, 2)]


def test_each_finding_stands_in_one_step_in_order(found: list[Evaluation]) -> None:
    plan = planned(found)
    stages = [step.stage for step in plan.steps]
    # What only something better waits for comes last.
    assert stages == [Stage.NOW, Stage.ENVIRONMENT, Stage.ARTIFACTS, Stage.TORCHSCRIPT, Stage.BOUND]
    of = {(item.finding.path, item.finding.code): step.stage for step in plan.steps for item in step.items}
    assert len(plan.items) == sum(len(one.result.findings) for one in found)
    assert of["pkg/now.py", "RM721"] is Stage.NOW
    assert of["pkg/later.py", "SC201"] is Stage.BOUND
    assert of["requirements.txt", "CU501"] is Stage.ENVIRONMENT
    assert of["pkg/export.py", "TS111"] is Stage.ARTIFACTS
    assert of["pkg/model.py", "TS101"] is Stage.TORCHSCRIPT
    assert plan.efforts[Effort.ARTIFACT] == 1
    (bound,) = [step for step in plan.steps if step.stage is Stage.BOUND]
    assert bound.commands == ("torchmigrate fix --apply --select SC201 --min-version 2.12 --isolated pkg",)
    assert plan.steps[0].commands == (
        "torchmigrate fix --apply --select RM701 --min-version 2.4 --isolated pkg",
        "torchmigrate fix --unsafe --apply --select RM721 --min-version 2.4 --isolated pkg",
    )
    assert plan.releases[0].version == (2, 4)
    assert ("TS101", Severity.WARNING) in plan.releases[6].new_rules


def test_what_breaks_comes_before_what_can_wait_for_the_same_bound() -> None:
    fix = Fix((), Safety.SAFE, "Use `torch.new`")
    prospects = [
        EvaluatedFinding(
            one := Finding("RM701", "x", severity, "a.py"), chance=PossibleFix(bound, one._replace(fix=fix))
        )
        for severity, bound in [(Severity.INFO, (2, 9)), (Severity.ERROR, (2, 8)), (Severity.INFO, (2, 8))]
    ]
    result = FileResult("a.py", tuple(prospect.finding for prospect in prospects))
    steps = planned([Evaluation(result, tuple(prospects))]).steps
    assert [(step.stage, step.items[0].minimum) for step in steps] == [
        (Stage.BOUND, (2, 8)),
        (Stage.BOUND, (2, 9)),
    ]
    assert len(steps[0].items) == 2


def test_what_waits_takes_what_its_fix_will_take() -> None:
    reason = "waits for `torch.jit.script` at b.py:3"
    waiting = Finding("TS151", "x", Severity.INFO, "a.py", withheld=reason, waits_for=Place("b.py", 3))
    (item,) = planned([Evaluation(FileResult("a.py", (waiting,)), (EvaluatedFinding(waiting),))]).items
    assert item.effort is Effort.MECHANICAL


EVIL = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">$title"


@pytest.fixture(scope="module")
def hostile(found: list[Evaluation]) -> Plan:
    made = []
    for one in found:
        prospects = tuple(
            replace(
                prospect,
                finding=prospect.finding._replace(
                    path=f"pkg/\x1b]0;x\x07##[error]{EVIL}.py",
                    message=f"{EVIL}\u202e ##[stop]",
                    hint=EVIL,
                    source_lines=(EVIL,),
                ),
                hunks=(EditHunk(1, (EVIL, "\x1b[2J"), ("'><script>document.title='owned'</script>",)),),
            )
            for prospect in one.prospects
        )
        error = FileError(f"::error::{EVIL}", EVIL, 1, 1)
        result = one.result._replace(errors=(error,))
        made.append(replace(one, prospects=prospects, result=result))
    return planned(made)


def test_nothing_in_a_project_controls_what_shows_its_plan(hostile: Plan) -> None:
    for made in (
        text.render_text(hostile, width=80),
        markdown.render_markdown(hostile),
        html.render_html(hostile),
        as_json.render_json(hostile),
    ):
        assert "##[" not in made
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", made)
        assert not any(line.lstrip().startswith("::") for line in made.split("\n"))
    page = html.render_html(hostile)
    assert page.count("<script>") == page.count("</script>") == 1
    assert "<img" not in page
    assert "<img" not in re.sub(r"(`+).*?\1|\\<", "", markdown.render_markdown(hostile))


def test_hyperlinks_lead_to_the_source_of_a_rule_and_to_files(hostile: Plan) -> None:
    plan = text.render_text(hostile, width=80, links=True)
    assert "\x1b]8;;https://example.org/why\x1b\\TS101\x1b]8;;\x1b\\" in plan
    urls = re.findall(r"\x1b\]8;;(.*?)\x1b\\", plan)
    assert all(re.fullmatch(r"[!-~]*", url) for url in urls)
    rest = re.sub(r"\x1b\]8;;[!-~]*?\x1b\\", "", plan)
    assert "\x1b" not in rest


def test_colors_change_nothing_else(found: list[Evaluation]) -> None:
    plan = planned(found)
    colored = text.render_text(plan, width=80, color=True)
    assert "\x1b[31m" in colored
    assert click.unstyle(colored) == text.render_text(plan, width=80)


def test_the_source_of_a_finding_comes_before_that_of_its_rule(found: list[Evaluation]) -> None:
    sources = {group.code: group.source for step in planned(found).steps for group in step.groups}
    assert sources["SC201"] == "https://example.org/why"
    assert "torch" in sources["RM701"]
    assert "example.org" not in sources["RM701"]


def test_the_page_filters_by_paths_with_blanks(found: list[Evaluation]) -> None:
    [outlook] = [one for one in found if one.result.path == "pkg/now.py"]
    prospects = tuple(
        replace(one, finding=one.finding._replace(path="my files/now.py")) for one in outlook.prospects
    )
    page = html.render_html(planned([replace(outlook, prospects=prospects)]))
    assert 'data-file="my files/now.py"' in page
    assert '<option value="my files/now.py">' in page


def test_a_plan_says_what_it_was_made_of(found: list[Evaluation]) -> None:
    plan = planned(found)
    line = f"house at 0123456789ab with changes, torchmigrate {__version__}, 2026-11-26."
    for made in (text.render_text(plan, width=80), markdown.render_markdown(plan), html.render_html(plan)):
        assert line in made
    assert as_json.build_document(plan)["origin"]["commit"] == "0123456789abcdef" * 2


def test_places_are_links_to_the_host_of_the_code(found: list[Evaluation]) -> None:
    plan, base = planned(found), "https://example.org/house/blob/main"
    listed = markdown.render_markdown(plan)
    assert f"- [`pkg/now.py`](<{base}/pkg/now.py>): [3](<{base}/pkg/now.py#L3>)" in listed
    assert f'<a href="{base}/pkg/now.py#L3" rel="noreferrer">pkg/now.py:3</a>' in html.render_html(plan)
    assert "](<" not in markdown.render_markdown(replace(plan, origin=PlanOrigin()))


@pytest.mark.parametrize(
    ("address", "base"),
    [
        ("git@github.com:o/r.git", "https://github.com/o/r/blob/c0"),
        ("https://user:secret@github.com/o/r", "https://github.com/o/r/blob/c0"),
        ("ssh://git@gitlab.example.org:2222/a/b/r.git/", "https://gitlab.example.org/a/b/r/-/blob/c0"),
        ("https://bitbucket.org/o/r", "https://bitbucket.org/o/r/src/c0"),
        ("https://codeberg.org/o/r.git", "https://codeberg.org/o/r/src/commit/c0"),
        ("https://github.com/o/a%22b<c", "https://github.com/o/a%2522b%3Cc/blob/c0"),
        ("https://code.example.org/o/r", ""),
        ("/srv/github/r.git", ""),
        ("../r", ""),
    ],
)
def test_the_address_of_a_commit_follows_from_that_of_the_repository(address: str, base: str) -> None:
    assert describe_base(address, "c0") == base


def test_only_a_commit_that_the_host_has_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    def links(*options: str) -> set[str]:
        arguments = ["plan", "-q", "--isolated", "--output-format", "md", *options, "."]
        done = CliRunner().invoke(cli, arguments, standalone_mode=False)
        return set(re.findall(r"\(<(https://[^>]*/now\.py)>\)", done.stdout))

    (tmp_path / "now.py").write_text(FILES["pkg/now.py"])
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    git("remote", "add", "origin", "git@github.com:o/r.git")
    assert links() == set()
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    [address] = links()
    assert re.fullmatch(r"https://github\.com/o/r/blob/[0-9a-f]{40}/now\.py", address)
    assert links("--link-base", "https://example.org/tree/") == {"https://example.org/tree/now.py"}
    assert links("--link-base", "none") == set()


def test_a_plan_of_an_unchanged_project_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 10**10)
    monkeypatch.chdir(tmp_path)
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content)

    def make(*options: str) -> str:
        arguments = ["plan", "-q", "--isolated", "--output-format", "html", *options, "."]
        done = CliRunner().invoke(cli, arguments, standalone_mode=False)
        assert done.exception is None
        return done.stdout

    expected = make("--cache-dir", "kept")
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "open_file", lambda *_: pytest.fail("a file was read"))
        assert make("--cache-dir", "kept") == expected
    (tmp_path / "pkg/now.py").write_text("import torch\n\ntorch.lu(x)\n")
    assert make("--cache-dir", "kept") == make("--no-cache") != expected


def test_programs_that_load_artifacts_stand_with_the_code_that_writes_them() -> None:
    settings, _ = settings_of([])
    files = {
        "export.py": "import torch\n\ntorch.jit.trace(net, x).save('m.pt')\n",
        "main.cpp": '#include <torch/script.h>\nauto m = torch::jit::load("m.pt");\n',
        "CMakeLists.txt": 'find_package(Torch REQUIRED)\ntarget_link_libraries(app "${TORCH_LIBRARIES}")\n',
    }
    inputs = [InputFile(path, content.encode()) for path, content in files.items()]
    plan = planned(list(evaluate_tree(Tree(inputs, create_uniform_profile(settings, (2, 6))), edits=False)))
    [step] = plan.steps
    assert step.stage is Stage.ARTIFACTS
    assert {"ER601", "ER611", "TS102"} <= {group.code for group in step.groups}


def test_text_keeps_to_its_width(found: list[Evaluation]) -> None:
    for line in text.render_text(planned(found), width=60).splitlines():
        assert len(line) <= 60 or line.lstrip().startswith("$"), line


def test_json_fits_its_schema(found: list[Evaluation]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    document = json.loads(as_json.render_json(planned(found)))
    jsonschema.validate(document, SCHEMA)
    document["steps"][0]["stage"] = "some day"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def test_json_has_all_that_is_known_of_a_finding() -> None:
    code = Finding(
        "RM701",
        "`x` is gone",
        Severity.WARNING,
        "pkg/a.py",
        Span(0, 1),
        Location(2, 5, 2, 9),
        hint="write `y`",
        withheld="it is elsewhere",
        evidence="seen 3 times",
    )
    whole = Finding("RM701", "`z` is gone", Severity.ERROR, "b.ipynb")
    mended = code._replace(fix=Fix((), Safety.SAFE, "Use `y`"), withheld=None)
    chance = PossibleFix((2, 9), mended)
    plan = planned(
        [
            Evaluation(
                FileResult("pkg/a.py", (code,)),
                (EvaluatedFinding(code, (((2, 13), Severity.INFO),), chance),),
            ),
            Evaluation(FileResult("b.ipynb", (whole,)), (EvaluatedFinding(whole),)),
            Evaluation(FileResult("c.py", errors=(FileError("c.py", "no code", 3, 4),))),
        ]
    )
    document = as_json.build_document(plan)
    assert document["origin"] == {
        "project": "house",
        "date": "2026-11-26",
        "commit": "0123456789abcdef" * 2,
        "has_changes": True,
        "link_base": "https://example.org/house/blob/main",
    }
    assert document["errors"] == [{"path": "c.py", "line": 3, "column": 4, "message": "no code"}]
    items = {
        item["path"]: item
        for step in document["steps"]
        for rule in step["rules"]
        for item in rule["findings"]
    }
    nothing = {"cell": None, "hint": None, "fix": None, "fix_needs": None, "withheld": None, "evidence": None}
    assert items["b.ipynb"] == nothing | {
        "path": "b.ipynb",
        "line": None,
        "column": None,
        "severity": "error",
        "effort": "decide",
        "message": "`z` is gone",
        "owners": [],
        "releases": {},
    }
    assert items["pkg/a.py"] == {
        "path": "pkg/a.py",
        "cell": None,
        "line": 2,
        "column": 5,
        "severity": "warning",
        "effort": "mechanical",
        "message": "`x` is gone",
        "hint": "write `y`",
        "fix": "Use `y`",
        "fix_needs": "2.9",
        "withheld": "it is elsewhere",
        "evidence": "seen 3 times",
        "owners": ["@me"],
        "releases": {"2.13": "info"},
    }


def test_the_page_filters_by_everything_that_tells_findings_apart(found: list[Evaluation]) -> None:
    page = html.render_html(planned(found))
    names = re.findall(r"<label>([A-Z][^<]*)<(?:select|input) name=", page)
    assert names == ["Rule", "Severity", "Effort", "Step", "Owner", "Breaks or warns in", "File"]


def test_a_release_says_what_it_does_to_the_code(found: list[Evaluation]) -> None:
    last = planned(found).releases[-1]
    assert phrases.describe_new_rules(replace(last, new_rules=(("RM1", Severity.ERROR),))) == "breaks: RM1"
    some = (("RM1", Severity.WARNING), ("RM2", Severity.INFO), ("RM3", Severity.WARNING))
    told = phrases.describe_new_rules(replace(last, new_rules=some))
    assert told == "warns: RM1, RM3; superseded: RM2"


def test_markdown_shows_what_the_project_spells() -> None:
    assert (
        render_message("`a|b` is *new* <b> @someone #3")
        == "`a\\|b` is \\*new\\* \\<b\\> @<!-- -->someone \\#3"
    )
    assert render_code("a`b") == "``a`b``"
    assert render_code("`a") == "`` `a ``"
    assert render_code("a`") == "`` a` ``"


def test_hunks_are_lines_around_edits() -> None:
    lines = "".join(f"line {number}\n" for number in range(1, 21)).encode()
    at = lines.index(b"line 5")
    far = lines.index(b"line 15")
    (one, other) = create_hunks(lines, [Edit(far, far + 4, "LINE"), Edit(at, at, "new\n")])
    assert one == EditHunk(
        3, ("line 3", "line 4", "line 5", "line 6", "line 7"), ("line 3", "line 4", "new", *one.before[2:])
    )
    assert other.after[2] == "LINE 15"
    assert create_hunks(b"x", [Edit(0, 1, "y")]) == (EditHunk(1, ("x",), ("y",)),)
    assert len(create_hunks(lines, [Edit(0, 1, "L"), Edit(at, at, "x")])) == 1


def test_the_last_pattern_that_fits_names_the_owners(tmp_path: Path) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "CODEOWNERS").write_text(
        "* @all\n/pkg/ @pkg @more # why\n*.txt @docs\npkg/a\\ b.py @space\n/pkg/nobody.py\n[Section] @team\nlast/\n"
    )
    owners = CodeOwners(str(tmp_path))
    expected = {
        "x.py": ("@all",),
        "pkg/deep/x.py": ("@pkg", "@more"),
        "pkg/x.txt": ("@docs",),
        "pkg/a b.py": ("@space",),
        "pkg/nobody.py": (),
        "last/x.py": ("@team",),
    }
    assert {path: owners.find_owners(str(tmp_path / path)) for path in expected} == expected
    assert CodeOwners("").find_owners("x.py") == ()


def test_the_command_writes_every_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content)
    monkeypatch.chdir(tmp_path)
    for style, begin in {
        "text": "From torch",
        "markdown": "# Upgrade",
        "md": "# Upgrade",
        "html": "<!doctype",
        "json": "{",
    }.items():
        done = CliRunner().invoke(cli, ["plan", "-q", "--output-format", style], standalone_mode=False)
        assert done.exception is None
        assert done.return_value == 0
        assert done.stdout.startswith(begin)
    done = CliRunner().invoke(cli, ["plan", "-q", "--select", "TC", "pkg"], standalone_mode=False)
    assert re.search(r": 0 findings in 0 of \d files?\.\n.*\n\nNo rule found anything to do", done.stdout)
    (tmp_path / "broken.py").write_text("import torch\ntorch.qr(\n")
    done = CliRunner().invoke(cli, ["plan", "-q", "-o", "plan.txt"], standalone_mode=False)
    assert done.return_value == 2
    assert "broken.py:2" in (tmp_path / "plan.txt").read_text()


@needs_browser
def test_a_browser_runs_our_script_and_no_other(hostile: Plan, tmp_path: Path) -> None:
    page = html.render_html(hostile)
    escaped_nothing = page.replace("</main>", "<script>document.title='owned'</script></main>")
    dom = read_document(escaped_nothing, tmp_path)
    number = len(hostile.items)
    assert f"{number} of {number} shown" in dom
    assert "<title>Upgrade to torch 2.15</title>" in dom


DRIVER = """<script>
const said = [], table = document.getElementById("table");
const order = () => [...table.tBodies].filter((row) => !row.hidden).map((row) => row.dataset.rule).join();
const head = (key) => table.querySelector(`button[data-key=${key}]`);
head("rule").click(); said.push(order());
head("rule").click(); said.push(order());
const severity = document.querySelector("select[name=severity]");
severity.value = "error"; severity.dispatchEvent(new Event("input", { bubbles: true })); said.push(order());
document.querySelector("button[data-show$='rule=RM721']").click(); said.push(order());
const file = document.querySelector("input[name=file]");
document.getElementById("reset").click();
file.value = "pkg/later"; file.dispatchEvent(new Event("input", { bubbles: true })); said.push(order());
document.getElementById("reset").click();
document.dispatchEvent(new KeyboardEvent("keydown", { key: "/" })); said.push(document.activeElement.id);
document.title = said.join(" ");
</script></body>"""


@needs_browser
def test_the_page_sorts_filters_and_takes_keys(found: list[Evaluation], tmp_path: Path) -> None:
    plan = planned(found)
    page = re.sub(r"<meta http-equiv=[^>]*>", "", html.render_html(plan)).replace("</body>", DRIVER)
    match = re.search(r"<title>(.*?)</title>", read_document(page, tmp_path))
    assert match
    up, down, errors, shown, later, focused = match[1].split(" ")
    codes = [item.finding.code for item in plan.items]
    assert up.split(",") == sorted(codes)
    assert down.split(",") == sorted(codes, reverse=True)
    failing = [item.finding.code for item in plan.items if item.finding.severity is Severity.ERROR]
    assert sorted(errors.split(",")) == sorted(failing)
    assert shown == "RM721"
    there = [item.finding.code for item in plan.items if "pkg/later" in item.finding.path]
    assert sorted(later.split(",")) == sorted(there)
    assert focused == "search"


@pytest.fixture(scope="module")
def large(found: list[Evaluation]) -> Plan:
    """A plan with thousands of findings, in files with long names."""
    every = []
    for number in range(6000 // sum(len(one.prospects) for one in found) + 1):
        for one in found:
            path = f"{'a_folder_with_a_long_name/' * 4}{number}/{one.result.path}"
            prospects = tuple(replace(p, finding=p.finding._replace(path=path)) for p in one.prospects)
            every.append(replace(one, prospects=prospects))
    return planned(every)


FRAME = """<iframe id="page" style="width: 400px; height: 900px" srcdoc="{}"></iframe>
<script>
document.getElementById("page").addEventListener("load", (event) => {{
  const page = event.target.contentDocument;
  const rows = () => page.querySelectorAll("#table > tbody").length;
  page.getElementById("expand").click();
  const wide = page.documentElement.scrollWidth, few = rows();
  const search = page.getElementById("search");
  search.value = "rm721 /17/"; search.dispatchEvent(new Event("input", {{ bubbles: true }}));
  const found = rows(), unfolded = page.querySelectorAll("details[open]").length;
  page.getElementById("reset").click();
  page.defaultView.dispatchEvent(new Event("beforeprint"));
  document.title = [wide, few, found, unfolded, rows()].join(" ");
  event.target.remove();
}});
</script>"""


@needs_browser
def test_rows_are_made_when_they_are_seen_and_fit_a_narrow_window(large: Plan, tmp_path: Path) -> None:
    page = re.sub(r"<meta http-equiv=[^>]*>", "", html.render_html(large))
    match = re.search(r"<title>(.*?)</title>", read_document(FRAME.format(escape(page)), tmp_path))
    assert match
    wide, few, found, unfolded, printed = map(int, match[1].split())
    assert wide <= 400
    assert few < 400 < printed == len(large.items) >= 6000
    assert found == unfolded == 1


def test_a_finding_without_a_place_has_one_in_the_plan() -> None:
    nowhere = Finding("RM701", "`x` is gone", Severity.ERROR, "a.py", Span(0, 1), Location(1, 1, 1, 2))
    plan = planned([Evaluation(FileResult("a.py", (nowhere,)), (EvaluatedFinding(nowhere),))])
    assert plan.steps[0].stage is Stage.BREAKS
    assert "a.py:1" in text.render_text(plan, width=80)
