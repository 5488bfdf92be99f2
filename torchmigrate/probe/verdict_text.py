"""The verdict as text: panels and a table for a terminal, plain lines for a pipe."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from torchmigrate.console.terminal import escape_controls, escape_line
from torchmigrate.model.findings import Finding
from torchmigrate.probe.machine_facts import Gpu, MachineFacts
from torchmigrate.probe.smoke_run import SmokeStage
from torchmigrate.probe.verdict import BuildRow, MachineVerdict
from torchmigrate.probe.wording import describe_build, name_gpu
from torchmigrate.reporters.concise import COLORS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_FIT_STYLES = {True: "green", False: "red", None: "yellow"}
_STAGE_STYLES = {"ok": "green", "skipped": "dim"}
_EVIDENCE_WORDS = {
    "wheel": "read in the wheel",
    "documented": "documented",
    "named": "possibly never published",
}


def render_plain(
    verdict: MachineVerdict, findings: Sequence[Finding], stages: Sequence[SmokeStage] = ()
) -> str:
    """Render a verdict with one fact a line, without color or frames."""
    text = [f"torch {describe_build(row.build)} {describe_fits(row)}" for row in verdict.rows]
    text += [f"smoke {stage.name}: {stage.text}" for stage in stages]
    installs = [f"{tool}: {command}" for tool, command in list_install_commands(verdict)]
    heading = render_heading(verdict.facts) + _escape_lines(text)
    return heading + render_findings(findings) + _escape_lines(installs)


def render_heading(facts: MachineFacts) -> str:
    """Render the machine and its GPUs."""
    gpus = group_equal_items(describe_gpu(gpu) for gpu in facts.gpus)
    return _escape_lines(
        [describe_machine(facts), *(f"GPU {numbers}: {', '.join(of)}" for of, numbers in gpus)]
    )


def render_findings(findings: Sequence[Finding]) -> str:
    """Render each finding on a line, after its position if it is about a file, and its hint on the next line."""
    text = []
    for finding in findings:
        place = f"{finding.path}:{finding.location.line}: " if finding.location else ""
        text.append(f"{place}{finding.code} {finding.severity.value}: {finding.message}")
        if finding.hint:
            text.append(f"  {finding.hint}")
    return _escape_lines(text)


def _escape_lines(text: Sequence[str]) -> str:
    return "".join(f"{escape_line(line)}\n" for line in text)


def _create_console(width: int) -> tuple[Console, io.StringIO]:
    """Return a console in color, and the text that it writes."""
    from rich.console import Console

    out = io.StringIO()
    return Console(file=out, width=width, force_terminal=True, color_system="standard", highlight=False), out


def render_table(content: Table, width: int) -> str:
    """Render a table in color, ``width`` columns wide."""
    console, out = _create_console(width)
    console.print(content)
    return out.getvalue()


def render_rich(
    verdict: MachineVerdict, width: int, findings: Sequence[Finding], stages: Sequence[SmokeStage] = ()
) -> str:
    """Render a verdict with ``findings`` in color, ``width`` columns wide."""
    from rich.columns import Columns
    from rich.panel import Panel
    from rich.text import Text

    console, out = _create_console(width)
    console.print(Text(escape_controls(describe_machine(verdict.facts)), style="bold"))
    gpus = group_equal_items(
        (gpu.name, gpu.capability or "?", *describe_gpu(gpu)[1:]) for gpu in verdict.facts.gpus
    )
    panels = [
        Panel(
            Text("\n".join(map(escape_controls, more))),
            title=Text(escape_controls(f"{numbers}: {name}")),
            expand=False,
        )
        for (name, *more), numbers in gpus
    ]
    if panels:
        console.print(Columns(panels))
    if verdict.rows:
        console.print(_create_builds_table(verdict))
    for stage in stages:
        line = Text(f"{stage.outcome:8}", style=_STAGE_STYLES.get(stage.outcome, "bold red"))
        line.append(f"{stage.name}: {escape_controls(stage.text)}", style="not bold default")
        console.print(line, soft_wrap=True)
    for finding in findings:
        line = Text(finding.code, style="bold")
        line.append(f" {finding.severity.value}", style=f"bold {COLORS[finding.severity]}")
        console.print(line.append(f": {escape_controls(finding.message)}", style="not bold"), soft_wrap=True)
        if finding.hint:
            console.print(Text(f"  {escape_controls(finding.hint)}", style="green"), soft_wrap=True)
    for tool, command in list_install_commands(verdict):
        console.print(Text(f"{tool}: ", style="bold").append(command, style="green"), soft_wrap=True)
    return out.getvalue()


def _create_builds_table(verdict: MachineVerdict) -> Table:
    """Return the table of the target's builds, with a column for each kind of GPU."""
    from rich.table import Table
    from rich.text import Text

    builds = Table(title=f"torch {verdict.target}", title_justify="left", box=None, pad_edge=False)
    same = group_equal_items(
        (describe_gpu(gpu)[0], *(row.fits[i] for row in verdict.rows))
        for i, gpu in enumerate(verdict.facts.gpus)
    )
    for header in ("build", *(f"GPU {numbers}" for _, numbers in same), "evidence"):
        builds.add_column(header, overflow="fold")
    for column, row in enumerate(verdict.rows, start=1):
        label = f"{row.build.variant} (default)" if row.build.default else row.build.variant
        fits = [Text(of[column].reason, style=_FIT_STYLES[of[column].runs]) for of, _ in same]
        evidence = Text(_EVIDENCE_WORDS[row.build.evidence], style="dim")
        builds.add_row(Text(label, style="green" if row.build is verdict.best else ""), *fits, evidence)
    return builds


def describe_machine(facts: MachineFacts) -> str:
    """Return a machine in one line: ``torch 2.13.0+cpu, Python 3.11.7, Linux x86_64, glibc 2.36, driver 580.159.04``."""
    torch = f"torch {facts.torch.version}" if facts.torch else "no torch"
    system = facts.platform
    python = facts.python.version or ("?" if facts.python.failure else "of any version")
    parts = [torch, f"Python {python}", f"{system.system} {system.machine}"]
    parts += [f"glibc {system.glibc}"] if system.glibc else []
    parts += [f"macOS {system.macos}"] if system.macos else []
    parts += [word for word, is_so in (("WSL", system.wsl), ("container", system.container)) if is_so]
    parts += [f"Jetson Linux {system.jetson}"] if system.jetson else []
    parts += [f"driver {facts.driver.version}"] if facts.driver.version else []
    parts += [f"ROCm {facts.rocm}"] if facts.rocm else []
    return ", ".join(parts if facts.gpus else [*parts, "no GPU"])


def describe_gpu(gpu: Gpu) -> list[str]:
    """Return a GPU's name, its memory and its MIG mode, as far as they are known."""
    parts = [name_gpu(gpu)]
    parts += [f"{gpu.memory_mib / 1024:.0f} GiB"] if gpu.memory_mib else []
    parts += ["MIG on" if gpu.mig else "MIG off"] if gpu.mig is not None else []
    return parts


def group_equal_items(items: Iterable[Sequence[Any]]) -> list[tuple[tuple[Any, ...], str]]:
    """Return equal items once, in their order, each with its positions: ``0-3, 6``."""
    positions: dict[tuple[Any, ...], list[int]] = {}
    for index, item in enumerate(items):
        positions.setdefault(tuple(item), []).append(index)
    return [(item, _join_spans(found)) for item, found in positions.items()]


def _join_spans(numbers: Sequence[int]) -> str:
    """Return ``0-3, 6`` for 0, 1, 2, 3, 6."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(f"{s[0]}-{s[-1]}" if len(s) > 1 else str(s[0]) for s in spans)


def describe_fits(row: BuildRow) -> str:
    """Return which GPUs a build supports: ``supports GPU 0 (sm_90), does not support GPU 1 (no kernels for sm_70)``."""
    verbs = {True: "supports", False: "does not support", None: "may support"}
    fits = [
        f"{verbs[runs]} GPU {numbers} ({reason})"
        for (runs, reason), numbers in group_equal_items((f.runs, f.reason) for f in row.fits)
    ]
    return (", ".join(fits) or "can be installed") + ("; default build" if row.build.default else "")


def list_install_commands(verdict: MachineVerdict) -> list[tuple[str, str]]:
    """Return the commands that install the best build, with their tools, unless a finding's hint has them already."""
    if verdict.install is None:
        return []
    hints = {finding.hint for finding in verdict.findings}
    both = [("pip", verdict.install.pip), ("uv", verdict.install.uv)]
    if verdict.install.own:
        both = [(verdict.install.own.partition(" ")[0], verdict.install.own)]
    return [(tool, command) for tool, command in both if command not in hints]
