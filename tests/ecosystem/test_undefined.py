"""Fixes on real packages leave no undefined name, whichever rules are selected; ruff is the judge."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support import settings_of
from torchmigrate import runner
from torchmigrate.files import Input
from torchmigrate.registry import rules
from torchmigrate.rule import Safety

from .packages import Package, fetch, pinned, sources

pytestmark = pytest.mark.ecosystem

OPTIONS = ("--unsafe", "--min-version", "2.12", "--target-version", "2.15")
DROP = "--no-keep-torchscript-support"
COUNTS = json.loads(Path(__file__).with_name("snapshot.json").read_text(encoding="utf-8"))
FIXABLE = [
    code for code, rule in rules().items() if code.startswith("TS") and rule.safety is not Safety.MANUAL
]


def found(name: str) -> dict[str, int]:
    """How often each rule that may have a fix finds something in a package."""
    return {code: count for code, count in COUNTS[name]["findings"].items() if code in FIXABLE}


MOST = sorted(pinned(), key=lambda name: sum(found(name).values()))[-3:]


def fixed(package: Package, *options: str) -> dict[Path, bytes]:
    """The files of a package that a fix changes, by their path in it; the package stays as it is."""
    fetch([package])
    settings, minimum = settings_of([*OPTIONS, *options])
    inputs = [Input(str(path)) for path in sources(package)]
    results = list(runner.fix(inputs, settings, min_version=minimum))
    return {
        Path(result.path).relative_to(package.folder): result.after
        for result in results
        if result.after is not None and result.path.endswith(".py")
    }


def undefined(folder: Path, files: dict[Path, bytes]) -> Counter[tuple[str, str]]:
    """What ruff says about undefined names in the files, and about those that it cannot read."""
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--exit-zero"]
    command += ["--select=F821", "--target-version=py312", "--output-format=json", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    said = json.loads(done.stdout)
    return Counter(
        (Path(one["filename"]).relative_to(folder.resolve()).as_posix(), one["message"]) for one in said
    )


def assert_nothing_new(package: Package, after: dict[Path, bytes], folder: Path) -> None:
    """Compares what ruff says about the files before and after."""
    before = {path: (package.folder / path).read_bytes() for path in after}
    assert undefined(folder / "after", after) - undefined(folder / "before", before) == Counter()
    for path, data in after.items():
        compile(data, str(path), "exec", dont_inherit=True)


@pytest.mark.parametrize("options", [(), (DROP,)], ids=["keep", "drop"])
@pytest.mark.parametrize("name", [name for name in sorted(pinned()) if found(name)])
def test_no_name_is_undefined_after_all_rules(name: str, options: tuple[str, ...], tmp_path: Path) -> None:
    after = fixed(pinned()[name], "--select", "TS", *options)
    assert_nothing_new(pinned()[name], after, tmp_path)


@pytest.mark.parametrize(("name", "code"), [(name, code) for name in MOST for code in found(name)])
def test_no_name_is_undefined_after_a_single_rule(name: str, code: str, tmp_path: Path) -> None:
    after = fixed(pinned()[name], "--select", code, DROP)
    assert_nothing_new(pinned()[name], after, tmp_path)


def test_ruff_sees_an_undefined_name(tmp_path: Path) -> None:
    assert undefined(tmp_path, {Path("a.py"): b"import torch\nx = torch.jit\ny = annotate\n"}) == {
        ("a.py", "Undefined name `annotate`"): 1
    }
