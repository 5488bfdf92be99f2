"""Measures `torchmigrate check` against similar tools on the sources of torch and of real packages, in about six minutes.

All commands run in turns, and each ratio is taken within a round, so that a machine that is busy for a while slows both.
On Linux all run on two cores, because a peer that takes every core it finds cannot be compared with two processes.
Nothing of the packages runs; the peers are installed in environments that are thrown away.

Exits with 1 where a goal is missed, and with 2 where something could not be run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import commands, trees
from benchmarks.compare import START, goals
from benchmarks.measure import Costs, in_turns, run
from benchmarks.report import in_page, text, text_of
from benchmarks.results import RECORDED, Results, Tree

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
GROWTH = "growth"
PARTS = (START, *trees.PACKAGES, GROWTH)
COPIES = (1, 2, 4, 8, 16)
TORCHFIX_CPU = 1072.0
"""The CPU seconds of TorchFix 0.7.0 for the sources of torch, as measured once, since that takes a quarter of an hour."""


SETTLED = 2.5
"""Seconds after which the time stamps of unpacked files are reliable: no checkout is checked sooner."""


def torchfix(folder: Path, scratch: Path) -> Costs:
    """Measure one run of TorchFix on a tree."""
    binaries = commands.installed(f"torchfix=={commands.TORCHFIX_VERSION}", scratch / "torchfix")
    costs = Costs()
    run(commands.torchfix(binaries / "torchfix", folder), costs)
    return costs


def grow(name: str, scratch: Path, copies: Sequence[int]) -> Iterator[tuple[int, Tree]]:
    """Measure checks of more and more copies of a package; with a single process only the fewest and the most copies.

    Even the first has another name: what is called torch is not looked at as what uses torch.
    """
    folder, sources = scratch / GROWTH, trees.package(name).folder
    on_tree = commands.of_tree(folder, Path(), Path())
    for number in range(1, copies[-1] + 1):
        trees.copy(sources, folder, f"_{number}")
        if number == 1:
            run(on_tree[commands.TWO], Costs(), timed=False)
        if number in copies:
            costs = {commands.TWO: Costs()}
            run(on_tree[commands.TWO], costs[commands.TWO], sampled=True)
            if number in (copies[0], copies[-1]):
                costs[commands.ONE] = Costs()
                run(on_tree[commands.ONE], costs[commands.ONE])
            yield number, Tree(*trees.size(folder), costs)


def measured(options: argparse.Namespace, scratch: Path) -> Iterator[tuple[str, Tree]]:
    """Yield the trees that the options ask for, with the costs of each command."""
    if START in options.only:
        folder = scratch / START
        started = commands.of_start(folder, scratch / "start-up-cache")
        yield START, Tree(*trees.size(folder), in_turns(started, 4 * options.pairs, beforehand=started))
    chosen = [name for name in trees.PACKAGES if name in options.only]
    if chosen:
        ruff = commands.installed(f"ruff=={commands.RUFF_VERSION}", scratch / "ruff") / "ruff"
    for name in chosen:
        folder = scratch / name
        trees.copy(trees.package(name).folder, folder)
        on_tree = commands.of_tree(folder, ruff, scratch / f"{name}-cache")
        time.sleep(SETTLED)
        run(on_tree[commands.WARM], Costs(), timed=False)  # it fills the cache of results
        costs = in_turns(on_tree, options.pairs, beforehand=[commands.TWO])
        if name == "torch":
            recorded = Costs(cpu=[options.torchfix_cpu])
            costs[commands.TORCHFIX] = torchfix(folder, scratch) if options.torchfix else recorded
        yield name, Tree(*trees.size(folder), costs)


def measure(options: argparse.Namespace, scratch: Path) -> Results:
    """Run what the options ask for, and print the costs of each command."""
    results = Results.here(options.pairs)
    print(results.heading(), flush=True)
    for name, tree in measured(options, scratch):
        results.trees[name] = tree
        print("\n".join(text_of(name, tree)), flush=True)
    if GROWTH in options.only:
        results.grown = options.growth
        results.growth = dict(grow(options.growth, scratch, options.copies))
    return results


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the options; ``--quick`` stands for a choice of others."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--pairs", type=int, default=3, help="how often each pair runs (default: %(default)s)"
    )
    parser.add_argument(
        "--only", action="append", choices=PARTS, help="a part to run (default: all); may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="one pair, of small parts: shows that all works")
    parser.add_argument(
        "--growth", choices=trees.PACKAGES, default="transformers", help="what to copy (default: %(default)s)"
    )
    parser.add_argument(
        "--torchfix-cpu",
        type=float,
        default=TORCHFIX_CPU,
        metavar="SECONDS",
        help="its CPU time for torch (default: as once measured)",
    )
    parser.add_argument("--torchfix", action="store_true", help="run TorchFix, for a quarter of an hour")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was measured to a file")
    parser.add_argument(
        "--page", action="store_true", help=f"only write {RECORDED.name} into docs/{PAGE.name}"
    )
    options = parser.parse_args(arguments)
    if options.pairs < 1:
        parser.error("--pairs: at least 1")
    if options.json and not options.json.absolute().parent.is_dir():
        parser.error(f"--json: {options.json.parent} is no folder")
    options.copies = COPIES
    if options.quick:
        options.pairs, options.growth, options.copies = 1, "timm", COPIES[:3]
        options.only = options.only or [START, "timm", GROWTH]
    options.only = options.only or PARTS
    return options


def bind() -> None:
    """Restrict this process and its children to two cores."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])


def write_page() -> None:
    """Write the recorded run into its page. Raises OSError or ValueError if the record or the page is not as expected."""
    try:
        results = Results.from_json(RECORDED.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{RECORDED}: {error}") from error
    PAGE.write_text(in_page(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks, or write the recorded ones into their page; return the exit status."""
    options = parsed(arguments)
    try:
        if options.page:
            write_page()
            return 0
        bind()
        with tempfile.TemporaryDirectory(prefix="benchmarks-") as name:
            results = measure(options, Path(name))
        print("\n".join(text(results)))
        if options.json:
            options.json.write_text(results.to_json(), encoding="utf-8")
    except (OSError, ValueError, RuntimeError, subprocess.CalledProcessError) as error:
        print(f"python -m benchmarks: {error}", file=sys.stderr)
        return 2
    return int(not all(goal.met for goal in goals(results)))


if __name__ == "__main__":
    sys.exit(main())
