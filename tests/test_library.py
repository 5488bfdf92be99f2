"""What other programs call, and that its page says what it does."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import torchmigrate
from torchmigrate.settings.settings import default_to_toml, setting_fields

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "api.md"
SCRIPT = "import torch\nf = torch.jit.script(g)\n"


@pytest.fixture(autouse=True)
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "fixtures" / "example", tmp_path / "example")
    monkeypatch.chdir(tmp_path / "example")


@pytest.mark.parametrize(
    ("code", "printed"),
    re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE),
)
def test_the_examples_print_what_the_page_says(code: str, printed: str) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs/api.md", "exec"), {})
    assert out.getvalue() == printed


def test_the_page_has_examples_of_both_functions() -> None:
    assert set(re.findall(r"= torchmigrate\.(\w+)\(", PAGE.read_text())) == {"check", "fix"}


def test_importing_it_loads_nothing() -> None:
    code = (
        "import sys, torchmigrate; print([name for name in sys.modules if name.startswith('torchmigrate.')]);"
        "print(torchmigrate.check.__name__, 'check' in dir(torchmigrate))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\ncheck True\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        torchmigrate.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_its_types_are_declared() -> None:
    stub = (ROOT / "torchmigrate" / "__init__.pyi").read_text()
    assert sorted(re.findall(r" as (\w+)$", stub, re.MULTILINE)) == sorted(torchmigrate.__all__)


class TestCheck:
    def test_it_finds_what_the_command_finds(self) -> None:
        checked = torchmigrate.check()
        assert {finding.path for finding in checked.findings} >= {"requirements.txt", "ranker/model.py"}
        assert checked.files == 6
        assert checked.errors == ()

    def test_several_paths_and_one_that_is_not_there(self) -> None:
        checked = torchmigrate.check([Path("ranker/buffers.py"), "nowhere.py"])
        assert [finding.code for finding in checked.findings] == ["SC201"]
        assert [error.path for error in checked.errors] == ["nowhere.py"]

    def test_every_setting_is_an_argument(self) -> None:
        stated: dict[str, Any] = {one.name: default_to_toml(one) for one in setting_fields()}
        assert torchmigrate.check("ranker/buffers.py", isolated=True, **stated).findings
        assert torchmigrate.check(per_file_ignores={"*": ["ALL"]}).findings == ()
        assert torchmigrate.check("requirements.txt", target_version="2.12").findings == ()

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"target": "2.15"}, "argument: unknown key `target`"),
            ({"target_version": 2.15}, "argument: `target-version` must be"),
            ({"select": ["NO1"]}, "no rule matches `NO1`"),
            ({"baseline": "nowhere.json"}, "nowhere.json: there is no baseline"),
            ({"config": "nowhere.toml"}, "nowhere.toml"),
        ],
    )
    def test_what_cannot_be_used_is_said(self, settings: dict[str, str], message: str) -> None:
        with pytest.raises(torchmigrate.ConfigError, match=re.escape(message)):
            torchmigrate.check("ranker", **settings)  # type: ignore[arg-type]


class TestFix:
    def test_bytes_stay_bytes(self) -> None:
        before = b"import torch\r\nfrom torch.jit import Final\r\nx: Final[int] = 1\r\n"
        fixed = torchmigrate.fix(before, "ranker/new.py")
        assert fixed.source == b"import torch\r\nfrom typing import Final\r\nx: Final[int] = 1\r\n"
        assert fixed.findings == ()

    def test_text_in_an_encoding_of_its_own(self) -> None:
        source = "# coding: latin-1\nfrom torch.jit import Final\nx: Final[str] = 'é'\n"
        assert "typing" in (fixed := torchmigrate.fix(source, "ranker/new.py")).source
        assert fixed.source.endswith("= 'é'\n")

    def test_what_is_not_safe_is_asked_for(self) -> None:
        assert torchmigrate.fix(SCRIPT, "ranker/new.py").source == SCRIPT
        assert "torch.compile" in torchmigrate.fix(SCRIPT, "ranker/new.py", unsafe_fixes=True).source

    def test_a_source_of_nowhere(self) -> None:
        assert [finding.code for finding in torchmigrate.fix(SCRIPT).findings] == ["TS101"]

    def test_a_project_file(self) -> None:
        fixed = torchmigrate.fix("torch==2.12.1\n", "other/requirements.txt", unsafe_fixes=True)
        assert fixed.source == "torch==2.15.0\n"

    def test_what_is_no_python_is_an_error(self) -> None:
        fixed = torchmigrate.fix("import torch\ntorch.jit.script(\n", "ranker/new.py")
        assert fixed.source.endswith("script(\n")
        assert [error.path for error in fixed.errors] == ["ranker/new.py"]
