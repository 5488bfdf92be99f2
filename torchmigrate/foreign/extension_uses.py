"""The uses of torch's C++ API in sources of extensions that later releases dropped or deprecated, with what replaces them.

Each is named as it is written, without its operands: ``AT_CHECK``, ``.data<T>()``, ``include <THC/THC.h>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from torchmigrate.foreign.extension_receivers import Receivers
from torchmigrate.foreign.foreign_use import ForeignUse
from torchmigrate.foreign.grammar_tokens import MARK, STRING, WORD, ForeignToken
from torchmigrate.foreign.thc_names import find_thc_uses
from torchmigrate.model.findings import Edit, Span
from torchmigrate.tables.lost_headers import load_lost_headers

_MACROS = {"AT_CHECK": "TORCH_CHECK", "AT_WARN": "TORCH_WARN", "AT_INDEX_ERROR": ""}
_HALF = "AT_DISPATCH_ALL_TYPES_AND_HALF"
_OF_TYPE = {
    "is_cuda": "is_cuda",
    "is_sparse": "is_sparse",
    "scalarType": "scalar_type",
    "toString": "toString",
}
"""The members of what ``type()`` returns that a tensor has itself."""
_FACTORIES = frozenset(
    {"zeros", "ones", "empty", "full", "rand", "randn", "randint", "randperm", "arange", "eye", "linspace"}
    | {"from_blob", "tensor", "to", "zeros_like", "ones_like", "empty_like", "full_like", "empty_strided"}
)
_MOVED = {
    "ATen/cuda/CUDAGuard.h": "c10/cuda/CUDAGuard.h",
    "ATen/cuda/CUDAStream.h": "c10/cuda/CUDAStream.h",
    "THC/THCCachingAllocator.h": "c10/cuda/CUDACachingAllocator.h",
    "THC/THCNumerics.cuh": "ATen/cuda/NumericLimits.cuh",
}
_VERSION_TEST = re.compile(
    rb"^[ \t]*#[ \t]*(?:(if|ifdef|ifndef)\b([^\n]*)|(elif|else)\b([^\n]*)|(endif)\b)", re.MULTILINE
)
_OF_TORCH = re.compile(rb"VERSION|TORCH|AT_CHECK|PYTORCH")


def find_extension_uses(text: bytes, found: Sequence[ForeignToken]) -> Iterator[ForeignUse]:
    """Yield the uses in a source, except those that a test of a version decides, or whose macro the source defines."""
    spans = _find_decided_spans(text)
    defined = {name.text for mark, name in pairwise(found) if mark.text in ("#define", "define")}
    found = [token for token in found if not any(start <= token.start < end for start, end in spans)]
    reader = _ExtensionReader(found)
    for use in (*reader.find_uses(), *find_thc_uses(text, found)):
        if use.name not in defined:
            yield use


def _find_decided_spans(text: bytes) -> list[tuple[int, int]]:
    """Return the parts of a source that the preprocessor takes or leaves depending on a version."""
    found: list[tuple[int, int]] = []
    stack: list[tuple[bool, int]] = []
    for match in _VERSION_TEST.finditer(text):
        if match[1]:
            stack.append((bool(_OF_TORCH.search(match[2])), match.end()))
        elif match[5] and stack:
            is_decided, start = stack.pop()
            if is_decided:
                found.append((start, match.start()))
    return found


class _ExtensionReader:
    """Reads the tokens of one source."""

    def __init__(self, found: Sequence[ForeignToken]) -> None:
        self._found = found
        self._receivers = Receivers(found)
        self._dispatched: set[int] = set()
        """The positions of ``type`` in the argument of a dispatch, which are reported with it."""

    def find_uses(self) -> Iterator[ForeignUse]:
        for index, token in enumerate(self._found):
            if token.kind == MARK and token.text in ("#include", "#import"):
                yield from self._read_include(index)
            elif token.kind != WORD:
                continue
            elif self._text(index + 1) == "(" and self._text(index - 1) not in ("#define", "define", "."):
                yield from self._read_macro(index, token)
            elif self._text(index - 2) in ("at", "torch", "c10") and token.text == "IntList":
                yield self._use("at::IntList", token, Edit(token.start, token.end, "IntArrayRef"))
            if self._text(index - 1) == ".":
                yield from self._read_member(index, token)

    def _text(self, index: int) -> str:
        return self._found[index].text if 0 <= index < len(self._found) else ""

    def _texts(self, index: int, *texts: str) -> bool:
        """Return whether the tokens from ``index`` on have these texts."""
        return all(self._text(index + number) == text for number, text in enumerate(texts))

    def _use(
        self, name: str, token: ForeignToken, *edits: Edit, unsafe: str = "", end: int = 0
    ) -> ForeignUse:
        return ForeignUse(name, Span(token.start, end or token.end), edits=edits, unsafe=unsafe)

    def _read_include(self, index: int) -> Iterator[ForeignUse]:
        path = self._found[index + 1] if index + 1 < len(self._found) else None
        if path is None or path.kind != STRING or path.text.startswith(("TH/", "THC/")):
            return
        if path.text in load_lost_headers():
            moved = _MOVED.get(path.text)
            edits = [Edit(path.start, path.end, f"<{moved}>")] if moved else []
            yield self._use(f"include <{path.text}>", path, *edits)

    def _read_macro(self, index: int, token: ForeignToken) -> Iterator[ForeignUse]:
        if token.text in _MACROS:
            new = _MACROS[token.text]
            end = token.end if new else self._found[index + 1].end
            yield self._use(token.text, token, Edit(token.start, end, new or "TORCH_CHECK_INDEX(false, "))
        elif token.text == _HALF:
            end = self._found[index + 1].end
            new = "AT_DISPATCH_ALL_TYPES_AND(at::ScalarType::Half, "
            yield self._use(_HALF, token, Edit(token.start, end, new))
        if token.text.startswith("AT_DISPATCH_"):
            for position in self._find_dispatched(index + 1):
                self._dispatched.add(position)
                kind = self._found[position]
                close = self._found[position + 2].end
                yield self._use(
                    "AT_DISPATCH_*(….type(), …)", kind, Edit(kind.start, kind.end, "scalar_type"), end=close
                )

    def _find_dispatched(self, opening: int) -> Iterator[int]:
        """Yield the positions of ``type`` in the arguments of a dispatch that end in ``.type()``."""
        depth = 0
        for index in range(opening, min(len(self._found), opening + 80)):
            mark = self._text(index)
            depth += (mark in ("(", "{", "[")) - (mark in (")", "}", "]"))
            if depth <= 0 or mark == "{":
                return
            is_argument = depth == 1 and mark == "," and self._texts(index - 4, ".", "type", "(", ")")
            if is_argument and self._found[index - 3].kind == WORD:
                yield index - 3

    def _read_member(self, index: int, token: ForeignToken) -> Iterator[ForeignUse]:
        if token.text == "data" and self._text(index + 1) == "<":
            yield from self._read_data(index, token)
        elif token.text == "type" and self._texts(index + 1, "(", ")"):
            yield from self._read_type(index, token)
        elif token.text == "packed_accessor" and self._text(index + 1) == "<":
            close = self._find_closing_angle(index + 1)
            commas = sum(self._text(one) == "," for one in range(index + 1, close or index + 1))
            if close is not None and self._text(close + 1) == "(":
                edits = [Edit(token.start, token.end, "packed_accessor64")] if commas <= 2 else []
                yield self._use(".packed_accessor<T, N>()", token, *edits)
        elif token.text == "is_variable" and self._texts(index + 1, "(", ")"):
            yield self._use(".is_variable()", token)

    def _read_data(self, index: int, token: ForeignToken) -> Iterator[ForeignUse]:
        close = self._find_closing_angle(index + 1)
        if close is None or not self._texts(close + 1, "(", ")"):
            return
        is_tensor = self._receivers.is_tensor(index - 2)
        if is_tensor is not False:
            unsafe = "" if is_tensor else "the object may be no tensor"
            edit = Edit(token.start, token.end, "data_ptr")
            yield self._use(".data<T>()", token, edit, unsafe=unsafe, end=self._found[close + 2].end)

    def _find_closing_angle(self, opening: int) -> int | None:
        """Return the position of the bracket that closes template arguments; None if there is none nearby."""
        depth = 0
        for index in range(opening, min(len(self._found), opening + 40)):
            mark = self._text(index)
            depth += (mark == "<") - (mark == ">") - 2 * (mark == ">>")
            if depth <= 0:
                return index
            if mark in (";", "{", "&&", "||"):
                return None
        return None

    def _read_type(self, index: int, token: ForeignToken) -> Iterator[ForeignUse]:
        if index in self._dispatched:
            return
        dot, close = self._found[index - 1], self._found[index + 2]
        member = self._found[index + 4] if index + 4 < len(self._found) else None
        if self._text(index + 3) == "." and member is not None and self._text(index + 5) == "(":
            if new := _OF_TYPE.get(member.text):
                edits = [Edit(dot.start, close.end, "")]
                edits += [Edit(member.start, member.end, new)] if new != member.text else []
                yield self._use(f".type().{member.text}()", token, *edits, end=member.end)
                return
            if member.text == "device_type":
                yield self._use(
                    ".type().device_type()",
                    token,
                    Edit(token.start, token.end, "device"),
                    Edit(member.start, member.end, "type"),
                    end=member.end,
                )
                return
        if self._receivers.is_tensor(index - 2):
            is_option = self._text(index + 3) in (",", ")") and self._find_called(index) in _FACTORIES
            edits = [Edit(token.start, token.end, "options")] if is_option else []
            unsafe = (
                "the options name the GPU of the tensor, where its type left the current one"
                if is_option
                else ""
            )
            yield self._use(".type()", token, *edits, unsafe=unsafe, end=close.end)

    def _find_called(self, index: int) -> str:
        """Return the name of the function in whose arguments a token is; empty if it is in none."""
        depth = 0
        for one in range(index - 1, max(0, index - 60), -1):
            mark = self._text(one)
            depth += (mark in (")", "}", "]")) - (mark in ("(", "{", "["))
            if depth < 0:
                return self._text(one - 1) if mark == "(" else ""
            if mark in (";",):
                return ""
        return ""
