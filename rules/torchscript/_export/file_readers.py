"""The saves and loads of one file in the whole project: all of them change together, or none.

Each module notes what it saves and loads, and why that could not change. From these notes every module draws the same
conclusion by itself: which saves and loads are of one file, and whether all of them can change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix, NotYet
from torchmigrate.foreign.foreign_use import FILE_READ, LANGUAGES
from torchmigrate.project.module_paths import get_module_path

from .input_sizes import are_refused

if TYPE_CHECKING:
    from torchmigrate.api import Context
    from torchmigrate.project.mentions import Mention
    from torchmigrate.project.text_search import Sought

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
    " .py .pyi .ipynb ": (r"\bjit\s*\.\s*load\b", "unchecked Python"),
}
"""Files that no rule checks, by their suffixes: the expressions that load TorchScript there, and the name of the language."""

_TOOLS = {
    "pnnx": r"\bpnnx\b",
    "pytorch_libtorch": r"\bpytorch_libtorch\b",
    "torch-model-archiver": r"torch-model-archiver",
}
"""Tools that read TorchScript files, and the expressions that find them in the checked files."""


@dataclass(frozen=True)
class FileLink:
    """One save or load of a TorchScript file."""

    path: str
    line: int
    saves: bool
    name: str | None
    """The name that identifies the file in the project, where the code spells one."""
    reason: str | None
    """Why the save or load cannot change."""
    renames: bool
    """Whether the file can get another name in this module."""
    kept: str = ""
    """The names under which other modules may reach the loaded module, separated by blanks; see `ResultChain.kept`."""
    sizes: str = ""
    """The sizes of the example of a save, or of the calls of a load; empty where nothing calls it."""

    @property
    def place(self) -> str:
        """The path and 1-based line."""
        return f"{self.path}:{self.line}"

    @cached_property
    def folder(self) -> str:
        """The folder of its module."""
        return os.path.dirname(self.path)

    @property
    def details(self) -> tuple[tuple[str, object], ...]:
        """The fields that are noted for other modules."""
        fields = ("name", "reason", "renames", "kept", "sizes")
        return tuple((field, getattr(self, field)) for field in fields)


@dataclass(frozen=True, slots=True)
class FileGroup:
    """The saves and loads of one file, in several modules."""

    name: str
    links: Sequence[FileLink]
    is_renamed: bool

    @property
    def paths(self) -> tuple[str, ...]:
        """The modules that save or load the file."""
        return tuple(sorted({link.path for link in self.links}))


def find_group(name: str | None, ctx: Context, *, is_saved: bool, is_read: bool) -> FileGroup:
    """Return the saves and loads of the file ``name``, which this module saves or loads, if all of them can change.

    Raise NoFix, or NotYet where something else has to change first.
    """
    every = _get_links(ctx)
    here = os.path.dirname(ctx.source.path)
    links = _select_by_name(name, here, every)
    if not (is_saved and is_read) and len({link.saves for link in links}) < 2:
        links = _select_sole_pair(here, every) or links
    if not is_saved and not any(link.saves for link in links):
        raise NotYet("the project saves this file with `torch.export.save`")
    savers = {link.path for link in links if link.saves}
    is_read = is_read or any(not link.saves and (link.sizes or link.path not in savers) for link in links)
    near = {here, *(link.folder for link in links)} if links and is_read else {link.folder for link in every}
    for link in every:
        is_unnamed = not link.saves and link.name is None and link.path != ctx.source.path
        if is_unnamed and link.folder in near and link not in links:
            raise NotYet(f"{link.place}, which may load this file, no longer loads TorchScript")
    if not is_read:
        reason = "nothing in the project loads this file, and the program that does has to change as well"
        if find_named_readers(name, ctx):
            reason = "the code that loads this file has to change as well"
        foreign = describe_foreign_readers(name, ctx)
        raise NoFix(f"{reason}: {foreign}" if foreign else reason)
    _check_links(links, ctx)
    for link in every:
        if link in links or (name is None and link.path == ctx.source.path):
            _check_reach(link, ctx)
    if foreign := describe_foreign_readers(name, ctx):
        raise NoFix(f"other programs may load this file: {foreign}")
    named = next(_find_mentions(name, links, ctx), None) if name is not None else None
    if named is not None and len({link.path for link in links}) < 2:
        raise NoFix(f"{named} also mentions this file, and it is unclear what loads it from there")
    is_plain = re.fullmatch(r"[\w. -]+\.pth?", name or "") is not None
    renamed = is_plain and named is None and all(link.renames for link in links)
    return FileGroup(name or here, links, renamed)


def _check_links(links: Sequence[FileLink], ctx: Context) -> None:
    """Raise NoFix where one of the saves and loads of a file cannot change, or calls it with other sizes than the example."""
    mine = sorted(link.line for link in links if link.saves and link.path == ctx.source.path)
    if len(mine) > 1:
        raise NoFix(f"lines {' and '.join(map(str, mine))} save the same file")
    for link in links:
        if link.reason is not None:
            raise NoFix(
                f"{link.place} also {'saves' if link.saves else 'loads'} this file and has no fix: {link.reason}"
            )
    for example in (link.sizes for link in links if link.saves):
        for link in links:
            if not link.saves and are_refused(example, link.sizes):
                raise NoFix(
                    f"{link.place} calls the module with sizes that an export of this example refuses"
                )


def _get_links(ctx: Context) -> list[FileLink]:
    """Return all saves and loads in the project."""
    noted = ctx.project.find_uses(SAVED), ctx.project.find_uses(LOADED)
    # Facts about the project may grow: the ids tell whether these lists are the current ones, and the value keeps the
    # lists alive, so that no other list gets their ids.
    _, links = ctx.uses.compute_once(
        (_get_links, *map(id, noted)), lambda: (noted, list(_parse_links(*noted)))
    )
    return links


def _parse_links(saved: Sequence[Mention], loaded: Sequence[Mention]) -> Iterator[FileLink]:
    for saves, mentions in ((True, saved), (False, loaded)):
        for mention in mentions:
            yield FileLink(mention.path, mention.line, saves, **dict(mention.constants))  # type: ignore[arg-type]


def _select_by_name(name: str | None, here: str, every: Sequence[FileLink]) -> list[FileLink]:
    """Return the links of a name: in ``here`` if that folder saves and loads the file, else in all folders that do not do both."""
    if name is None:
        return []
    links = [link for link in every if link.name == name]
    closed = {
        folder
        for folder in {link.folder for link in links}
        if len({link.saves for link in links if link.folder == folder}) == 2
    }
    return [link for link in links if (link.folder == here if here in closed else link.folder not in closed)]


def _select_sole_pair(here: str, every: Sequence[FileLink]) -> list[FileLink]:
    """Return the only save and the only load of a folder, where one has no name and no other link fits."""
    links = [link for link in every if link.folder == here]
    if sorted(link.saves for link in links) != [False, True] or all(link.name for link in links):
        return []
    named = [link.name for link in links if link.name is not None]
    return [] if any(link.name in named and link not in links for link in every) else links


def _check_reach(link: FileLink, ctx: Context) -> None:
    """Raise NoFix where other modules may reach the loaded module."""
    for kept in link.kept.split():
        owner, _, attribute = kept.rpartition(".")
        module = os.path.basename(get_module_path(os.path.realpath(link.path)))
        inside: Sought = (kept, module), (rf"\b{kept}\b", rf"\b{module}\b")
        sought = ((owner, f".{attribute}"), (rf"\.{attribute}\b",)) if owner else inside
        for path, line in _search_project(ctx, sought, {link.path}):
            if path.endswith((".py", ".pyi", ".ipynb")):
                raise NoFix(
                    f"{path}:{line} may use the module that {link.place} loads, and it is unclear how"
                )


def _find_mentions(name: str, links: Sequence[FileLink], ctx: Context) -> Iterator[str]:
    """Yield the other places that name the file: in modules, documents and scripts."""
    expression = rf"(?<![\w.-]){re.escape(name)}(?![\w-])"
    for path, line in _search_project(ctx, ((name,), (expression,)), {link.path for link in links}):
        yield f"{path}:{line}"
    for path, line, _ in ctx.search_elsewhere({_NAMING: expression}):
        yield f"{path}:{line}"


def _search_project(ctx: Context, sought: Sought, beside: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield the path to show and the 1-based line of each file of the project, but for ``beside``, that matches."""
    places = {os.path.realpath(path) for path in beside}
    for place, line in ctx.project.find_spellings(sought, beside=""):
        if place not in places:
            yield ctx.project.get_display_path(place), line


_MOST = 3
"""How many foreign readers a message names."""
_NAMING = (
    " .sh .bash .bat .ps1 .yaml .yml .json .toml .cfg .ini .md .rst .txt makefile .mk .cmake .gitignore "
)


def find_named_readers(name: str | None, ctx: Context) -> dict[str, str]:
    """Return the first place, for each other language, that names the file in a checked source."""
    found: dict[str, str] = {}
    for mention in ctx.project.find_uses(FILE_READ) if name else ():
        noted = dict(mention.constants)
        if noted.get("file") == name:
            language = LANGUAGES.get(str(noted["language"]), "a build")
            found.setdefault(language, f"{mention.path}:{mention.line}")
    return found


def describe_foreign_readers(name: str | None, ctx: Context) -> str:
    """Return what else in the tree may load the file, with its places, as a list for a sentence; empty if nothing does."""
    end = f"|(?<![\\w.-]){re.escape(name)}(?![\\w.-])" if name and "." in name else ""
    expressions = {
        suffixes: pattern + (end if ".py" not in suffixes else "")
        for suffixes, (pattern, _) in _SOURCES.items()
    }
    found = find_named_readers(name, ctx)
    places = {place.rpartition(":")[0] for place in found.values()}
    for path, line, _ in ctx.search_elsewhere(expressions):
        if path in places:
            continue
        suffix = f" {os.path.splitext(path)[1].lower()} "
        kind = next((k for suffixes, (_, k) in _SOURCES.items() if suffix in suffixes), "another language")
        found.setdefault(kind, f"{path}:{line}")
    for tool, expression in _TOOLS.items():
        for path, line in _search_project(ctx, ((tool,), (expression,)), places):
            found.setdefault(f"`{tool}`", f"{path}:{line}")
    shown = [f"{kind} at {place}" for kind, place in [*found.items()][:_MOST]]
    return ", ".join(shown) + (f" and {len(found) - _MOST} more" if len(found) > _MOST else "")
