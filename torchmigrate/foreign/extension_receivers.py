"""Which expressions of a C++ source are tensors, by the declarations in it."""

from __future__ import annotations

from collections.abc import Sequence

from torchmigrate.foreign.grammar_tokens import WORD, ForeignToken

_NAMESPACES = ("at", "torch", "autograd")
_TYPES = ("Tensor", "Variable")
_GIVING_TENSORS = frozenset(
    {
        "contiguous",
        "clone",
        "view",
        "reshape",
        "to",
        "cuda",
        "cpu",
        "detach",
        "select",
        "slice",
        "narrow",
        "squeeze",
    }
    | {"unsqueeze", "transpose", "permute", "t", "flatten", "expand", "toType", "grad", "index_select"}
    | {
        "zeros",
        "ones",
        "empty",
        "full",
        "zeros_like",
        "ones_like",
        "empty_like",
        "rand",
        "randn",
        "arange",
        "tensor",
    }
)
"""The methods and functions of torch that return a tensor."""
_MADE_OTHERWISE = frozenset({"storage", "untyped_storage"})


class Receivers:
    """The names that a source declares as tensors, and those that it declares as something else."""

    def __init__(self, found: Sequence[ForeignToken]) -> None:
        self._found = found
        self._tensors: set[str] = set()
        self._others: set[str] = set()
        for index, token in enumerate(found):
            if token.kind == WORD:
                self._read_declaration(index)

    def _text(self, index: int) -> str:
        return self._found[index].text if 0 <= index < len(self._found) else ""

    def _read_declaration(self, index: int) -> None:
        """Read ``at::Tensor x``, ``const Tensor& x``, ``std::vector<Tensor> x`` or ``tv::Tensor x`` with ``x`` at ``index``."""
        if self._text(index - 1) == "auto" or self._text(index - 2) == "auto":
            if self._text(index + 1) == "=" and self._is_made(index + 2):
                self._tensors.add(self._text(index))
            return
        before = index - 1
        while self._text(before) in ("&", "const", "*", "&&", ">"):
            before -= 1
        if self._text(before) not in _TYPES or before == index:
            return
        owner = self._text(before - 2) if self._text(before - 1) == "::" else ""
        known = self._tensors if owner in ("", *_NAMESPACES) else self._others
        known.add(self._text(index))

    def _is_made(self, index: int) -> bool:
        """Return whether the value that begins at ``index`` is ``at::zeros(…)`` or ``x.contiguous()`` of a tensor."""
        is_function = self._text(index) in _NAMESPACES and self._text(index + 1) == "::"
        is_method = self._text(index) in self._tensors and self._text(index + 1) == "."
        name, after = self._text(index + 2), self._text(index + 3)
        return (is_function or is_method) and name in _GIVING_TENSORS and after == "("

    def is_tensor(self, index: int) -> bool | None:
        """Return whether the expression that ends with the token at ``index`` is a tensor; None if that is unknown."""
        text = self._text(index)
        if text in (")", "]"):
            opening = self._find_opening(index)
            name = self._text(opening - 1)
            if text == "]":
                return self.is_tensor(opening - 1)
            if name in _MADE_OTHERWISE:
                return False
            return True if name in _GIVING_TENSORS else None
        if self._text(index - 1) in (".", "->"):  # a member of an object
            return None
        if text in self._tensors:
            return None if text in self._others else True
        return False if text in self._others else None

    def _find_opening(self, index: int) -> int:
        """Return the position of the bracket that the one at ``index`` closes."""
        depth = 0
        for one in range(index, max(-1, index - 400), -1):
            mark = self._text(one)
            depth += (mark in (")", "]", "}")) - (mark in ("(", "[", "{"))
            if depth == 0:
                return one
        return 0
