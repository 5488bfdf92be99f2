"""Rules of another package: the example of docs/plugins.md, installed and used."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from torchmigrate.text.toml_reader import parse_toml

EXAMPLE = Path(__file__).parents[1] / "data" / "plugin"
RULE = "acme_torch_rules/acme/global_seed.py"
GROUP = "torchmigrate.rules"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the example installed in it, as an installer leaves it."""
    project = parse_toml((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    folder = tmp_path / "site"
    shutil.copytree(EXAMPLE / "acme_torch_rules", folder / "acme_torch_rules")
    described = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    described.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (described / "METADATA").write_text(metadata)
    entries = "".join(f"{name} = {value}\n" for name, value in project["entry-points"][GROUP].items())
    (described / "entry_points.txt").write_text(f"[{GROUP}]\n{entries}")
    return folder


def run(site: Path, *arguments: str) -> tuple[int, str]:
    """What the tool says of the example's cases where the package is installed."""
    shutil.copytree(EXAMPLE / "cases", site.parent / "cases", dirs_exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "torchmigrate", *arguments],
        cwd=site.parent,
        env={**os.environ, "PYTHONPATH": str(site)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


def test_its_rules_are_listed_and_explained(site: Path) -> None:
    status, listed = run(site, "rules", "--format", "json")
    assert status == 0
    (rule,) = (rule for rule in json.loads(listed) if rule["family"] == "acme")
    assert (rule["code"], rule["name"]) == ("ZA101", "global-seed")
    assert "https://handbook.acme.example/seeding" in run(site, "explain", "global-seed")[1]


@pytest.mark.parametrize("selectors", [[], ["--select", "acme"], ["--select", "ZA"], ["--select", "ZA101"]])
def test_its_findings_are_where_its_cases_say(site: Path, selectors: list[str]) -> None:
    case = "cases/global_seed.py"
    marked = [
        number
        for number, line in enumerate((EXAMPLE / case).read_text("utf-8").splitlines(), 1)
        if "# expect: ZA101" in line
    ]
    status, found = run(
        site, "check", "--isolated", "--quiet", "--output-format", "concise", *selectors, case
    )
    assert status == 1
    assert [
        int(line) for line in re.findall(r"^\S+?:(\d+):\d+: ZA101 warning", found, re.MULTILINE)
    ] == marked


def test_its_findings_are_fixed_and_silenced(site: Path) -> None:
    status, _ = run(site, "fix", "--isolated", "--unsafe", "--apply", "cases/global_seed.py")
    assert status == 0
    case = site.parent / "cases" / "global_seed.py"
    assert "    manual_seed(1)  # expect" in case.read_text()
    case.write_text("import torch\n\ntorch.manual_seed(1)  # torchmigrate: ignore ZA -- a test\n")
    done = subprocess.run(
        [sys.executable, "-m", "torchmigrate", "check", "--isolated", str(case)],
        env={**os.environ, "PYTHONPATH": str(site)},
    )
    assert done.returncode == 0


def test_without_the_package_there_is_no_such_rule(site: Path) -> None:
    shutil.rmtree(next(site.glob("*.dist-info")))
    assert run(site, "check", "--isolated", "--select", "ZA", "cases")[0] == 2
    assert run(site, "check", "--isolated", "cases")[0] == 0


DECLARED = "from torchmigrate.api import Rule\nrule = Rule("


@pytest.mark.parametrize("arguments", [["check", "cases"], ["rules"]], ids=" ".join)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "acme_torch_rules, cannot be imported: ZeroDivisionError: division by zero"),
        (f"{DECLARED}'TS101')", "global_seed.py: TS101 is also the code of torchscript/script"),
        (f"{DECLARED}'ZA1')", "global_seed.py: the code 'ZA1' must be two capital letters and three digits"),
        (
            f"{DECLARED}'ZA101', symbols=('acme.seed',))",
            "global_seed.py: the symbol 'acme.seed' does not begin with `torch.`, `functorch.`, `e3nn.`, "
            "`torchvision.`, `torchaudio.`, `torchtext.`, `torchdata.`, a dot or a dollar sign",
        ),
    ],
)
def test_a_package_that_cannot_be_used_is_named(
    site: Path, text: str, message: str, arguments: list[str]
) -> None:
    (site / RULE).write_text(text)
    status, said = run(site, *arguments)
    assert status == 2
    assert message in " ".join(said.split())
    assert "Traceback" not in said
    assert "a fault in torchmigrate" not in said


def test_an_entry_point_that_leads_nowhere_is_named(site: Path) -> None:
    shutil.rmtree(site / "acme_torch_rules")
    status, said = run(site, "rules")
    assert status == 2
    assert "acme_torch_rules, cannot be imported: ModuleNotFoundError" in " ".join(said.split())
