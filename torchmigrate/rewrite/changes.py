"""The vocabulary of fixes: what changes in a file, in nodes of its syntax tree and templates.

A rule finds on `ast` and says what changes with these; `torchmigrate.rewrite.rewriter` does it on the libcst tree of
the smallest statement around, which keeps comments, parentheses, commas and line breaks. Making a change costs
nothing: no text is looked at before the text of a fix is wanted.

A **template** is Python code with names in braces: ``"{module}.is_capturing()"``. Each name stands for a *part*: a node of
the file, which moves there as it is written; a `Symbol`, which is imported where it has to be; another template; or a
sequence of nodes and templates, which are listed with commas. Text without braces is code. A literal brace is doubled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from torchmigrate.model.findings import Change


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """How a qualified name is written at a place, and the changes of imports that this needs."""

    text: str
    changes: tuple[Change, ...] = ()


Part: TypeAlias = "ast.expr | Symbol | Template | Sequence[ast.expr | Template]"
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Argument = ast.expr | ast.keyword


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """Code with parts; see above."""

    code: str
    parts: Mapping[str, Part] = field(default_factory=dict)


def template(code: str, **parts: Part) -> Template:
    """A template: ``template("{f}(x)", f=node)``."""
    return Template(code, parts)


@dataclass(frozen=True, slots=True, eq=False)
class Replace(Change):
    """Puts an expression in the place of another; its parts may be inside of what they replace, or be that itself.

    Parentheses come where the new expression needs them.
    """

    node: ast.expr
    new: Template


def replace(node: ast.expr, code: str, **parts: Part) -> Replace:
    """``replace(call, "{value}", value=call.args[1])``."""
    return Replace(node, Template(code, parts))


@dataclass(frozen=True, slots=True, eq=False)
class Rename(Change):
    """Gives a keyword argument, or a parameter where it is declared, another name."""

    node: ast.keyword | ast.arg
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class DropArguments(Change):
    """Takes arguments out of a call, or bases and keywords out of a class."""

    call: ast.Call | ast.ClassDef
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AddArgument(Change):
    """Adds an argument behind the last one of a call, or before the first one, laid out as the others."""

    call: ast.Call
    value: Template
    keyword: str | None = None
    first: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class NameArgument(Change):
    """Hands a positional argument over by keyword."""

    argument: ast.expr
    keyword: str


@dataclass(frozen=True, slots=True, eq=False)
class DropOperands(Change):
    """Takes operands out of ``a and b and c`` (or ``or``), of which at least one stays."""

    node: ast.BoolOp
    operands: tuple[ast.expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DropItems(Change):
    """Takes context managers out of a ``with`` statement, of which at least one stays."""

    statement: ast.With | ast.AsyncWith
    items: tuple[ast.withitem, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Annotate(Change):
    """Annotates the one target of an assignment: ``x = 1`` → ``x: int = 1``."""

    statement: ast.Assign
    new: Template


@dataclass(frozen=True, slots=True, eq=False)
class RemoveDecorator(Change):
    """Takes one decorator off a definition; its comment stays on a line of its own."""

    definition: Definition
    decorator: ast.expr


@dataclass(frozen=True, slots=True, eq=False)
class Remove(Change):
    """Removes a statement; one that stands alone in its block becomes ``pass``. Its comments stay."""

    statement: ast.stmt


@dataclass(frozen=True, slots=True, eq=False)
class Unwrap(Change):
    """Puts one block of a compound statement in the place of the whole statement."""

    statement: ast.stmt
    block: Sequence[ast.stmt]


@dataclass(frozen=True, slots=True, eq=False)
class Decide(Change):
    """Leaves of an ``if`` or ``elif`` what runs where its test is ``value``."""

    statement: ast.If
    value: bool


@dataclass(frozen=True, slots=True, eq=False)
class Insert(Change):
    """Adds statements before or after another one of its block."""

    statement: ast.stmt
    new: Template
    after: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ReplaceStatement(Change):
    """Puts statements in the place of one."""

    statement: ast.stmt
    new: Template


@dataclass(frozen=True, slots=True, eq=False)
class Merge(Change):
    """Puts statements in the place of several of one block, where the last of them stands.

    What was said about each goes with it: a part that is a template with nodes of the statement is an element of a
    list, on a line of its own.
    """

    statements: tuple[ast.stmt, ...]
    new: Template


@dataclass(frozen=True, slots=True, eq=False)
class Declare(Change):
    """Adds a statement to the beginning of a class, behind its docstring."""

    owner: ast.ClassDef
    new: Template


@dataclass(frozen=True, slots=True, eq=False)
class RenameFile(Change):
    """Gives the file name that a string literal ends with another suffix: ``"m.pt"`` → ``"m.pt2"``."""

    literal: ast.Constant | ast.JoinedStr
    suffix: str


@dataclass(frozen=True, slots=True, eq=False)
class Reword(Change):
    """Puts another text in the place of one that a string literal holds once."""

    literal: ast.Constant
    old: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class AddImport(Change):
    """Adds ``import module``, or ``from module import name``, to the imports at the top of the file."""

    module: str
    name: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ExtendImport(Change):
    """Adds a name to a ``from`` import."""

    statement: ast.ImportFrom
    name: str
    bound: str | None = None
    """The name that it gets here, if that is another one."""


@dataclass(frozen=True, slots=True, eq=False)
class DropImports(Change):
    """Takes names out of an import; all of them: the statement goes."""

    statement: ast.Import | ast.ImportFrom
    aliases: tuple[ast.alias, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Rebind(Change):
    """Lets one name of a ``from`` import come from another module, under the name that it has here.

    ``from torch.jit import Final, script`` → ``from typing import Final`` and ``from torch.jit import script``.
    """

    statement: ast.ImportFrom
    alias: ast.alias
    module: str
    name: str
    into: ast.ImportFrom | None = None
    """An import of that module beside it, which takes the name in."""


@dataclass(frozen=True)
class MoveImport(Change):
    """Lets all names of a ``from`` import come from another module, which has them under the same names."""

    statement: ast.ImportFrom
    module: str


def symbols(change: Change) -> Iterator[Symbol]:
    """The symbols that a change names."""
    new = getattr(change, "new", None) or getattr(change, "value", None)
    if isinstance(new, Template):
        yield from _symbols(new)


def _symbols(template: Template) -> Iterator[Symbol]:
    for part in template.parts.values():
        for one in [part] if isinstance(part, (ast.expr, Symbol, Template)) else part:
            if isinstance(one, Symbol):
                yield one
            elif isinstance(one, Template):
                yield from _symbols(one)
