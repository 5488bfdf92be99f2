"""Many machines: facts files grouped by identical facts, what breaks where, and the build that supports them all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchmigrate.console.terminal import escape
from torchmigrate.model.findings import Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.probe import saying
from torchmigrate.probe.facts import Facts, FactsError, Gpu, from_json
from torchmigrate.probe.fit import candidates, fit
from torchmigrate.probe.verdict import Verdict, judge
from torchmigrate.tables import matrix
from torchmigrate.tables.matrix import Build, rank

if TYPE_CHECKING:
    from rich.table import Table

NEAR = 1.02
"""Two sizes of memory differ where one is larger by this factor: how much a driver keeps to itself varies."""


@dataclass(frozen=True, slots=True)
class Group:
    """Machines with the same facts."""

    facts: Facts
    machines: tuple[str, ...]
    """The machines' names: that of the facts file, with an index where the file holds several machines."""
    verdict: Verdict


def read(path: Path) -> list[tuple[str, Facts]]:
    """Read the machines in one facts file, with their names. Raises `FactsError`, which names the file."""
    try:
        data = json.loads(path.read_text("utf-8"))
        several = isinstance(data, list)
        stem = path.stem.removesuffix(".facts")
        return [
            (f"{stem}[{index}]" if several else stem, from_json(item))
            for index, item in enumerate(data if several else [data])
        ]
    except FactsError as error:
        raise FactsError(f"{path}: {error}") from None
    except OSError as error:
        raise FactsError(f"{path}: {error.strerror}") from None
    except RecursionError:
        raise FactsError(f"{path}: is nested too deeply") from None
    except ValueError as error:
        raise FactsError(f"{path}: is not JSON: {error}") from None


def read_all(paths: Iterable[Path]) -> tuple[list[tuple[str, Facts]], list[Finding]]:
    """Read the machines in all facts files, and create a finding for each file that cannot be read."""
    machines, unread = [], []
    for path in paths:
        try:
            machines += read(path)
        except FactsError as failure:  # noqa: PERF203 (one file must not end the others)
            unread.append(saying.error("RT039", f"{failure}; the machines in this file were skipped"))
    return machines, unread


def alike(machines: Sequence[tuple[str, Facts]]) -> list[tuple[str, Facts]]:
    """Return the machines with one size of memory for GPUs of the same name that have nearly the same."""
    sizes: dict[str, set[int]] = {}
    for _, facts in machines:
        for gpu in facts.gpus:
            if gpu.memory_mib:
                sizes.setdefault(gpu.name, set()).add(gpu.memory_mib)
    shown: dict[tuple[str, int | None], int] = {}
    for name, found in sizes.items():
        smallest = 0
        for size in sorted(found):
            smallest = smallest if smallest and size <= smallest * NEAR else size
            shown[name, size] = smallest

    def folded(gpu: Gpu) -> Gpu:
        size = shown.get((gpu.name, gpu.memory_mib))
        return gpu if size == gpu.memory_mib else replace(gpu, memory_mib=size)

    return [(name, replace(facts, gpus=tuple(map(folded, facts.gpus)))) for name, facts in machines]


def group(machines: Sequence[tuple[str, Facts]], target: str | None) -> list[Group]:
    """Group the machines by identical facts, but for a little memory, the largest group first."""
    by_facts: dict[str, list[tuple[str, Facts]]] = {}
    for name, facts in alike(machines):
        by_facts.setdefault(repr(facts), []).append((name, facts))
    groups = [Group(g[0][1], tuple(name for name, _ in g), judge(g[0][1], target)) for g in by_facts.values()]
    return sorted(groups, key=lambda g: -len(g.machines))


def common(groups: Sequence[Group]) -> Build | None:
    """Return the variant of the target version that every machine runs, as a build for the first group's platform."""
    first = groups[0]
    serving = [
        b for b in candidates(first.verdict.target, first.facts) if all(serves(b, g.facts) for g in groups)
    ]
    return max(serving, key=rank, default=None)


def serves(build: Build, facts: Facts) -> bool:
    """Whether every GPU of a machine runs this variant; a machine without a GPU runs any that its platform has."""
    same = [other for other in candidates(build.torch, facts) if other.variant == build.variant]
    return any(all(fit(gpu, other, facts).runs for gpu in facts.gpus) for other in same)


def findings(groups: Sequence[Group]) -> list[Finding]:
    """Return each finding once, with the machines that have it, and then the build that supports them all."""
    machines: dict[Finding, list[str]] = {}
    for one in groups:
        for finding in one.verdict.findings:
            machines.setdefault(finding, []).extend(one.machines)
    found = []
    for finding, names in machines.items():
        where = f"{len(names)} machine{'s' if len(names) > 1 else ''} ({_listed(names)})"
        found.append(replace(finding, message=f"{where}: {finding.message}"))
    return [*found, serves_all(groups)]


def serves_all(groups: Sequence[Group]) -> Finding:
    """Create the finding about the build that supports the whole fleet, or that there is none."""
    target = groups[0].verdict.target
    build = common(groups)
    if build is None:
        return saying.warning("RT033", f"no single build of torch {target} supports all machines")
    index = matrix.index_url(build)
    hint = f"pip install torch=={build.version}" + (f"+{build.variant} --index-url {index}" if index else "")
    return saying.info("RT033", f"torch {target} ({build.variant}) supports all machines", hint)


def rows(groups: Sequence[Group]) -> list[tuple[str, ...]]:
    """Return the rows of the table, no two of them alike, the one with most machines first."""
    machines: dict[tuple[str, ...], list[str]] = {}
    for one in groups:
        facts, verdict = one.facts, one.verdict
        breaks = sorted({f.code for f in verdict.findings if f.severity is not Severity.INFO})
        cells = (
            saying.names(facts.gpus) or "no GPU",
            facts.driver.version or "-",
            facts.torch.version if facts.torch else "-",
            " ".join(breaks) or "-",
            verdict.best.variant if verdict.best else "none",
        )
        machines.setdefault(cells, []).extend(one.machines)
    rows = sorted(machines.items(), key=lambda row: -len(row[1]))
    return [(f"{len(names)}: {_listed(names)}", *cells) for cells, names in rows]


def _headers(groups: Sequence[Group]) -> tuple[str, ...]:
    return ("machines", "GPUs", "driver", "torch", "breaks", f"build of {groups[0].verdict.target}")


def plain(groups: Sequence[Group]) -> str:
    """Render the table for a pipe: columns between tabs."""
    return "".join("\t".join(map(escape, row)) + "\n" for row in (_headers(groups), *rows(groups)))


def table(groups: Sequence[Group]) -> Table:
    """Build the table for a terminal."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for header in _headers(groups):
        shown.add_column(header, overflow="fold")
    for row in rows(groups):
        shown.add_row(*(Text(cell) for cell in row))
    return shown


def _listed(machines: Sequence[str]) -> str:
    return ", ".join(machines[:3]) + (f" and {len(machines) - 3} more" if len(machines) > 3 else "")
