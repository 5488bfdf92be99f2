"""The uses of LibTorch in Swift: its modules, its packages, and classes that an Objective-C++ file may implement."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchmigrate.foreign import model_file_names
from torchmigrate.foreign.foreign_use import ForeignUse
from torchmigrate.foreign.grammar_tokens import STRING, WORD, ForeignToken, find_arguments, tokenize_source
from torchmigrate.model.findings import Span

CLASS = "class "
"""The prefix in the name of a use that may be a class implemented in Objective-C++."""

_MODULE = re.compile(r"LibTorch(?:_Lite)?(?:_Nightly)?|Libtorch_?Lite")
_PACKAGE = re.compile(r"(?i)^(?:https?://|git@).*/libtorch[\w.-]*$|(?:^|/)libtorch[\w-]*\.xcframework$")


def find_swift_uses(text: bytes) -> tuple[list[ForeignUse], list[ForeignToken]]:
    """Return the uses of LibTorch in a source, and its tokens. Raises NoGrammar."""
    found = tokenize_source("swift", text)
    uses: list[ForeignUse] = []
    for index, token in enumerate(found):
        behind = found[index + 1] if index + 1 < len(found) else None
        if token.kind == STRING:
            if _PACKAGE.search(token.text):
                uses.append(ForeignUse("LibTorch", Span(token.start, token.end)))
        elif token.text == "import" and behind is not None and _MODULE.fullmatch(behind.text):
            uses.append(ForeignUse(f"import {behind.text}", Span(behind.start, behind.end), calls=True))
        elif token.kind == WORD and token.text[:1].isupper() and behind is not None and behind.text == "(":
            file = model_file_names.find_given_file(
                find_arguments(found, index + 1), found
            ) or _find_only_file(found)
            uses.append(ForeignUse(CLASS + token.text, Span(token.start, token.end), file, calls=True))
    return uses, found


def _find_only_file(found: Sequence[ForeignToken]) -> str:
    names = {name for name, _ in model_file_names.find_model_files(found)}
    return names.pop() if len(names) == 1 else ""
