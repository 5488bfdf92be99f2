"""Many machines: facts files grouped by identical facts, what breaks where, and the build that supports them all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchmigrate.console.terminal import escape_controls
from torchmigrate.model.findings import Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.probe import wording
from torchmigrate.probe.build_fit import find_candidates, judge_fit
from torchmigrate.probe.machine_facts import FactsError, Gpu, MachineFacts, parse_facts
from torchmigrate.probe.verdict import MachineVerdict, judge_machine
from torchmigrate.tables.torch_builds import TorchBuild, find_index_url, rank_build

if TYPE_CHECKING:
    from rich.table import Table

MEMORY_TOLERANCE = 1.02
"""Two sizes of memory differ where one is larger by this factor: how much a driver keeps to itself varies."""


@dataclass(frozen=True, slots=True)
class MachineGroup:
    """Machines with the same facts."""

    facts: MachineFacts
    machines: tuple[str, ...]
    """The machines' names: that of the facts file, with an index where the file holds several machines."""
    verdict: MachineVerdict


def read_machines(path: Path) -> list[tuple[str, MachineFacts]]:
    """Read the machines in one facts file, with their names. Raises `FactsError`, which names the file."""
    try:
        data = json.loads(path.read_text("utf-8"))
        several = isinstance(data, list)
        stem = path.stem.removesuffix(".facts")
        return [
            (f"{stem}[{index}]" if several else stem, parse_facts(item))
            for index, item in enumerate(data if several else [data])
        ]
    except FactsError as error:
        raise FactsError(f"{path}: {error}") from None
    except OSError as error:
        raise FactsError(f"{path}: {error.strerror}") from None
    except RecursionError:
        raise FactsError(f"{path}: nested too deeply") from None
    except ValueError as error:
        raise FactsError(f"{path}: not valid JSON: {error}") from None


def read_all_machines(paths: Iterable[Path]) -> tuple[list[tuple[str, MachineFacts]], list[Finding]]:
    """Read the machines in all facts files, and create a finding for each file that cannot be read."""
    machines, unread = [], []
    for path in paths:
        try:
            machines += read_machines(path)
        except FactsError as failure:  # noqa: PERF203 (one file must not end the others)
            unread.append(wording.create_error("RT039", f"{failure}; the machines in this file were skipped"))
    return machines, unread


def unify_memory(machines: Sequence[tuple[str, MachineFacts]]) -> list[tuple[str, MachineFacts]]:
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
            smallest = smallest if smallest and size <= smallest * MEMORY_TOLERANCE else size
            shown[name, size] = smallest

    def unify_gpu(gpu: Gpu) -> Gpu:
        size = shown.get((gpu.name, gpu.memory_mib))
        return gpu if size == gpu.memory_mib else replace(gpu, memory_mib=size)

    return [(name, replace(facts, gpus=tuple(map(unify_gpu, facts.gpus)))) for name, facts in machines]


def group_machines(machines: Sequence[tuple[str, MachineFacts]], target: str | None) -> list[MachineGroup]:
    """Group the machines by identical facts, but for a little memory, the largest group first."""
    by_facts: dict[str, list[tuple[str, MachineFacts]]] = {}
    for name, facts in unify_memory(machines):
        by_facts.setdefault(repr(facts), []).append((name, facts))
    groups = [
        MachineGroup(g[0][1], tuple(name for name, _ in g), judge_machine(g[0][1], target))
        for g in by_facts.values()
    ]
    return sorted(groups, key=lambda g: -len(g.machines))


def find_common_build(groups: Sequence[MachineGroup]) -> TorchBuild | None:
    """Return the variant of the target version that every machine runs, as a build for the first group's platform."""
    first = groups[0]
    serving = [
        b
        for b in find_candidates(first.verdict.target, first.facts)
        if all(is_build_usable(b, g.facts) for g in groups)
    ]
    return max(serving, key=rank_build, default=None)


def is_build_usable(build: TorchBuild, facts: MachineFacts) -> bool:
    """Return whether every GPU of a machine runs this variant; a machine without a GPU runs any that its platform has."""
    same = [other for other in find_candidates(build.torch, facts) if other.variant == build.variant]
    return any(all(judge_fit(gpu, other, facts).runs for gpu in facts.gpus) for other in same)


def merge_findings(groups: Sequence[MachineGroup]) -> list[Finding]:
    """Return each finding once, with the machines that have it, and then the build that supports them all."""
    machines: dict[Finding, list[str]] = {}
    for one in groups:
        for finding in one.verdict.findings:
            machines.setdefault(finding, []).extend(one.machines)
    found = []
    for finding, names in machines.items():
        where = f"{len(names)} machine{'s' if len(names) > 1 else ''} ({_list_machines(names)})"
        found.append(finding._replace(message=f"{where}: {finding.message}"))
    return [*found, report_common_build(groups)]


def report_common_build(groups: Sequence[MachineGroup]) -> Finding:
    """Create the finding about the build that supports the whole fleet, or that there is none."""
    target = groups[0].verdict.target
    build = find_common_build(groups)
    if build is None:
        return wording.create_warning("RT033", f"no single build of torch {target} supports all machines")
    index = find_index_url(build)
    hint = f"pip install torch=={build.version}" + (f"+{build.variant} --index-url {index}" if index else "")
    return wording.create_info("RT033", f"torch {target} ({build.variant}) supports all machines", hint)


def build_rows(groups: Sequence[MachineGroup]) -> list[tuple[str, ...]]:
    """Return the rows of the table, no two of them alike, the one with most machines first."""
    machines: dict[tuple[str, ...], list[str]] = {}
    for one in groups:
        facts, verdict = one.facts, one.verdict
        breaks = sorted({f.code for f in verdict.findings if f.severity is not Severity.INFO})
        cells = (
            wording.name_gpus(facts.gpus) or "no GPU",
            facts.driver.version or "-",
            facts.torch.version if facts.torch else "-",
            " ".join(breaks) or "-",
            verdict.best.variant if verdict.best else "none",
        )
        machines.setdefault(cells, []).extend(one.machines)
    rows = sorted(machines.items(), key=lambda row: -len(row[1]))
    return [(f"{len(names)}: {_list_machines(names)}", *cells) for cells, names in rows]


def _build_headers(groups: Sequence[MachineGroup]) -> tuple[str, ...]:
    return ("machines", "GPUs", "driver", "torch", "breaks", f"build of {groups[0].verdict.target}")


def render_plain_table(groups: Sequence[MachineGroup]) -> str:
    """Render the table for a pipe: columns between tabs."""
    rows = (_build_headers(groups), *build_rows(groups))
    return "".join("\t".join(map(escape_controls, row)) + "\n" for row in rows)


def build_table(groups: Sequence[MachineGroup]) -> Table:
    """Build the table for a terminal."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for header in _build_headers(groups):
        shown.add_column(header, overflow="fold")
    for row in build_rows(groups):
        shown.add_row(*(Text(cell) for cell in row))
    return shown


def _list_machines(machines: Sequence[str]) -> str:
    return ", ".join(machines[:3]) + (f" and {len(machines) - 3} more" if len(machines) > 3 else "")
