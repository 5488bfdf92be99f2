"""A new family of rules needs a folder with its rule and a folder with its fixtures, and nothing else is edited."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documentation.declared import ROOT

COPIED = (
    "torchmigrate",
    "rules",
    "tests",
    "docs",
    "README.md",
    "CONTRIBUTING.md",
    "pyproject.toml",
    "setup.py",
)
"""Of the checkout, with the fixtures of one family, which are enough."""

WRITTEN = {
    "rules/toy/__init__.py": '"""Toys, of which torch has better ones."""\n',
    "rules/toy/old_toy.py": '''\
"""`torch.old_toy` is `torch.new_toy`.

Why: since torch 2.12 there is a better one.

    torch.old_toy(1)
    →
    torch.new_toy(1)

Fix safety: safe; both do the same.

Source: torch 2.12 wheel: torch/toys.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Rule, Safety, Use

rule = Rule(
    code="TY801",
    symbols=("torch.old_toy",),
    message="`{symbol}` is `torch.new_toy`",
    since=(2, 12),
    deprecated=(2, 14),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: Fix((ctx.rename_use(use, "torch.new_toy"),), Safety.SAFE, "Use the new toy"))
''',
    "fixtures/toy/old_toy/case.py": '''\
# flags: --min-version 2.12
"""A call of the old toy becomes one of the new toy."""

import torch

torch.old_toy(1)  # expect: TY801
''',
}
"""All that its author writes."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the new family, whose records and pages are accepted."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    # Where the rules are looked for first; the checkout's own are mapped by the installation.
    try:
        (folder / "torchmigrate" / "rules").symlink_to(folder / "rules", target_is_directory=True)
    except OSError:
        pytest.skip("no links here")
    for name in ("suppression", "probe"):
        shutil.copytree(ROOT / "fixtures" / name, folder / "fixtures" / name)
    for path, text in WRITTEN.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return folder


def run(folder: Path, *arguments: str) -> str:
    """What a module of Python prints in the copy; it must not fail."""
    status, said = attempt(folder, *arguments)
    assert status == 0, said
    return said


def attempt(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit status of a module of Python in the copy, and what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    return done.returncode, done.stdout


def test_the_tests_of_the_project_take_it_in(checkout: Path) -> None:
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    tests = ["tests/rules/test_fixtures.py", "tests/documentation/test_generated.py"]
    selected = ["-k", "toy or TY801 or families or CONTRIBUTING or rules.md"]
    pytest_ = ["pytest", "-n0", "-p", "no:cacheprovider"]
    run(checkout, *pytest_, *tests, *selected, "--accept")
    changed = {
        path.relative_to(checkout).as_posix()
        for path in checkout.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and before.get(path) != path.read_bytes()
    }
    written = {f"fixtures/toy/old_toy/case{suffix}" for suffix in (".findings", ".fixed.py")}
    pages = {"README.md", "CONTRIBUTING.md", "docs/rules.md", "docs/rules/TY801.md"}
    assert changed == {*written, *pages}
    row = "| `TY8` | [`toy`](docs/rules.md#toy) | Toys, of which torch has better ones |"
    assert row in (checkout / "README.md").read_text("utf-8")
    recorded = (checkout / "fixtures/toy/old_toy/case.findings").read_text("utf-8")
    assert "TY801 warning (info before 2.14): `torch.old_toy` is `torch.new_toy`" in recorded
    assert "fix (safe): Use the new toy" in recorded
    rooms = ["tests/test_layers.py", "tests/documentation/test_docstrings.py", *tests]
    run(checkout, *pytest_, *rooms, "-k", "toy or TY801 or layers or families or CONTRIBUTING")


def test_it_is_listed_and_explained(checkout: Path) -> None:
    listed = json.loads(run(checkout, "torchmigrate", "rules", "--format", "json"))
    assert ("TY801", "old-toy", "toy") in [(rule["code"], rule["name"], rule["family"]) for rule in listed]
    assert "since torch 2.12 there is a better one" in run(checkout, "torchmigrate", "explain", "TY801")


@pytest.mark.parametrize(
    ("selectors", "status"),
    [
        ([], 1),
        (["--select", "toy"], 1),
        (["--select", "TY"], 1),
        (["--select", "TY8"], 1),
        (["--ignore", "toy"], 0),
        (["--select", "TS"], 0),
    ],
    ids=str,
)
def test_it_is_selected_like_the_others(checkout: Path, selectors: list[str], status: int) -> None:
    case = "fixtures/toy/old_toy/case.py"
    found, said = attempt(checkout, "torchmigrate", "check", "--isolated", *selectors, case)
    assert found == status, said
    assert ("TY801" in said) == bool(status)


def test_settings_and_comments_name_it(checkout: Path, tmp_path: Path) -> None:
    code = "import torch\n\ntorch.old_toy(1)\n"
    (tmp_path / "a.py").write_text(code)
    (tmp_path / "b.py").write_text(code.replace("(1)", "(1)  # torchmigrate: ignore TY801"))
    settings = tmp_path / "torchmigrate.toml"
    settings.write_text('select = ["toy", "XX"]\n')
    status, said = attempt(checkout, "torchmigrate", "check", "--output-format", "concise", str(tmp_path))
    assert status == 1
    assert said.count("TY801") == 1
    settings.write_text('[per-file-ignores]\n"a.py" = ["TY8"]\n')
    run(checkout, "torchmigrate", "check", str(tmp_path))
