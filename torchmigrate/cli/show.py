"""`check --show-settings`: the settings for a file, each with its origin."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from typing import Any

from torchmigrate.model import versions
from torchmigrate.run.profiles import Profile, Profiles
from torchmigrate.settings import config
from torchmigrate.settings.config import Layer
from torchmigrate.settings.settings import as_toml, fields, key


def settings(file: str, profiles: Profiles) -> str:
    """Return the settings for ``file`` as TOML, each followed by a comment with its origin.

    Raises ConfigError.

    """
    folder = os.path.dirname(os.path.realpath(file))
    profile, layers = profiles.of(folder), profiles.layers_of(folder)
    lines = [f"# {_shown(file)}"]
    for one in fields():
        name = key(one.name)
        value, origin = _value(one, profile), _origin(one, profile, layers)
        lines.append(f"{name} = {_toml(value)}  # {origin}")
    return "\n".join(lines) + "\n"


def _value(one: dataclasses.Field[Any], profile: Profile) -> object:
    if one.name == "min_version":
        return versions.render(profile.minimum.version)
    return as_toml(one, getattr(profile.settings, one.name))


def _origin(one: dataclasses.Field[Any], profile: Profile, layers: list[Layer]) -> str:
    """Return the places that set a value, the strongest first; all of them where values add up."""
    minimum = profile.minimum
    if one.name == "min_version" and profile.settings.min_version is None:
        if minimum.source is None:
            return "default: the project's metadata does not name torch"
        return minimum.source if minimum.bounded else f"no lower bound in {minimum.source}"
    stating = [layer for layer in layers if one.name in layer.values]
    if not stating:
        return "default"
    return ", ".join(_places(stating if one.name in config.ADDING else stating[:1], key(one.name)))


def _places(layers: list[Layer], name: str) -> Iterator[str]:
    for layer in layers:
        if layer.origin in (config.COMMAND_LINE, config.ENVIRONMENT):
            yield layer.origin
        else:
            line = config.line_of(layer.origin, name)
            yield f"{_shown(layer.origin)}:{line}" if line else _shown(layer.origin)


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def _shown(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative
