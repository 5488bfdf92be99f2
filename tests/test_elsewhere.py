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


def test_a_name_in_settings_changes_first(tmp_path: Path) -> None:
    """A load of whatever the settings name reads both formats, so that the export follows the new name."""
    files = {
        "export.py": EXPORT,
        "infer.py": INFER.replace(b"infer(x)", b"infer(x, path)").replace(b'"net.pt"', b"path"),
    }
    settings = tmp_path / "serve.yaml"
    settings.write_text("model: out/net.pt\n")
    step = "serve.yaml:1 also names this file: change the name there to `net.pt2`, then fix again"
    assert reasons(tmp_path, files) == {step, "fix"}
    settings.write_text("model: out/net.pt2\n")
    files["infer.py"] = files["infer.py"].replace(
        b"torch.jit.load(path)(x)",
        b'(torch.export.load(path).module() if path.endswith(".pt2") else torch.jit.load(path))(x)',
    )
    assert step not in reasons(tmp_path, files)
    assert "fix" in reasons(tmp_path, files)


def test_what_was_found_elsewhere_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    cache = Cache(str(tmp_path / "kept"))
    assert reasons(tmp_path / "p", TOGETHER, cache) == {"fix"}
    (tmp_path / "p" / "main.cpp").write_text("#include <torch/script.h>\n")
    assert reasons(tmp_path / "p", TOGETHER, cache) != {"fix"}
    cache.close()


CONVERTED = b"""import torch


def load_classifier():
    model = torch.jit.load("models/classifier.pt", map_location="cpu")
    model.eval()
    return model(torch.ones(1, 3))


def load_again(root):
    return torch.jit.load(f"{root}/models/classifier.pt")(torch.ones(1, 3))
"""


@pytest.mark.parametrize(
    ("converted", "text", "reason"),
    [
        ("models/classifier.pt2", CONVERTED, "fix"),
        ("app/models/classifier.pt2", CONVERTED, "fix"),
        ("other/classifier.pt2", CONVERTED, "nothing in the project saves this file"),
        ("models/classifiers.pt2", CONVERTED, "nothing in the project saves this file"),
        (
            "models/classifier.pt2",
            CONVERTED + b'\n\nNAMES = ["models/classifier.pt"]\n',
            "`models/classifier.pt2` holds the exported program, but other code uses the name of the old file",
        ),
        (
            "models/classifier.pt2",
            CONVERTED.replace(b"model(torch", b"model.encode(torch"),
            "line 7 calls `.encode()` on the result, which has no replacement",
        ),
    ],
)
def test_a_file_is_loaded_in_its_converted_form(
    tmp_path: Path, converted: str, text: bytes, reason: str
) -> None:
    (tmp_path / converted).parent.mkdir(parents=True)
    (tmp_path / converted).write_bytes(b"PK\x03\x04")
    assert reasons(tmp_path, {"serve.py": text}) == {reason}


def test_what_the_project_saves_is_no_converted_file(tmp_path: Path) -> None:
    """The export makes it anew, in one fix with the load."""
    (tmp_path / "net.pt2").write_bytes(b"PK\x03\x04")
    assert reasons(tmp_path, TOGETHER) == {"fix"}
    script = EXPORT.replace(b"trace(model, torch.zeros(1, 4))", b"script(model)")
    assert "fix" not in reasons(tmp_path, {**TOGETHER, "export.py": script})
