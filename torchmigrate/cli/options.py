"""Command-line options made from the fields of `Settings`, and the settings that a command line results in."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from torchmigrate.console.terminal import escape_controls
from torchmigrate.model import torch_versions
from torchmigrate.run import cache
from torchmigrate.run.profiles import Profile, Profiles
from torchmigrate.settings import config
from torchmigrate.settings.config import ConfigError
from torchmigrate.settings.settings import default_to_toml, setting_fields, toml_key
from torchmigrate.settings.value_types import CODES, FLAG, PER_FILE, SHOWN, ValueType

Command = TypeVar("Command", bound=Callable[..., Any])

PLACE = click.Path(readable=False)
"""The type of a path that need not exist: shells complete it, and the option itself does not check it."""


class FormatChoice(click.Choice):  # type: ignore[type-arg]  # a generic class since click 8.2
    """One of several formats; ``md`` is short for ``markdown``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the full name of the format. Raises click.BadParameter."""
        return str(super().convert("markdown" if value == "md" else value, param, ctx))


class Failure(click.ClickException):
    """Ends the command with a message and exit status 2."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(escape_controls(message))  # of a path with a line end there is one line too


def variable_name(name: str) -> str:
    """Return the environment variable for the option ``name``."""
    return f"TORCHMIGRATE_{name.upper()}"


def find_misspelt_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that no option of this command has, each with the one that is probably meant.

    What follows the prefix is compared, so that ``UNSAFE`` is near to ``UNSAFE_FIXES``.
    """
    context = click.get_current_context(silent=True)
    known = {str(one.envvar) for one in context.command.params if one.envvar} if context else set()
    unknown = [name for name in environ if name.startswith(variable_name("")) and name not in known]
    if not unknown:
        return {}
    from difflib import get_close_matches

    endings = sorted(name.removeprefix(variable_name("")) for name in known)
    close = {
        name: get_close_matches(name.removeprefix(variable_name("")), endings, 1, 0.6) for name in unknown
    }
    return {name: variable_name(found[0]) for name, found in close.items() if found}


def combine_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combine decorators that add options; the first is applied first, and so listed last in the help."""

    def declare(command: Command) -> Command:
        for add in options:
            command = add(command)
        return command

    return declare


color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Color the output."
)


def _create_flag(*names: str, about: str) -> Callable[[Command], Command]:
    """Create a flag that can also be set by an environment variable."""
    variable = variable_name(names[-1].removeprefix("--").replace("-", "_"))
    return click.option(*names, envvar=variable, is_flag=True, help=about)


def add_settings_except(*names: str) -> Callable[[Command], Command]:
    """Return a decorator that adds options for the configuration file, and for all settings but those of these names."""

    def declare(command: Command) -> Command:
        command = _create_flag("--isolated", about="Read no configuration file.")(command)
        command = click.option(
            "--config",
            envvar=variable_name("config"),
            metavar="FILE",
            type=PLACE,
            help="The configuration file; default: the nearest.",
        )(command)
        for one in reversed(setting_fields()):
            command = command if one.name in names else _create_option(one)(command)
        return command

    return declare


add_settings = add_settings_except()
"""A decorator that adds options for the configuration file and for all settings."""


def load_profiles(options: Mapping[str, Any]) -> Profiles:
    """Return the profiles of all folders with the settings of the command line. Raises Failure."""
    try:
        stated = _collect_stated(options, environment=False)
        environment = _collect_stated(options, environment=True)
        return Profiles(stated, options["config"], environment=environment, isolated=options["isolated"])
    except ConfigError as error:
        raise Failure(str(error)) from None


MOST_PATHS = 20
"""The number of paths that a suggested command repeats."""


def format_invocation(paths: Sequence[str], given: Mapping[str, Any]) -> str:
    """Return the arguments for another command to check the same files with the same rules and versions."""
    parts: list[str] = []
    for name in ("select", "extend_select", "ignore", "target_version", "min_version", "config"):
        value = given.get(name) or ()
        for text in (value,) if isinstance(value, str) else value:
            parts += [f"--{toml_key(name)}", str(text)]
    parts += ["--isolated"] if given.get("isolated") else []
    # A hook passes thousands of files: then the command is for all files.
    named = paths if len(paths) <= MOST_PATHS else ()
    return "".join(" " + shlex.quote(part) for part in (*parts, *named))


def describe_versions(profiles: Collection[Profile]) -> str:
    """Return the range of torch versions of a run, and the source of its lower end; of several projects, the widest."""
    oldest = min(profiles, key=lambda profile: profile.minimum.version)
    minimum = oldest.minimum
    if minimum.source is None and oldest.settings.min_version is not None:
        origin = f"from {oldest.config_file}" if oldest.config_file else "as requested"
    elif minimum.source is None:
        origin = "the project's metadata does not name torch"
    else:
        origin = minimum.source if minimum.bounded else f"no lower bound in {minimum.source}"
    targets = sorted({profile.settings.target_version for profile in profiles})
    minimums = {(profile.minimum.version, profile.settings.target_version) for profile in profiles}
    several = len(minimums) > 1
    if several:
        origin = f"the oldest of several projects, {origin}; see --show-settings FILE"
    return f"torch {torch_versions.render_version(minimum.version)} ({origin}) to {torch_versions.render_version(targets[-1])}"


def _create_option(one: dataclasses.Field[Any]) -> Callable[[Command], Command]:
    kind: ValueType[Any] = one.metadata["kind"]
    spelled = "--" + (one.metadata["option"] or toml_key(one.name))
    about = one.metadata["help"]
    if kind is FLAG:
        names = (f"{spelled}/--no-{spelled[2:]}", one.name)
        return click.option(*names, envvar=variable_name(one.name), default=None, help=about)
    if not kind.many and one.default != "":
        about += f" [default: {default_to_toml(one)}]"
    more: dict[str, Any] = {"multiple": kind.many, "metavar": one.metadata["metavar"]}
    if kind.choices:
        more = {"type": click.Choice(kind.choices)}
    if kind in (CODES, SHOWN):
        more["shell_complete"] = complete_codes
    return click.option(spelled, one.name, envvar=variable_name(one.name), help=about, **more)


def complete_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the completions of a code, or of the last one in a comma-separated list."""
    from torchmigrate.engine import registry

    done, comma, begun = incomplete.rpartition(",")
    known = {name: None for rule in registry.load_rules().values() for name in (rule.code, rule.family)}
    return [f"{done}{comma}{name}" for name in sorted(known) if name.lower().startswith(begun.lower())]


def _collect_stated(options: Mapping[str, Any], *, environment: bool) -> dict[str, Any]:
    """Return the checked settings from the command line, or from the environment."""
    context = click.get_current_context(silent=True)
    origin = config.ENVIRONMENT if environment else config.COMMAND_LINE
    table: dict[str, object] = {}
    for one in setting_fields():
        value = options.get(one.name)
        source = context.get_parameter_source(one.name) if context is not None else None
        if value is None or value == () or environment is not (source is ParameterSource.ENVIRONMENT):
            continue
        kind: ValueType[Any] = one.metadata["kind"]
        if kind is PER_FILE:
            value = _parse_per_file(value, origin)
        elif kind.many:
            value = [item.strip() for text in value for item in text.split(",") if item.strip()]
        table[one.metadata["option"] or toml_key(one.name)] = value
    # Options that are spelled differently from their keys are flags, which click has checked.
    renamed = {
        one.metadata["option"]: toml_key(one.name) for one in setting_fields() if one.metadata["option"]
    }
    return config.parse_table({renamed.get(name, name): value for name, value in table.items()}, origin)


def _parse_per_file(texts: Sequence[str], origin: str) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for text in texts:
        pattern, colon, codes = text.rpartition(":")
        if not colon:
            raise ConfigError(f"{origin}: `per-file-ignores` must be GLOB:CODE,CODE, not {text!r}")
        table.setdefault(pattern, []).extend(code.strip() for code in codes.split(",") if code.strip())
    return table


def find_common_folder(paths: Sequence[str]) -> str:
    """Return the folder that contains all ``paths``, whose settings apply to the run as a whole. Raises Failure."""
    try:
        folders = [os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path)) for path in paths]
        return os.path.commonpath(folders)
    except FileNotFoundError:
        raise Failure("the current folder no longer exists") from None
    except ValueError:  # several drives
        return os.curdir


cache_folder = click.option(
    "--cache-dir",
    metavar="DIR",
    type=PLACE,
    envvar=variable_name("cache_dir"),
    default=cache.default_folder,
    help="The folder that keeps results for later runs.  [default: the user's cache folder]",
)


add_session_options = combine_options(
    cache_folder,
    _create_flag("-v", "--verbose", about="Print which settings and files are used."),
    _create_flag("-q", "--quiet", about="Print findings and errors only."),
    click.option(
        "--color",
        envvar=variable_name("color"),
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="Color the output.",
    ),
    _create_flag("--exit-zero", about="Exit with 0 even if there are findings."),
    click.option("--statistics", is_flag=True, help="Print only the number of findings of each rule."),
    click.option(
        "--max-places",
        metavar="N",
        type=click.IntRange(0),
        default=10,
        show_default=True,
        help="Show the code of at most N places of one message; 0: of all.",
    ),
    _create_flag("--no-cache", about="Do not use or write the cache."),
    click.option("-o", "--output-file", metavar="FILE", type=PLACE, help="Write the report to a file."),
    click.option(
        "--stdin-filename",
        metavar="PATH",
        type=PLACE,
        help="The name of the file that is read from standard input (`-`).",
    ),
    add_settings,
    click.argument("paths", nargs=-1, metavar="[PATHS]...", type=PLACE),
)
"""The parameters of a `Session`, which `check` and `fix` share, as a decorator of a command."""
