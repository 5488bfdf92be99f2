"""Work, counted as calls: a measure that no busy machine disturbs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FrameType

from tests.support import settings_of
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import runner
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree


def count_calls(run: Callable[[], object]) -> int:
    """How many calls, of Python and of C, a function makes."""
    number = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal number
        if event in ("call", "c_call"):
            number += 1

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return number


def measure_doubling(run: Callable[[int], object], number: int) -> float:
    """How many times the work of a function is for twice the number; what it does for one is taken off."""
    run(1)
    least, once, twice = (count_calls(partial(run, size)) for size in (1, number, 2 * number))
    return (twice - least) / (once - least)


def measure_growth(
    make: Callable[[int], Mapping[str, bytes]],
    number: int,
    *,
    fix: bool,
    flags: Sequence[str] = (),
    may_fail: bool = False,
) -> float:
    """How many times the work is that a project of twice the size takes; what is done for the smallest is taken off.

    Unless it ``may_fail``, no file has an error.
    """
    # In this process, for in others no call is counted.
    settings, minimum = settings_of(["--jobs", "1", *flags])

    def run(size: int) -> None:
        tree = Tree(
            [InputFile(path, data) for path, data in make(size).items()],
            create_uniform_profile(settings, minimum),
        )
        results = [one.result for one in runner.fix_tree(tree)] if fix else list(runner.check_tree(tree))
        assert may_fail or not any(result.errors for result in results)

    return measure_doubling(run, number)
