"""Fixes on real packages leave no undefined name, whichever rules are selected.

What all rules do together while scripting stays is looked at in `test_ecosystem`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import pytest

from tests.support import settings_of
from torchmigrate.engine.registry import load_rules
from torchmigrate.model.vocabulary import Safety
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import runner
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree

from .packages import Package, fetch, pinned, recorded, sources
from .undefined import newly_undefined, undefined

pytestmark = pytest.mark.ecosystem

OPTIONS = ("--unsafe", "--min-version", "2.12", "--target-version", "2.15")
DROP = "--no-keep-torchscript-support"
COUNTS = recorded()
FIXABLE = [
    code for code, rule in load_rules().items() if code.startswith("TS") and rule.safety is not Safety.MANUAL
]


def found(name: str) -> dict[str, int]:
    """How often each rule that may have a fix finds something in a package."""
    return {code: count for code, count in COUNTS[name]["findings"].items() if code in FIXABLE}


def smallest(code: str) -> str | None:
    """The package with the fewest files of those in which a rule finds something and that are not large."""
    names = [name for name, package in pinned().items() if not package.is_large and code in found(name)]
    return min(names, key=lambda name: COUNTS[name]["files"], default=None)


SMALLEST = [(name, code) for code in FIXABLE if (name := smallest(code))]


def fixed(package: Package, *options: str) -> dict[str, bytes]:
    """The files of a package that a fix changes, by their path in it; the package stays as it is."""
    fetch([*pinned().values()])
    settings, minimum = settings_of([*OPTIONS, *options])
    inputs = [InputFile(str(path)) for path in sources(package)]
    results = list(runner.fix_tree(Tree(inputs, create_uniform_profile(settings, minimum))))
    return {
        Path(result.path).relative_to(package.folder).as_posix(): result.after
        for result in results
        if result.after is not None and result.path.endswith(".py")
    }


def assert_nothing_new(package: Package, after: dict[str, bytes], folder: Path) -> None:
    """Compares what ruff says about the files before and after."""
    assert newly_undefined(package.folder, after, folder) == Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path, data in after.items():
            compile(data, path, "exec", dont_inherit=True)


@pytest.mark.parametrize("name", [name for name in sorted(pinned()) if found(name)])
def test_no_name_is_undefined_where_nobody_scripts(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if pinned()[name].is_large and not request.config.getoption("--large"):
        pytest.skip("large packages are looked at with --large")
    after = fixed(pinned()[name], "--select", "TS", DROP)
    assert_nothing_new(pinned()[name], after, tmp_path)


@pytest.mark.parametrize(("name", "code"), SMALLEST)
def test_no_name_is_undefined_after_a_single_rule(name: str, code: str, tmp_path: Path) -> None:
    after = fixed(pinned()[name], "--select", code, DROP)
    assert_nothing_new(pinned()[name], after, tmp_path)


def test_ruff_sees_an_undefined_name(tmp_path: Path) -> None:
    assert undefined(tmp_path, {"a.py": b"import torch\nx = torch.jit\ny = annotate\n"}) == {
        ("a.py", "Undefined name `annotate`"): 1
    }
