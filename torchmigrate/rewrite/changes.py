"""The changes that a fix can make to a file, described by nodes of its `ast` tree and by templates.

A rule searches the `ast` tree and describes its fix with these classes; `torchmigrate.rewrite.rewriter` applies them to
the libcst tree of the smallest enclosing statement, which keeps comments, parentheses, commas and line breaks. Creating
a change is cheap: no text is read until the text of a fix is wanted.

A **template** is Python code with names in braces: ``"{module}.is_capturing()"``. Each name stands for a *part*: a node of
the file, which moves there as written; a `Symbol`, which is imported if necessary; another template; or a
sequence of nodes and templates, which are joined with commas. All other text is code. A literal brace is doubled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeAlias

from torchmigrate.model.findings import FixChange


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """The spelling of a qualified name at some place of a file, and the import changes that it needs."""

    text: str
    changes: tuple[FixChange, ...] = ()


Part: TypeAlias = "ast.expr | Symbol | Template | Sequence[ast.expr | Template]"
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Argument = ast.expr | ast.keyword


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """Code with named parts, as described at the top of this module."""

    code: str
    parts: Mapping[str, Part] = field(default_factory=dict)


def template(code: str, **parts: Part) -> Template:
    """Return a template: ``template("{f}(x)", f=node)``."""
    return Template(code, parts)


@dataclass(frozen=True, slots=True, eq=False)
class Replace(FixChange):
    """Replaces an expression with another one; its parts may be nodes inside the old expression, or the old one itself.

    Parentheses are added where the new expression needs them.
    """

    node: ast.expr
    new: Template


def replace(node: ast.expr, code: str, **parts: Part) -> Replace:
    """Return a `Replace`: ``replace(call, "{value}", value=call.args[1])``."""
    return Replace(node, Template(code, parts))


@dataclass(frozen=True, slots=True, eq=False)
class Rename(FixChange):
    """Renames a keyword argument, or a parameter in its declaration."""

    node: ast.keyword | ast.arg
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class DropArguments(FixChange):
    """Removes arguments from a call, or bases and keywords from a class."""

    call: ast.Call | ast.ClassDef
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AddArgument(FixChange):
    """Adds an argument after the last one of a call, or before the first one, laid out like the others."""

    call: ast.Call
    value: Template
    keyword: str | None = None
    first: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class NameArgument(FixChange):
    """Turns a positional argument into a keyword argument."""

    argument: ast.expr
    keyword: str


@dataclass(frozen=True, slots=True, eq=False)
class DropOperands(FixChange):
    """Removes operands from ``a and b and c`` (or ``or``); at least one has to stay."""

    node: ast.BoolOp
    operands: tuple[ast.expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DropItems(FixChange):
    """Removes context managers from a ``with`` statement; at least one has to stay."""

    statement: ast.With | ast.AsyncWith
    items: tuple[ast.withitem, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Annotate(FixChange):
    """Annotates the only target of an assignment: ``x = 1`` → ``x: int = 1``."""

    statement: ast.Assign
    new: Template


@dataclass(frozen=True, slots=True, eq=False)
class RemoveDecorator(FixChange):
    """Removes one decorator from a definition; its comment stays on a line of its own."""

    definition: Definition
    decorator: ast.expr


@dataclass(frozen=True, slots=True, eq=False)
class AddDecorator(FixChange):
    """Adds a decorator to a definition, above the others."""

    definition: Definition
    new: Template


@dataclass(frozen=True, slots=True, eq=False)
class AddParameters(FixChange):
    """Adds parameters to a function, behind those that can be given by position."""

    definition: ast.FunctionDef | ast.AsyncFunctionDef
    new: Template
    """A function with these parameters alone: ``def _(x, y=1): ...``."""


@dataclass(frozen=True, slots=True, eq=False)
class Remove(FixChange):
    """Removes a statement; the only statement of a block becomes ``pass``. Its comments stay."""

    statement: ast.stmt


@dataclass(frozen=True, slots=True, eq=False)
class Unwrap(FixChange):
    """Replaces a compound statement with one of its blocks."""

    statement: ast.stmt
    block: Sequence[ast.stmt]


@dataclass(frozen=True, slots=True, eq=False)
class Decide(FixChange):
    """Reduces an ``if`` or ``elif`` to what runs when its test is ``value``."""

    statement: ast.If
    value: bool


@dataclass(frozen=True, slots=True, eq=False)
class Insert(FixChange):
    """Adds statements before or after a statement, in the same block."""

    statement: ast.stmt
    new: Template
    after: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ReplaceStatement(FixChange):
    """Replaces one statement with others."""

    statement: ast.stmt
    new: Template


@dataclass(frozen=True, slots=True, eq=False)
class Merge(FixChange):
    """Replaces several statements of one block with others, which go where the last old statement was.

    The comments of each old statement move along: a part that is a template with nodes of that statement is an element
    of a list, on a line of its own.
    """

    statements: tuple[ast.stmt, ...]
    new: Template


@dataclass(frozen=True, slots=True, eq=False)
class Declare(FixChange):
    """Adds a statement at the beginning of a class, after its docstring."""

    owner: ast.ClassDef
    new: Template


@dataclass(frozen=True, slots=True, eq=False)
class RenameFile(FixChange):
    """Changes the suffix of the file name at the end of a string literal: ``"m.pt"`` → ``"m.pt2"``."""

    literal: ast.Constant | ast.JoinedStr
    suffix: str


@dataclass(frozen=True, slots=True, eq=False)
class Reword(FixChange):
    """Replaces a text that occurs once in a string literal."""

    literal: ast.Constant
    old: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class AddImport(FixChange):
    """Adds ``import module``, or ``from module import name``, to the imports at the top of the file."""

    module: str
    name: str | None = None

    @property
    def code(self) -> str:
        """The statement."""
        return f"import {self.module}" if self.name is None else f"from {self.module} import {self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class ExtendImport(FixChange):
    """Adds a name to a ``from`` import."""

    statement: ast.ImportFrom
    name: str
    bound: str | None = None
    """The local name (``as …``), if it differs from ``name``."""


@dataclass(frozen=True, slots=True, eq=False)
class DropImports(FixChange):
    """Removes names from an import, or the whole statement if no name is left."""

    statement: ast.Import | ast.ImportFrom
    aliases: tuple[ast.alias, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Rebind(FixChange):
    """Imports one name of a ``from`` import from another module instead; the local name stays.

    ``from torch.jit import Final, script`` → ``from typing import Final`` and ``from torch.jit import script``.
    """

    statement: ast.ImportFrom
    alias: ast.alias
    module: str
    name: str
    into: ast.ImportFrom | None = None
    """A neighboring import of the new module, to which the name is added."""


@dataclass(frozen=True)
class MoveImport(FixChange):
    """Imports all names of a ``from`` import from another module instead, which defines the same names."""

    statement: ast.ImportFrom
    module: str


def get_subject(change: FixChange) -> ast.AST:
    """Return the node that a change is about: its first field, in all changes of one statement."""
    node: ast.AST = getattr(change, fields(change)[0].name)
    return node


def iter_symbols(change: FixChange) -> Iterator[Symbol]:
    """Yield the symbols in the templates of a change, whose imports it needs."""
    new = getattr(change, "new", None) or getattr(change, "value", None)
    if isinstance(new, Template):
        yield from (part for part in iter_parts(new) if isinstance(part, Symbol))


def iter_parts(template: Template) -> Iterator[ast.expr | Symbol]:
    """Yield the nodes and symbols in a template and in its nested templates."""
    for part in template.parts.values():
        for one in [part] if isinstance(part, (ast.expr, Symbol, Template)) else part:
            if isinstance(one, Template):
                yield from iter_parts(one)
            else:
                yield one
