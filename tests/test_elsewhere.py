"""What no rule looks into, but may load what the project saves: other languages, excluded files, scripts, documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import settings_of
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import runner
from torchmigrate.run.cache import Cache
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree

EXPORT = b"""import torch


def export(model):
    torch.jit.trace(model, torch.zeros(1, 4)).save("net.pt")
"""
INFER = b"""import torch


def infer(x):
    return torch.jit.load("net.pt")(x)
"""
TOGETHER = {"export.py": EXPORT, "infer.py": INFER}
ALONE = {"export.py": EXPORT + b'    torch.jit.load("net.pt")(torch.zeros(1, 4))\n'}


def reasons(root: Path, files: dict[str, bytes], cache: Cache | None = None) -> set[str]:
    """Why the findings in these modules have no fix; `fix` for those that have one."""
    settings, minimum = settings_of(["--min-version", "2.10", "--unsafe"])
    for name, data in files.items():
        (root / name).write_bytes(data)
    inputs = [InputFile(str(root / name)) for name in files]
    results = runner.check_tree(
        Tree(inputs, create_uniform_profile(settings, minimum), root=str(root)), cache=cache
    )
    findings = [finding for one in results for finding in one.findings]
    assert findings
    return {
        "fix" if finding.fix else (finding.withheld or "").replace(f"{root}/", "") for finding in findings
    }


@pytest.mark.parametrize("files", [TOGETHER, ALONE])
def test_nobody_else_loads_it(tmp_path: Path, files: dict[str, bytes]) -> None:
    (tmp_path / "main.cpp").write_text("int main() {}\n")
    assert reasons(tmp_path, files) == {"fix"}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("main.cpp", "#include <torch/script.h>\n", "other programs may load this file: C++ at main.cpp:1"),
        ("Main.java", '\nload("net.pt");\n', "other programs may load this file: Java at Main.java:2"),
        (
            "config.pbtxt",
            'platform: "pytorch_libtorch"',
            "other programs may load this file: Triton at config.pbtxt:1",
        ),
        (
            "excluded.py",
            "m = torch.jit.load(path)\n",
            "other programs may load this file: unchecked Python at excluded.py:1",
        ),
    ],
)
def test_other_readers_keep_it_as_it_is(tmp_path: Path, name: str, text: str, reason: str) -> None:
    (tmp_path / name).write_text(text)
    assert reasons(tmp_path, TOGETHER) == {reason}


def test_a_script_that_names_the_file_may_be_its_reader(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("\n./serve net.pt\n")
    assert reasons(tmp_path, ALONE) == {
        "run.sh:2 also mentions this file, and it is unclear what loads it from there"
    }
    assert reasons(tmp_path, TOGETHER) == {"fix"}  # read by another module; the file keeps its name


def test_what_was_found_elsewhere_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    cache = Cache(str(tmp_path / "kept"))
    assert reasons(tmp_path / "p", TOGETHER, cache) == {"fix"}
    (tmp_path / "p" / "main.cpp").write_text("#include <torch/script.h>\n")
    assert reasons(tmp_path / "p", TOGETHER, cache) != {"fix"}
    cache.close()
