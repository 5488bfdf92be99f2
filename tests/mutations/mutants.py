"""Where a rule's module can be broken: found in its syntax tree, made in its text."""

from __future__ import annotations

import ast
import builtins
import difflib
import enum
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


class Fault(enum.Enum):
    """What is wrong with a mutant."""

    CALLED_SAFE = "an unsafe fix is called safe"
    CALLED_UNSAFE = "a safe fix is called unsafe"
    DEPRECATED = "`deprecated=` is dropped"
    BREAKS = "`breaks=` is dropped"
    REASON = "a reason for no fix is another"
    MESSAGE = "a message is cut short"
    ADVICE = "a hint is dropped, or a title another"
    SPAN = "a span has moved"


MOVED = "moved_for_mutations"
"""The name under which a mutant finds `tests.mutations.trial.moved`."""


@dataclass(frozen=True)
class Mutant:
    """One module with one fault: ``new`` in the place of the bytes ``[start, end)`` of its text."""

    fault: Fault
    path: Path
    line: int
    start: int
    end: int
    new: str

    @property
    def text(self) -> str:
        """The broken module."""
        data = self.path.read_bytes()
        return (data[: self.start] + self.new.encode() + data[self.end :]).decode()

    def diff(self) -> str:
        """What was done to the module."""
        old, new = self.path.read_text("utf-8").splitlines(), self.text.splitlines()
        lines = list(difflib.unified_diff(old, new, lineterm="", n=0))[3:]
        return "\n".join(lines)


def mutants(path: Path) -> list[Mutant]:
    """Every mutant of a module, from its top to its end."""
    found = dict.fromkeys(_Module(path).mutants())
    return sorted(found, key=lambda mutant: (mutant.start, mutant.fault.name))


_HAVE_OPERANDS = (ast.Constant, ast.IfExp, ast.BoolOp, ast.BinOp, ast.JoinedStr)
"""What may hold literals: up to Python 3.11 it is not known where those in an f-string stand."""


class _Module:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path.read_bytes()
        self.tree = ast.parse(self.data)
        self.lines = [0]
        for line in self.data.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.functions = {
            node.name: node
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        self.owner: dict[ast.AST, ast.AST] = {}
        """The innermost function of each node, or the module."""
        self._own(self.tree, self.tree)

    def _own(self, node: ast.AST, owner: ast.AST) -> None:
        self.owner[node] = owner
        inner = node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else owner
        for child in ast.iter_child_nodes(node):
            self._own(child, inner)

    def mutants(self) -> Iterator[Mutant]:
        """May yield one several times."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "Safety.UNSAFE":
                yield self._mutant(Fault.CALLED_SAFE, node, "Safety.SAFE")
            elif isinstance(node, ast.Attribute) and ast.unparse(node) == "Safety.SAFE":
                yield self._mutant(Fault.CALLED_UNSAFE, node, "Safety.UNSAFE")
            elif isinstance(node, ast.Call):
                yield from self._called(node)
            elif isinstance(node, ast.Return) and node.value is not None:
                yield from self._returned(node.value, self.owner[node])
            elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                yield from self._raised(node.exc)

    def _raised(self, call: ast.Call) -> Iterator[Mutant]:
        """Of an exception that says why there is no fix, or of a function that makes it: one of the project's own."""
        if not hasattr(builtins, ast.unparse(call.func)):
            yield from self._reasons(call.args[0] if call.args else call)

    def _called(self, call: ast.Call) -> Iterator[Mutant]:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        given = {keyword.arg: keyword.value for keyword in call.keywords if not _is_none(keyword.value)}
        for versions, fault in (("deprecated", Fault.DEPRECATED), ("breaks", Fault.BREAKS)):
            if versions in given:
                yield self._mutant(fault, given[versions], "None")
        if name in ("NoFix", "NotYet") and call.args:
            yield from self._reasons(call.args[0])
        elif name == "Rule" and "message" in given:
            yield from self._messages(given["message"])
        elif name == "Fix" and (
            title := given.get("title") or (call.args[2] if len(call.args) > 2 else None)
        ):
            yield self._mutant(Fault.ADVICE, title, '"x"')
        elif name == "finding":
            message = given.get("message") or (call.args[1] if len(call.args) > 1 else None)
            yield from self._messages(message) if message is not None else ()
            if "hint" in given:
                yield self._mutant(Fault.ADVICE, given["hint"], "None")
                yield from self._messages(given["hint"], Fault.ADVICE)
            if "fix" in given:
                fix = given["fix"]
                yield from self._reasons(fix.body if isinstance(fix, ast.Lambda) else fix)
            if "span" in given:
                yield self._mutant(Fault.SPAN, given["span"], "None")
            yield self._mutant(Fault.SPAN, call, f"{MOVED}({self._text(call)})")

    def _returned(self, value: ast.expr, function: ast.AST) -> Iterator[Mutant]:
        """Of a function that returns a fix or a reason; or, in one that returns text or None, a sentence."""
        returns = getattr(function, "returns", None)
        kinds = set(ast.unparse(returns).split(" | ")) if returns is not None else set()
        if "str" in kinds and kinds - {"str", "None"}:
            yield from self._reasons(value)
        elif kinds == {"str", "None"}:
            yield from (
                self._mutant(Fault.REASON, node, '"x"')
                for node in self._strings(value)
                if self._text(node).count(" ") > 1
            )

    def _reasons(self, value: ast.expr) -> Iterator[Mutant]:
        return (self._mutant(Fault.REASON, node, '"x"') for node in self._strings(value))

    def _messages(self, value: ast.expr, fault: Fault = Fault.MESSAGE) -> Iterator[Mutant]:
        for node in self._strings(value):
            if len(self._text(node)) > len('"abc"'):
                yield self._mutant(fault, node, f"({self._text(node)})[:-3]")

    def _strings(self, value: ast.expr, seen: frozenset[ast.AST] = frozenset()) -> Iterator[ast.expr]:
        """The literals that may be the text of an expression, as far as this module tells."""
        if value in seen:
            return
        seen |= {value}
        inner: list[ast.expr] = []
        if isinstance(value, ast.JoinedStr) or (
            isinstance(value, ast.Constant) and isinstance(value.value, str)
        ):
            yield value
            inner = [part.value for part in ast.walk(value) if isinstance(part, ast.FormattedValue)]
            inner = [part for part in inner if not isinstance(part, _HAVE_OPERANDS)]
        elif isinstance(value, ast.IfExp):
            inner = [value.body, value.orelse]
        elif isinstance(value, ast.BoolOp):
            inner = value.values
        elif isinstance(value, ast.BinOp):
            inner = [value.left, value.right]
        elif isinstance(value, ast.Subscript):
            inner = [value.value]
        elif isinstance(value, ast.Dict):
            inner = value.values
        elif isinstance(value, ast.Name):
            inner = self._assigned(value)
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            inner = [value.func.value] if value.func.attr in ("get", "replace", "format") else []
            inner += self._results(value.func.attr)
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            is_next = value.func.id == "next" and isinstance(value.args[0], ast.GeneratorExp)
            inner = [value.args[0].elt] if is_next else self._results(value.func.id)  # type: ignore[attr-defined]
        for expression in inner:
            yield from self._strings(expression, seen)

    def _results(self, name: str) -> list[ast.expr]:
        """What a function of the module returns."""
        function = self.functions.get(name)
        return [
            node.value
            for node in (ast.walk(function) if function is not None else ())
            if isinstance(node, ast.Return) and node.value is not None and self.owner[node] is function
        ]

    def _assigned(self, name: ast.Name) -> list[ast.expr]:
        """What a variable is bound to in its function, else in the module."""
        for owner in (self.owner[name], self.tree):
            found = [
                node.value
                for node in ast.walk(owner)
                if isinstance(node, (ast.Assign, ast.AnnAssign))
                and node.value is not None
                and (owner is not self.tree or self.owner[node] is self.tree)
                for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
                if isinstance(target, ast.Name) and target.id == name.id
            ]
            if found:
                return found
        return []

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.lines[node.lineno - 1] + node.col_offset
        return start, self.lines[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr) -> str:
        start, end = self._span(node)
        return self.data[start:end].decode()

    def _mutant(self, fault: Fault, node: ast.expr, new: str) -> Mutant:
        return Mutant(fault, self.path, node.lineno, *self._span(node), new)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
