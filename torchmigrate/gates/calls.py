"""What a call gives, asked of its bytes: most calls of ``torch.load`` or ``torch.meshgrid`` already say what a rule misses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

_OPENED = re.compile(rb"(?:[ \t\f]|\\(?:\r\n?|\n))*\(")
_CALLED = re.compile(rb"(?:[\s\\]|#[^\r\n]*)*\(")
"""The same inside of brackets, or with a comment before it."""
_PIECE = re.compile(
    rb"#[^\r\n]*"
    rb"|'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\r\n]|\\.)*'|\"(?:[^\"\\\r\n]|\\.)*\""
    rb"|(?P<name>\w+)(?:[\s\\]*(?P<equals>=)(?!=))?"
    rb"|[(\[{]|(?P<close>[)\]}])|(?P<comma>,)|(?P<star>\*)",
    re.DOTALL,
)
_LONGEST = 4000
"""Bytes of a call beyond which it is not read."""


def excuses(words: Iterable[str]) -> tuple[str, ...]:
    """Those of a symbol's words that say which of its uses do not matter."""
    return tuple(word for word in words if word[0] in "!<>(")


def either(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a symbol that matters where it does by these words, or by the others."""
    plain, others = ([word for word in words if word not in excuses(words)] for words in (one, other))
    both = [word for word in excuses(one) if word in other]
    return tuple(dict.fromkeys((*(plain + others if plain and others else ()), *both)))


@dataclass(frozen=True)
class Calls:
    """The uses of one symbol that matter to rules; see `torchmigrate.model.rule.Rule.pairs`."""

    needed: frozenset[bytes] = frozenset()
    """Keywords of which a call has to give one; none: it need not."""
    excused: frozenset[bytes] = frozenset()
    """``!name=``: a call that gives the keyword does not matter; ``>2``: nor does one of two positional arguments or fewer;
    ``<2``: nor one of two or more; ``(``: nor does what is no call."""

    @classmethod
    def of(cls, words: Sequence[str]) -> Calls:
        """What the words of a symbol say of its calls."""
        excused = excuses(words)
        plain = [word for word in words if word not in excused]
        needed = [word[:-1] for word in plain] if all(word.endswith("=") for word in plain) else ()
        return cls(frozenset(word.encode() for word in needed), frozenset(word.encode() for word in excused))

    def __or__(self, other: Calls) -> Calls:
        """The calls that matter to one or the other."""
        needed = self.needed | other.needed if self.needed and other.needed else frozenset[bytes]()
        return Calls(needed, self.excused & other.excused)

    def __bool__(self) -> bool:
        return bool(self.needed or self.excused)

    @cached_property
    def _settling(self) -> frozenset[bytes]:
        return frozenset(word[1:-1] for word in self.excused if word.startswith(b"!"))

    @cached_property
    def _range(self) -> tuple[int, float]:
        more = [int(word[1:]) for word in self.excused if word.startswith(b">")]
        fewer = [int(word[1:]) for word in self.excused if word.startswith(b"<")]
        return max(more, default=-1), min(fewer, default=math.inf)

    def concern(self, text: bytes, at: int) -> bool:
        """Whether the use of the symbol whose name ends at byte ``at`` may matter: if in doubt, it does."""
        opened = _OPENED.match(text, at)
        if opened is None:
            return b"(" not in self.excused or _CALLED.match(text, at) is not None
        given: set[bytes] = set()
        depth, arguments, filled = 1, 0, False
        for piece in _PIECE.finditer(text, opened.end(), opened.end() + _LONGEST):
            if piece["close"]:
                depth -= 1
                if not depth:
                    break
            elif depth == 1 and piece["comma"]:
                arguments += filled
                filled = False
                continue
            elif depth == 1 and piece["star"] and not filled:
                return True
            elif depth == 1 and piece["equals"] and not filled:
                given.add(piece["name"])
            elif piece[0][:1] in b"([{":
                depth += 1
            elif piece[0].startswith(b"#"):
                continue
            filled = True
        else:
            return True
        if self.needed and self.needed.isdisjoint(given):
            return False
        more, fewer = self._range
        return self._settling.isdisjoint(given) and more < arguments + filled - len(given) < fewer
