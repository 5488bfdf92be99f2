"""Programs, made of snippets: which symbols they use, around what, and how they name them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import Formatter

from hypothesis import strategies as st

from tests.fuzz.snippets import BLOCKS, EXPRESSIONS, HOLDERS, STATEMENTS

SYMBOL = re.compile(r"<(torch\.[\w.]+)>")
NAMES = (
    "t",
    "th",
    "T_",
    "jit",
    "script",
    "dist",
    "comm",
    "fx",
    "_c",
    "cuda",
    "mod",
    "é",
    "torch_",
    "nn",
    "ops",
)
"""What programs call what they import: names of their own, and names that other parts of torch have."""


@dataclass(frozen=True)
class Style:
    """How a program imports a symbol and then spells it; ``{alias}`` is a name of its own for what it imports.

    Of ``torch.jit.script``, ``{module}`` is ``torch.jit``, ``{leaf}`` ``script``, ``{last}`` ``jit``.
    """

    statement: str
    spelled: str


WHOLE = Style("import torch", "{module}.{leaf}")
SHORT = Style("import torch as {alias}", "{alias}{below}.{leaf}")
LEAF = Style("from {module} import {leaf}", "{leaf}")
RENAMED = Style("from {module} import {leaf} as {alias}", "{alias}")
STYLES = (
    WHOLE,
    SHORT,
    Style("import {module}", "{module}.{leaf}"),
    Style("import {module} as {alias}", "{alias}.{leaf}"),
    Style("from {parent} import {last} as {alias}", "{alias}.{leaf}"),
    LEAF,
    RENAMED,
)
_AROUND = ("{}", "try:\n    {}\nexcept ImportError:\n    pass", "if flag:\n    {}")


@dataclass(frozen=True)
class Program:
    """Blocks of code in which ``<torch.jit.script>`` stands for a name of that symbol.

    ``styles`` says how each symbol is imported, ``names`` are those for aliases, in order of need, ``around`` stands
    around each import. With ``in_function``, all is in a function; with ``local`` the imports are, too.
    """

    blocks: tuple[str, ...]
    styles: Mapping[str, Style]
    names: tuple[str, ...] = NAMES
    around: str = "{}"
    in_function: bool = False
    local: bool = False

    def but(self, **changes: object) -> Program:
        """The same program, written in another way."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def text(self) -> str:
        """The program as a module."""
        statements, body = self.parts
        imports = "\n".join(statements)
        if not self.in_function:
            return f"{imports}\n\n{body}\n"
        if self.local:
            body = f"{imports}\n{body}"
        main = filled("def main():\n    {}\n", [body])
        return main if self.local else f"{imports}\n\n\n{main}"

    @property
    def parts(self) -> tuple[list[str], str]:
        """The import statements, and the rest."""
        statements: dict[str, str] = {}
        spelled: dict[str, str] = {}
        taken = {"torch"}
        for symbol in symbols(self.blocks):
            style = self.styles[symbol]
            module, _, leaf = symbol.rpartition(".")
            if style is LEAF and leaf in taken and f"from {module} import {leaf}" not in statements:
                style = RENAMED
            parts = {
                "module": module,
                "leaf": leaf,
                "alias": "{alias}",
                "below": module.removeprefix("torch"),
            }
            parts["parent"], _, parts["last"] = module.rpartition(".")
            statement = style.statement.format(**parts)
            if statement not in statements:
                statements[statement] = next(n for n in self.names if n not in taken)
                taken.add(leaf if style is LEAF else statements[statement])
            spelled[symbol] = style.spelled.format(**{**parts, "alias": statements[statement]})
        lines = [self.around.format(line.format(alias=alias)) for line, alias in statements.items()]
        return lines, "\n".join(SYMBOL.sub(lambda match: spelled[match[1]], block) for block in self.blocks)


def symbols(blocks: tuple[str, ...]) -> list[str]:
    """The symbols that code uses, in order."""
    return list(dict.fromkeys(match[1] for block in blocks for match in SYMBOL.finditer(block)))


def styles_of(symbol: str) -> tuple[Style, ...]:
    """The ways to import a symbol. ``torch.ops`` makes its members up when they are asked for."""
    if symbol.startswith("torch.ops."):
        return (WHOLE, SHORT)
    # `isinstance` of torch's would take the place of the builtin one in the rest of the program.
    return tuple(style for style in STYLES if style is not LEAF or not symbol.endswith(".isinstance"))


def filled(template: str, parts: list[str]) -> str:
    """Puts statements into the places of a block, each as far in as its place."""
    text, *pieces = template.split("{}")
    for part, piece in zip(parts, pieces, strict=True):
        margin = text.rpartition("\n")[2]
        text += part.replace("\n", "\n" + margin).replace(f"\n{margin}\n", "\n\n") + piece
    return text


@st.composite
def statements(draw: st.DrawFn) -> str:
    """A statement or some, with a symbol or several in it."""
    if draw(st.booleans()):
        return draw(st.sampled_from(STATEMENTS))
    holder = draw(st.sampled_from(HOLDERS))
    places = sum(field is not None for _, field, _, _ in Formatter().parse(holder))
    parts = [draw(st.sampled_from(EXPRESSIONS)) for _ in range(places)]
    for forms in (parts, [f"({part})" for part in parts]):
        if _parses(text := holder.format(*forms)):
            return text
    return holder.format(*[EXPRESSIONS[0]] * places)


def _parses(text: str) -> bool:
    try:
        ast.parse(SYMBOL.sub("x", text))
    except SyntaxError:
        return False
    return True


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """A top-level block."""
    template = draw(st.sampled_from(BLOCKS))
    if draw(st.integers(0, 3)) == 0:
        template = filled(template, [draw(st.sampled_from(BLOCKS)) for _ in range(template.count("{}"))])
    return filled(template, [draw(statements()) for _ in range(template.count("{}"))])


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program of a few blocks."""
    code = tuple(draw(st.lists(blocks(), min_size=1, max_size=4)))
    styles = draw(styled(code))
    around = draw(st.sampled_from(_AROUND)) if draw(st.integers(0, 4)) == 0 else "{}"
    return Program(code, styles, draw(names()), around)


def names() -> st.SearchStrategy[tuple[str, ...]]:
    """Names for what is imported."""
    return st.permutations(NAMES).map(tuple)


@st.composite
def styled(draw: st.DrawFn, code: tuple[str, ...]) -> dict[str, Style]:
    """A style for each symbol of a program."""
    return {symbol: draw(st.sampled_from(styles_of(symbol))) for symbol in symbols(code)}
