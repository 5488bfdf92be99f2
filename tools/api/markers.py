"""Markers of deprecation: decorators, warnings in bodies, and sentences in docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tools.api.signatures import Function

DEPRECATIONS = {"DeprecationWarning", "FutureWarning", "PendingDeprecationWarning"}
SAYS_DEPRECATED = re.compile(
    r"deprecat|\bwill be removed\b|\bbe removed in\b|\bobsolete\b|\bno longer (?:supported|needed|has any effect)",
    re.I,
)
"""Matches the text of a deprecation in a warning of another category, most often a ``UserWarning``."""
DECORATOR = re.compile("deprecat", re.I)
HELPER = re.compile("deprecat|warn", re.I)
"""Matches the names of functions whose warnings count as warnings of their callers."""
HARMLESS = re.compile(
    r"is_scripting|is_tracing|TYPE_CHECKING|is_compiling|is_dynamo_compiling|has_torch_function|_disable_deprec|_warned|_once|sys.version_info"
)
"""Tests that do not concern the arguments of a call."""
DOCUMENTED = re.compile(
    r"^\.\. deprecated::[^\n]*(?:\n\s*\S[^\n]*){0,2}"
    r"|(?:(?:this|the) (?:function|method|class|module|API|feature|property|attribute|context manager)"
    r"|(?P<subject>[`:\w.~()]+))"
    r" (?:is|has been)(?: now)? deprecated(?:[^.]|\.(?=\S))*",
    re.I | re.M,
)
"""Matches a sentence in a docstring that states a deprecation; the subject, if any, must be the documented name."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A marker as one release has it. ``{name}`` in a text is the value of a parameter, ``…`` anything else."""

    when: str
    category: str
    text: str
    parameter: str = ""
    helper: str = ""
    """The dotted name of the function that warns, if that is another one."""
    arguments: tuple[str, ...] = ()
    """The arguments of that function that are text; keywords as ``name=text``."""


MAKES_TEXT = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Call)
Texts = Mapping[str, str]
"""Constants of the module that are strings."""


def of_function(function: Function, texts: Texts, *, called: str = "call") -> list[Mark]:
    """Return the markers of a function; ``called`` is the trigger that runs its body."""
    found = list(of_decorators(function, texts, called))
    arguments = {
        arg.arg for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    }
    found += _Body(arguments, texts, called).marks(function.body)
    return list(dict.fromkeys(found))


def of_decorators(node: Function | ast.ClassDef, texts: Texts, when: str) -> Iterator[Mark]:
    """Yield the markers among the decorators of a definition."""
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = dotted(call.func if call else decorator)
        if not DECORATOR.search(name.rpartition(".")[2]):
            continue
        if call and name.rpartition(".")[2].strip("_") == "deprecated" and len(call.args) == 1:
            given = next((k.value for k in call.keywords if k.arg == "category"), None)
            category = dotted(given).rpartition(".")[2] if given is not None else "DeprecationWarning"
            text = text_of(call.args[0], texts)
            silent = isinstance(given, ast.Constant) and given.value is None
            yield Mark("documentation", "", text) if silent else Mark(when, category, text)
        else:
            yield Mark(when, "", "", helper=name, arguments=_arguments(call, texts))


def of_docstring(docstring: str, name: str) -> Mark | None:
    """Return the marker in the docstring of ``name``, if a sentence there deprecates the name."""
    if "deprecated" not in docstring:
        return None
    for found in DOCUMENTED.finditer(docstring):
        subject = found["subject"]
        if subject is None or re.split(r"[.:~`]", subject.strip("`()"))[-1] == name:
            return Mark("documentation", "", " ".join(found[0].split()))
    return None


def warnings_in(node: ast.AST, texts: Texts) -> list[Mark]:
    """Return every deprecation warning in any function inside ``node``."""
    nodes = list(ast.walk(node))
    known = {**texts, **constants(nodes)}
    return [mark for child in nodes if isinstance(child, ast.Call) and (mark := _warning(child, known))]


def constants(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Return the names that the nodes bind to text."""
    return {
        target.id: text
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, MAKES_TEXT)
        for target in node.targets
        if isinstance(target, ast.Name) and (text := text_of(node.value, {})).strip("…")
    }


def of_module(body: Sequence[ast.stmt], texts: Texts) -> list[Mark]:
    """Return the markers that importing a module shows."""
    return [mark for mark in _Body(set(), texts, "import").marks(body) if mark.when == "import"]


class _Body:
    """A walk over the statements of a body that tracks the condition of each."""

    def __init__(self, parameters: set[str], texts: Texts, called: str) -> None:
        self._parameters = parameters
        self._texts = dict(texts)
        self._called = called

    def marks(self, body: Sequence[ast.stmt]) -> list[Mark]:
        return list(self._block(body, [(self._called, "")]))

    def _block(self, body: Sequence[ast.stmt], when: list[tuple[str, str]]) -> Iterator[Mark]:
        self._texts.update(constants(body))
        for statement in body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                yield from self._call(statement.value, when)
            elif isinstance(statement, ast.If):
                positive, negative = self._conditions(statement.test, when)
                yield from self._block(statement.body, positive)
                yield from self._block(statement.orelse, negative)
                leaves = statement.body and isinstance(statement.body[-1], ast.Return)
                if leaves and positive != when:
                    when = [("sometimes", "")]
            elif isinstance(statement, (ast.With, ast.AsyncWith)):
                yield from self._block(statement.body, when)
            elif isinstance(statement, ast.Try):
                yield from self._block(statement.body, when)
                for handler in statement.handlers:
                    yield from self._block(handler.body, [("sometimes", "")])
            elif isinstance(statement, (ast.For, ast.While, ast.AsyncFor)):
                yield from self._block(statement.body, [("sometimes", "")])
            elif isinstance(statement, (ast.Return, ast.Raise)):
                return

    def _call(self, call: ast.Call, when: list[tuple[str, str]]) -> Iterator[Mark]:
        mark = _warning(call, self._texts)
        if mark is None and self._called != "import":
            name = dotted(call.func)
            if HELPER.search(name.rpartition(".")[2]) and not name.startswith(("warnings.", "log", "self.")):
                mark = Mark("", "", "", helper=name, arguments=_arguments(call, self._texts))
        if mark:
            for condition, parameter in when:
                yield replace(mark, when=condition, parameter=parameter)

    def _conditions(
        self, test: ast.expr, when: list[tuple[str, str]]
    ) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the conditions under which the two arms of an ``if`` run."""
        sometimes = [("sometimes", "")]
        if HARMLESS.search(ast.unparse(test)):
            return when, when
        if any(parameter for _, parameter in when):
            return when, when
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
        passed: list[str] = []
        omitted: list[str] = []
        for part in parts:
            parameter, is_passed = self._passed(part)
            if not parameter:
                return sometimes, sometimes
            (passed if is_passed else omitted).append(parameter)
        if passed and not omitted:
            return [("parameter", name) for name in passed], sometimes
        if len(omitted) == 1 and not passed:
            always = when == [(self._called, "")]
            return [("omitted", omitted[0])] if always else sometimes, [("parameter", omitted[0])]
        return sometimes, sometimes

    def _passed(self, test: ast.expr) -> tuple[str, bool]:
        """Return the parameter whose presence a test checks; "" for another test."""
        match test:
            case ast.Name(id=name) if name in self._parameters:
                return name, True
            case ast.UnaryOp(
                op=ast.Not(), operand=ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), _])
            ):
                return (name, True) if name in self._parameters else ("", True)
            case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant() as value]):
                if name not in self._parameters or not (value.value is None or value.value == "deprecated"):
                    return "", True
                if isinstance(op, (ast.IsNot, ast.NotEq)):
                    return name, True
                if isinstance(op, (ast.Is, ast.Eq)):
                    return name, False
        return "", True


def _warning(call: ast.Call, texts: Texts) -> Mark | None:
    """Return the deprecation that a call of ``warnings.warn``, or of a function with the same arguments, shows."""
    if dotted(call.func).rpartition(".")[2] not in ("warn", "warn_once", "warn_once_safe") or not call.args:
        return None
    if dotted(call.func).startswith(("log", "self.")):
        return None
    message = call.args[0]
    given = call.args[1] if len(call.args) > 1 else None
    given = next((k.value for k in call.keywords if k.arg == "category"), given)
    category = dotted(given).rpartition(".")[2] if given is not None else ""
    if isinstance(message, ast.Call) and dotted(message.func).endswith("Warning") and message.args:
        category, message = dotted(message.func).rpartition(".")[2], message.args[0]
    text = text_of(message, texts)
    if category not in DEPRECATIONS and not SAYS_DEPRECATED.search(text):
        return None
    return Mark("", category or "UserWarning", text)


def _arguments(call: ast.Call | None, texts: Texts) -> tuple[str, ...]:
    if call is None:
        return ()
    given = [text_of(arg, texts) for arg in call.args]
    return (*given, *(f"{k.arg}={text_of(k.value, texts)}" for k in call.keywords if k.arg))


def text_of(node: ast.expr, texts: Texts) -> str:
    """Return the text of an expression, with ``…`` for unknown parts, and ``{name}`` for names."""
    match node:
        case ast.Constant(value=str() as text):
            return " ".join(text.split()) if "\n" in text else text
        case ast.JoinedStr(values=values):
            return "".join(text_of(value, texts) for value in values)
        case ast.FormattedValue(value=value):
            return text_of(value, texts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return text_of(left, texts) + text_of(right, texts)
        case ast.BinOp(left=left, op=ast.Mod()):
            return re.sub(r"%[srd]", "…", text_of(left, texts))
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            return re.sub(r"\{[^}]*\}", "…", text_of(value, texts))
        case ast.Call(func=func, args=[first, *_]) if dotted(func).endswith("dedent"):
            return text_of(first, texts)
        case ast.Name(id=name):
            return texts.get(name, f"{{{name}}}")
    return "…"


def dotted(node: ast.expr | None) -> str:
    """Return ``a.b.c`` for a chain of attributes; empty for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""
