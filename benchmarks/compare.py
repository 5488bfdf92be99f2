"""The comparisons of costs, and the limits on their ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

from benchmarks import commands
from benchmarks.results import Results, Tree
from benchmarks.trees import PACKAGES

START = "start-up"


@dataclass(frozen=True)
class Goal:
    """The upper limit of a quantity; ``what`` names the quantity."""

    what: str
    limit: float
    value: float

    @property
    def met(self) -> bool:
        """Whether the quantity is within the limit."""
        return self.value <= self.limit

    def __str__(self) -> str:
        return f"{self.what} ≤ {shown(self.limit)}: {'ok' if self.met else 'missed'}"


@dataclass(frozen=True)
class Ratio:
    """The median of the ratios of the pairs, and the lowest and highest of them."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, ours: list[float], theirs: list[float]) -> Ratio | None:
        """Return the ratios ours/theirs pair by pair; a single run is paired with all others. None if one command did not run."""
        count = max(len(ours), len(theirs))
        if not ours or not theirs:
            return None
        if {len(ours), len(theirs)} - {1, count}:
            raise ValueError(f"{len(ours)} runs and {len(theirs)} make no pairs")
        pairs = zip(ours * (count // len(ours)), theirs * (count // len(theirs)), strict=True)
        ratios = [our / their for our, their in pairs]
        return cls(median(ratios), min(ratios), max(ratios))

    def __str__(self) -> str:
        spread = "" if self.low == self.high else f" ({shown(self.low)}…{shown(self.high)})"
        return shown(self.median) + spread


@dataclass(frozen=True)
class Row:
    """One comparison on one tree; a ratio is None where a quantity is unknown."""

    tree: str
    ours: str
    theirs: str
    wall: Ratio | None
    cpu: Ratio | None
    memory: Ratio | None
    goals: list[Goal]
    recorded: bool
    """Whether the peer did not run, and its CPU time was given."""


@dataclass(frozen=True)
class Comparison:
    """Two commands, and the limits of ``wall`` and ``CPU`` on the trees that have some."""

    ours: str
    theirs: str
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def on(self, name: str, tree: Tree) -> Row | None:
        """Return the ratios on a tree; None where one of the two commands did not run."""
        if not {self.ours, self.theirs} <= tree.costs.keys():
            return None
        ours, theirs = tree.costs[self.ours], tree.costs[self.theirs]
        ratios = {"wall": Ratio.of(ours.wall, theirs.wall), "CPU": Ratio.of(ours.cpu, theirs.cpu)}
        limits = self.limits.get(name, {})
        goals = [
            Goal(what, limits[what], ratio.median)
            for what, ratio in ratios.items()
            if what in limits and ratio
        ]
        memory = Ratio.of(_one(ours.memory), _one(theirs.memory))
        recorded = not theirs.wall
        partner = f"{self.theirs}, recorded" if recorded else self.theirs
        return Row(name, self.ours, partner, ratios["wall"], ratios["CPU"], memory, goals, recorded)


NO_MORE = {"wall": 1.0, "CPU": 1.0}
COMPARISONS = (
    Comparison(commands.ONE, commands.TORCHFIX, {"torch": {"CPU": 1 / 150}}),
    Comparison(
        commands.TWO,
        commands.RUFF,
        {"torch": {"wall": 2}, "transformers": {"wall": 1}, "sglang": {"wall": 2}, "timm": {"wall": 4}},
    ),
    Comparison(commands.ONE, commands.PARSE, {"transformers": NO_MORE, "sglang": NO_MORE}),
    Comparison(commands.SOME, commands.PARSE),
    Comparison(commands.ONE, commands.READ),
    Comparison(commands.WARM, commands.ONE, {name: {"wall": 1 / 5} for name in PACKAGES}),
    Comparison(commands.COLD_FILE, commands.CLICK, {START: {"wall": 2}}),
    Comparison(commands.WARM_FILE, commands.CLICK, {START: {"wall": 2}}),
)


def rows(results: Results) -> Iterator[Row]:
    """Yield all comparisons that a run allows, tree by tree."""
    for name, tree in results.trees.items():
        for comparison in COMPARISONS:
            row = comparison.on(name, tree)
            if row is not None:
                yield row


MOST_MEMORY = 200.0
MOST_GROWTH = 1.1
"""The limit on the growth of the CPU time per file, beyond which it is not linear in the number of files."""


@dataclass(frozen=True)
class Growth:
    """The costs of a command on several copies of a tree, compared with one copy; memory in MB."""

    copies: int
    files: int
    title: str
    wall: float
    per_file: float
    """The CPU time per file, as a ratio to that of one copy."""
    largest: float
    memory: float
    goals: list[Goal]


def growth(results: Results) -> Iterator[Growth]:
    """Yield a line for each command and number of copies; the goals are set for the most copies."""
    for copies, tree in sorted(results.growth.items()):
        for title, costs in tree.costs.items():
            first = results.growth[1]
            per_file = (median(costs.cpu) / tree.files) / (median(first.costs[title].cpu) / first.files)
            largest, memory = costs.largest or 0.0, costs.memory or 0.0
            goals = []
            if copies == max(results.growth):
                goals = [Goal("CPU per file", MOST_GROWTH, per_file), Goal("MB", MOST_MEMORY, largest)]
            yield Growth(copies, tree.files, title, median(costs.wall), per_file, largest, memory, goals)


def goals(results: Results) -> list[Goal]:
    """Return all goals that a run allows to judge."""
    of_rows = [goal for row in rows(results) for goal in row.goals]
    return of_rows + [goal for row in growth(results) for goal in row.goals]


def _one(value: float | None) -> list[float]:
    return [] if value is None else [value]


def shown(value: float) -> str:
    """Render a ratio or a limit with three digits: 1/134, 0.52, 2.04, 200."""
    if 0 < value < 0.1:
        return f"1/{1 / value:.3g}"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
