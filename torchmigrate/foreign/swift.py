"""The uses of LibTorch in Swift: its modules, its packages, and classes that an Objective-C++ file may implement."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchmigrate.foreign import files
from torchmigrate.foreign.tokens import STRING, WORD, Token, arguments, tokens
from torchmigrate.foreign.use import ForeignUse
from torchmigrate.model.findings import Span

CLASS = "class "
"""The prefix of a use that may be such a class."""

_MODULE = re.compile(r"LibTorch(?:_Lite)?(?:_Nightly)?|Libtorch_?Lite")
_PACKAGE = re.compile(r"(?i)^(?:https?://|git@).*/libtorch[\w.-]*$|(?:^|/)libtorch[\w-]*\.xcframework$")


def read(text: bytes) -> tuple[list[ForeignUse], list[Token]]:
    """Return the uses of LibTorch in a source, and its tokens. Raises NoGrammar."""
    found = tokens("swift", text)
    uses: list[ForeignUse] = []
    for index, token in enumerate(found):
        behind = found[index + 1] if index + 1 < len(found) else None
        if token.kind == STRING:
            if _PACKAGE.search(token.text):
                uses.append(ForeignUse("LibTorch", Span(token.start, token.end)))
        elif token.text == "import" and behind is not None and _MODULE.fullmatch(behind.text):
            uses.append(ForeignUse(f"import {behind.text}", Span(behind.start, behind.end), calls=True))
        elif token.kind == WORD and token.text[:1].isupper() and behind is not None and behind.text == "(":
            file = files.given(arguments(found, index + 1), found) or _only_file(found)
            uses.append(ForeignUse(CLASS + token.text, Span(token.start, token.end), file, calls=True))
    return uses, found


def _only_file(found: Sequence[Token]) -> str:
    names = {name for name, _ in files.named_files(found)}
    return names.pop() if len(names) == 1 else ""
