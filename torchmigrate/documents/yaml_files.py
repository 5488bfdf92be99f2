"""Workflows, compose files, conda environments and other YAML: their nodes, interpreted by their keys."""

from __future__ import annotations

import os
import re

from torchmigrate.documents import conda_lists, shell_commands
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.documents.references import Environment, InstallRole, InstallUnit
from torchmigrate.documents.yaml_nodes import YamlNode, parse_yaml
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort


def read_yaml(reader: ReferenceReader) -> None:
    """Read a YAML file. What is none is read as lines of commands."""
    tree = parse_yaml(reader.view)
    if tree is None:
        shell_commands.read_commands(reader, 0, len(reader.view))
        return
    for root in tree.roots:
        if _COG.fullmatch(os.path.basename(reader.source.path)):
            _read_cog_build(reader, root)
        _NodeReader(reader).read_root(root)
    reader.note_malformed_lines(tree.malformed)


def _read_cog_build(reader: ReferenceReader, root: YamlNode) -> None:
    """Read the CUDA version of Cog's base image, which is no part of torch's wheel.

    Without one, Cog takes it from its table of torch's releases, and stops where the table ends: then the reference is
    the place behind ``gpu: true`` where it has to be added. Source:
    https://github.com/replicate/cog/blob/main/pkg/config/config.go (``validateAndCompleteCUDA``).
    """
    build = root.find_value(reader.view, "build")
    cuda = build and build.find_value(reader.view, "cuda")
    gpu = build and build.find_value(reader.view, "gpu")
    if cuda is not None:
        reader.add_reference(Sort.VARIABLE, "CUDA_VERSION", cuda.span, reader.begin_unit(), option="cuda")
    elif gpu is not None and gpu.extract_text(reader.view) == "true":
        end = Span(gpu.span.end, gpu.span.end)
        reader.add_reference(Sort.VARIABLE, "CUDA_VERSION", end, reader.begin_unit(), option="gpu")
        if build and not build.find_value(reader.view, "python_packages"):  # the list is a file of its own
            reader.environment.blocker = (
                "Cog stops at a torch that is newer than its own table, unless `build` names a CUDA version; "
                "add `cuda:` with that of the new torch below `gpu: true`"
            )


_PACKAGE_KEYS = (
    "python_packages", "packages", "pip_packages", "pip", "packages_to_install", "requirements", "additional_dependencies"
)  # fmt: skip
"""The keys of lists for pip: of Cog, BentoML, Ray, Kubeflow, Truss, pre-commit."""
_COG = re.compile(r"cog[\w.-]*\.ya?ml")
"""The name of a file of Cog."""
_PYTHON_KEYS = {"python-version": "setup", "python_version": "conda"}
"""The keys of a Python version (of GitHub's action, of Cog and Truss) → the option of the reference."""
_IMAGE_KEYS = ("image", "base_image", "baseImage", "docker_image")
"""The keys of the image that commands run in."""
_COMMAND_KEYS = ("command", "args", "entrypoint", "cmd")
"""The keys of lists whose elements are the words of one command."""
_VERSIONED = re.compile(
    r"[A-Za-z0-9][\w.-]*[ ]?(?:\[[\w, -]+\])?[ ]?(?:[=~!<>]=|===|[<>])[ ]?\d[^\n]*", re.ASCII
)
_INSTALLS = re.compile(r"\b(?:install|add|create|sync)\b")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_PAIR = re.compile(r"([A-Z_][A-Z0-9_]*)=(.*)", re.DOTALL)


class _NodeReader:
    """The reader of the nodes of one YAML document."""

    def __init__(self, reader: ReferenceReader) -> None:
        self.reader = reader
        self.view = reader.view
        self.defines = True
        """Whether values are variables; the inputs of an action are none to the file."""

    def read_root(self, root: YamlNode) -> None:
        """Read a document; each of its jobs has an environment of its own, since it runs on its own machine."""
        outside = self.reader.environment
        jobs = self._find_jobs(root) if self.reader.role is InstallRole.TEST else None
        if jobs is None:
            self._read_node("", root, self._find_conda_unit(root))
            return
        # What the file sets around its jobs is known before them.
        for key, value in root.pairs or ():
            outside.spans.append(self._find_entry_span(key, value))
            if value not in (job for _, job in jobs) and value.pairs is not jobs:
                self._read_node(key.extract_text(self.view), value, None)
        for key, job in jobs:
            self.reader.environment = Environment(of_image=True, around=outside)
            self.reader.environment.spans.append(self._find_entry_span(key, job))
            self._read_node(key.extract_text(self.view), job, None)
        self.reader.environment = outside

    def _find_jobs(self, root: YamlNode) -> list[tuple[YamlNode, YamlNode]] | None:
        """Return the jobs of a workflow, by their names; of GitLab's files these are keys of the root."""
        if (jobs := root.find_value(self.view, "jobs")) is not None:
            return jobs.pairs
        found = [
            (key, value)
            for key, value in root.pairs or ()
            if value.pairs is not None and key.extract_text(self.view) not in _GITLAB_GLOBALS
        ]
        return found if any(value.find_value(self.view, "script") for _, value in found) else None

    def _find_entry_span(self, key: YamlNode, value: YamlNode) -> Span:
        """Return the lines of an entry of a mapping."""
        start = self.view.rfind("\n", 0, key.span.start) + 1
        return Span(start, max(value.span.end, key.span.end))

    def _find_conda_unit(self, root: YamlNode) -> InstallUnit | None:
        """Return the unit of a conda environment or recipe; None for other files, which have keys of these names too."""
        listed = root.find_value(self.view, "dependencies")
        required = root.find_value(self.view, "requirements")
        is_recipe = required is not None and required.pairs is not None
        if is_recipe or (listed is not None and listed.items is not None):
            return self.reader.begin_unit()
        return None

    def _read_node(self, key: str, node: YamlNode, conda: InstallUnit | None) -> None:
        """Read a node below a key; ``conda`` is the unit of the file if it is for conda."""
        if node.pairs is not None:
            self._read_siblings(node)
            for name, value in node.pairs:
                outer, text = self.defines, name.extract_text(self.view)
                self.defines = outer and text != "with"
                self._read_node(text, value, conda)
                self.defines = outer
        elif node.items is not None:
            self._read_list(key, node, node.items, conda)
        else:
            self._read_value(key, node)

    def _read_list(self, key: str, node: YamlNode, items: list[YamlNode], conda: InstallUnit | None) -> None:
        """Read a sequence below a key."""
        scalars = [item for item in items if item.is_scalar]
        if conda is not None and key in _CONDA_KEYS:
            for item in items:
                self._read_dependency(conda, item, removable=not node.style)
            return
        words = key in _COMMAND_KEYS or (node.style == "[" and _INSTALLS.search(self.view, *node.span))
        unit = self.reader.begin_unit() if key in _PACKAGE_KEYS else None
        if (
            words
            and unit is None
            and not any(re.search(r"\s", one.extract_text(self.view)) for one in scalars)
        ):
            spans = [self._include_quotes(item) for item in scalars]
            shell_commands.read_words(self.reader, [one.span for one in scalars], spans)
            for item in scalars:
                self.reader.read_loose_text(*item.span)
        for item in items:
            if not item.is_scalar:
                self._read_node(key, item, conda)
            elif unit is not None and self._read_package(unit, item):
                continue
            elif not words or unit is not None or " " in item.extract_text(self.view):
                self._define_item(key, item)
                self._read_commands(item)
            self._read_module(item)

    def _read_dependency(self, unit: InstallUnit, item: YamlNode, *, removable: bool) -> None:
        """Read an item of a conda environment: a package, or the list for pip."""
        if item.is_scalar:
            conda_lists.read_entry(self.reader, unit, item.span, removable=removable)
        for _, listed in item.pairs or ():
            for entry in listed.items or ():
                if not entry.is_scalar:
                    continue
                is_option = self.view.startswith("-", entry.span.start)
                if is_option or not self.reader.add_requirement(entry.span, unit):
                    conda_lists.read_entry(self.reader, unit, entry.span, removable=not listed.style)

    def _read_package(self, unit: InstallUnit, item: YamlNode) -> bool:
        """Read an element of a list of packages; return False if it has no version, since it may be a system package."""
        if not _VERSIONED.fullmatch(self.view, *item.span):
            return False
        return self.reader.add_requirement(item.span, unit)

    def _read_value(self, key: str, node: YamlNode) -> None:
        """Read a scalar below a key."""
        if key in _PYTHON_KEYS:
            self.reader.add_reference(
                Sort.PYTHON, "python", node.span, self.reader.begin_unit(), option=_PYTHON_KEYS[key]
            )
        elif key in _IMAGE_KEYS and self.reader.role is InstallRole.INSTALL:
            self.reader.environment.of_image = True
            self.reader.add_reference(
                Sort.PYTHON, "python", node.span, self.reader.begin_unit(), option="FROM"
            )
        elif key == "python_requirements":
            self.reader.environment.includes.append(node.extract_text(self.view))
        if self.defines and "\n" not in node.extract_text(self.view):
            self.reader.define_variable(key, *node.span)
        self._read_commands(node)

    def _read_commands(self, node: YamlNode) -> None:
        """Read a scalar as commands, each of which ends with its line only in a block of that kind."""
        shell_commands.read_commands(self.reader, *node.span, folded=node.style != "|")

    def _define_item(self, key: str, item: YamlNode) -> None:
        """Define an element of a list as a variable; compose and docker write ``NAME=value``."""
        if pair := _PAIR.fullmatch(self.view, *item.span):
            self.reader.define_variable(pair[1], *pair.span(2))
        elif "\n" not in item.extract_text(self.view):
            self.reader.define_variable(key, *item.span)

    def _read_siblings(self, node: YamlNode) -> None:
        """Read the keys of a mapping that belong together: an image's repository and tag, a variable's name and value."""
        named = {
            name.extract_text(self.view): value.span for name, value in node.pairs or () if value.is_scalar
        }
        texts = {name: self.view[span.start : span.end] for name, span in named.items()}
        tag = named.get("newTag") or named.get("tag")
        if tag is not None:
            names = (texts.get(one) for one in ("newName", "repository", "name"))
            pinned = "the image's digest is pinned" if texts.get("digest") else ""
            self.reader.add_image(next(filter(None, names), ""), tag, pinned)
        elif "value" in named and _VARIABLE.fullmatch(texts.get("name", "")):
            self.reader.define_variable(texts["name"], *named["value"])

    def _read_module(self, item: YamlNode) -> None:
        """Read the name of a module that is an element of a list of words, with the dash before it."""
        self.reader.read_modules(self.view.rfind("\n", 0, item.span.start) + 1, item.span.end)

    def _include_quotes(self, item: YamlNode) -> Span:
        """Return the span of a scalar with its quotes."""
        return Span(item.span.start - 1, item.span.end + 1) if item.style in ("'", '"') else item.span


_CONDA_KEYS = ("dependencies", "build", "host", "run", "run_constrained", "constraints", "requires")
"""The keys of the lists of a conda environment or recipe."""
_GITLAB_GLOBALS = (
    "variables", "stages", "default", "before_script", "image", "include", "workflow", "cache"
)  # fmt: skip
