"""Measures the time of `torchmigrate probe`, as a ratio to ``python -m torch.utils.collect_env`` on the same interpreter.

    python benchmarks/probe.py [--python PATH] [--runs 5]

Both import torch once in a process of its own; the best of the runs counts, alternately taken, so that a machine that
is busy for a while slows both.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time


def seconds(command: list[str]) -> float:
    """Return the wall time of one run; its output and exit status do not matter here."""
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - begin


def main() -> None:
    """Print one line per program, and the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable, help="an interpreter with torch")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    programs = {
        "import torch": [options.python, "-c", "import torch"],
        "collect_env": [options.python, "-m", "torch.utils.collect_env"],
        "torchmigrate probe": [sys.executable, "-m", "torchmigrate", "probe", "--python", options.python],
    }
    best = {name: seconds(command) for name, command in programs.items()}
    for _ in range(options.runs - 1):
        best = {name: min(best[name], seconds(command)) for name, command in programs.items()}
    for name, wall in best.items():
        print(f"{name:20} {wall:6.2f} s")
    print(f"probe / collect_env  {best['torchmigrate probe'] / best['collect_env']:6.2f}")


if __name__ == "__main__":
    main()
