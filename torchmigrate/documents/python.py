"""The literals of setup.py and noxfile.py: each call's strings are what it installs."""

from __future__ import annotations

import ast
import re

from torchmigrate.documents.reader import INDEX_OPTIONS, INDEX_URL, Reader
from torchmigrate.documents.references import Unit
from torchmigrate.documents.values import Piece, Value
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.text.source import Source

_OPENING = re.compile(r"(?i:[rbuf]{0,2})(?:\"\"\"|'''|\"|')")
_WATCHED = re.compile(r"(?:torch\w*|triton|nvidia[\w-]+)(?![\w./-])", re.IGNORECASE)


def read(reader: Reader, source: Source) -> None:
    """Reads a whole file. Raises SourceError if it does not parse."""
    _Literals(reader, source).visit(source.tree)


class _Literals(ast.NodeVisitor):
    def __init__(self, reader: Reader, source: Source) -> None:
        self.reader = reader
        self.source = source
        self.module = reader.unit()
        self.unit: Unit = self.module
        self.option = ""
        self._values: dict[str, list[ast.expr]] = {}
        for node in ast.walk(source.tree):
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in targets:
                if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                    self._values.setdefault(target.id, []).append(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        outer = self.unit
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("install", "run", "run_install", "check_call", "check_output", "Popen", "run_always"):
            self.unit = self.reader.unit()
        self.option = ""
        self.generic_visit(node)
        self.option = ""
        self.unit = outer

    def visit_IfExp(self, node: ast.IfExp) -> None:
        # What is asked for on an old Python is not asked for on the target's.
        if "version_info" not in ast.dump(node.test):
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if "version_info" not in ast.dump(node.test):
            self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg == "python_requires" and isinstance(node.value, ast.Constant):
            if span := self._span(node.value):
                self.reader.simple(Sort.PYTHON, "", span, self.module)
        elif node.arg not in ("description", "long_description", "url", "keywords", "classifiers", "name"):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        values = self._joined(node)
        span = self._span(node)
        if span is None:
            return
        text = self.reader.view[span.start : span.end]
        if isinstance(values, list) and INDEX_URL.fullmatch(values[0].text):
            self.reader.index(span, self.unit, self.option, values=values)
        elif INDEX_URL.match(text.replace("{", "${")):
            unknown = ast.unparse(next(part for part in node.values if isinstance(part, ast.FormattedValue)))
            self.reader.index(span, self.unit, self.option, undecided=unknown.strip("f'\""))
        self.option = ""

    def visit_Constant(self, node: ast.Constant) -> None:
        if not isinstance(node.value, str):
            return
        span = self._span(node)
        if span is None:
            return
        option, equals, _ = node.value.partition("=")
        if node.value.startswith("-"):
            self.option = INDEX_OPTIONS.get(option, "")
            if equals and self.option:
                self.reader.index(Span(span.start + len(option) + 1, span.end), self.unit, self.option)
            return
        if INDEX_URL.fullmatch(node.value):
            if node.value.endswith(".whl"):
                self.reader.wheel(span, self.unit)
            else:
                self.reader.index(span, self.unit, self.option)
        elif _WATCHED.match(node.value) and self._is_requirement(node.value):
            self.reader.requirement(span, self.unit)
        self.option = ""

    def _is_requirement(self, text: str) -> bool:
        """A bare name may be anything; with a version it is a requirement."""
        return bool(re.search(r"[=<>~]=|[<>]|@", text)) and "\n" not in text

    def _joined(self, node: ast.JoinedStr) -> list[Value] | None:
        """The values of an f-string whose names are constants of the file."""
        ways: list[list[Piece]] = [[]]
        for part in node.values:
            if isinstance(part, ast.Constant):
                text = str(part.value)
                pieces = [[Piece(text, Span(0, 0), "")]]
            elif isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
                constants = self._values.get(part.value.id, [])
                pieces = []
                for constant in constants:
                    span = self._span(constant) if isinstance(constant, ast.Constant) else None
                    if span is None or not isinstance(constant, ast.Constant):
                        return None
                    pieces.append([Piece(str(constant.value), span, str(constant.value))])
            else:
                return None
            ways = [way + piece for way in ways for piece in pieces]
        return [Value(tuple(way)) for way in ways] or None

    def _span(self, node: ast.expr) -> Span | None:
        """Where the text of a string literal stands, if it is written without escapes or pieces."""
        span = self.source.span(node)
        text = self.reader.view[span.start : span.end]
        opening = _OPENING.match(text)
        if opening is None:
            return None
        quotes = len(opening[0].lstrip("rbufRBUF"))
        inner = Span(span.start + opening.end(), span.end - quotes)
        if isinstance(node, ast.Constant):
            written = self.reader.view[inner.start : inner.end].encode("latin-1").decode()
            return inner if written == node.value else None
        return inner
