"""The results of a run of the benchmarks, with its machine and day, and their form as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.commands import RUFF_VERSION, TORCHFIX_VERSION
from benchmarks.measure import Costs

RECORDED = Path(__file__).with_name("results.json")
"""The run that docs/benchmarks.md reports."""


@dataclass
class Tree:
    """The costs of each command, by its title, on one tree of files."""

    files: int
    megabytes: float
    costs: dict[str, Costs]


@dataclass
class Results:
    """A run: its day and machine, the trees by name, and one tree (``grown``) by the number of its copies."""

    date: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    load: float = 0.0
    """The processes that were running on average in the minute before."""
    pairs: int = 0
    trees: dict[str, Tree] = field(default_factory=dict)
    grown: str = ""
    growth: dict[int, Tree] = field(default_factory=dict)

    @classmethod
    def here(cls, pairs: int) -> Results:
        """Create results without trees for this machine and today; each comparison has ``pairs`` pairs."""
        versions = {
            "torchmigrate": version("torchmigrate"),
            "Python": platform.python_version(),
            "ruff": RUFF_VERSION,
            "TorchFix": TORCHFIX_VERSION,
        }
        today = datetime.now(timezone.utc).date().isoformat()
        return cls(today, versions, machine(), round(os.getloadavg()[0], 1), pairs)

    def heading(self) -> str:
        """Return one line with the day, the versions and the machine."""
        programs = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return f"{self.date}; {programs}; {self.machine}, load {self.load} before"

    def to_json(self) -> str:
        """Render the results as text, which `from_json` reads."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Results:
        """Parse the text that `to_json` has written. Raises ValueError for anything else."""
        try:
            data = json.loads(text)
            trees = {name: _tree(tree) for name, tree in data.pop("trees").items()}
            growth = {int(copies): _tree(tree) for copies, tree in data.pop("growth").items()}
            return cls(**data, trees=trees, growth=growth)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"not a record of the benchmarks: {error!r}") from error


def _tree(data: dict[str, Any]) -> Tree:
    costs = {title: Costs(**cost) for title, cost in data.pop("costs").items()}
    return Tree(**data, costs=costs)


def machine() -> str:
    """Describe the processor, the usable cores, and the memory."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    gibibytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{_processor()}, {cores} cores, {gibibytes:.0f} GiB"


def _processor() -> str:
    names = Path("/proc/cpuinfo")
    for line in names.read_text(encoding="utf-8").splitlines() if names.exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
