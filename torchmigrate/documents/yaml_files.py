"""Workflows, compose files, conda environments and other YAML, read line by line.

YAML is not parsed as a whole: what rules look for is on one line, except for block scalars with commands, and a file
with templates in it (``{{ … }}``) becomes YAML only when they are filled in.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from torchmigrate.documents import conda_lists, shell_commands
from torchmigrate.documents.expanded_values import find_lines, strip_quotes
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.documents.references import Environment, InstallRole, InstallUnit
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.project.folders import find_tree_root
from torchmigrate.text.source_text import SourceError

_CONDA = re.compile(r"^(?:dependencies|requirements):[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_CHANNELS = re.compile(r"^(?:channels|dependencies|package|build|prefix):", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#.*")
_ENTRY = re.compile(
    r"(?P<indent>[ \t]*)(?P<dashes>(?:-[ \t]+)*)(?P<key>\"[^\"]*\"|'[^']*'|[\w.*/][\w.*/ -]*?)[ \t]*:(?:[ \t]+(?P<value>.*))?"
)
_ITEM = re.compile(r"[ \t]*-[ \t]+(?P<value>.*)")
_BLOCK = re.compile(r"(?:.*:[ \t]+|[ \t]*-[ \t]+)(?P<style>[|>])[+-]?\d?[ \t]*")
_TAB = re.compile(r"\t+(?:- |[\w.-]+:(?:[ \t]|\Z))")


def read_yaml(reader: ReferenceReader) -> None:
    """Read a YAML file. Raises SourceError for a line that is indented with tabs, which YAML forbids."""
    _LineReader(reader).read_lines()


@dataclass
class _LineReader:
    """The state of reading a file line by line."""

    reader: ReferenceReader
    conda: InstallUnit | None = None
    """The unit of a conda environment, if the file is one."""
    pip: int | None = None
    """The indentation of ``- pip:``, while its list is read."""
    list_key: str = ""
    """The key of the list whose items are read."""
    block: int | None = None
    """The indentation of the line that begins a block scalar, while the scalar is read."""
    block_start: int = 0
    folded: bool = False
    jobs: int | None = None
    """The indentation of the names of jobs, in a file that has jobs; -1 before ``jobs:``, -2 before the first job."""
    outside: Environment = field(default_factory=Environment)
    """The environment of everything outside of jobs."""
    packages: InstallUnit | None = None
    """The unit of the list of packages that is read."""
    siblings: SiblingKeys = field(default_factory=lambda: SiblingKeys())

    def read_lines(self) -> None:
        """Read all lines."""
        view = self.reader.view
        self.outside = self.reader.environment
        if self.reader.role is InstallRole.TEST:
            self.jobs = -1 if _JOBS.search(view) else 0 if _GITLAB_JOB.search(view) else None
        # Workflows have keys of these names too.
        if _CONDA.search(view) and _CHANNELS.search(view) and "runs-on" not in view:
            self.conda = self.reader.begin_unit()
        for line in find_lines(view):
            text = view[line.start : line.end]
            width = len(text) - len(text.lstrip(" "))
            if self.block is not None:
                if not text.strip() or width > self.block:
                    continue
                self._end_block(line.start)
            if _TAB.match(text) and not view.lstrip().startswith("{"):
                number = view.count("\n", 0, line.start) + 1
                raise SourceError("not valid YAML: a tab in the indentation", number, 1)
            comment = _COMMENT.search(text)
            content = (text[: comment.start()] if comment else text).rstrip()
            self._begin_job(content, width)
            if self.jobs is not None:
                self.reader.environment.spans.append(line)
            self._read_line(Span(line.start, line.start + len(content)), content, width, line.end)
        self._end_block(len(view))

    def _read_line(self, line: Span, content: str, width: int, end: int) -> None:
        """Read one line without its comment; ``width`` is its indentation, ``end`` where it ends with the comment."""
        view = self.reader.view
        entry = _ENTRY.fullmatch(view, line.start, line.end)
        item = _ITEM.fullmatch(view, line.start, line.end)
        if begins := _BLOCK.fullmatch(content):
            self.block = width + (len(entry["dashes"]) if entry else 0)
            self.block_start, self.folded = end, begins["style"] == ">"
            return
        if content and self.pip is not None and width <= self.pip:
            self.pip = None
        if self.conda is not None and re.fullmatch(r" *- pip:", content):
            self.pip = width
            return
        if self.conda is not None and item:
            self._read_dependency(self.conda, strip_quotes(view, *item.span("value")))
            return
        if entry:
            self._read_key(entry)
            if entry["value"] and self._read_flow_list(Span(*entry.span("value"))):
                self.reader.read_loose_text(line.start, line.end)
                return
        elif (
            item and self.packages is not None and self._read_package(strip_quotes(view, *item.span("value")))
        ):
            return
        elif item:
            _define_item(self.reader, self.list_key, *item.span("value"))
        shell_commands.read_commands(self.reader, line.start, line.end)

    def _read_key(self, entry: re.Match[str]) -> None:
        """Read a line with a key."""
        key = self.list_key = entry["key"].strip("\"'")
        self.packages = self.reader.begin_unit() if key in _PACKAGE_KEYS else None
        self.siblings.note_key(self.reader, entry, key)
        if not entry["value"]:
            return
        value = strip_quotes(self.reader.view, *entry.span("value"))
        if key in _PYTHON_KEYS:
            self.reader.add_reference(
                Sort.PYTHON, "python", value, self.reader.begin_unit(), option=_PYTHON_KEYS[key]
            )
        elif key in _IMAGE_KEYS and self.reader.role is InstallRole.INSTALL:
            self.reader.environment.of_image = True
            self.reader.add_reference(Sort.PYTHON, "python", value, self.reader.begin_unit(), option="FROM")
        elif key == "python_requirements":
            self.reader.environment.includes.append(self.reader.view[value.start : value.end])
        _define_values(self.reader, key, *entry.span("value"))

    def _read_flow_list(self, value: Span) -> bool:
        """Read a list on one line, of packages or of the words of a command; return False for any other."""
        view = self.reader.view
        if not _LISTED.fullmatch(view, *value):
            return False
        quoted = [Span(*match.span()) for match in _QUOTED.finditer(view, *value)]
        if self.packages is not None:
            return len([span for span in quoted if self._read_package(strip_quotes(view, *span))]) > 0
        if not _INSTALLS.search(view, *value):
            return False
        shell_commands.read_listed_command(self.reader, quoted)
        return True

    def _read_package(self, span: Span) -> bool:
        """Read an element of a list of packages; return False if it has no version, since it may be a system package."""
        assert self.packages is not None
        if not _VERSIONED.fullmatch(self.reader.view, *span):
            return False
        return self.reader.add_requirement(span, self.packages)

    def _begin_job(self, content: str, width: int) -> None:
        """Begin a new environment where a job begins: each runs on a machine of its own."""
        if self.jobs is None or not content:
            return
        # In a workflow, jobs are the keys one level below ``jobs:``; in GitLab's files they are the top-level keys.
        if width == 0 and self.jobs != 0:
            self.reader.environment = self.outside
            if content.startswith("jobs:"):
                self.jobs = -2
        elif self.jobs == -2:
            self.jobs = width
        named = content.endswith(":") and not content.lstrip().startswith("-")
        if width == self.jobs and named and not content.startswith(_GITLAB_GLOBALS):
            self.reader.environment = Environment(of_image=True, around=self.outside)
        elif width == self.jobs == 0:
            self.reader.environment = self.outside

    def _read_dependency(self, unit: InstallUnit, span: Span) -> None:
        """Read an item of a conda environment."""
        if self.list_key == "channels":
            return
        option = self.reader.view.startswith("-", span.start)
        if self.pip is None or option or not self.reader.add_requirement(span, unit):
            conda_lists.read_entry(self.reader, unit, span)

    def _end_block(self, end: int) -> None:
        """Read the commands of a block scalar that ends at ``end``."""
        if self.block is not None:
            shell_commands.read_commands(self.reader, self.block_start, end, folded=self.folded)
            if self.jobs is not None:
                self.reader.environment.spans.append(Span(self.block_start, end))
            self.block = None


_PACKAGE_KEYS = (
    "python_packages", "packages", "pip_packages", "pip", "packages_to_install", "requirements", "additional_dependencies"
)  # fmt: skip
"""The keys of lists for pip: of Cog, BentoML, Ray, Kubeflow, Truss, pre-commit."""
_PYTHON_KEYS = {"python-version": "setup", "python_version": "conda"}
"""The keys of a Python version (of GitHub's action, of Cog and Truss) → the option of the reference."""
_IMAGE_KEYS = ("image", "base_image", "baseImage", "docker_image")
"""The keys of the image that commands run in."""
_VERSIONED = re.compile(
    r"[A-Za-z0-9][\w.-]*[ ]?(?:\[[\w, -]+\])?[ ]?(?:[=~!<>]=|===|[<>])[ ]?\d[^\n]*", re.ASCII
)
_LISTED = re.compile(r"\[.*\][ \t]*")
_INSTALLS = re.compile(r"\b(?:install|add|create|sync)\b")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_ON_ONE_LINE = re.compile(
    r"\{[ ]*name:[ ]*[\"']?(?P<name>[A-Z][A-Z0-9_]*)[\"']?,[ ]*value:[ ]*(?P<value>\"[^\"]*\"|'[^']*'|[^,{}]*)\}"
)
"""A variable of a container, written as a mapping in braces."""


@dataclass
class SiblingKeys:
    """The keys of a mapping that belong together: an image's repository and tag, a variable's name and value."""

    known: dict[int, dict[str, Span]] = field(default_factory=dict)
    """The column of each mapping that is still open → its values so far."""

    def note_key(self, reader: ReferenceReader, entry: re.Match[str], key: str) -> None:
        """Note the next key in the file, with the image or the variable that it completes."""
        column = len(entry["indent"]) + len(entry["dashes"])
        begins = bool(entry["dashes"])
        for deeper in [at for at in self.known if at > column or (at == column and begins)]:
            del self.known[deeper]
        mapping = self.known.setdefault(column, {})
        key = {"newTag": "tag", "newName": "repository"}.get(key, key)
        if not entry["value"] or key not in ("repository", "tag", "digest", "name", "value"):
            return
        mapping[key] = strip_quotes(reader.view, *entry.span("value"))
        texts = {name: reader.view[span.start : span.end] for name, span in mapping.items()}
        if key in ("repository", "tag", "digest", "name") and "tag" in mapping:
            pinned = "the image's digest is pinned" if texts.get("digest") else ""
            reader.add_image(texts.get("repository") or texts.get("name", ""), mapping["tag"], pinned)
        elif "value" in mapping and _VARIABLE.fullmatch(texts.get("name", "")):
            reader.define_variable(texts["name"], *mapping["value"])


def _define_values(reader: ReferenceReader, key: str, start: int, end: int) -> None:
    """Define a key's value, or each element of a list on one line, as a variable."""
    text = reader.view[start:end]
    if text.startswith("[") and text.endswith("]"):
        for item in re.finditer(r"\"[^\"]*\"|'[^']*'|[^,\[\]]+", text):
            if item[0].strip():
                reader.define_variable(key, start + item.start(), start + item.end())
    elif not text.startswith(("{", "&", "*", "!")):
        reader.define_variable(key, start, end)


def _define_item(reader: ReferenceReader, key: str, start: int, end: int) -> None:
    """Define an element of the list below a key as a variable; compose and docker write ``NAME=value``."""
    if mapping := _ON_ONE_LINE.fullmatch(reader.view, start, end):
        reader.define_variable(mapping["name"], *mapping.span("value"))
        return
    span = strip_quotes(reader.view, start, end)
    pair = re.fullmatch(r"([A-Z_][A-Z0-9_]*)=(.*)", reader.view[span.start : span.end])
    if pair:
        reader.define_variable(pair[1], span.start + pair.start(2), span.end)
    elif ":" not in reader.view[span.start : span.end]:
        reader.define_variable(key, span.start, span.end)


_JOBS = re.compile(r"^jobs:", re.MULTILINE)
_GITLAB_JOB = re.compile(
    r"^(?:stages|before_script|image|default|include|variables|[\w.:-]+):.*\n(?:[ #].*\n|\n)*?[ ]+script:",
    re.MULTILINE,
)
_GITLAB_GLOBALS = (
    "variables:", "stages:", "default:", "before_script:", "image:", "include:", "workflow:", "cache:"
)  # fmt: skip

TEST_PATH = re.compile(
    r"(?:^|/)(?:\.\w+/(?:workflows|actions)|\.circleci|\.azure-pipelines|\.buildkite|\.ci|ci)/|(?:^|/)(?:\.gitlab-ci|azure-pipelines|\.travis|\.pre-commit-config)[\w.-]*\.ya?ml$"
)


def find_role(path: str) -> InstallRole:
    """Return the role of the file at ``path``, by the folders in its project: those above it do not count."""
    if not TEST_PATH.search(path):
        return InstallRole.INSTALL
    top = find_tree_root(os.path.dirname(path))
    if top is not None:
        path = os.path.relpath(path, top).replace(os.sep, "/")
    elif os.path.isabs(path):
        path = "/".join(path.split("/")[-3:])
    return InstallRole.TEST if TEST_PATH.search(path) else InstallRole.INSTALL
