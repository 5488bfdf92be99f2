"""setup.py and noxfile.py: the requirements and indexes among the string literals; those of one call belong together."""

from __future__ import annotations

import ast
import re

from torchmigrate.documents.expanded_values import ExpandedValue, ValuePiece
from torchmigrate.documents.reference_patterns import INDEX_OPTIONS, INDEX_URL
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.documents.references import InstallRole, InstallUnit
from torchmigrate.documents.requirement_purposes import Purpose, guess_purpose
from torchmigrate.documents.string_literals import find_literal_spans
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.text.source_text import SourceText

_WATCHED = re.compile(r"(?:torch\w*|triton|nvidia[\w-]+)(?![\w./-])", re.IGNORECASE)
_GENCODE = re.compile(r"arch=compute_(?P<architecture>\d{2,3}[af]?)\b")
_COMPUTED_REQUIREMENT = re.compile(r"(?P<name>torch(?:vision|audio)?)[=~<>]=\{")
"""A requirement on torch whose version a test session computes."""
_VERSIONED = re.compile(
    r"[A-Za-z0-9][\w.-]*[ ]?(?:\[[\w, -]+\])?[ ]?\(?(?:[=~!<>]=|===|[<>])[ ]?\d[^\n]*", re.ASCII
)


def read_script(reader: ReferenceReader) -> None:
    """Read a Python module. Raises SourceError if it does not parse."""
    _LiteralVisitor(reader, reader.source).visit(reader.source.syntax_tree)


_KEYWORDS = {
    "extras_require": Purpose.EXTRA,
    "setup_requires": Purpose.OTHER,
    "tests_require": Purpose.DEVELOPMENT,
}
"""The keywords of `setup` with requirements that not everybody needs."""


class _LiteralVisitor(ast.NodeVisitor):
    """The visitor that reads the string literals of a module."""

    def __init__(self, reader: ReferenceReader, source: SourceText) -> None:
        self.reader = reader
        self.source = source
        self.module = reader.begin_unit()
        self.unit: InstallUnit = self.module
        self.option = ""
        self._purposes: dict[str, Purpose] = {}
        """Name of a variable that is passed as one of `_KEYWORDS` → the purpose of the requirements in it."""
        self._values: dict[str, list[ast.expr]] = {}
        for node in ast.walk(source.syntax_tree):
            if isinstance(node, ast.keyword) and node.arg in _KEYWORDS and isinstance(node.value, ast.Name):
                self._purposes[node.value.id] = _KEYWORDS[node.arg]
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self._values.setdefault(target.id, []).append(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        outer = self.unit
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("install", "run", "run_install", "check_call", "check_output", "Popen", "run_always"):
            self.unit = self.reader.begin_unit()
        self.option = ""
        self.generic_visit(node)
        self.option = ""
        self.unit = outer

    def visit_Assign(self, node: ast.Assign) -> None:
        target, key = node.targets[0], None
        if isinstance(target, ast.Subscript):
            key = target.slice.value if isinstance(target.slice, ast.Constant) else None
            target = target.value
            if isinstance(key, str) and ast.unparse(target).endswith("environ"):
                span = self._find_text_span(node.value) if isinstance(node.value, ast.Constant) else None
                if span is not None:
                    self.reader.define_variable(key, *span)
        purpose = self._purposes.get(target.id) if isinstance(target, ast.Name) else None
        if purpose is Purpose.EXTRA and key is not None:
            purpose = guess_purpose(str(key))
        self._visit_for(purpose, node.value)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            is_extra = self.reader.purpose is Purpose.EXTRA and isinstance(key, ast.Constant)
            self._visit_for(guess_purpose(str(key.value)) if is_extra else None, value)  # type: ignore[union-attr]

    def _visit_for(self, purpose: Purpose | None, node: ast.AST) -> None:
        """Visit a node whose requirements have a purpose; None stands for the purpose of the enclosing node."""
        outer = self.reader.purpose
        self.reader.purpose = purpose or outer
        self.visit(node)
        self.reader.purpose = outer

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        # Requirements for old Pythons do not apply to those of the target.
        if "version_info" not in ast.dump(node.test):
            self.generic_visit(node)

    visit_IfExp = visit_If  # noqa: N815

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg == "python_requires" and isinstance(node.value, ast.Constant):
            if span := self._find_text_span(node.value):
                self.reader.add_reference(Sort.PYTHON, "", span, self.module)
        elif node.arg not in ("description", "long_description", "url", "keywords", "classifiers", "name"):
            if node.arg == "install_requires" and isinstance(node.value, ast.List):
                # A bare name may be anything elsewhere; here it is a requirement for any version.
                for item in node.value.elts:
                    if (
                        isinstance(item, ast.Constant)
                        and item.value == "torch"
                        and (span := self._find_text_span(item))
                    ):
                        self.reader.add_requirement(span, self.unit)
            self._visit_for(_KEYWORDS.get(node.arg or ""), node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        values = self._expand_joined(node)
        span = self._find_text_span(node)
        if span is None:
            return
        text = self.reader.view[span.start : span.end]
        if self.reader.role is InstallRole.TEST and (asked := _COMPUTED_REQUIREMENT.match(text)):
            self.reader.add_package(asked["name"], span, self.unit, undecided=text[asked.end() - 1 :])
        elif isinstance(values, list) and INDEX_URL.fullmatch(values[0].text):
            self.reader.add_index(span, self.unit, self.option, values=values)
        elif INDEX_URL.match(text.replace("{", "${")):
            unknown = ast.unparse(next(part for part in node.values if isinstance(part, ast.FormattedValue)))
            self.reader.add_index(span, self.unit, self.option, undecided=unknown.strip("f'\""))
        self.option = ""

    def visit_Constant(self, node: ast.Constant) -> None:
        if not isinstance(node.value, str):
            return
        span = self._find_text_span(node)
        if span is None:
            return
        for match in _GENCODE.finditer(self.reader.view, span.start, span.end):
            self.reader.add_reference(
                Sort.VARIABLE, "-gencode", Span(*match.span("architecture")), self.reader.begin_unit()
            )
        option, equals, _ = node.value.partition("=")
        if node.value.startswith("-"):
            self.option = INDEX_OPTIONS.get(option, "")
            if equals and self.option:
                self.reader.add_index(Span(span.start + len(option) + 1, span.end), self.unit, self.option)
            return
        if INDEX_URL.fullmatch(node.value):
            self.reader.add_index_or_wheel(span, self.unit, self.option)
        elif self._is_requirement(node.value):
            self.reader.add_requirement(span, self.unit)
        self.option = ""

    def _is_requirement(self, text: str) -> bool:
        """Return whether a string is a requirement: a bare name may be anything, a name with a version is one."""
        if _WATCHED.match(text):
            return bool(re.search(r"[=<>~]=|[<>]|@", text)) and "\n" not in text
        from torchmigrate.tables.package_requirements import is_built_for_one_torch

        return bool(_VERSIONED.fullmatch(text)) or is_built_for_one_torch(text)

    def _expand_joined(self, node: ast.JoinedStr) -> list[ExpandedValue] | None:
        """Return the values of an f-string all of whose names are constants of the file; None for any other."""
        ways: list[list[ValuePiece]] = [[]]
        for part in node.values:
            if isinstance(part, ast.Constant):
                text = str(part.value)
                pieces = [[ValuePiece(text, Span(0, 0), "")]]
            elif isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
                pieces = []
                for constant in self._values.get(part.value.id, []):
                    span = self._find_text_span(constant)
                    if span is None or not isinstance(constant, ast.Constant):
                        return None
                    pieces.append([ValuePiece(str(constant.value), span, str(constant.value))])
            else:
                return None
            ways = [way + piece for way in ways for piece in pieces]
        return [ExpandedValue(tuple(way)) for way in ways] or None

    def _find_text_span(self, node: ast.expr) -> Span | None:
        """Return the span of a string literal's text; None if it has escapes, or is joined from several literals."""
        spans = list(find_literal_spans(self.reader.view, self.source.span_of(node)))
        if len(spans) != 1:
            return None
        if isinstance(node, ast.Constant):
            written = self.reader.view[slice(*spans[0])].encode("latin-1").decode()
            return spans[0] if written == node.value else None
        return spans[0]
