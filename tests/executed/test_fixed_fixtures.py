"""Fixed fixtures about torch.distributed run on torch as they ran before, each in a process that has imported no more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.rules.cases import FIXTURES, Case
from torchmigrate.model.torch_versions import parse_version


def _before(fixed: Path) -> Path:
    return fixed.with_name(fixed.name.replace(".fixed.py", ".py"))


INSTALLED = parse_version(torch.__version__.partition("+")[0])
FIXED = [
    path
    for family in ("process_groups", "torchcomms")
    for path in sorted((FIXTURES / family).rglob("*.fixed.py"))
    if Case(_before(path)).options[1] <= INSTALLED
]

# One process imports torch, and nothing of torch.distributed that another file would have to import; it forks for each.
_RUN = """
import json, os, runpy, sys, warnings
import torch, torch.distributed
assert "torch.distributed.tensor" not in sys.modules
failures = {}
for path in sys.argv[1:]:
    here, there = os.pipe()
    child = os.fork()
    if not child:
        warnings.simplefilter("ignore")
        try:
            runpy.run_path(path)
        except Exception as error:
            os.write(there, f"{type(error).__name__}: {error}".encode()[:2000])
        os._exit(0)
    os.close(there)
    with open(here, "rb") as answer:
        failures[path] = answer.read().decode()
    os.waitpid(child, 0)
print(json.dumps(failures))
"""


@pytest.fixture(scope="module")
def failures() -> dict[str, str]:
    """What each file raises when it is run, before and after its fix; empty for nothing."""
    files = [str(path) for fixed in FIXED for path in (_before(fixed), fixed)]
    ran = subprocess.run([sys.executable, "-c", _RUN, *files], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(ran.stdout)
    return found


@pytest.mark.parametrize("fixed", FIXED, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_what_ran_before_runs_after(fixed: Path, failures: dict[str, str]) -> None:
    # Some are no whole programs; they fail, at most, as they did.
    assert failures[str(fixed)] in ("", failures[str(_before(fixed))])
