"""Names of THC, the library for CUDA that torch had until 1.10, in C++ and CUDA sources.

Few of them have a replacement. A source gets these only if it uses no others: it does not compile otherwise, whatever is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from torchmigrate.foreign.foreign_use import ForeignUse
from torchmigrate.foreign.grammar_tokens import MARK, STRING, WORD, ForeignToken, find_arguments
from torchmigrate.model.findings import Edit, Span
from torchmigrate.tables.lost_headers import load_lost_headers

_CONTEXT = "ATen/cuda/CUDAContext.h"
_ALLOCATOR = "c10/cuda/CUDACachingAllocator.h"
_INCLUDES = ("#include", "#import")
_DEFINES = ("define", "#define")
_STATE = "THCState"


@dataclass(frozen=True, slots=True)
class _Replacement:
    """What replaces a function of THC, and the header that declares it."""

    new: str
    header: str
    drops_state: bool = False
    """Whether the first argument, the state of THC, is dropped."""


_NEW = {
    "THCudaCheck": _Replacement("AT_CUDA_CHECK", _CONTEXT),
    "THCCeilDiv": _Replacement("at::ceil_div", "ATen/ceil_div.h"),
    "THCState_getCurrentStream": _Replacement("at::cuda::getCurrentCUDAStream", _CONTEXT, drops_state=True),
    "THCudaMalloc": _Replacement("c10::cuda::CUDACachingAllocator::raw_alloc", _ALLOCATOR, drops_state=True),
    "THCudaFree": _Replacement("c10::cuda::CUDACachingAllocator::raw_delete", _ALLOCATOR, drops_state=True),
}


def find_thc_uses(text: bytes, found: Sequence[ForeignToken]) -> Iterator[ForeignUse]:
    """Yield the uses of THC in a source: its headers and its names."""
    headers = [
        (mark, path)
        for mark, path in pairwise(found)
        if mark.kind == MARK and mark.text in _INCLUDES and path.kind == STRING
    ]
    lost = [
        (mark, path)
        for mark, path in headers
        if path.text.startswith(("TH/", "THC/")) and path.text in load_lost_headers()
    ]
    names = [
        index
        for index, token in enumerate(found)
        if token.kind == WORD and token.text.startswith("THC") and found[index - 1].text not in _DEFINES
    ]
    if not lost and not any(found[index].text in (*_NEW, _STATE) for index in names):
        return
    changes = [_replace_name(text, found, index) for index in names]
    is_known = bool(lost) and None not in changes and not _has_other_uses(found, names, changes)
    needed = [_CONTEXT] if any(path.text.startswith("THC/") for _, path in lost) else []
    needed += [_NEW[found[index].text].header for index in names if found[index].text in _NEW]
    had = {path.text for _, path in headers}
    added = [f"<{name}>" for name in dict.fromkeys(needed) if name not in had]
    for mark, path in lost:
        new = "\n#include ".join(added)
        edit = Edit(path.start, path.end, new) if added else _remove_lines(text, mark.start, path.end)
        yield ForeignUse(
            f"include <{path.text}>", Span(path.start, path.end), edits=(edit,) if is_known else ()
        )
        added = []
    for index, change in zip(names, changes, strict=True):
        token = found[index]
        yield ForeignUse(token.text, Span(token.start, token.end), edits=(change or ()) if is_known else ())


def _has_other_uses(
    found: Sequence[ForeignToken], names: Sequence[int], changes: Sequence[tuple[Edit, ...] | None]
) -> bool:
    """Return whether a source uses TH without C, or the variable with the state of THC where nothing replaces that."""
    states = {_find_variable(found, index) for index in names if found[index].text == _STATE}
    edits = [edit for change in changes for edit in change or ()]
    return any(
        token.text.startswith(("TH_", "THTensor", "THFloat", "THDouble", "THLong", "THInt", "THByte"))
        or (token.text in states and not any(edit.start <= token.start < edit.end for edit in edits))
        for token in found
        if token.kind == WORD
    )


def _find_variable(found: Sequence[ForeignToken], index: int) -> str:
    """Return the variable of a declaration ``THCState *state``."""
    after = found[index + 1 : index + 3]
    return next((token.text for token in after if token.kind == WORD), "")


def _replace_name(text: bytes, found: Sequence[ForeignToken], index: int) -> tuple[Edit, ...] | None:
    """Return the edits that replace a name of THC; None if nothing does."""
    token = found[index]
    if token.text == _STATE:
        return _remove_declaration(text, found, index)
    new = _NEW.get(token.text)
    if new is None:
        return None
    renamed = Edit(token.start, token.end, new.new)
    if not new.drops_state:
        return (renamed,)
    is_call = index + 1 < len(found) and found[index + 1].text == "("
    inside = find_arguments(found, index + 1) if is_call else ()
    if not inside or inside[0].kind != WORD:
        return None
    if len(inside) == 1:
        return renamed, Edit(inside[0].start, inside[0].end, "")
    return (renamed, Edit(inside[0].start, inside[2].start, "")) if inside[1].text == "," else None


def _remove_declaration(text: bytes, found: Sequence[ForeignToken], index: int) -> tuple[Edit, ...] | None:
    """Return the edit that removes ``extern THCState *state;`` or ``THCState *state = at::globalContext().getTHCState();``."""
    first = index - 1 if found[index - 1].text == "extern" else index
    rest: list[str] = []
    for token in found[index + 1 : index + 16]:
        if token.text == ";":
            is_plain = len(rest) == 2 and rest[0] == "*"
            is_context = rest[:1] == ["*"] and rest[2:3] == ["="] and "getTHCState" in rest
            edit = _remove_lines(text, found[first].start, token.end)
            return (edit,) if is_plain or is_context else None
        rest.append(token.text)
    return None


def _remove_lines(text: bytes, start: int, end: int) -> Edit:
    """Return the edit that removes a part of a source, with its lines if nothing else is there."""
    first = text.rfind(b"\n", 0, start) + 1
    after = text.find(b"\n", end)
    after = len(text) if after < 0 else after + 1
    is_alone = not text[first:start].strip() and not text[end:after].strip()
    return Edit(first, after, "") if is_alone else Edit(start, end, "")
