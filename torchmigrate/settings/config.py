"""The sources of settings: the command line, the nearest configuration file, and defaults, in this order."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from torchmigrate.project import folders, ignores
from torchmigrate.settings.settings import Settings, default_to_toml, setting_fields, toml_key
from torchmigrate.settings.value_types import ValueType

MAX_CONFIG_BYTES = 4 << 20
"""The size in bytes above which a configuration file is refused."""

PYPROJECT = "pyproject.toml"
COMMAND_LINE = "command line"
ENVIRONMENT = "environment"

ADDING = frozenset(["ignore", "extend_select", "extend_exclude", "per_file_ignores"])
"""The settings to which every layer adds."""


class ConfigError(Exception):
    """An invalid configuration; the message names the file and the key."""


class Layer(NamedTuple):
    """The settings from one source: values by field name, and the folder that relative patterns refer to."""

    values: Mapping[str, Any]
    folder: str
    origin: str = COMMAND_LINE
    """The configuration file, or another source such as the command line."""


def merge_layers(layers: list[Layer]) -> Settings:
    """Return the settings of ``layers``, the strongest first.

    A layer that sets ``select`` discards what weaker layers select or ignore. Otherwise ``ignore`` and ``extend-select`` add up,
    as ``extend-exclude`` and ``per-file-ignores`` do, and a rule that a stronger layer names on one side is removed from the
    other side of the weaker ones.
    """
    merged: dict[str, Any] = {}
    for layer in reversed(layers):
        values = {name: _anchor_value(name, value, layer.folder) for name, value in layer.values.items()}
        if values.get("select"):
            merged = {
                name: value for name, value in merged.items() if name not in ("ignore", "extend_select")
            }
        for side, other in (("ignore", "extend_select"), ("extend_select", "ignore")):
            added = {code.upper() for code in values.get(side, ())}
            merged[other] = tuple(code for code in merged.get(other, ()) if code.upper() not in added)
        for name, value in values.items():
            merged[name] = (*merged.get(name, ()), *value) if name in ADDING else value
    return Settings(**merged)


def _anchor_value(name: str, value: Any, folder: str) -> Any:
    if name in ("exclude", "extend_exclude"):
        return tuple(ignores.anchor_pattern(pattern, folder) for pattern in value)
    if name == "baseline" and value:
        return os.path.normpath(_resolve_path(value, folder))
    if name == "per_file_ignores":
        return tuple((ignores.anchor_pattern(pattern, folder), codes) for pattern, codes in value)
    return value


def read_layers(path: str, *, found: bool = False) -> list[Layer]:
    """Return the settings of the configuration file at ``path``, followed by those of the files that it extends.

    ``found``: whether the file was found beside the checked files, which may be a stranger's, and not named by the user. It
    may then name no file outside of its repository.

    Raises ConfigError for a file that cannot be read or is not valid TOML, an unknown key, or a wrong value.
    """
    root = _find_outermost_folder(path) if found else None
    layers: list[Layer] = []
    seen: list[str] = []
    following: str | None = path
    while following is not None:
        real = os.path.realpath(following)
        if real in seen:
            raise ConfigError(f"{following}: `extend` leads back to this file")
        seen.append(real)
        table = _read_table(following)
        if table is None:
            raise ConfigError(f"{following}: there is no table [tool.torchmigrate]")
        if table.get("resolve", False) is not False:
            raise ConfigError(
                f"{following}: `resolve` uses the network and cannot be set in a file; use --resolve"
            )
        folder = os.path.dirname(os.path.abspath(following))
        extend = table.pop("extend", None)
        layers.append(Layer(parse_table(table, following), folder, following))
        if extend is not None and (not isinstance(extend, str) or "\0" in extend):
            raise ConfigError(f"{following}: `extend` must be the path of a configuration file")
        for key, named in (("baseline", layers[-1].values.get("baseline")), ("extend", extend)):
            if root is not None and named and not _lies_within(_resolve_path(named, folder), root):
                raise ConfigError(
                    f"{following}: `{key}` names a file outside of {root}; "
                    + (
                        "pass it as --baseline"
                        if key == "baseline"
                        else "pass this file as --config to allow it"
                    )
                )
        following = None if extend is None else _resolve_path(extend, folder)
    return layers


def _find_outermost_folder(path: str) -> str:
    """Return the real path of the repository of a file, or of its project, or of its own folder."""
    folder = os.path.dirname(os.path.abspath(path))
    return os.path.realpath(folders.find_tree_root(folder) or folder)


def _resolve_path(named: str, folder: str) -> str:
    return os.path.join(folder, os.path.expanduser(named))


def _lies_within(path: str, folder: str) -> bool:
    return folders.is_within(os.path.realpath(path), folder)


def find_file(folder: str) -> str | None:
    """Return the nearest configuration file, from ``folder`` up to the repository's root, or None.

    A pyproject.toml without ``[tool.torchmigrate]`` is skipped; torchmigrate.toml takes precedence in its folder.
    Raises ConfigError for a pyproject.toml that cannot be read.
    """
    return next(filter(None, map(find_own_file, folders.iter_upward(folder))), None)


def find_own_file(folder: str) -> str | None:
    """Return the configuration file in ``folder`` itself, or None. Raises ConfigError as `find_file` does."""
    for name in folders.STANDALONE:
        standalone = os.path.join(folder, name)
        if os.path.isfile(standalone):
            return standalone
    pyproject = os.path.join(folder, PYPROJECT)
    return pyproject if os.path.isfile(pyproject) and _read_table(pyproject) is not None else None


def find_line(path: str, name: str) -> int | None:
    """Return the line, from 1, of the configuration file at ``path`` that sets ``name``, or None."""
    prefix = "tool.torchmigrate" if os.path.basename(path) == PYPROJECT else ""
    table = ""
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            for number, line in enumerate(file, 1):
                header = re.match(r"\s*\[\s*([^\]]*?)\s*\]", line)
                stated = re.match(r"\s*([\w.\"-]+)\s*=", line)
                table = header[1] if header else table
                key_of = header[1] if header else f"{table}.{stated[1]}" if stated else ""
                if key_of.replace('"', "").lstrip(".") == f"{prefix}.{name}".lstrip("."):
                    return number
    except OSError:
        return None
    return None


def parse_table(table: Mapping[str, object], origin: str) -> dict[str, Any]:
    """Return checked values by field name from a TOML table; the message of a ConfigError names ``origin``."""
    known = {toml_key(one.name): one for one in setting_fields()}
    values = {}
    for name, value in table.items():
        if name not in known:
            name = _shorten(name)
            raise ConfigError(f"{origin}: unknown key `{name}`{suggest_name(name, [*known, 'extend'])}")
        kind: ValueType[Any] = known[name].metadata["kind"]
        try:
            values[known[name].name] = kind.read(value)
        except (TypeError, ValueError) as error:
            reason = f" ({_shorten(str(error))})" if str(error) else ""
            raise ConfigError(f"{origin}: `{name}` must be {kind.expects}{reason}") from None
    return values


def _shorten(text: str) -> str:
    """Return foreign text cut to fit a message of one line."""
    return text if len(text) <= 200 else text[:199] + "…"


def suggest_name(name: str, known: list[str]) -> str:
    """Return the end of a message about the unknown ``name``: a suggestion, or "" if no name is similar."""
    import difflib

    folded = {one.lower(): one for one in known}
    matches = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
    return f"; did you mean `{folded[matches[0]]}`?" if matches else ""


def _read_table(path: str) -> dict[str, Any] | None:
    """Return the settings in the file at ``path``; None for a pyproject.toml without any."""
    from torchmigrate.text.toml_reader import parse_toml

    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ConfigError(f"{path}: not a regular file")
        if os.path.getsize(path) > MAX_CONFIG_BYTES:
            raise ConfigError(f"{path}: larger than {MAX_CONFIG_BYTES >> 20} MiB")
        with open(path, "rb") as file:
            data = file.read()
        if os.path.basename(path) == PYPROJECT and b"torchmigrate" not in data:
            return None
        content = parse_toml(data.decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    if os.path.basename(path) != PYPROJECT:
        return content
    tool = content.get("tool")
    table = tool.get("torchmigrate") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: `tool.torchmigrate` must be a table")
    return table


def build_schema() -> dict[str, Any]:
    """Return the JSON schema of ``[tool.torchmigrate]``, stored in `torchmigrate/settings/settings.schema.json`."""
    properties: dict[str, Any] = {
        "extend": {
            "description": "Another configuration file, whose settings are the defaults for this one.",
            "type": "string",
        }
    }
    for one in setting_fields():
        kind: ValueType[Any] = one.metadata["kind"]
        properties[toml_key(one.name)] = {
            "description": one.metadata["help"],
            **kind.schema,
            "default": default_to_toml(one),
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of torchmigrate",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def render_schema() -> str:
    """Return the content of `torchmigrate/settings/settings.schema.json`; ``python -m torchmigrate.settings.config`` prints it."""
    import json

    return json.dumps(build_schema(), indent=2) + "\n"


def render_table() -> str:
    """Return the table of all settings for the documentation; ``python -m torchmigrate.settings.config table`` prints it."""
    import json

    rows = ["| Setting | Value | Default | |", "| --- | --- | --- | --- |"]
    for one in setting_fields():
        kind: ValueType[Any] = one.metadata["kind"]
        default = (
            "the usual folders without code"
            if one.name == "exclude"
            else f"`{json.dumps(default_to_toml(one))}`"
        )
        rows.append(f"| `{toml_key(one.name)}` | {kind.expects} | {default} | {one.metadata['help']} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(render_table() if sys.argv[1:] == ["table"] else render_schema(), end="")
