"""The definition of a rule: its code, the symbols it watches, the versions it follows, and its check.

This module imports the standard library only, so that loading every rule stays cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from torchmigrate.model.torch_versions import Version, render_version
from torchmigrate.model.vocabulary import Kind, Safety, Sort

Function = TypeVar("Function", bound=Callable[..., Any])


class Calls(NamedTuple):
    """The calls of a symbol that matter to a rule."""

    giving: frozenset[str] = frozenset()
    """Keywords of which the call must pass at least one; empty for no condition."""
    without: frozenset[str] = frozenset()
    """Keywords that the call must not pass."""
    more_than: int = -1
    """The number of positional arguments that the call must exceed."""
    fewer_than: int = 1_000
    """The number of positional arguments that the call must stay below."""

    def union_with(self, other: Calls) -> Calls:
        """Return the calls that matter to this rule or to another one."""
        giving = self.giving | other.giving if self.giving and other.giving else frozenset[str]()
        more_than, fewer_than = min(self.more_than, other.more_than), max(self.fewer_than, other.fewer_than)
        return Calls(giving, self.without & other.without, more_than, fewer_than)


@dataclass(eq=False, slots=True)
class Rule:
    """A rule: everything that the engine, the command line and the documentation need to know about it.

    ``symbols`` are qualified names. A segment ``()`` stands for the result of a call
    (``torch.jit.script().save``), a trailing ``*`` for any rest of a name (``torch._C._jit_*``), a trailing ``<class>`` for the
    classes of the project that derive from one (``torch.autograd.Function.<class>``), a leading dot
    for an attribute of any object (``.to_torchscript``), a name without dots for a builtin (``slice``), and a leading dollar sign for a string literal that names
    an environment variable (``$TORCH_NCCL_NAN_CHECK``), or a module in a command (``$torch.distributed.launch``).

    ``since`` is the version in which the replacement appeared, ``deprecated`` and ``breaks`` those in which
    torch warns and fails; severity follows from them (see `torchmigrate.model.torch_versions.severity_at`).
    """

    code: str
    symbols: tuple[str, ...] = ()
    message: str = ""
    """One sentence on what is wrong and what to do; ``{symbol}`` is the symbol used. Empty if the check words each finding.

    ``{since}``, ``{deprecated}`` and ``{breaks}`` are the versions below.
    """
    since: Version | None = None
    deprecated: Version | None = None
    breaks: Version | None = None
    safety: Safety = Safety.MANUAL
    """The safety of the best fix that the rule can offer."""
    recipe: str = ""
    """What to do instead, in one line: the hint of a finding that has no fix, and whose reason does not say it."""
    default: bool = True
    """Whether the rule runs without being selected."""
    by_code: bool = False
    """Whether only its whole code, or ALL, selects the rule: no prefix and no family, as it is of use to few programs."""
    kinds: frozenset[Kind] = frozenset(Kind)
    """The kinds of uses that the rule checks."""
    artifact: bool = False
    """Whether the reported code writes, reads or serves a file of torch's, which has to be converted together with its readers."""
    asks: tuple[str, ...] = ()
    """Symbols of other rules whose uses in the project this rule asks about."""
    pairs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The symbols whose names are common words (``torch.load``), which the prefilter finds by their last two parts; each with
    identifiers of which a file must spell at least one for the symbol to matter there (none: no condition)."""
    calls: Mapping[str, Calls] = field(default_factory=dict)
    """The calls of those symbols that matter, if not all do; a use that is not a call always matters."""
    references: tuple[Sort, ...] = ()
    """The references in project files that the rule checks; it then checks no Python modules."""
    foreign: tuple[str, ...] = ()
    """Names in other languages that the rule watches, as `torchmigrate.foreign` spells them (``torch::jit::load``); a
    trailing ``*`` stands for any rest of a name, and the longest pattern of all rules that fits a name has it."""
    check_function: Callable[..., Any] | None = None
    """Takes a `torchmigrate.api.Use` and a `torchmigrate.api.Context`, and yields findings."""
    check_reference_function: Callable[..., Any] | None = None
    """Takes a reference in a project file and a `torchmigrate.documents.reference_context.ReferenceContext`."""
    check_foreign_function: Callable[..., Any] | None = None
    """Takes a `torchmigrate.foreign.foreign_use.ForeignUse` and a `torchmigrate.foreign.foreign_context.ForeignContext`."""
    note_function: Callable[..., Any] | None = None
    """Takes the same arguments as a check, and yields names of facts, or names with details."""
    name: str = ""
    """The rule's name, as its file is named; this field and the next two are set by `torchmigrate.engine.registry`."""
    family: str = ""
    doc: str = ""

    def check(self, function: Function) -> Function:
        """Register the decorated function, which turns a use into findings. Without one, every use is a finding."""
        self.check_function = function
        return function

    def check_reference(self, function: Function) -> Function:
        """Register the decorated function, which turns a reference in a project file into findings."""
        self.check_reference_function = function
        return function

    def check_foreign(self, function: Function) -> Function:
        """Register the decorated function, which turns a name in another language into findings. Without one, each is a finding."""
        self.check_foreign_function = function
        return function

    def note(self, function: Function) -> Function:
        """Register the decorated function, which notes facts about the project at each use of a symbol in ``asks``.

        Each name is afterwards found by `torchmigrate.project.project_facts.Project.find_uses`, like a symbol; given as a pair
        with what is noted of it (a tuple of pairs of names and literals), that is in `Mention.constants`. The
        function sees one file only, and runs whether or not the findings of any rule are wanted there.
        """
        self.note_function = function
        return function

    @property
    def watched_symbols(self) -> tuple[str, ...]:
        """All symbols that have to be found for this rule: its own, and those it asks about."""
        return (*self.symbols, *self.asks)

    @property
    def reads_modules(self) -> bool:
        """Whether the rule checks, or asks about, Python modules."""
        return bool(self.watched_symbols) or not (self.references or self.foreign)

    def fill_message(self, message: str, symbol: str) -> str:
        """Return a message with ``{symbol}`` and the rule's versions filled in."""
        message = message.replace("{symbol}", symbol)
        for name in ("since", "deprecated", "breaks"):
            version = getattr(self, name)
            message = message if version is None else message.replace(f"{{{name}}}", render_version(version))
        return message

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.strip().split("\n", 1)[0]
