"""What else in the tree reads or names TorchScript files: programs in other languages, tools, scripts and settings."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from torchmigrate.foreign.foreign_use import FILE_READ, LANGUAGES
from torchmigrate.project.import_closure import find_importing_files
from torchmigrate.project.indexed_file import IndexedFile, index_file
from torchmigrate.semantics.name_resolution import string_value

if TYPE_CHECKING:
    from torchmigrate.api import Context
    from torchmigrate.project.text_search import Sought

_SOURCES = {
    " .c .cc .cpp .cxx .h .hh .hpp .cu .cuh ": (
        r"torch::jit::(?:load|_load_for_mobile)|torch/script\.h",
        "C++",
    ),
    " .m .mm .swift ": (r"torch::jit::|LibTorch|TorchModule", "iOS"),
    " .java .kt .kts .scala ": (r"org\.pytorch\b|LiteModuleLoader|ai\.djl\b", "Java"),
    " .rs ": (r"CModule::load|\btch::|\bwasi_nn\b", "Rust"),
    " .cs .fs ": (r"\bTorchSharp\b|\bjit\.load\b", ".NET"),
    " .go ": (r"\bgotch\b|\bgotorch\b", "Go"),
    " .js .mjs .cjs .ts ": (r"torch-js|\bScriptModule\b", "JavaScript"),
    " .pbtxt ": (r"pytorch_libtorch|\"pytorch\"", "Triton"),
    " .f .for .f90 .f95 .f03 .f08 ": (r"(?i)\btorch_model_load\b|\buse\s+ftorch\b", "Fortran"),
    " .r .rmd ": (r"\bjit_load\b", "R"),
    " .in .lmp .lammps ": (
        r"(?m)^\s*pair_style\s+(?:allegro|nequip|mace|schnetpack|metatensor|metatomic)\b",
        "LAMMPS",
    ),
    " .jl .lua .rb .pl .php .dart .gd ": (r"(?!)", "another language"),
    " .py .pyi .ipynb ": (r"\bjit\s*\.\s*load\b", "unchecked Python"),
}
"""Files that no rule checks, by their suffixes: the expressions that load TorchScript there, and the name of the language."""

_TOOLS = {
    "pnnx": r"\bpnnx\b",
    "pytorch_libtorch": r"\bpytorch_libtorch\b",
    "torch-model-archiver": r"torch-model-archiver",
}
"""Tools that read TorchScript files, and the expressions that find them in the checked files."""


def find_mentions(name: str, beside: Collection[str], ctx: Context) -> Iterator[str]:
    """Yield the places in modules, but for those ``beside``, and in scripts and settings that name a file.

    The name may be a pattern. Documents may name the file by its old name, and so may comments, docstrings and messages.
    """
    parts = name.split("*")
    spelled = r"[\w.-]*".join(map(re.escape, parts))
    expression = rf"(?<![\w.-]){spelled}(?![\w-])"
    for path, line in search_project(ctx, ((max(parts, key=len),), (expression,)), beside):
        if path.endswith(_DOCUMENTS):
            continue
        file = index_file(ctx.project, os.path.abspath(path))
        lines = [line] if file is None else _find_literals(expression, file)
        yield from (f"{path}:{line}" for line in lines)
    for path, line, _ in ctx.search_elsewhere({_NAMING: expression}):
        yield f"{path}:{line}"


def _find_literals(expression: str, file: IndexedFile) -> Iterator[int]:
    """Yield the lines of a module with a literal that is a path of the file."""
    for node, parent in file.parents.items():
        text = string_value(node) or ""
        if re.search(expression, text) and not re.search(r"\s", text) and not isinstance(parent, ast.Expr):
            assert isinstance(node, ast.Constant)
            yield node.lineno


def search_project(ctx: Context, sought: Sought, beside: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield the path to show and the 1-based line of each file of the project, but for ``beside``, that matches."""
    places = {os.path.realpath(path) for path in beside}
    for place, line in ctx.project.find_spellings(sought, beside=""):
        if place not in places:
            yield ctx.project.get_display_path(place), line


def find_attribute_readers(owner: str, attribute: str, path: str, ctx: Context) -> Iterator[tuple[str, int]]:
    """Yield the path to show and the 1-based line of other files that may read an attribute of the class ``owner`` of a file.

    A file that defines a class of this name itself, and does not import the other one, does not.
    """
    own = os.path.realpath(path)
    importers = find_importing_files(ctx.project, own)
    for place, line in ctx.project.find_spellings(
        ((owner, f".{attribute}"), (rf"\.{attribute}\b",)), beside=own
    ):
        file = index_file(ctx.project, place) if place not in importers else None
        if file is None or not any(isinstance(one, ast.ClassDef) for one in file.variables.get(owner, ())):
            yield ctx.project.get_display_path(place), line


_MOST = 3
"""How many foreign readers a message names."""
_DOCUMENTS = (".md", ".rst", ".txt")
SETTINGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini")
_NAMING = " .sh .bash .bat .ps1 .yaml .yml .json .toml .cfg .ini makefile .mk .cmake "


def find_named_readers(name: str | None, ctx: Context) -> dict[str, str]:
    """Return the first place, for each other language, that names the file in a checked source."""
    found: dict[str, str] = {}
    for mention in ctx.project.find_uses(FILE_READ) if name else ():
        noted = dict(mention.constants)
        if noted.get("file") == name:
            language = LANGUAGES.get(str(noted["language"]), "a build")
            found.setdefault(language, f"{mention.path}:{mention.line}")
    return found


def describe_foreign_readers(name: str | None, ctx: Context) -> str:
    """Return what else in the tree may load the file, with its places, as a list for a sentence; empty if nothing does."""
    end = f"|(?<![\\w.-]){re.escape(name)}(?![\\w.-])" if name and "." in name else ""
    expressions = {
        suffixes: pattern + (end if ".py" not in suffixes else "")
        for suffixes, (pattern, _) in _SOURCES.items()
    }
    found = find_named_readers(name, ctx)
    places = {place.rpartition(":")[0] for place in found.values()}
    for path, line, _ in ctx.search_elsewhere(expressions):
        if path in places:
            continue
        suffix = f" {os.path.splitext(path)[1].lower()} "
        kind = next((k for suffixes, (_, k) in _SOURCES.items() if suffix in suffixes), "another language")
        found.setdefault(kind, f"{path}:{line}")
    for tool, expression in _TOOLS.items():
        for path, line in search_project(ctx, ((tool,), (expression,)), places):
            found.setdefault(f"`{tool}`", f"{path}:{line}")
    shown = [f"{kind} at {place}" for kind, place in [*found.items()][:_MOST]]
    return ", ".join(shown) + (f" and {len(found) - _MOST} more" if len(found) > _MOST else "")
