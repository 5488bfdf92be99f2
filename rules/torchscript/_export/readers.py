"""Who reads the file that a chain saves, in the whole project: its loaders move together with it, or nothing does.

Each file notes what it saves and loads, and why that could not change. From these notes every file draws the same
conclusion by itself: which saves and loads are of one file, and whether all of them can move.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix, NotYet
from torchmigrate.foreign.use import LANGUAGES, READS
from torchmigrate.project.modules import module_path

from .sizes import differs

if TYPE_CHECKING:
    from torchmigrate.api import Context
    from torchmigrate.project.mentions import Mention
    from torchmigrate.project.search import Sought

SAVED, LOADED = "TorchScript file saved", "TorchScript file loaded"

_SOURCES = {
    " .c .cc .cpp .cxx .h .hh .hpp .cu .cuh ": (
        r"torch::jit::(?:load|_load_for_mobile)|torch/script\.h",
        "C++",
    ),
    " .m .mm .swift ": (r"torch::jit::|LibTorch|TorchModule", "iOS"),
    " .java .kt .kts .scala ": (r"org\.pytorch\b|LiteModuleLoader|ai\.djl\b", "Java"),
    " .rs ": (r"CModule::load|\btch::|\bwasi_nn\b", "Rust"),
    " .cs .fs ": (r"\bTorchSharp\b|\bjit\.load\b", ".NET"),
    " .go ": (r"\bgotch\b|\bgotorch\b", "Go"),
    " .js .mjs .cjs .ts ": (r"torch-js|\bScriptModule\b", "JavaScript"),
    " .pbtxt ": (r"pytorch_libtorch|\"pytorch\"", "Triton"),
    " .py .pyi .ipynb ": (r"\bjit\s*\.\s*load\b", "Python that is not checked"),
}
"""What loads TorchScript in files that no rule looks into, by their suffixes, and how it is called."""

_TOOLS = {
    "pnnx": r"\bpnnx\b",
    "pytorch_libtorch": r"\bpytorch_libtorch\b",
    "torch-model-archiver": r"torch-model-archiver",
}
"""Names of tools that read TorchScript files, in what is checked."""


@dataclass(frozen=True)
class Link:
    """One save or load of a TorchScript file."""

    path: str
    line: int
    saves: bool
    name: str | None
    """What tells the file from others; see `torchmigrate.semantics.model_files.identify_file`."""
    reason: str | None
    """Why it cannot move."""
    renames: bool
    """Whether nothing else in its module names the file."""
    kept: str = ""
    """How others may reach what is loaded, see `Chain.kept`; separated by blanks."""
    sizes: str = ""
    """The sizes of the example, or of the calls of what is loaded, see `sizes`; without calls, the load is a check."""

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{self.path}:{self.line}"

    @cached_property
    def folder(self) -> str:
        """The folder of its module."""
        return os.path.dirname(self.path)

    @property
    def details(self) -> tuple[tuple[str, object], ...]:
        """What a rule notes of it."""
        fields = ("name", "reason", "renames", "kept", "sizes")
        return tuple((field, getattr(self, field)) for field in fields)


@dataclass(frozen=True, slots=True)
class Group:
    """The saves and loads of one file, in several modules."""

    name: str
    links: Sequence[Link]
    is_renamed: bool

    @property
    def paths(self) -> tuple[str, ...]:
        """The modules."""
        return tuple(sorted({link.path for link in self.links}))


def group_of(name: str | None, ctx: Context, *, is_saved: bool, is_read: bool) -> Group:
    """The saves and loads of the file ``name``, if all of them can move; this module saves or loads it. Raises
    NoFix, or NotYet where something else has to go first.
    """
    every = _links(ctx)
    here = os.path.dirname(ctx.source.path)
    links = _of_name(name, here, every)
    if not (is_saved and is_read) and len({link.saves for link in links}) < 2:
        links = _sole(here, every) or links
    if not is_saved and not any(link.saves for link in links):
        raise NotYet("something in the project exports the file: it must be exported again first")
    savers = {link.path for link in links if link.saves}
    is_read = is_read or any(not link.saves and (link.sizes or link.path not in savers) for link in links)
    known = bool(links) and is_read
    near = {here, *(link.folder for link in links)}
    for link in every:
        may_be = not link.saves and link.name is None and (link.folder in near or not known)
        if may_be and link not in links and link.path != ctx.source.path:
            raise NotYet(
                f"{link.place} no longer loads a TorchScript file, which may be the one that is saved"
            )
    if not is_read:
        reason = "nothing in the project loads the file, and what does would have to change with it"
        if named_readers(name, ctx):
            reason = "what loads the file would have to change with it"
        raise NoFix(f"{reason}{foreign_readers(name, ctx)}")
    if len([link for link in links if link.saves and link.path == ctx.source.path]) > 1:
        raise NoFix("the same file is saved elsewhere as well")
    for link in links:
        if link.reason is not None:
            raise NoFix(f"{link.place} {'saves' if link.saves else 'loads'} the file, too: {link.reason}")
    for example in (link.sizes for link in links if link.saves):
        for link in links:
            if not link.saves and differs(example, link.sizes):
                raise NoFix(
                    f"{link.place} may give it other sizes than the example's, which `dynamic_shapes` must free"
                )
    for link in every:
        if link in links or (name is None and link.path == ctx.source.path):
            _check_reach(link, ctx)
    if foreign := foreign_readers(name, ctx):
        raise NoFix(f"others may load the file, too{foreign}")
    named = next(_spelling(name, links, ctx), None) if name is not None else None
    if named is not None and len({link.path for link in links}) < 2:
        raise NoFix(f"{named} names the file, too, and what reads it there is not known here")
    is_plain = re.fullmatch(r"[\w. -]+\.pth?", name or "") is not None
    renamed = is_plain and named is None and all(link.renames for link in links)
    return Group(name or here, links, renamed)


def _links(ctx: Context) -> list[Link]:
    """Every save and load in the project."""
    noted = [ctx.project.uses(kind) for kind in (SAVED, LOADED)]
    # Made once for what is known of the project now, which the key keeps alive.
    _, links = ctx.uses.once((_links, *map(id, noted)), lambda: (noted, list(_linked(*noted))))
    return links


def _linked(saved: Sequence[Mention], loaded: Sequence[Mention]) -> Iterator[Link]:
    for saves, mentions in ((True, saved), (False, loaded)):
        for mention in mentions:
            yield Link(mention.path, mention.line, saves, **dict(mention.constants))  # type: ignore[arg-type]


def _of_name(name: str | None, here: str, every: Sequence[Link]) -> list[Link]:
    """The links of a name: those in one folder where it is both saved and loaded there, else all that are left."""
    if name is None:
        return []
    links = [link for link in every if link.name == name]
    closed = {
        folder
        for folder in {link.folder for link in links}
        if len({link.saves for link in links if link.folder == folder}) == 2
    }
    return [link for link in links if (link.folder == here if here in closed else link.folder not in closed)]


def _sole(here: str, every: Sequence[Link]) -> list[Link]:
    """The only save and the only load of a folder, where one does not say of which file it is, and nothing else fits."""
    links = [link for link in every if link.folder == here]
    if sorted(link.saves for link in links) != [False, True] or all(link.name for link in links):
        return []
    named = [link.name for link in links if link.name is not None]
    return [] if any(link.name in named and link not in links for link in every) else links


def _check_reach(link: Link, ctx: Context) -> None:
    """Raises NoFix if other modules may reach what is loaded there."""
    for kept in link.kept.split():
        owner, _, attribute = kept.rpartition(".")
        module = os.path.basename(module_path(os.path.realpath(link.path)))
        inside: Sought = (kept, module), (rf"\b{kept}\b", rf"\b{module}\b")
        sought = ((owner, f".{attribute}"), (rf"\.{attribute}\b",)) if owner else inside
        for path, line in _spelled(ctx, sought, {link.path}):
            if path.endswith((".py", ".pyi", ".ipynb")):
                raise NoFix(f"{path}:{line} may use what {link.place} loads in ways that are not known here")


def _spelling(name: str, links: Sequence[Link], ctx: Context) -> Iterator[str]:
    """Where else in the tree the file is named: in other modules, in documents and in scripts."""
    expression = rf"(?<![\w.-]){re.escape(name)}(?![\w-])"
    for path, line in _spelled(ctx, ((name,), (expression,)), {link.path for link in links}):
        yield f"{path}:{line}"
    for path, line, _ in ctx.elsewhere({_NAMING: expression}):
        yield f"{path}:{line}"


def _spelled(ctx: Context, sought: Sought, beside: Collection[str]) -> Iterator[tuple[str, int]]:
    """The files of the project, but for some, that spell what is sought, by their paths as they are shown."""
    places = {os.path.realpath(path) for path in beside}
    for place, line in ctx.project.spelling(sought, beside=""):
        if place not in places:
            yield ctx.project.shown(place), line


_MOST = 3
"""Readers in other languages that are named one by one."""
_NAMING = (
    " .sh .bash .bat .ps1 .yaml .yml .json .toml .cfg .ini .md .rst .txt makefile .mk .cmake .gitignore "
)


def named_readers(name: str | None, ctx: Context) -> dict[str, str]:
    """The first place in each other language that names the file, where these are looked at."""
    found: dict[str, str] = {}
    for mention in ctx.project.uses(READS) if name else ():
        noted = dict(mention.constants)
        if noted.get("file") == name:
            language = LANGUAGES.get(str(noted["language"]), "a build")
            found.setdefault(language, f"{mention.path}:{mention.line}")
    return found


def foreign_readers(name: str | None, ctx: Context) -> str:
    """What else in the tree may load the file, as the end of a sentence; empty if nothing does."""
    end = f"|(?<![\\w.-]){re.escape(name)}(?![\\w.-])" if name and "." in name else ""
    expressions = {
        suffixes: pattern + (end if ".py" not in suffixes else "")
        for suffixes, (pattern, _) in _SOURCES.items()
    }
    kinds = {suffixes: kind for suffixes, (_, kind) in _SOURCES.items()}
    found = named_readers(name, ctx)
    places = {place.rpartition(":")[0] for place in found.values()}
    for path, line, _ in ctx.elsewhere(expressions):
        if path in places:
            continue
        suffix = f" {os.path.splitext(path)[1].lower()} "
        kind = next((kind for suffixes, kind in kinds.items() if suffix in suffixes), "another language")
        found.setdefault(kind, f"{path}:{line}")
    for tool, expression in _TOOLS.items():
        for path, line in _spelled(ctx, ((tool,), (expression,)), places):
            found.setdefault(f"`{tool}`", f"{path}:{line}")
    said = "".join(f"; {kind} at {place}" for kind, place in [*found.items()][:_MOST])
    return said + (f"; and {len(found) - _MOST} more" if len(found) > _MOST else "")
