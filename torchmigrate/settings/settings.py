"""The settings of a run, each with its type, default and documentation.

The fields of `Settings` are the only description of the settings; parsing, command-line options, the JSON schema and the
documentation are generated from them.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass, field
from typing import Any

from torchmigrate.model import torch_versions
from torchmigrate.model.torch_versions import Version
from torchmigrate.project.ignores import EXCLUDE, Excludes
from torchmigrate.settings.value_types import (
    ARCHITECTURES,
    CODES,
    FILE,
    FLAG,
    GLOBS,
    JOBS,
    MINIMUM,
    PER_FILE,
    SHOWN,
    VARIANT,
    VERSION,
    T,
    ValueType,
    create_choice,
)


def define_setting(kind: ValueType[T], default: T, help: str, *, metavar: str = "", option: str = "") -> T:  # noqa: A002
    """Define a field of `Settings`; ``option`` is its command-line name where that differs from its key."""
    metadata = {"kind": kind, "help": help, "metavar": metavar, "option": option}
    declared: T = field(default=default, metadata=metadata)
    return declared


ADVICE = "AD"
"""The code prefix of the family whose rules are off unless selected."""

_PRESENTATION = frozenset(
    ["baseline", "exclude", "extend_exclude", "fail_on", "force_exclude", "jobs", "output_format", "show"]
)
"""Settings that do not affect which findings a file has, only which files are checked and how findings are shown."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run. Picklable; keys in TOML are the field names with hyphens."""

    select: tuple[str, ...] = define_setting(
        CODES, (), "Rules to report, by code, prefix or family; ALL for every rule.", metavar="CODES"
    )
    ignore: tuple[str, ...] = define_setting(CODES, (), "Rules not to report.", metavar="CODES")
    extend_select: tuple[str, ...] = define_setting(
        CODES, (), "Rules to report besides those selected.", metavar="CODES"
    )
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = define_setting(
        PER_FILE, (), "Rules not to report in the files that a pattern matches.", metavar="GLOB:CODES"
    )
    target_version: Version = define_setting(
        VERSION,
        torch_versions.NEWEST,
        "The torch to upgrade to; it determines the severities.",
        metavar="VERSION",
    )
    min_version: Version | None = define_setting(
        MINIMUM,
        None,
        "The oldest torch that the project still supports; no fix needs a newer one. auto: the lower bound in "
        f"the project's metadata, else {torch_versions.render_version(torch_versions.OLDEST)}.",
        metavar="VERSION|auto",
    )
    exclude: tuple[str, ...] = define_setting(
        GLOBS, EXCLUDE, "Patterns of files to leave out, as in .gitignore.", metavar="GLOBS"
    )
    extend_exclude: tuple[str, ...] = define_setting(
        GLOBS, (), "Patterns of files to leave out besides `exclude`.", metavar="GLOBS"
    )
    force_exclude: bool = define_setting(
        FLAG, False, "Leave out excluded files even when they are given explicitly."
    )
    fail_on: str = define_setting(
        create_choice("error", "warning", "info"),
        "warning",
        "The lowest severity that sets the exit status to 1.",
    )
    baseline: str = define_setting(
        FILE,
        "",
        "A file of known findings to leave out, written by `check --write-baseline`.",
        metavar="FILE",
    )
    unsafe_fixes: bool = define_setting(
        FLAG, False, "Include fixes that are usually right, but not always.", option="unsafe"
    )
    output_format: str = define_setting(
        create_choice(
            *("full", "concise", "json", "github", "gitlab", "azure", "junit", "sarif", "rdjson", "markdown"),
            "diff",
        ),
        "full",
        "Output format of the findings; diff is for `fix`.",
    )
    show: tuple[str, ...] = define_setting(
        SHOWN,
        (),
        "Severities and rules that text formats list one by one, besides errors and warnings; others are "
        "counted.",
        metavar="SEVERITIES|CODES",
    )
    device_agnostic: bool = define_setting(
        FLAG,
        False,
        "Write torch.accelerator instead of a device's own module where possible, and advise it everywhere.",
    )
    script_replacement: str = define_setting(
        create_choice("compile", "eager"), "compile", "The replacement for torch.jit.script."
    )
    keep_torchscript_support: bool = define_setting(
        FLAG, True, "Keep markers that only TorchScript reads, such as torch.jit.ignore."
    )
    export_unread_files: bool = define_setting(
        FLAG, False, "Also export TorchScript files that nothing in the project loads."
    )
    jobs: int = define_setting(
        JOBS,
        0,
        "The number of processes for many files; 0 means one per core.",
        metavar="N",
    )
    gpu_architectures: tuple[str, ...] = define_setting(
        ARCHITECTURES, (), "Compute capabilities of the project's GPUs.", metavar="ARCHS"
    )
    cuda: str = define_setting(
        VARIANT,
        "",
        "The CUDA build of torch to move to, such as cu126; default: the nearest to the present one.",
        metavar="BUILD",
    )
    relax: bool = define_setting(
        FLAG, False, "Let fixes also change the pins and bounds that block a newer torch."
    )
    allow_unverified_images: bool = define_setting(
        FLAG, False, "Let fixes name images whose tag is regular, but that nobody has seen yet."
    )
    resolve: bool = define_setting(
        FLAG,
        False,
        "Ask uv or pip over the network which releases fit together with the new torch; command line only.",
    )

    def digest_values(self) -> bytes:
        """Return a text with the values of all settings that can affect findings."""
        values = [
            (one.name, getattr(self, one.name)) for one in setting_fields() if one.name not in _PRESENTATION
        ]
        return repr(values).encode()

    @property
    def wants_edits(self) -> bool:
        """Whether the report contains the edits of fixes."""
        return self.output_format in ("json", "rdjson", "sarif")

    @property
    def selectors(self) -> tuple[str, ...]:
        """All codes, prefixes and families that the settings select or ignore, sorted."""
        in_files = [code for _, codes in self.per_file_ignores for code in codes]
        return tuple(sorted({*self.select, *self.ignore, *self.extend_select, *in_files}))

    @property
    def excluded(self) -> tuple[str, ...]:
        """All patterns of excluded files."""
        return self.exclude + self.extend_exclude

    def is_selected(self, code: str, family: str, default_on: bool, by_code: bool = False) -> bool:
        """Return whether the rule ``code`` of the family named ``family`` is selected.

        The most specific selector that matches decides, as in ruff: a longer prefix over a shorter one, a prefix over a family, a
        family over ALL; between equals, ``ignore`` wins. ``by_code``: only the whole code selects the rule, or ALL.
        """
        chosen = _rank_selector((*self.select, *self.extend_select), code, family)
        if by_code and 0 < chosen < len(code):
            chosen = -1
        if not self.select and default_on:
            chosen = max(chosen, 0)
        return chosen >= 0 and chosen > _rank_selector(self.ignore, code, family)

    def is_ignored_in(self, path: str, code: str, family: str) -> bool:
        """Return whether ``per-file-ignores`` ignores the rule ``code`` in the file at ``path``."""
        return any(
            _rank_selector(codes, code, family) >= 0 and _compile_pattern(pattern).is_excluded_above(path)
            for pattern, codes in self.per_file_ignores
        )

    def is_listed(self, code: str, severity: str) -> bool:
        """Return whether text formats list the findings of ``code`` one by one, by ``show`` or because the rule is selected by name.

        Advice is off by default, so any selector of it but ALL counts as selected by name.
        """
        chosen = self.select + self.extend_select
        return (
            severity in ("error", "warning", *self.show)
            or code.upper() in (selector.upper() for selector in self.show + chosen)
            or (code.startswith(ADVICE) and _rank_selector(chosen, code, "advice") > 0)
        )


def _rank_selector(selectors: tuple[str, ...], code: str, family: str) -> int:
    """Return how specific the best of ``selectors`` is: -1 no match, 0 ALL, 1 the family, else the prefix's length."""
    best = -1
    for selector in selectors:
        upper = selector.upper()
        if code.upper().startswith(upper):
            best = max(best, len(upper))
        elif upper == family.upper():
            best = max(best, 1)
        elif upper == "ALL":
            best = max(best, 0)
    return best


@functools.cache
def _compile_pattern(pattern: str) -> Excludes:
    return Excludes.from_patterns((pattern,))


def setting_fields() -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields of `Settings`, in the order of the documentation."""
    return dataclasses.fields(Settings)


def toml_key(name: str) -> str:
    """Return the key in TOML of the field ``name``."""
    return name.replace("_", "-")


def default_to_toml(one: dataclasses.Field[Any]) -> object:
    """Return the default of a field of `Settings` as TOML writes it."""
    return value_to_toml(one, one.default)


def value_to_toml(one: dataclasses.Field[Any], value: Any) -> object:
    """Return a value of a field of `Settings` as TOML writes it."""
    kind: ValueType[Any] = one.metadata["kind"]
    if kind is MINIMUM and value is None:
        return "auto"
    if kind in (VERSION, MINIMUM):
        return torch_versions.render_version(value)
    if kind is PER_FILE:
        return {pattern: list(codes) for pattern, codes in value}
    return list(value) if isinstance(value, tuple) else value
