"""``devcontainer.json``, which is JSON with comments: the image, its variables, and the commands that run in it."""

from __future__ import annotations

import re

from torchmigrate.documents import shell_commands
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.documents.yaml_nodes import YamlNode, parse_yaml
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort

_COMMENT = re.compile(r"(?P<string>\"(?:\\.|[^\"\\\n])*\")|//[^\n]*|/\*.*?\*/", re.DOTALL)
_VARIABLES = ("args", "containerEnv", "remoteEnv")


def read_devcontainer(reader: ReferenceReader) -> None:
    """Read a devcontainer.json; without its comments it is YAML."""
    text = _COMMENT.sub(lambda match: match["string"] or re.sub(r"[^\n]", " ", match[0]), reader.view)
    tree = parse_yaml(text)
    for root in tree.roots if tree else ():
        _read_node(reader, [], root)


def _read_node(reader: ReferenceReader, path: list[str], node: YamlNode) -> None:
    """Read a node, by the ``path`` of keys that lead to it."""
    if node.pairs is not None:
        for key, value in node.pairs:
            _read_node(reader, [*path, key.extract_text(reader.view)], value)
    elif node.items is None:
        _read_value(reader, path, node.span)
    elif path and path[-1].endswith("Command"):
        words = [item.span for item in node.items if item.is_scalar]
        shell_commands.read_words(reader, words, [Span(start - 1, end + 1) for start, end in words])
    else:
        for item in node.items:
            _read_node(reader, path, item)


def _read_value(reader: ReferenceReader, path: list[str], span: Span) -> None:
    """Read a string, by the ``path`` of keys that lead to it."""
    if any(one.endswith("Command") for one in path):
        shell_commands.read_commands(reader, *span)
    elif any(one in _VARIABLES for one in path[:-1]):
        reader.define_variable(path[-1], *span)
        reader.read_loose_text(*span)
    elif path and path[-1] == "image":
        reader.environment.of_image = True
        reader.add_reference(Sort.PYTHON, "python", span, reader.begin_unit(), option="FROM")
        reader.read_loose_text(*span)
