"""`check --show-settings`: the settings for a file, each with its origin."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from typing import Any

from torchmigrate.model import torch_versions
from torchmigrate.run.profiles import Profile, Profiles
from torchmigrate.settings import config
from torchmigrate.settings.config import Layer
from torchmigrate.settings.settings import setting_fields, toml_key, value_to_toml


def render_settings(file: str, profiles: Profiles) -> str:
    """Return the settings for ``file`` as TOML, each followed by a comment with its origin.

    Raises ConfigError.
    """
    folder = os.path.dirname(os.path.realpath(file))
    profile, layers = profiles.get_profile(folder), profiles.get_layers(folder)
    lines = [f"# {_display_path(file)}"]
    for one in setting_fields():
        name = toml_key(one.name)
        value, origin = _get_value(one, profile), _describe_origin(one, profile, layers)
        lines.append(f"{name} = {_render_toml(value)}  # {origin}")
    return "\n".join(lines) + "\n"


def _get_value(one: dataclasses.Field[Any], profile: Profile) -> object:
    if one.name == "min_version":
        return torch_versions.render_version(profile.minimum.version)
    return value_to_toml(one, getattr(profile.settings, one.name))


def _describe_origin(one: dataclasses.Field[Any], profile: Profile, layers: list[Layer]) -> str:
    """Return the places that set a value, the strongest first; all of them where values add up."""
    minimum = profile.minimum
    if one.name == "min_version" and profile.settings.min_version is None:
        if minimum.source is None:
            return "default: the project's metadata does not name torch"
        return minimum.source if minimum.bounded else f"no lower bound in {minimum.source}"
    stating = [layer for layer in layers if one.name in layer.values]
    if not stating:
        return "default"
    return ", ".join(_list_places(stating if one.name in config.ADDING else stating[:1], toml_key(one.name)))


def _list_places(layers: list[Layer], name: str) -> Iterator[str]:
    for layer in layers:
        if layer.origin in (config.COMMAND_LINE, config.ENVIRONMENT):
            yield layer.origin
        else:
            line = config.find_line(layer.origin, name)
            yield f"{_display_path(layer.origin)}:{line}" if line else _display_path(layer.origin)


def _render_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_render_toml(v)}" for k, v in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def _display_path(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative
