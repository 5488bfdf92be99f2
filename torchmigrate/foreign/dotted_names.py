"""The uses of torch in Java, Kotlin, C#, Go and Rust, where names with dots (or colons) begin with an import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from torchmigrate.foreign import model_file_names, package_files
from torchmigrate.foreign.foreign_use import ForeignUse
from torchmigrate.foreign.grammar_tokens import STRING, WORD, ForeignToken, find_arguments, tokenize_source
from torchmigrate.model.findings import Span

_DECLARING = frozenset(
    {"class", "interface", "object", "enum", "struct", "trait", "record", "namespace"}
    | {"fun", "fn", "type", "typealias"}
)

_PACKAGES = ("torchvision",)
"""The packages of PyTorch Mobile below ``org.pytorch``."""


@dataclass(slots=True)
class ImportTable:
    """The imports of a file: its own names for qualified ones, and the packages that are imported as a whole."""

    separator: str
    names: dict[str, str] = field(default_factory=dict)
    everything: list[str] = field(default_factory=list)
    uses: list[ForeignUse] = field(default_factory=list)
    """The uses in the imports themselves."""
    spans: set[int] = field(default_factory=set)
    """The byte offsets of the tokens that belong to imports."""


def find_jvm_uses(language: str, text: bytes) -> tuple[list[ForeignUse], list[ForeignToken]]:
    """Return the uses of ``org.pytorch`` in a Java or Kotlin source, and its tokens. Raises NoGrammar."""
    found = tokenize_source(language, text)
    imports = ImportTable(".")
    for index, token in enumerate(found):
        if token.text in ("import", "package") and token.kind == WORD:
            _read_jvm_import(found, index, imports)
    required = [
        ForeignUse(made[0], Span(token.start, token.end), version=made[1])
        for token in found
        if token.kind == STRING and (made := package_files.parse_coordinate(token.text))
    ]
    return [*imports.uses, *required, *_find_qualified_uses(found, imports, ("org.pytorch",))], found


def _read_jvm_import(found: Sequence[ForeignToken], index: int, imports: ImportTable) -> None:
    """Record the ``import`` or ``package`` at ``index``."""
    start = index + 1 + (_code_at(found, index + 1) == "static")
    names, end = _read_chain(found, start, ".")
    imports.spans.update(one.start for one in found[start : end + 3])
    is_import = found[index].text == "import"
    if not is_import or names[:2] != ["org", "pytorch"]:
        if is_import and names:
            imports.names[names[-1]] = ""
        elif names == ["org", "pytorch"]:  # A file sees the classes of its own package.
            imports.everything.append("org.pytorch")
        return
    name = ".".join(names)
    # The grammars of Kotlin and Java end a chain before the star, with the dot or without.
    end += _code_at(found, end) == "." and _code_at(found, end + 1) == "*"
    if _code_at(found, end) == "*":
        if names[2:3] and names[2].islower() and names[2] not in _PACKAGES:
            return  # This is a package of ExecuTorch or TorchServe.
        imports.everything.append(name)
        name, end = f"import {name}.*", end + 1
    elif _code_at(found, end) == "as":
        imports.names[_code_at(found, end + 1)] = name
    else:
        imports.names[names[-1]] = name
    imports.uses.append(ForeignUse(name, Span(found[start].start, found[end - 1].end)))


def find_csharp_uses(text: bytes) -> tuple[list[ForeignUse], list[ForeignToken]]:
    """Return the uses of TorchSharp's ``torch.jit`` in a C# source, and its tokens. Raises NoGrammar."""
    found = tokenize_source("csharp", text)
    # `torch` may be imported by a global `using` of another file.
    imports = ImportTable(".", names={"TorchSharp": "TorchSharp", "torch": "TorchSharp.torch"})
    for index, token in enumerate(found):
        if token.text != "using" or token.kind != WORD:
            continue
        start = index + 1 + (_code_at(found, index + 1) == "static")
        names, end = _read_chain(found, start, ".")
        if _code_at(found, end) == "=" and len(names) == 1:
            target, _ = _read_chain(found, end + 1, ".")
            if target[:1] == ["TorchSharp"]:
                imports.names[names[0]] = ".".join(target)
        elif names[:1] == ["TorchSharp"]:
            imports.everything.append(".".join(names))
            imports.spans.update(one.start for one in found[start:end])
    if "TorchSharp.torch" in imports.everything:
        imports.names.setdefault("jit", "TorchSharp.torch.jit")
    if "TorchSharp.torch.jit" in imports.everything:
        for name in ("ScriptModule", "load", "compile"):
            imports.names.setdefault(name, f"TorchSharp.torch.jit.{name}")
    # No other name of those namespaces belongs to TorchScript.
    imports.everything.clear()
    return list(_find_qualified_uses(found, imports, ("TorchSharp.torch.jit",))), found


def find_rust_uses(text: bytes) -> tuple[list[ForeignUse], list[ForeignToken]]:
    """Return the uses of the crates ``tch`` and ``torch_sys`` in a Rust source, and its tokens. Raises NoGrammar."""
    found = tokenize_source("rust", text)
    imports = ImportTable("::", names={"tch": "tch", "torch_sys": "torch_sys"})
    for index, token in enumerate(found):
        if token.text == "use" and token.kind == WORD:
            for name, alias, first, last in _read_use_tree(found, index + 1, ""):
                if name.partition("::")[0] not in ("tch", "torch_sys"):
                    imports.names.setdefault(alias, "")
                    continue
                imports.names[alias] = name
                imports.spans.update(one.start for one in found[first : last + 1])
                imports.uses.append(ForeignUse(name, Span(found[first].start, found[last].end)))
    return [*imports.uses, *_find_qualified_uses(found, imports, ("tch", "torch_sys"))], found


def _read_use_tree(
    found: Sequence[ForeignToken], index: int, prefix: str
) -> Iterator[tuple[str, str, int, int]]:
    """Read ``use a::{b, c as d}``: each name with its alias and the indices of its first and last token."""
    names, end = _read_chain(found, index, "::")
    whole = "::".join([*([prefix] if prefix else []), *names])
    if _code_at(found, end) == "::":
        end += 1
    if _code_at(found, end) == "{":
        inside = find_arguments(found, end)
        place = end + 1
        while place < end + 1 + len(inside):
            yield from _read_use_tree(found, place, whole)
            depth = 0
            while place < end + 1 + len(inside) and (depth or found[place].text != ","):
                depth += (found[place].text == "{") - (found[place].text == "}")
                place += 1
            place += 1
    elif _code_at(found, end) == "*":
        yield f"{whole}::*", f"{whole}::*", index, end
    elif names:
        alias = _code_at(found, end + 1) if _code_at(found, end) == "as" else names[-1]
        yield whole.removesuffix("::self"), alias, index, end - 1


def find_go_uses(text: bytes) -> tuple[list[ForeignUse], list[ForeignToken]]:
    """Return the uses of the packages of ``gotch`` in a Go source, and its tokens. Raises NoGrammar."""
    found = tokenize_source("go", text)
    imports = ImportTable(".")
    for index, token in enumerate(found):
        if token.kind == STRING and "/gotch" in token.text and "." in token.text.partition("/")[0]:
            before = found[index - 1]
            package = token.text.rpartition("/")[2]
            imports.names[before.text if before.kind == WORD and before.text != "import" else package] = (
                f"gotch/{package}"
            )
    return list(_find_qualified_uses(found, imports, ("gotch",))), found


def _find_qualified_uses(
    found: Sequence[ForeignToken], imports: ImportTable, wanted: tuple[str, ...]
) -> Iterator[ForeignUse]:
    """Find the names in the code that lead to one of the ``wanted`` packages."""
    separator = imports.separator
    own = {two.text for one, two in pairwise(found) if one.text in _DECLARING and two.kind == WORD}
    every = {name.removesuffix(f"{separator}*") for name in imports.names if name.endswith(f"{separator}*")}
    index = 0
    while index < len(found):
        token = found[index]
        if (
            token.kind != WORD
            or token.start in imports.spans
            or _code_at(found, index - 1) in (".", "?.", "::", "->")
        ):
            index += 1
            continue
        names, end = _read_chain(found, index, separator)
        first = names[0]
        whole = ""
        if (
            separator.join(names).startswith(tuple(f"{top}{separator}" for top in wanted))
            and first not in own
        ):
            whole = separator.join(names)
        elif first in imports.names and first not in own:
            target = imports.names[first]
            whole = separator.join([target, *names[1:]]) if target else ""
        elif first[:1].isupper() and first not in own:
            top = next(iter([*imports.everything, *every]), "")
            whole = separator.join([top, *names]) if top.startswith(wanted) else ""
        if whole.startswith(wanted):
            inside = find_arguments(found, end) if _code_at(found, end) == "(" else ()
            file = model_file_names.find_given_file(inside, found) if inside else ""
            yield ForeignUse(whole, Span(token.start, found[end - 1].end), file, calls=True)
        index = end


def _read_chain(found: Sequence[ForeignToken], index: int, separator: str) -> tuple[list[str], int]:
    """Return the words of ``a.b.c`` from ``index`` on, and the index behind them."""
    names: list[str] = []
    while index < len(found) and found[index].kind == WORD:
        names.append(found[index].text)
        index += 1
        if _code_at(found, index) != separator or index + 1 >= len(found) or found[index + 1].kind != WORD:
            break
        index += 1
    return names, index


def _code_at(found: Sequence[ForeignToken], index: int) -> str:
    """Return the token at ``index``; empty for a string and outside of the file."""
    return found[index].text if 0 <= index < len(found) and found[index].kind != STRING else ""
