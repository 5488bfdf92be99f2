"""The warnings that a wheel of torch can show: every call of ``warnings.warn`` and the like, every ``@deprecated``, and the
texts and signatures in its libraries that speak of a deprecation.

The sources of the libraries are not in a wheel, so that their other warnings cannot be told from error messages.
"""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.api.markers import dotted, text_of

WARNS = re.compile(
    r"_?warn(_once|_only_once|ing)?|_?deprecated|_?deprecation_warning|warn_\w+|_make_deprecate"
)
"""Matches the last part of the name of a function that warns."""
LOGS = re.compile(r"(?:\w+\.)*_?(?:\w*log|\w*logger|logging)\.\w+")
LIBRARIES = re.compile(r"torch/lib/lib(?:torch_python|torch_cpu|c10)\.(?:so|dylib)")
WORDS = (b"deprecat", b"will be removed", b"no longer recommended", b"no longer used", b"in a future release")
"""Words in the texts of deprecations."""
SIGNATURE = re.compile(r"\w+\([^)]*\)\|deprecated")
LEFT_OUT = ("torch/testing/_internal/", "torch/_vendor/")


@dataclass(frozen=True, order=True)
class ShownWarning:
    """One place that warns."""

    place: str
    """The file in the wheel."""
    function: str
    """The function or class around the call, as in ``Tensor.__len__``; empty in a library or outside of functions."""
    text: str
    """The text on one line, with ``…`` and ``{name}`` for what is computed."""

    def render_line(self) -> str:
        """Return the line of ``warnings.txt`` for it."""
        return "\t".join((self.place, self.function, self.text))


def parse_line(line: str) -> ShownWarning:
    """Return the warning that a line of ``warnings.txt`` has."""
    return ShownWarning(*line.split("\t"))


def read_wheel(wheel: Path) -> list[ShownWarning]:
    """Return the warnings of a wheel, sorted."""
    found: set[ShownWarning] = set()
    with zipfile.ZipFile(wheel) as opened:
        for name in opened.namelist():
            if LIBRARIES.fullmatch(name):
                found.update(read_library(name, opened.read(name)))
            elif name.startswith("torch/") and name.endswith(".py") and not name.startswith(LEFT_OUT):
                found.update(read_module(name, opened.read(name).decode()))
    return sorted(found)


def read_module(name: str, text: str) -> Iterator[ShownWarning]:
    """Yield the warnings of a Python file."""
    if "warn" in text or "deprecat" in text:
        yield from _walk_calls(ast.parse(text), name, "")


def _walk_calls(node: ast.AST, place: str, function: str) -> Iterator[ShownWarning]:
    for child in ast.iter_child_nodes(node):
        inner = function
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = f"{function}.{child.name}".strip(".")
        elif isinstance(child, ast.Call):
            called = dotted(child.func)
            if WARNS.fullmatch(called.rpartition(".")[2]) and not LOGS.fullmatch(called):
                yield ShownWarning(place, function, _render_message(child))
        yield from _walk_calls(child, place, inner)


def _render_message(call: ast.Call) -> str:
    message = call.args[0] if call.args else ast.Constant("")
    if isinstance(message, ast.Call) and dotted(message.func).endswith("Warning") and message.args:
        message = message.args[0]
    return " ".join(text_of(message, {}).split())


def read_library(name: str, data: bytes) -> Iterator[ShownWarning]:
    """Yield the texts and signatures of deprecations in a library."""
    place = re.sub(r"\.(?:so|dylib)$", "", name)
    for word in WORDS:
        at = data.find(word)
        while at >= 0:
            begin, end = data.rfind(b"\0", max(0, at - 3000), at) + 1, data.find(b"\0", at)
            text = " ".join(data[begin:end].decode("utf-8", "replace").split())
            if text.isprintable() and (" " in text or SIGNATURE.fullmatch(text)):
                yield ShownWarning(place, "", text[:300])
            at = data.find(word, end)
