"""Command-line options made from the fields of `Settings`, and the settings that a command line amounts to."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import click

from torchmigrate.console.terminal import escape
from torchmigrate.model import versions
from torchmigrate.run.profiles import Profile, Profiles
from torchmigrate.settings import config
from torchmigrate.settings.config import ConfigError
from torchmigrate.settings.settings import FLAG, PER_FILE, Kind, default_as_toml, fields, key

Command = TypeVar("Command", bound=Callable[..., Any])


class Failure(click.ClickException):
    """Ends the command with a message and exit status 2."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(escape(message))  # of a path with a line end there is one line too


def of_settings(command: Command) -> Command:
    """Decorator: an option for every setting, and those that say which configuration file is read."""
    return settings_but()(command)


def settings_but(*names: str) -> Callable[[Command], Command]:
    """Decorator: what `of_settings` declares, without the settings of these names."""

    def declare(command: Command) -> Command:
        command = click.option("--isolated", is_flag=True, help="Read no configuration file.")(command)
        about = "The configuration file; default: the nearest."
        command = click.option("--config", metavar="FILE", help=about)(command)
        for one in reversed(fields()):
            command = command if one.name in names else _option(one)(command)
        return command

    return declare


def load(options: Mapping[str, Any]) -> Profiles:
    """What the parameters that `of_settings` declares say, over what each project says. Raises Failure."""
    try:
        return Profiles(_stated(options), options["config"], isolated=options["isolated"])
    except ConfigError as error:
        raise Failure(str(error)) from None


def invocation(paths: Sequence[str], given: Mapping[str, Any]) -> str:
    """What another command has to be told to look at the same files with the same rules and versions."""
    parts: list[str] = []
    for name in ("select", "extend_select", "ignore", "target_version", "min_version", "config"):
        value = given.get(name) or ()
        for text in (value,) if isinstance(value, str) else value:
            parts += [f"--{key(name)}", str(text)]
    parts += ["--isolated"] if given.get("isolated") else []
    return "".join(" " + shlex.quote(part) for part in (*parts, *paths))


def describe(profiles: Collection[Profile]) -> str:
    """The range of versions that a run judges by, and where its lower end comes from; of several, the widest."""
    oldest = min(profiles, key=lambda profile: profile.minimum.version)
    minimum = oldest.minimum
    if minimum.source is None and oldest.settings.min_version is not None:
        origin = f"from {oldest.config_file}" if oldest.config_file else "as asked for"
    elif minimum.source is None:
        origin = "no metadata of the project names torch"
    else:
        origin = minimum.source if minimum.bounded else f"no lower bound in {minimum.source}"
    targets = sorted({profile.settings.target_version for profile in profiles})
    minimums = {(profile.minimum.version, profile.settings.target_version) for profile in profiles}
    several = len(minimums) > 1
    if several:
        origin = f"the oldest of several projects, {origin}; --show-settings FILE says more"
    return f"torch {versions.render(minimum.version)} ({origin}) to {versions.render(targets[-1])}"


def _option(one: dataclasses.Field[Any]) -> Callable[[Command], Command]:
    kind: Kind[Any] = one.metadata["kind"]
    spelled = "--" + (one.metadata["option"] or key(one.name))
    about = one.metadata["help"]
    if kind is FLAG:
        return click.option(f"{spelled}/--no-{spelled[2:]}", one.name, default=None, help=about)
    if not kind.many:
        about += f" [default: {default_as_toml(one)}]"
    if kind.choices:
        return click.option(spelled, one.name, type=click.Choice(kind.choices), help=about)
    return click.option(spelled, one.name, multiple=kind.many, metavar=one.metadata["metavar"], help=about)


def _stated(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the command line states, checked."""
    table: dict[str, object] = {}
    for one in fields():
        value = options.get(one.name)
        if value is None or value == ():
            continue
        kind: Kind[Any] = one.metadata["kind"]
        if kind is PER_FILE:
            value = _per_file(value)
        elif kind.many:
            value = [item.strip() for text in value for item in text.split(",") if item.strip()]
        table[one.metadata["option"] or key(one.name)] = value
    # Options that are spelled differently from their keys are flags, which click has checked.
    renamed = {one.metadata["option"]: key(one.name) for one in fields() if one.metadata["option"]}
    return config.parse({renamed.get(name, name): value for name, value in table.items()}, "command line")


def _per_file(texts: Sequence[str]) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for text in texts:
        pattern, colon, codes = text.rpartition(":")
        if not colon:
            raise ConfigError(f"command line: `per-file-ignores` must be GLOB:CODE,CODE, not {text!r}")
        table.setdefault(pattern, []).extend(code.strip() for code in codes.split(",") if code.strip())
    return table


def common_folder(paths: Sequence[str]) -> str:
    """The folder that holds all of ``paths``: its settings say what concerns a run as a whole. Raises Failure."""
    try:
        folders = [os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path)) for path in paths]
        return os.path.commonpath(folders)
    except FileNotFoundError:
        raise Failure("the current folder is gone") from None
    except ValueError:  # several drives
        return os.curdir
