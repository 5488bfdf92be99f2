"""The files of a project that a file imports, directly or through others, and those that import it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from torchmigrate.project.project_facts import Project

_IMPORT = re.compile(
    rb"^[ \t]*from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\r\n;#]*)"
    rb"|^[ \t]*import[ \t]+(?P<whole>[\w.]+)",
    re.MULTILINE,
)
_WORD = re.compile(rb"\w+")
_PROJECTS = r"(?!torch\b)"
"""The beginning of the name of a module outside of torch."""
_FIRST = r"(?:[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*)*"
"""The modules before one in a list of them."""
MOST_FILES = 200
"""The number of files after which no more imports are followed."""


def find_importing_files(project: Project, path: str) -> list[str]:
    """Return the paths of the other files that may import the module at ``path``, or something from it.

    Those that import a package from which it can be had, because the package imports it, are among them.
    """
    found = [path]
    for one in found:  # which grows
        if one == path or os.path.basename(one) == "__init__.py":
            found += [importer for importer in _find_importers(project, one) if importer not in found]
    return found[1:]


def _find_importers(project: Project, path: str) -> list[str]:
    stem = os.path.splitext(os.path.basename(path))[0]
    module = re.escape(os.path.basename(os.path.dirname(path)) if stem == "__init__" else stem)
    names = (
        rf"from\s+{_PROJECTS}[\w.]*\b{module}\s+import\b|import\s+{_FIRST}{_PROJECTS}[\w.]*\b{module}\b"
        rf"|from\s+{_PROJECTS}[\w.]+\s+import\b(?:.*|[ \t]*\([^)]*)\b{module}\b"
    )
    sought = (module,), (rf"(?m)^[ \t]*(?:{names})",)
    naming = project.compute_once(_index_imports, lambda: _index_imports(project)).get(module, [])
    return [importer for importer, _ in project.find_spellings(sought, beside=path, among=naming)]


def _index_imports(project: Project) -> dict[str, list[str]]:
    """Return the files that name a module of the project in an import, by the module's name.

    Following imports asks for hundreds of modules; to search all files for each would take a minute in a large project.
    """
    modules = {os.fsencode(name) for name in project.list_module_names()}
    found: dict[str, list[str]] = {}
    for path, text in project.read_files():
        for name in modules.intersection(_iter_imported_words(text)):
            found.setdefault(os.fsdecode(name), []).append(path)
    return found


def _iter_imported_words(text: bytes) -> Iterator[bytes]:
    """Yield the words of lines that begin with an import, and of the parentheses that it opens."""
    at = text.find(b"import")
    while at >= 0:
        begin = text.rfind(b"\n", 0, at) + 1
        before = text[begin:at].strip()
        end = at + len(b"import")
        if not before or before.startswith(b"from"):
            # Where nothing is found, -1 becomes the end of the text.
            if text[end : end + 80].lstrip(b" \t").startswith(b"("):
                end = text.find(b")", end) % (len(text) + 1)
            end = text.find(b"\n", end) % (len(text) + 1)
            yield from _WORD.findall(text, begin, end)
        at = text.find(b"import", end)


def find_imported_files(project: Project, path: str, text: bytes) -> list[str]:
    """Return the paths of files that the file at ``path`` with this ``text`` imports, directly or through others."""
    found = {path: None}
    waiting = [(path, text)]
    for importer, content in waiting:  # the list grows while it is walked
        for one in _iter_imports(project, importer, content):
            of_one = None if one in found or len(found) > MOST_FILES else project.read_code(one)
            if of_one is not None:
                found[one] = None
                waiting.append((one, of_one))
    return [one for one in found if one != path]


def find_direct_imports(project: Project, path: str, text: bytes) -> list[str]:
    """Return the paths of files that the file at ``path`` with this ``text`` imports itself."""
    return list(_iter_imports(project, path, text))


def _iter_imports(project: Project, path: str, text: bytes) -> Iterator[str]:
    links = project.create_links(path)
    for match in _IMPORT.finditer(text):
        module = (match["whole"] or match["module"]).decode().strip(".")
        parts, dots = module.split(".") if module else [], len(match["dots"] or b"")
        yield from links.iter_module_files(dots, parts)
        for name in re.findall(rb"\w+", match["names"] or b""):
            yield from links.iter_module_files(dots, [*parts, name.decode()])
