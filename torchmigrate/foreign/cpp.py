"""The uses of torch's namespaces in C++, Objective-C++ and CUDA.

One pass over the tokens reports braces, declarations, aliases and ``using`` to `torchmigrate.foreign.cpp_namespaces`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from torchmigrate.foreign import model_file_names
from torchmigrate.foreign.cpp_namespaces import JIT, NamespaceStack
from torchmigrate.foreign.foreign_use import FORKED_HEADER, ForeignUse
from torchmigrate.foreign.grammar_tokens import (
    MARK,
    STRING,
    WORD,
    ForeignToken,
    count_arguments,
    find_arguments,
    tokenize_source,
)
from torchmigrate.foreign.preprocessor import blank_disabled_code
from torchmigrate.model.findings import Span

_KEPT = frozenset(
    {
        "IValue",
        "Stack",
        "peek",
        "peekSlice",
        "last",
        "drop",
        "pop",
        "push",
        "push_one",
        "push_list_elements",
        "pack",
    }
    | {"TuplePacker", "pickle", "unpickle", "pickle_save", "pickle_load", "CodeGen", "CustomClassHolder"}
)
"""The names in `torch::jit` that do not belong to the runtime: values and boxed calls of operators, custom classes, pickling of tensors.

Source: torch 2.13 wheel: torch/include/ATen/core/stack.h, torch/include/ATen/core/ivalue.h, torch/include/torch/csrc/jit/serialization/pickle.h.
"""
_HEADERS = re.compile(r"torch/(?:script\.h|jit\.h|csrc/jit/.*)|\w*[Ll]ib[Tt]orch(?:-Lite)?(?:-Nightly)?/.*")
_FORK = re.compile(r"\w+[Ll]ib[Tt]orch(?:-|/)")
_NO_RUNTIME = re.compile(
    r"torch/csrc/jit/(?:serialization/(?:pickle|unpickle)\w*|runtime/custom_operator|api/object)\.h"
)
_TYPES = ("class", "struct", "enum", "union")
_BEFORE_CALLS = frozenset(
    {"return", "co_return", "co_yield", "co_await", "throw", "new", "else", "do", "case", "and", "or", "not"}
)
"""The words that may precede a call: after any other word, ``name(`` is a declaration."""


class _CppReader:
    """A cursor over the tokens that keeps track of namespaces, declarations, aliases and ``using``."""

    def __init__(self, found: Sequence[ForeignToken], included: Mapping[str, str]) -> None:
        self.tokens = found
        self.index = 0
        self.namespaces = NamespaceStack(included, frozenset(self._find_opened_namespaces()))

    def find_uses(self) -> Iterator[ForeignUse]:
        pending = ""
        while self.index < len(self.tokens):
            token = self.tokens[self.index]
            text = token.text
            if token.kind == MARK:
                if text == "{":
                    self.namespaces.open_scope(pending)
                    pending = ""
                elif text == "}":
                    self.namespaces.close_scope()
                elif text == "#define" and self._is_word(1):
                    self._read_macro()
                elif text in ("#include", "#import"):
                    yield from self._read_include()
                elif text == "::" and self._starts_chain():
                    yield from self._read_chain()
                    continue
            elif token.kind == WORD:
                if text == "namespace":
                    pending = self._read_namespace()
                    continue
                if text == "using":
                    yield from self._read_using()
                    continue
                if text == "typedef":
                    yield from self._read_typedef()
                    continue
                if text in _TYPES and self._is_word(1) and self._peek_text(2) in ("{", ":", "final", ";"):
                    self.namespaces.innermost.declared.add(self.tokens[self.index + 1].text)
                # The grammar splits the directives of Objective-C into a mark and a word.
                elif text in ("include", "import") and self._peek_text(-1) in ("#", "@"):
                    yield from self._read_include()
                else:
                    yield from self._read_chain()
                    continue
            self.index += 1

    def _find_opened_namespaces(self) -> Iterator[str]:
        """Find the full names of the namespaces that the source opens."""
        stack: list[str] = []
        pending = ""
        for index, token in enumerate(self.tokens):
            if token.kind == WORD and token.text == "namespace":
                names = self._read_names(index + 1)
                after = index + 1 + max(0, 2 * len(names) - 1)
                opens = after < len(self.tokens) and self.tokens[after].text == "{"
                pending = "::".join(names) if opens and names else ""
            elif token.kind == MARK and token.text == "{":
                stack.append(pending)
                around = "::".join(part for part in stack if part)
                if pending:
                    yield around
                pending = ""
            elif token.kind == MARK and token.text == "}" and stack:
                stack.pop()

    def _read_names(self, index: int) -> list[str]:
        """Return the words of ``a::b`` from ``index`` on."""
        names: list[str] = []
        while index < len(self.tokens) and self.tokens[index].kind == WORD:
            names.append(self.tokens[index].text)
            if index + 1 >= len(self.tokens) or self.tokens[index + 1].text != "::":
                break
            index += 2
        return names

    def _peek_token(self, ahead: int) -> ForeignToken | None:
        index = self.index + ahead
        return self.tokens[index] if 0 <= index < len(self.tokens) else None

    def _peek_text(self, ahead: int) -> str:
        token = self._peek_token(ahead)
        return token.text if token is not None and token.kind != STRING else ""

    def _is_word(self, ahead: int) -> bool:
        token = self._peek_token(ahead)
        return token is not None and token.kind == WORD

    def _starts_chain(self) -> bool:
        before = self._peek_token(-1)
        return self._is_word(1) and (
            before is None or before.kind != WORD or before.text in ("return", "using", "new", "else")
        )

    def _read_include(self) -> Iterator[ForeignUse]:
        token = self._peek_token(1)
        if token is not None and token.kind == STRING:
            path = token.text
            if _HEADERS.fullmatch(path) and not _NO_RUNTIME.fullmatch(path):
                fork = FORKED_HEADER if _FORK.match(path) else ""
                yield ForeignUse(f"{fork}<{path}>", Span(token.start, token.end))
            self.index += 1

    def _read_macro(self) -> None:
        """Read ``#define NAME a::b``, which makes another name for ``a::b``."""
        self.index += 1
        name, after = self.tokens[self.index], self._peek_token(1)
        # A bracket right behind the name makes it a macro with parameters, which is no alias.
        if after is None or (after.text == "(" and after.start == name.end):
            return
        self.index += 1
        whole = self._resolve_ahead()
        self.index -= 1
        if whole is not None:
            self.namespaces.innermost.aliases[name.text] = whole

    def _read_namespace(self) -> str:
        """Read ``namespace a::b {`` and return its name, or ``namespace a = b::c;`` and return nothing."""
        self.index += 1
        names = self._read_names(self.index)
        self.index += max(0, 2 * len(names) - 1)
        if names and self._peek_text(0) == "=":
            self.index += 1
            target, known = self._read_namespace_name()
            self.namespaces.innermost.aliases[names[0]] = (
                known if known is not None else "::".join(["", *target])
            )
            return ""
        return "::".join(names)

    def _read_namespace_name(self) -> tuple[list[str], str | None]:
        """Read the name of a namespace: its words, and the namespace of torch that it stands for."""
        absolute = self._peek_text(0) == "::"
        self.index += absolute
        names = self._read_names(self.index)
        self.index += max(0, 2 * len(names) - 1)
        return names, self.namespaces.resolve_name(names, absolute=absolute)

    def _read_using(self) -> Iterator[ForeignUse]:
        self.index += 1
        if self._peek_text(0) == "namespace":
            self.index += 1
            _, known = self._read_namespace_name()
            if known is not None:
                self.namespaces.innermost.used.append(known)
            return
        if self._is_word(0) and self._peek_text(1) == "=":
            name = self.tokens[self.index].text
            self.index += 2
            self.index += self._peek_text(0) == "typename"
            whole = self._resolve_ahead()
            if whole is not None:
                self.namespaces.innermost.aliases[name] = whole
            else:
                self.namespaces.innermost.declared.add(name)
            yield from self._read_chain()
            return
        while True:
            whole = self._resolve_ahead()
            if whole is not None:
                self.namespaces.innermost.aliases[whole.rpartition("::")[2]] = whole
            yield from self._read_chain()
            if self._peek_text(0) != ",":
                return
            self.index += 1

    def _read_typedef(self) -> Iterator[ForeignUse]:
        self.index += 1
        whole = self._resolve_ahead()
        end = self.index
        while end < len(self.tokens) and self.tokens[end].text not in (";", "{"):
            end += 1
        if whole is not None and self.tokens[end - 1].kind == WORD:
            self.namespaces.innermost.aliases[self.tokens[end - 1].text] = whole
        yield from self._read_chain()

    def _resolve_ahead(self) -> str | None:
        """Return what the name at the cursor stands for, without moving the cursor."""
        absolute = self._peek_text(0) == "::"
        names = self._read_names(self.index + absolute)
        return self.namespaces.resolve_name(names, absolute=absolute) if names else None

    def _read_chain(self) -> Iterator[ForeignUse]:
        """Read ``a::b::c``; yield a use if it belongs to the runtime."""
        start = self.index
        before = self._peek_text(-1)
        absolute = self._peek_text(0) == "::"
        self.index += absolute
        names = self._read_names(self.index)
        if not names:
            self.index = start + 1
            return
        self.index += 2 * len(names) - 1
        # Behind a dot or an arrow stands a member of an object, which belongs to no namespace.
        if before in (".", "->") or (len(names) == 1 and self._is_declaration(start)):
            return
        name = self.namespaces.resolve_name(names, absolute=absolute)
        if name is None or not name.startswith(f"{JIT}::"):
            return
        top = name.removeprefix(f"{JIT}::").partition("::")[0]
        if top in _KEPT or (len(names) == 1 and name.rpartition("::")[2] in _KEPT):
            return
        span = Span(self.tokens[start].start, self.tokens[self.index - 1].end)
        inside = find_arguments(self.tokens, self.index) if self._peek_text(0) == "(" else ()
        file = model_file_names.find_given_file(inside, self.tokens) if inside else ""
        yield ForeignUse(name, span, file, arguments=count_arguments(inside), calls=True)

    def _is_declaration(self, start: int) -> bool:
        """Return whether the word at ``start`` is the name of a function that is being declared: a type stands before it."""
        before = self.tokens[start - 1] if start else None
        is_type = before is not None and before.kind == WORD and before.text not in _BEFORE_CALLS
        return is_type and self._peek_text(0) == "("


def find_cpp_uses(
    text: bytes, included: Mapping[str, str] = MappingProxyType({})
) -> tuple[list[ForeignUse], list[ForeignToken], dict[str, str]]:
    """Return the uses of torch in a source, its tokens, and the names that it exports to the files that include it.

    ``included`` are the names that its own headers export. Raises NoGrammar.
    """
    found = tokenize_source("cpp", blank_disabled_code(text))
    reader = _CppReader(found, included)
    return list(reader.find_uses()), found, reader.namespaces.exports


def find_called_methods(found: Sequence[ForeignToken]) -> list[tuple[str, Span]]:
    """Return the methods that a source calls, and `torch::autograd::grad`; the first call of each is the last in the list."""
    return [
        (name.text, Span(name.start, name.end))
        for before, name, after in zip(found, found[1:], found[2:], strict=False)
        if name.kind == WORD and after.text in ("(", "<")
        if (before.text == "::" if name.text == "grad" else before.text in (".", "->"))
    ][::-1]


def find_implemented_classes(found: Sequence[ForeignToken]) -> Iterator[str]:
    """Find the Objective-C classes that a source implements."""
    for word, name in pairwise(found):
        if word.text == "implementation" and name.kind == WORD:
            yield name.text
