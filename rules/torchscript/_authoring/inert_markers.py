"""Markers that do nothing in eager mode, and whether TorchScript still needs them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchmigrate.api import Context, Kind, NoFix, NotYet, Place, Use
from torchmigrate.project.mentions import Mention

from .torchscript_makers import AUTHORING, BASES, TRACING, find_nearest

SCRIPTED_LINES = "TorchScript made of these lines"
"""The fact that a script compiles certain lines of its own file, and nothing else."""
_COMPILED_IN_TRACES = (
    *("torch.jit.export", "torch._jit_internal.export"),
    *("torch.jit.script_if_tracing", "torch.jit._script_if_tracing", "torch.jit._trace._script_if_tracing"),
)
"""The symbols that are compiled during a trace; everything else runs as Python, and its markers are not read."""
ASKS = (*AUTHORING, *BASES, *_COMPILED_IN_TRACES)
"""The symbols that a rule lists in its ``asks``, with the note about scripted lines as its note, to call the functions below."""

_MAKING = frozenset(Kind) - {Kind.GUARD, Kind.ISINSTANCE, Kind.ANNOTATION, Kind.STRING}


class NeededBy(NotYet):
    """The reason that a marker waits for a place that makes TorchScript."""

    def __init__(self, maker: Mention, because: str = "") -> None:
        NoFix.__init__(self, f"{because}waits for `{maker.symbol}` at {maker.path}:{maker.line}")
        self.place = Place(maker.path, maker.line)


def explain_need(use: Use, ctx: Context, *others: Mention, because: str = "") -> NoFix | None:
    """Return why a marker for TorchScript has to stay, or None if it can be removed.

    ``others`` are further places that need the marker; ``because`` begins the reason.
    """
    if maker := find_blocker(use, ctx, *others):
        return NeededBy(maker, because)
    if not ctx.options.keep_torchscript_support:
        return None
    return NoFix(
        f"{because}users of the project may script this code; if they do not, set `keep-torchscript-support = false`"
    )


def check_removable(use: Use, ctx: Context, *others: Mention) -> None:
    """Raise NoFix, with the reason, if a marker cannot be removed."""
    if need := explain_need(use, ctx, *others):
        raise need


def find_blocker(use: Use, ctx: Context, *others: Mention, is_traced: bool = False) -> Mention | None:
    """Return the nearest place where the project makes TorchScript that may contain the code of ``use``, or of ``others``.

    ``is_traced``: whether a trace does more with the marker than to run the code.
    """
    # A trace runs functions as Python and reads no marker, unless something is compiled during the trace.
    kinds = _MAKING - {Kind.IMPORT}
    with_traces = is_traced or bool(ctx.project.find_uses(*_COMPILED_IN_TRACES, kinds=kinds))
    makers = ctx.uses.compute_once((_Makers, with_traces), lambda: _collect_makers(ctx, with_traces))
    of_line = (maker for lines, maker in makers.of_lines if use.node.lineno in lines)
    reaching = [*makers.of_all_code, *of_line, *others]
    return find_nearest(reaching, ctx) if reaching else None


class _Makers(NamedTuple):
    """The places of a project that may make TorchScript of the code in one file."""

    of_all_code: tuple[Mention, ...]
    """The nearest place that may compile any line; empty if there is none."""
    of_lines: Sequence[tuple[range, Mention]]
    """Lines of functions that are scripted, or called by such ones, with the script."""


def _collect_makers(ctx: Context, with_traces: bool) -> _Makers:
    uses = ctx.project.find_uses
    makers = [*uses(*AUTHORING, kinds=_MAKING), *uses(*BASES, kinds=(Kind.BASE,))]
    if not with_traces:
        makers = [maker for maker in makers if maker.symbol not in TRACING]
    used = {(maker.path, maker.symbol) for maker in makers if maker.kind is not Kind.IMPORT}
    makers = [m for m in makers if m.kind is not Kind.IMPORT or (m.path, m.symbol) not in used]
    notes, here = _collect_notes(makers, ctx), os.path.abspath(ctx.source.path)
    of_all_code = [maker for maker in makers if (maker.path, maker.line) not in notes]
    of_lines = [
        (lines, maker)
        for maker in makers
        if (found := notes.get((maker.path, maker.line))) and os.path.abspath(maker.path) == here
        for note in found
        for lines in _read_lines(note)
    ]
    return _Makers((find_nearest(of_all_code, ctx),) if of_all_code else (), of_lines)


def _read_lines(note: Mention) -> Iterator[range]:
    for span in str(dict(note.constants)["lines"]).split():
        first, _, last = span.partition("-")
        yield range(int(first), int(last) + 1)


def _collect_notes(makers: Sequence[Mention], ctx: Context) -> dict[tuple[str, int], list[Mention]]:
    """Return the notes about lines, by place, of the places where all scripted code is noted."""
    notes: dict[tuple[str, int], list[Mention]] = {}
    for note in ctx.project.find_uses(SCRIPTED_LINES):
        notes.setdefault((note.path, note.line), []).append(note)
    # Several scripts may share a line: unless all of them are noted, it is unknown what they compile.
    counted = Counter((maker.path, maker.line) for maker in makers)
    return {place: found for place, found in notes.items() if len(found) == counted[place]}
