"""The tool on real packages: it finds what an independent script finds, and its fixes leave working, stable files.

`pytest --accept` rewrites `snapshot.json`; `silences.toml` is written by hand.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tokenize
import warnings
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.waits import find_circle
from torchmigrate.model.findings import Place

from .oracle import Package, Use, uses_of
from .packages import SNAPSHOT, SUFFIXES, fetch, pinned, recorded
from .replay import applied, explains
from .silences import entries, unreviewed
from .undefined import newly_undefined

pytestmark = pytest.mark.ecosystem

# Stated, so that nothing around the copy decides.
OPTIONS = (
    *("--isolated", "--unsafe", "--output-format", "json", "--show", "info"),
    *("--min-version", "2.12", "--target-version", "2.15"),
)
FAMILIES = ("TS", "SC")
HANGS = 600
"""Seconds; the largest package takes less than a tenth."""

Finding = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What `check` said about a copy of a package."""

    name: str
    original: Path
    copy: Path
    status: int
    report: dict[str, Any]

    def findings(self) -> list[Finding]:
        """The findings of the families that the oracle knows."""
        return [finding for finding in self.report["findings"] if finding["code"].startswith(FAMILIES)]


def torchmigrate(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the tool as a user does, in a folder, with what it knows of earlier runs; fails on a fault of the tool itself."""
    kept = ("--cache-dir", str(folder.parent / "cache"))
    command = [sys.executable, "-m", "torchmigrate", *arguments, *OPTIONS, *kept, "."]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False, timeout=HANGS
    )
    assert not re.search("Traceback|fault in torchmigrate", done.stderr), done.stderr
    assert done.returncode in (0, 1, 2), done.stderr
    return done


def compiles(path: Path) -> bool:
    """Whether this interpreter compiles the file; nothing is executed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file that the tool may touch, by path."""
    paths = (path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES and path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def text_of(data: bytes) -> str:
    """A source file as text, with its own line ends."""
    encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
    return data.decode(encoding)


def path_of(finding: Finding) -> str:
    """The file of a finding, spelled as in `Use`."""
    return Path(finding["path"]).as_posix()


def used_import(use: Use, uses: list[Use]) -> bool:
    """Whether the use is an import of something that the same file goes on to use, and that is found there."""
    return "import" in use.form and any(
        other.path == use.path and "import" not in other.form and f"{other.name}.".startswith(f"{use.name}.")
        for other in uses
    )


@pytest.fixture(scope="module", params=sorted(pinned()))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`check` on a copy of one package, outside every checkout."""
    package = pinned()[request.param]
    option = request.config.getoption
    if package.is_large and not (option("--large") or option("--accept")):
        pytest.skip("large packages are looked at with --large")
    fetch([*pinned().values()])
    copy = tmp_path_factory.mktemp(package.name) / package.name
    shutil.copytree(package.folder, copy)
    done = torchmigrate("check", folder=copy)
    return Run(package.name, package.folder, copy, done.returncode, json.loads(done.stdout))


@pytest.fixture(scope="module")
def uses(run: Run) -> list[Use]:
    """What the independent script finds in the package."""
    return uses_of(Package(run.original))


@pytest.fixture(scope="module")
def fixed(run: Run) -> dict[str, bytes]:
    """The files of the package after every fix was applied."""
    torchmigrate("fix", "--apply", folder=run.copy)
    return contents(run.copy)


def test_the_packages_are_many() -> None:
    snapshot = recorded()
    assert snapshot.keys() == pinned().keys()
    assert len(snapshot) >= 25
    assert sum(package["files"] for package in snapshot.values()) >= 20_000


def test_only_files_that_do_not_parse_are_errors(run: Run) -> None:
    failed = {error["path"] for error in run.report["errors"]}
    assert [path for path in failed if compiles(run.original / path)] == []
    assert (run.status == 2) == bool(failed)


def test_every_use_is_reported_or_silent_for_a_reason(run: Run, uses: list[Use]) -> None:
    reported = {(path_of(finding), finding["line"]) for finding in run.findings()}
    silent = [
        asdict(use)
        for use in uses
        if not any((use.path, line) in reported for line in range(use.line, use.end_line + 1))
        and not used_import(use, uses)
    ]
    problems = unreviewed(entries("silent", run.name), silent)
    assert not problems, "\n".join(problems)


def test_nothing_else_is_reported(run: Run, uses: list[Use]) -> None:
    used = {(use.path, line) for use in uses for line in range(use.line, use.end_line + 1)}
    extra = [finding for finding in run.findings() if (path_of(finding), finding["line"]) not in used]
    problems = unreviewed(entries("extra", run.name), extra)
    assert not problems, "\n".join(problems)


def test_counts_are_those_reviewed(run: Run, accept: bool) -> None:
    fixes = Counter(finding["fix"]["safety"] for finding in run.report["findings"] if finding["fix"])
    codes = Counter(finding["code"] for finding in run.report["findings"])
    counts = {
        "version": pinned()[run.name].version,
        "files": run.report["summary"]["files"],
        "findings": dict(sorted(codes.items())),
        "fixes": dict(sorted(fixes.items())),
    }
    snapshot = recorded()
    if accept:
        snapshot[run.name] = counts
        SNAPSHOT.write_text(json.dumps(dict(sorted(snapshot.items())), indent=1) + "\n", encoding="utf-8")
    assert counts == snapshot.get(run.name)


def test_no_finding_waits_for_one_that_waits_for_it(run: Run) -> None:
    waits = [
        (Place(path_of(one), one["line"]), Place(**one["waits_for"]) if one["waits_for"] else None)
        for one in run.report["findings"]
    ]
    assert find_circle(waits) == []


def test_every_file_is_looked_at(run: Run) -> None:
    assert run.report["summary"]["files"] == len(contents(run.original))


def test_fixed_files_compile(run: Run, fixed: dict[str, bytes]) -> None:
    broken = [
        path
        for path, data in contents(run.original).items()
        if fixed[path] != data and compiles(run.original / path) and not compiles(run.copy / path)
    ]
    assert broken == []


def test_fixes_leave_no_undefined_name(run: Run, fixed: dict[str, bytes], tmp_path: Path) -> None:
    before = contents(run.original)
    changed = {path: data for path, data in fixed.items() if data != before[path]}
    assert newly_undefined(run.original, changed, tmp_path) == Counter()


def test_fixes_change_only_what_they_report(run: Run, fixed: dict[str, bytes]) -> None:
    before = contents(run.original)
    assert fixed.keys() == before.keys()
    edits = edits_of(run.report)
    rest = {
        path: applied(edits[path], text_of(data))
        for path, data in before.items()
        if fixed[path] != data and not explains(edits[path], text_of(data), text_of(fixed[path]))
    }
    # What is fixed after something else was, in this file or in another one.
    edits = edits_of(report_on(run.copy, rest)) if rest else edits
    assert [
        path for path, text in rest.items() if not explains(edits[path], text, text_of(fixed[path]))
    ] == []


def edits_of(report: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Every edit of a report by its file."""
    edits: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for finding in report["findings"]:
        if finding["fix"]:
            edits[path_of(finding)] += finding["fix"]["edits"]
    return edits


def report_on(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    """What `check` reports while some files of the folder have other texts; they are put back."""
    kept = {path: (folder / path).read_bytes() for path in files}
    try:
        for path, text in files.items():
            (folder / path).write_text(text, encoding="utf-8", newline="")
        done = torchmigrate("check", folder=folder)
    finally:
        for path, data in kept.items():
            (folder / path).write_bytes(data)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_a_second_fix_changes_nothing(run: Run, fixed: dict[str, bytes]) -> None:
    done = torchmigrate("fix", "--apply", folder=run.copy)
    assert contents(run.copy) == fixed, done.stderr
