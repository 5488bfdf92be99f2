"""The verdict for a reader: panels and a table in a terminal, plain lines in a pipe."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from torchmigrate.console.terminal import escape, shown
from torchmigrate.model.findings import Finding
from torchmigrate.probe.facts import Facts, Gpu
from torchmigrate.probe.saying import name
from torchmigrate.probe.smoke import Stage
from torchmigrate.probe.verdict import Row, Verdict
from torchmigrate.reporters.concise import COLORS

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table


def plain(verdict: Verdict, findings: Sequence[Finding], stages: Sequence[Stage] = ()) -> str:
    """One fact per line, without colour or frames."""
    text = [f"torch {verdict.target} {row.build.variant}: {', '.join(cells(row))}" for row in verdict.rows]
    text += [f"smoke {stage.name}: {stage.text}" for stage in stages]
    installs = [f"{tool}: {command}" for tool, command in commands(verdict)]
    return heading(verdict.facts) + _escaped(text) + lines(findings) + _escaped(installs)


def heading(facts: Facts) -> str:
    """What is judged: the machine, and its GPUs."""
    gpus = folded(about(gpu) for gpu in facts.gpus)
    return _escaped([machine(facts), *(f"GPU {numbers}: {', '.join(of)}" for of, numbers in gpus)])


def lines(findings: Sequence[Finding]) -> str:
    """Each finding on a line, after its place if it is about a file, and what to do about it on the next."""
    text = []
    for finding in findings:
        place = f"{finding.path}:{finding.location.line}: " if finding.location else ""
        text.append(f"{place}{finding.code} {finding.severity.value}: {finding.message}")
        if finding.hint:
            text.append(f"  {finding.hint}")
    return _escaped(text)


def _escaped(text: Sequence[str]) -> str:
    return "".join(f"{shown(line)}\n" for line in text)


def table(content: Table, width: int) -> str:
    """A table in colour, ``width`` columns wide."""
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=width, force_terminal=True, color_system="standard").print(content)
    return out.getvalue()


def rich(verdict: Verdict, width: int, findings: Sequence[Finding], stages: Sequence[Stage] = ()) -> str:
    """A compact panel per GPU, a table of builds, and the findings, in colour, ``width`` columns wide."""
    from rich.columns import Columns
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system="standard", highlight=False)
    console.print(Text(escape(machine(verdict.facts)), style="bold"))
    panels: list[RenderableType] = [
        Panel(
            Text("\n".join(map(escape, [capability or "?", *more]))),
            title=Text(escape(f"{numbers}: {name}")),
            expand=False,
        )
        for (name, capability, *more), numbers in folded(
            (gpu.name, gpu.capability or "", *about(gpu)[1:]) for gpu in verdict.facts.gpus
        )
    ]
    if panels:
        console.print(Columns(panels))
    if verdict.rows:
        builds = Table(title=f"torch {verdict.target}", title_justify="left", box=None, pad_edge=False)
        same = folded(
            (about(gpu)[0], *(row.fits[i] for row in verdict.rows))
            for i, gpu in enumerate(verdict.facts.gpus)
        )
        for header in ("build", *(f"GPU {numbers}" for _, numbers in same), "evidence"):
            builds.add_column(header, overflow="fold")
        for row in verdict.rows:
            style = "green" if row.build is verdict.best else None
            column = verdict.rows.index(row) + 1
            fits = [Text(of[column].reason, style=_FIT_STYLES[of[column].runs]) for of, _ in same]
            builds.add_row(Text(_label(row), style=style or ""), *fits, Text(row.build.evidence, style="dim"))
        console.print(builds)
    _print_stages(console, stages)
    for finding in findings:
        line = Text(finding.code, style="bold")
        line.append(f" {finding.severity.value}", style=f"bold {COLORS[finding.severity]}")
        console.print(line.append(f": {escape(finding.message)}", style="not bold"), soft_wrap=True)
        if finding.hint:
            console.print(Text(f"  {escape(finding.hint)}", style="green"), soft_wrap=True)
    for tool, command in commands(verdict):
        console.print(Text(f"{tool}: ", style="bold").append(command, style="green"), soft_wrap=True)
    return out.getvalue()


_FIT_STYLES = {True: "green", False: "red", None: "yellow"}
_STAGE_STYLES = {"ok": "green", "skipped": "dim", "failed": "bold red"}


def _print_stages(console: Console, stages: Sequence[Stage]) -> None:
    from rich.text import Text

    for stage in stages:
        line = Text(f"{stage.outcome:8}", style=_STAGE_STYLES.get(stage.outcome, "bold red"))
        console.print(
            line.append(f"{stage.name}: {escape(stage.text)}", style="not bold default"), soft_wrap=True
        )


def machine(facts: Facts) -> str:
    """``torch 2.13.0+cpu, Python 3.11.7, Linux x86_64, glibc 2.36, driver 580.159.04``."""
    torch = f"torch {facts.torch.version}" if facts.torch else "no torch"
    system = facts.platform
    parts = [torch, f"Python {facts.python.version or '?'}", f"{system.system} {system.machine}"]
    parts += [f"glibc {system.glibc}"] if system.glibc else []
    parts += [f"macOS {system.macos}"] if system.macos else []
    parts += [word for word, is_so in (("WSL", system.wsl), ("container", system.container)) if is_so]
    parts += [f"Jetson Linux {system.jetson}"] if system.jetson else []
    parts += [f"driver {facts.driver.version}"] if facts.driver.version else []
    parts += [f"ROCm {facts.rocm}"] if facts.rocm else []
    return ", ".join(parts if facts.gpus else [*parts, "no GPU"])


def about(gpu: Gpu) -> list[str]:
    """A GPU's name and what else is known of it."""
    parts = [name(gpu)]
    parts += [f"{gpu.memory_mib / 1024:.0f} GiB"] if gpu.memory_mib else []
    parts += ["MIG on" if gpu.mig else "MIG off"] if gpu.mig is not None else []
    return parts


def folded(items: Iterable[Sequence[Any]]) -> list[tuple[tuple[Any, ...], str]]:
    """Equal items once, in their order, each with its positions: ``0-3, 6``."""
    positions: dict[tuple[Any, ...], list[int]] = {}
    for index, item in enumerate(items):
        positions.setdefault(tuple(item), []).append(index)
    return [(item, _spans(found)) for item, found in positions.items()]


def _spans(numbers: Sequence[int]) -> str:
    """``0-3, 6`` for 0, 1, 2, 3, 6."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(f"{s[0]}-{s[-1]}" if len(s) > 1 else str(s[0]) for s in spans)


def _label(row: Row) -> str:
    return f"{row.build.variant} (default)" if row.build.default else row.build.variant


def cells(row: Row) -> list[str]:
    """A build's fits in words: ``GPU 0 runs it (sm_90)``, ``GPU 1 does not (no code for 7.0)``; then its evidence."""
    verbs = {True: "runs it", False: "does not", None: "unknown"}
    fits = [
        f"GPU {numbers} {verbs[runs]} ({reason})"
        for (runs, reason), numbers in folded((f.runs, f.reason) for f in row.fits)
    ]
    return [*fits, *(["default"] if row.build.default else []), f"evidence: {row.build.evidence}"]


def commands(verdict: Verdict) -> list[tuple[str, str]]:
    """The installation of the best build, for pip and for uv, as far as no finding's hint is it already."""
    if verdict.install is None:
        return []
    hints = {finding.hint for finding in verdict.findings}
    both = [("pip", verdict.install.pip), ("uv", verdict.install.uv)]
    if verdict.install.own:
        both = [(verdict.install.own.partition(" ")[0], verdict.install.own)]
    return [(tool, command) for tool, command in both if command not in hints]
