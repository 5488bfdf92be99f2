"""Options of the test run, and a cache for each test alone."""

from __future__ import annotations

import gc
import itertools
import random
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# The benchmarks measure processes as POSIX systems do.
collect_ignore_glob = ["test_benchmarks*"] if sys.platform == "win32" else []

# The same examples each time, however slow the machine.
settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")
# Hypothesis mixes the constants of whatever modules happen to be imported into what it draws.
providers._get_local_constants = lambda: providers._local_constants

FIXTURES = "test_fixtures.py"
"""The tests of all fixtures, each of which is a parameter."""

_NUMBERS = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="take the present results for the expected ones")
    parser.addoption("--large", action="store_true", help="look at the largest real packages, too")
    parser.addoption(
        "--fuzz-examples", type=int, metavar="N", help="try about N random programs, other ones each time"
    )
    parser.addoption("--fuzz-seed", type=int, metavar="SEED", help="try the programs of an earlier run again")


def pytest_configure(config: pytest.Config) -> None:
    """Draws the seed before processes are started, which are told it."""
    # What a shell starts in the background ignores interrupts, and so would all that the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # The tests that share a file are not handed out by their number, which says nothing of their time.
    config.option.loadscopereorder = False
    if config.getoption("--fuzz-examples") is not None and config.getoption("--fuzz-seed") is None:
        config.option.fuzz_seed = random.SystemRandom().getrandbits(32)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the fixtures last: their many small shares even out what processes took for the rest."""
    items.sort(key=lambda item: item.path.name == FIXTURES)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Tells how to have the same run again."""
    examples, seed = config.getoption("--fuzz-examples"), config.getoption("--fuzz-seed")
    return f"fuzz: --fuzz-examples {examples} --fuzz-seed {seed}" if seed is not None else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Shares the tests between processes."""
    return ByFile(config, log)


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """Keeps the tests of a file in one process, for what they share; only those of different rules' fixtures and of
    different real packages may part.

    With `--accept` these stay together too, for they write one record, or read all of them.
    """

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        parameter = test.partition("[")[2].removesuffix("]")
        if parameter and not self.config.getoption("--accept"):
            if file.endswith(f"/{FIXTURES}"):
                return f"{file}[{parameter.rpartition('/')[0]}"
            if file.endswith("/test_ecosystem.py"):
                return f"{file}[{parameter}"
        return file


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> bool:
    """Whether to rewrite the expected results."""
    return bool(request.config.getoption("--accept"))


@pytest.fixture(autouse=True)
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The folder in which the runs of a test keep their results: not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.getbasetemp() / f"cache-{next(_NUMBERS)}")
        patch.setenv("TORCHMIGRATE_CACHE_DIR", folder)
        yield folder


@pytest.fixture
def collecting() -> Iterator[None]:
    """The garbage collector as it was, which a worker turns off for good."""
    yield
    gc.enable()
    gc.unfreeze()
