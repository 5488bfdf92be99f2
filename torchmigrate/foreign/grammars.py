"""The tree-sitter grammars of other languages.

Those of C++ and Java are always installed (6 MB together with tree-sitter itself), those of the other languages by
``pip install 'torchmigrate[embedded]'`` (15 MB more).
"""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from torchmigrate.foreign.use import LANGUAGES
from torchmigrate.gates.languages import MODULES

if TYPE_CHECKING:
    from tree_sitter import Parser

_CORE = "tree_sitter"


class NoGrammar(Exception):
    """The grammar of a language is not installed."""


def parser_of(language: str) -> Parser:
    """Return the parser of ``language``, one of the keys of `MODULES`. Raises NoGrammar."""
    parser = _parser(language)
    if parser is None:
        raise NoGrammar(language)
    return parser


@cache
def _parser(language: str) -> Parser | None:
    try:
        from tree_sitter import Language, Parser

        grammar = importlib.import_module(MODULES[language])
        return Parser(Language(grammar.language()))
    except (ImportError, OSError, ValueError, TypeError):  # the last two: a grammar of another generation
        return None


def state() -> Iterator[str]:
    """Yield lines that change with the installed grammars, without importing any of them."""
    for name in (_CORE, *MODULES.values()):
        spec = find_spec(name)
        if spec is not None and spec.origin:
            yield f"{spec.origin}:{os.stat(spec.origin).st_mtime_ns}"


def describe_unread(languages: Iterable[str]) -> str:
    """Return the message about files that could not be read, from the language of each file."""
    counted = Counter(LANGUAGES.get(language, language) for language in languages)
    files = [f"{number} {name} {'file' if number == 1 else 'files'}" for name, number in counted.items()]
    return f"{', '.join(files)} may use TorchScript, but could not be read without a grammar"
