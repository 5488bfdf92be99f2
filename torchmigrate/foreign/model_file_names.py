"""The names of model files in a source: ``"models/net.pt"`` in a call or a constant, or by resource and type."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from torchmigrate.foreign.grammar_tokens import MARK, STRING, WORD, ForeignToken

SUFFIXES = ("pt", "pth", "ptl", "pts", "ts", "jit", "torchscript", "torchscript.pt")
_NAME = re.compile(r"[\w.+ -]*\w\.(?:pt|pth|ptl|pts|jit|torchscript)")


def parse_model_file(text: str) -> str:
    """Return the name, without folders, of the model file that a string names; empty if it names none."""
    name = os.path.basename(text.replace("\\", "/").strip())
    return name if _NAME.fullmatch(name) else ""


def find_given_file(arguments: Sequence[ForeignToken], every: Sequence[ForeignToken]) -> str:
    """Return the model file in the arguments of a call, or in a variable among them that the source sets once."""
    named = list(find_model_files(arguments))
    if named:
        return named[0][0]
    for token in arguments:
        if token.kind == WORD:
            values = {name for name, at in find_model_files(every) if _is_assigned(token.text, at, every)}
            if len(values) == 1:
                return values.pop()
    return ""


def find_model_files(every: Sequence[ForeignToken]) -> Iterator[tuple[str, ForeignToken]]:
    """Find all model files that a source names, each with the token that names it."""
    for index, token in enumerate(every):
        if token.kind != STRING:
            continue
        name = parse_model_file(token.text)
        if not name and token.text in SUFFIXES:  # forResource: "net", ofType: "pt"
            before = [one for one in every[max(0, index - 4) : index] if one.kind == STRING]
            label = every[index - 2].text if index >= 2 else ""
            if before and label in ("ofType", "withExtension"):
                name = f"{before[-1].text}.{token.text}"
        if name:
            yield name, token


def _is_assigned(word: str, string: ForeignToken, every: Sequence[ForeignToken]) -> bool:
    """Return whether the statement that holds ``string`` sets the variable ``word``."""
    index = every.index(string)
    for back in range(index - 1, max(-1, index - 14), -1):
        token = every[back]
        if token.kind == MARK and token.text in (";", "}"):
            return False
        if token.kind == WORD and token.text == word:
            return back + 1 < len(every) and every[back + 1].text in ("=", "{", "(", ":", "[", ":=")
    return False
