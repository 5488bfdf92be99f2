"""What fixing makes of requirements can be installed: the package index has each of the versions."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache

import pytest
from packaging.requirements import Requirement

from tests.support import fix_text

pytestmark = pytest.mark.ecosystem

INDEX = "https://download.pytorch.org/whl"
EXAMPLES = [
    ("2.12", f"--extra-index-url {INDEX}/cu124\ntorch==2.6.0+cu124\ntorchvision==0.21.0+cu124\n"),
    (
        "2.13",
        f"-f {INDEX}/cu121/torch_stable.html\n"
        "torch==2.4.1\ntorchvision==0.19.1\ntorchaudio==2.4.1\ntriton==3.0.0\n",
    ),
    ("2.14", "torch>=2.4,<2.12\nnvidia-nccl-cu12==2.27.3\nnvidia-cudnn-cu12==9.10.2.21\n"),
    ("2.15", "torch==2.12.1\ntorchvision==0.27.1\ntriton==3.7.1\n"),
]


@cache
def versions(project: str) -> list[str]:
    """The versions on the index that have a wheel for Python 3.12 on this platform."""
    command = [sys.executable, "-m", "pip", "index", "versions", project, "--only-binary=:all:"]
    command += ["--python-version", "3.12"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"Available versions: (.*)", result.stdout)
    assert found is not None
    return found[1].split(", ")


@pytest.mark.parametrize(("target", "text"), EXAMPLES, ids=lambda value: value if len(value) < 5 else "")
def test_fixed_requirements_resolve(target: str, text: str) -> None:
    after = fix_text(text, "--unsafe", "--target-version", target, path="requirements.txt")
    assert after != text
    # The package index has the releases; their builds (`+cu130`) are on torch's own.
    lines = [line.partition("+")[0] for line in after.splitlines() if not line.startswith("-")]
    requirements = [Requirement(line) for line in lines]
    for requirement in requirements:
        there = [one for one in versions(requirement.name) if requirement.specifier.contains(one)]
        assert there, f"no {requirement} on the index"
        if requirement.name == "torch":
            assert any(one.startswith(f"{target}.") for one in there)
