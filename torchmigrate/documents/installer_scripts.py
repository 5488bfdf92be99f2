"""Python modules that install torch: commands that they run, and images that they describe for Modal, Kubeflow or Ray."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.documents import shell_commands
from torchmigrate.documents.reference_patterns import INDEX_OPTIONS
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.documents.references import Environment, InstallUnit
from torchmigrate.documents.string_literals import find_literal_spans
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort

_RUNNING = re.compile(
    r"(?:check_|subprocess_)?(?:run|call|output|popen)\w*|check_output|p?open|system|get(?:status)?output|shell|sh|exec\w*"
    r"|get|getenv|setdefault|install\w*|\w*_commands?",
    re.IGNORECASE,
)
"""The names of functions whose argument is a command; those of ``os.environ`` have a command as the default."""
_INSTALLING = ("pip_install", "uv_pip_install")
"""The methods of an image whose arguments are requirements."""
_IMAGE_MAKERS = (
    "debian_slim",
    "from_registry",
    "from_dockerhub",
    "micromamba",
    "from_aws_ecr",
    "from_gcp_artifact_registry",
)
_PACKAGE_KEYS = ("packages_to_install", "python_packages", "pip_packages", "packages", "pip", "requirements")
_IMAGE_KEYS = ("base_image", "image", "image_uri", "container_image", "docker_image")
_PYTHON_KEYS = ("python_version", "add_python")
_COMMAND = re.compile(
    r"(?:\S*/)?(?:python[\d.]*\s+-m\s+)?(?:pip[\d.]*|uv\s+pip|(?:micro)?mamba|conda)\s+install\s"
)
_COMMAND_NAME = re.compile(r"(?i)(?!.*(?:hint|msg|message|help|err|doc|text)).*(?:cmd|command|install)")
_OPTION = re.compile(r"(?P<name>--?[\w-]+)[ =](?P<url>\S+)")
_VERSIONED = re.compile(
    r"[A-Za-z0-9][\w.-]*[ ]?(?:\[[\w, -]+\])?[ ]?(?:[=~!<>]=|===|[<>])[ ]?[\d{][^\n]*", re.ASCII
)
_LIST_NAME = re.compile(r"(?:[\w.-]+/)*[\w.-]*req[\w.-]*\.txt")
"""The name of a list that a string is: the script installs it, whatever command it makes of it."""


def read_script(reader: ReferenceReader) -> None:
    """Read a Python module. Raises SourceError if it does not parse."""
    _InstallerVisitor(reader).visit(reader.source.syntax_tree)


class _InstallerVisitor(ast.NodeVisitor):
    """The visitor that reads the calls of a module that install something."""

    def __init__(self, reader: ReferenceReader) -> None:
        self.reader = reader
        self._lists: dict[str, ast.List | ast.Tuple] = {}
        """The lists that variables name: the arguments of a later call."""

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name) and isinstance(node.value, ast.List | ast.Tuple):
                self._lists[target.id] = node.value
                if _COMMAND_NAME.fullmatch(target.id):
                    for item in self._iter_strings([node.value]):
                        self._read_commands(item)
            if isinstance(target, ast.Name) and isinstance(node.value, ast.Constant | ast.JoinedStr):
                # What is chosen in a branch depends on the machine: it is none of the file's versions.
                for span in () if self.reader.fixed else self._find_spans(node.value):
                    self.reader.define_variable(target.id, *span, watched=False)
                if _COMMAND_NAME.fullmatch(target.id):
                    self._read_commands(node.value)
                self._read_loose(node.value)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and _LIST_NAME.fullmatch(node.value):
            self.reader.environment.includes.append(node.value)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        outer = self.reader.fixed
        if "__name__" not in ast.dump(node.test):
            self.reader.fixed = outer or shell_commands.IN_BRANCH
        for statement in (*node.body, *node.orelse):
            self.visit(statement)
        self.reader.fixed = outer

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave out what is raised: a message that names a command runs none."""

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            self._read_named(key.value if isinstance(key, ast.Constant) else None, value)
        self.generic_visit(node)

    def visit_List(self, node: ast.List) -> None:
        self._read_words(node.elts)
        self.generic_visit(node)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        self._read_words(node.elts)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        outer = self.reader.environment
        name = _find_name(node)
        described = any(_find_name(call) in _IMAGE_MAKERS for call in _iter_chain(node)) or any(
            keyword.arg in (*_PACKAGE_KEYS, *_IMAGE_KEYS) for keyword in node.keywords
        )
        if described and not outer.of_image:
            self.reader.environment = Environment(of_image=True, around=outer)
            self.reader.environment.spans.append(self.reader.source.span_of(node))
        if name in _INSTALLING:
            self._read_requirements(node)
        elif name in _IMAGE_MAKERS:
            for argument in node.args[:1]:
                self._read_image(argument)
        elif _RUNNING.fullmatch(name):
            for argument in self._iter_strings(node.args):
                self._read_commands(argument)
            self._read_words(node.args)
        for keyword in node.keywords:
            self._read_named(keyword.arg, keyword.value)
        self.generic_visit(node)
        self.reader.environment = outer

    def _read_requirements(self, node: ast.Call) -> None:
        """Read the arguments of a method that installs its arguments into an image."""
        unit = self.reader.begin_unit()
        for argument in self._iter_strings(node.args):
            for span in self._find_spans(argument):
                if not self.reader.view.startswith("-", span.start):
                    self.reader.add_requirement(span, unit)
                elif found := _OPTION.fullmatch(self.reader.view, *span):
                    self.reader.add_index(
                        Span(*found.span("url")), unit, INDEX_OPTIONS.get(found["name"], "")
                    )
        for keyword in node.keywords:
            option = INDEX_OPTIONS.get(f"--{(keyword.arg or '').replace('_', '-')}")
            for value in self._iter_strings([keyword.value]):
                for span in self._find_spans(value):
                    if option:
                        self.reader.add_index(span, unit, option)
                    elif keyword.arg == "extra_options":
                        self.reader.read_loose_text(*span)

    def _read_named(self, name: object, value: ast.expr) -> None:
        """Read the value of a keyword, or of a key in a dictionary."""
        if name in _PACKAGE_KEYS and isinstance(value, ast.List | ast.Tuple):
            self._read_packages(value, self.reader.begin_unit())
        elif name in _IMAGE_KEYS:
            self._read_image(value)
        elif name in _PYTHON_KEYS and isinstance(value, ast.Constant):
            for span in self._find_spans(value):
                self.reader.add_reference(
                    Sort.PYTHON, "python", span, self.reader.begin_unit(), option="command"
                )

    def _read_packages(self, node: ast.List | ast.Tuple, unit: InstallUnit) -> None:
        """Read the requirements with a version in a list."""
        for item in self._iter_strings(node.elts):
            for span in self._find_spans(item):
                if _VERSIONED.fullmatch(self.reader.view, *span):
                    self.reader.add_requirement(span, unit)

    def _read_image(self, node: ast.expr) -> None:
        """Read the name of an image, which tells its Python, too."""
        for span in self._find_spans(node):
            self.reader.environment.of_image = True
            self.reader.add_reference(Sort.PYTHON, "python", span, self.reader.begin_unit(), option="FROM")
        self._read_loose(node)

    def _read_loose(self, node: ast.expr) -> None:
        """Read the indexes and images that a string names."""
        for span in self._find_spans(node):
            self.reader.read_loose_text(*span)

    def _read_commands(self, node: ast.expr) -> None:
        """Read a string that is a command which installs something, and no other."""
        spans = list(self._find_spans(node))
        first = self.reader.view[slice(*spans[0])] if spans else ""
        if _COMMAND.search(first.removeprefix("RUN ")):
            for span in spans:
                self.reader.environment.spans.append(span)
                shell_commands.read_commands(self.reader, *span)

    def _read_words(self, nodes: list[ast.expr]) -> None:
        """Read the words of a command that installs something."""
        words = [node for node in nodes if isinstance(node, ast.Constant | ast.JoinedStr)]
        texts = [node.value for node in words if isinstance(node, ast.Constant)]
        if "install" not in texts or not {"pip", "pip3", "uv", "conda", "mamba"}.intersection(
            map(str, texts)
        ):
            return
        inner = [
            (span, self.reader.source.span_of(word)) for word in words for span in self._find_spans(word)
        ]
        self.reader.environment.spans += [outer for _, outer in inner]
        shell_commands.read_words(self.reader, [span for span, _ in inner], [outer for _, outer in inner])
        for span, _ in inner:
            self.reader.read_loose_text(*span)

    def _find_spans(self, node: ast.expr) -> Iterator[Span]:
        """Yield the spans of the literals that a string is written as."""
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        ):
            yield from find_literal_spans(self.reader.view, self.reader.source.span_of(node))

    def _iter_strings(self, nodes: list[ast.expr], depth: int = 3) -> Iterator[ast.expr]:
        """Yield the strings among expressions, and in the lists among them or that they name, up to a depth."""
        for node in nodes if depth else ():
            if isinstance(node, ast.Starred):
                yield from self._iter_strings([node.value], depth)
            elif isinstance(node, ast.Name) and node.id in self._lists:
                yield from self._iter_strings(self._lists[node.id].elts, depth - 1)
            elif isinstance(node, ast.List | ast.Tuple):
                yield from self._iter_strings(node.elts, depth - 1)
            elif isinstance(node, ast.Constant | ast.JoinedStr):
                yield node


def _find_name(node: ast.Call) -> str:
    """Return the last part of the name of the function that is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _iter_chain(node: ast.expr) -> Iterator[ast.Call]:
    """Yield the calls of a chain of methods, the last first."""
    while isinstance(node, ast.Call):
        yield node
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.func
