"""Advice leaves folders alone whose license names another owner than that of the project."""

from __future__ import annotations

from pathlib import Path

from tests.support import settings_of
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import runner
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree

NORM = "import torch\n\n\ndef norm(x):\n    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)\n"
OURS = "MIT License\n\nCopyright (c) 2024 The authors\n"
THEIRS = "BSD License\n\nCopyright (c) 2017, Others, Inc. All rights reserved.\n"


def advised(root: Path, licenses: dict[str, str]) -> set[str]:
    """The modules that get advice."""
    files = [root / "norm.py", root / "kit" / "norm.py", root / "SentEval" / "senteval" / "norm.py"]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {file.parent.name}\n{NORM}")
    for folder, text in licenses.items():
        (root / folder / "LICENSE").write_text(text)
    settings, minimum = settings_of(["--select", "AD904"])
    tree = Tree(
        [InputFile(str(file)) for file in files], create_uniform_profile(settings, minimum), root=str(root)
    )
    found = (finding for result in runner.check_tree(tree) for finding in result.findings)
    return {Path(one.path).relative_to(root).parts[0] for one in found}


def test_a_folder_with_a_license_of_others(tmp_path: Path) -> None:
    licenses = {"": OURS, "kit": OURS, "SentEval": THEIRS}
    assert advised(tmp_path, licenses) == {"norm.py", "kit"}


def test_a_project_in_a_folder_and_one_without_license(tmp_path: Path) -> None:
    assert advised(tmp_path, {"SentEval": THEIRS}) == {"norm.py", "kit", "SentEval"}
