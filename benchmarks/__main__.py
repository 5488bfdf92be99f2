"""Times `torchmigrate check` against its peers on the sources of torch and of real packages, and prints the ratios.

Exits with 1 where a ratio is over its limit. Nothing of the packages runs; the peers are installed in an environment
that is thrown away.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from math import isnan, nan
from pathlib import Path

from benchmarks.measure import Cost, Pairs, by_pairs, run
from tests.ecosystem.packages import fetch, pinned, sources

PEERS = ("ruff==0.17.5", "torchfix==0.7.0")
TORCH = Path(__file__).with_name("torch.txt")
SAMPLE = 20
CHECK = [sys.executable, "-m", "torchmigrate", "check", "--isolated", "--output-format", "concise"]
RUFF = ["check", "--isolated", "--no-cache", "--select", "ALL", "--output-format", "concise"]
READ = """
import ast, contextlib, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    data = path.read_bytes()
"""
PARSE = f"""{READ}
    with contextlib.suppress(SyntaxError, ValueError):
        ast.parse(data)
"""


class Table:
    """Prints one comparison a line, and remembers whether a limit was missed."""

    def __init__(self) -> None:
        self.missed = False
        print(f"{'ours against':34} {'wall, s':>24} {'CPU, s':>26} {'memory, MB':>22}  limit")

    def add(self, title: str, pairs: Pairs, limit: tuple[str, float] | None = None) -> None:
        """A line for one comparison; ``limit`` is a quantity of `Cost` and the highest ratio allowed."""
        cells = []
        for quantity, digits in (("wall", 2), ("cpu", 2), ("memory", 0)):
            ours, theirs = pairs.medians(quantity)
            known = not isnan(theirs)
            cells.append(
                f"{ours:.{digits}f}/{theirs:.{digits}f} = {pairs.ratio(quantity):.3g}" if known else ""
            )
        verdict = ""
        if limit:
            quantity, most = limit
            missed = pairs.ratio(quantity) > most
            self.missed |= missed
            verdict = f"{quantity} ≤ {most:g}: {'MISSED' if missed else 'met'}"
        print(f"{title:34} {cells[0]:>24} {cells[1]:>26} {cells[2]:>22}  {verdict}", flush=True)


def install_peers(folder: Path) -> Path:
    """Makes an environment with the peers and returns the folder of its commands."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    commands = folder / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([str(commands / "python"), "-m", "pip", "install", "--quiet", *PEERS], check=True)
    return commands


def start_up(table: Table, folder: Path, pairs: int) -> None:
    """One small file without findings, against an interpreter that imports click."""
    clean = folder / "clean.py"
    clean.write_text("import torch\n\nprint(torch.ones(2))\n", encoding="utf-8")
    click = [sys.executable, "-c", "import click"]
    table.add("one clean file: import click", by_pairs([*CHECK, str(clean)], click, pairs), ("wall", 2.5))


def tree(table: Table, name: str, folder: Path, commands: Path, pairs: int) -> None:
    """A whole tree, against ruff with all its rules, parsing every file, and reading every byte."""
    ours = [*CHECK, str(folder)]
    table.add(
        f"{name}: ruff", by_pairs(ours, [str(commands / "ruff"), *RUFF, str(folder)], pairs), ("wall", 4)
    )
    for title, script in (("ast.parse", PARSE), ("reading", READ)):
        table.add(f"{name}: {title}", by_pairs(ours, [sys.executable, "-c", script, str(folder)], pairs))


def torchfix(table: Table, files: list[Path], folder: Path, commands: Path, *, full: bool) -> None:
    """A whole tree against TorchFix, once: it takes minutes, so it runs on every 20th file unless ``full``."""
    chosen = files if full else files[::SAMPLE]
    scale = sum(path.stat().st_size for path in files) / sum(path.stat().st_size for path in chosen)
    ours = run([*CHECK, str(folder)])
    theirs = run([str(commands / "torchfix"), "--select", "ALL", "-j", "1", *map(str, chosen)])
    whole = Cost(theirs.wall * scale, theirs.cpu * scale, theirs.memory)
    title = "torch: TorchFix" if full else f"torch: TorchFix, {scale:.0f} times a sample"
    table.add(title, Pairs([ours], [whole]), ("cpu", 0.01))


def main() -> int:
    """Runs the comparisons that the arguments ask for; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("packages", nargs="*", default=["timm", "transformers"], help="packages beside torch")
    parser.add_argument("--pairs", type=int, default=5, help="how often each pair runs")
    parser.add_argument("--full", action="store_true", help="run TorchFix on all of torch (about 20 minutes)")
    parser.add_argument(
        "--torchfix-cpu", type=float, metavar="SECONDS", help="take this instead of running TorchFix"
    )
    options = parser.parse_args()

    (torch,) = pinned(TORCH).values()
    chosen = [torch, *(pinned()[name] for name in options.packages)]
    fetch(chosen)
    table = Table()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        commands = install_peers(scratch / "peers")
        start_up(table, scratch, 4 * options.pairs)
        for package in chosen:
            tree(table, package.name, package.folder, commands, options.pairs)
        if options.torchfix_cpu:
            recorded = Cost(nan, options.torchfix_cpu, nan)
            table.add(
                "torch: TorchFix, recorded",
                Pairs([run([*CHECK, str(torch.folder)])], [recorded]),
                ("cpu", 0.01),
            )
        else:
            torchfix(table, sources(torch), torch.folder, commands, full=options.full)
    return int(table.missed)


if __name__ == "__main__":
    sys.exit(main())
