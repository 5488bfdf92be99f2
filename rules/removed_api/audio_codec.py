"""`torchaudio.load` or `torchaudio.save`, which need the package torchcodec.

Why: torchaudio 2.9 has dropped its own decoders and encoders. `load` and `save` call those of TorchCodec, and raise an
ImportError where it is not installed. Samples are always 32-bit floats, whatever `normalize=` says.

    waveform, rate = torchaudio.load(path)

What to do: add `torchcodec` to the requirements; its release has to fit torch, as its own documentation lists. Or read and
write files with `soundfile`. The first call of each file is reported, unless the project names torchcodec somewhere.

Source: torchaudio 2.8 and 2.9 wheels: torchaudio/__init__.py, torchaudio/_torchcodec.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule, Severity
from torchmigrate.semantics.version_guards import find_reach

from ._changes.missing_names import has_alternative

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_SYMBOLS = ("torchaudio.load", "torchaudio.save")
_CODEC = "torchcodec"
_SINCE = (2, 9)
_LISTS = " .txt .in .toml .cfg .yaml .yml .lock .md .rst .sh dockerfile .dockerfile "

rule = Rule(
    code="RM764",
    symbols=_SYMBOLS,
    pairs=dict.fromkeys(_SYMBOLS, ()),
    message="`{symbol}` needs the package torchcodec since torchaudio 2.9, and the project does not name it; add it to the "
    "requirements",
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if ctx.options.target < _SINCE:
        return
    reached = find_reach(use, ctx.uses)
    if has_alternative(use, ctx, reached) or reached.caught & {"ImportError", "Exception", "BaseException"}:
        return
    if ctx.uses.compute_once(rule.code, lambda: use) is not use:
        return
    named = ctx.project.find_spellings(((_CODEC,), (_CODEC,)), beside="") or any(
        True for _ in ctx.search_elsewhere({_LISTS: _CODEC})
    )
    if not named:
        yield ctx.finding(use, severity=Severity.WARNING)
