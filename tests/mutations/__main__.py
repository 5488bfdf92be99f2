"""Prints how many mutants of each fault the fixtures catch, and those that they do not."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

from tests.mutations.mutants import Fault, Mutant, mutants
from tests.mutations.survivors import KNOWN
from tests.mutations.trial import ROOT, RULES, Outcome, tried


def main() -> int:
    """0 if every mutant is caught, but those in the list of `tests.mutations.survivors`."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("modules", nargs="*", type=Path, help="modules of rules, or folders (all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    options = parser.parse_args()
    given = [path.resolve() for path in options.modules] or [RULES]
    paths = sorted({file for path in given for file in (path.rglob("*.py") if path.is_dir() else [path])})
    made = [mutant for path in paths for mutant in mutants(path)]
    began = time.monotonic()
    outcomes = []
    for outcome in tried(made, options.jobs):
        outcomes.append(outcome)
        if sys.stderr.isatty():
            print(f"\r{len(outcomes)} of {len(made)}", end="\r", file=sys.stderr)
    outcomes.sort(key=lambda outcome: (outcome.mutant.path, outcome.mutant.start))
    survivors = [outcome.mutant for outcome in outcomes if outcome.caught is None]
    surprises = [mutant for mutant in survivors if _known(mutant) is None]
    _table(outcomes)
    for mutant in survivors:
        print(f"\n{mutant.path.relative_to(ROOT)}:{mutant.line}: {mutant.fault.value}, and no fixture tells")
        print(f"  {_known(mutant)}" if _known(mutant) else mutant.diff())
    modules = {mutant.path for mutant in made}
    print(f"\n{len(made)} mutants of {len(modules)} modules in {time.monotonic() - began:.0f} s; ", end="")
    print(f"{len(survivors)} survive, {len(survivors) - len(surprises)} of them for a known reason")
    return 1 if surprises else 0


def _known(mutant: Mutant) -> str | None:
    """Why a mutant may survive."""
    text = mutant.path.read_text("utf-8").splitlines()[mutant.line - 1]
    for (path, part), reason in KNOWN.items():
        if mutant.path.relative_to(RULES).as_posix() == path and part in text:
            return reason
    return None


def _table(outcomes: list[Outcome]) -> None:
    made = Counter(outcome.mutant.fault for outcome in outcomes)
    caught = Counter(outcome.mutant.fault for outcome in outcomes if outcome.caught is not None)
    print(f"{'fault':40} {'mutants':>8} {'caught':>8} {'modules':>8}")
    for fault in Fault:
        modules = {outcome.mutant.path for outcome in outcomes if outcome.mutant.fault is fault}
        print(f"{fault.value:40} {made[fault]:8} {caught[fault]:8} {len(modules):8}")


if __name__ == "__main__":
    sys.exit(main())
