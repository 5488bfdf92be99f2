"""The cycle collector is kept away from a run, and not for good."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

from torchmigrate.run.garbage import PausedCollector

ROOT = Path(__file__).parents[1]


MANY_RUNS = """
import gc
from tests.support import fix_text
from torchmigrate.engine.engine import Engine

for number in range(60):
    fix_text(f"import torch\\nx = torch.jit.annotate(int, {number})\\n")
print(sum(isinstance(one, Engine) for one in gc.get_objects()))
"""


def test_the_garbage_of_many_runs_does_not_pile_up() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MANY_RUNS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 60


def test_the_collector_is_as_it_was_afterwards() -> None:
    assert gc.isenabled()
    with PausedCollector():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
