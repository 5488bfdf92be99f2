"""Lists every use of TorchScript and of stream-capture queries in a package: `python -m tests.ecosystem.oracle FOLDER`.

This is what the tool is measured against, so it shares no code with it and is built the other way round: plain `ast`,
all scopes of a file in one flat table, every binding of a name believed at once. It finds too much rather than too
little; what it cannot be sure of, it marks (`rebound`, or a name that starts with `?`).
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

CAPTURE = "is_current_stream_capturing"
WATCHED = re.compile(
    r"torch\.jit(\.|$)|torch\._jit_internal(\.|$)|torch\._C\.(_jit_|_get_tracing_state$|_cuda_isCurrentStreamCapturing$)"
    rf"|(.*\.)?{CAPTURE}$"
)
QUOTED = re.compile(
    r"(.*\.)?(?P<name>torch\.(_?jit|_C\._jit)[\w.]*|torch\._C\._cuda_isCurrentStreamCapturing)$"
)
# A file without one of these can only use a watched symbol under a name that another file gave it, and so can one that
# never says "torch". The decorators of other compilers are no sign of it, nor is a package of that name next to the file;
# there are packages with little else.
TOKENS = re.compile(
    rb"(?<!cute\.)(?<!triton\.)(?<!from \.)(?<!from \.\.)(?<!from \.\.\.)(?<!\w)jit(?!\w)|(?<!\w)_jit_"
    rb"|[cC]urrent_?[sS]tream_?[cC]apturing|_get_tracing_state"
)

BINDING = (ast.stmt, ast.arg, ast.ExceptHandler, ast.comprehension, ast.withitem, ast.NamedExpr)


@dataclass(frozen=True)
class Use:
    """One place that names a watched symbol.

    ``line``, ``end_line`` and ``column`` are 1-based, columns count characters. ``name`` is the dotted name of the
    symbol in torch, ``?.leaf`` where its base is unknown. ``form`` is the syntactic place: call, decorator, annotation,
    isinstance, string, import, reference, … ``via`` says how the name got there: ``direct`` (an import of torch),
    ``alias`` (an assignment), ``re-export`` (another module of the package) or ``unknown``. ``rebound``: the name is
    also bound to something else somewhere in its file, or in the file that it comes from.
    """

    path: str
    line: int
    column: int
    end_line: int
    name: str
    form: str
    via: str
    rebound: bool
    source: str


@dataclass(frozen=True)
class Meaning:
    """A dotted name that an expression may stand for; ``via`` and ``rebound`` as in `Use`."""

    name: str
    via: str = "direct"
    rebound: bool = False

    def attribute(self, name: str) -> Meaning:
        """The meaning of ``.name`` of this."""
        return replace(self, name=f"{self.name}.{name}")


@dataclass
class Module:
    """Every name that one file binds anywhere: to imports, to expressions, or to something opaque."""

    path: Path
    name: str
    imports: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    aliases: dict[str, list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    opaque: set[str] = field(default_factory=set)
    stars: list[str] = field(default_factory=list)

    def read(self, tree: ast.Module) -> None:
        """Notes every binding in the tree of the file."""
        for node in ast.walk(tree):
            if isinstance(node, BINDING):
                self._bind(node)

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    name = alias.name if alias.asname else alias.name.split(".")[0]
                    self.imports[alias.asname or name].append(name)
            case ast.ImportFrom(names=names):
                source = self.source_of(node)
                for alias in names:
                    if alias.name == "*":
                        self.stars.append(source)
                    else:
                        self.imports[alias.asname or alias.name].append(f"{source}.{alias.name}")
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
            ):
                self._assign(target, value)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.opaque.add(name)
            case ast.arg(arg=name):
                self.opaque.add(name)
            case ast.ExceptHandler(name=str(name)):
                self.opaque.add(name)
            case ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target):
                self._hide(target)
            case ast.withitem(optional_vars=ast.expr() as target):
                self._hide(target)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(id=name), ast.Constant(value=None):
                self.imports[
                    name
                ] += []  # the fallback of an optional import: bound, and not to anything else
            case (
                ast.Name(id=name),
                ast.Call(
                    func=ast.Attribute(attr="importorskip" | "import_module"),
                    args=[ast.Constant(value=str(module)), *_],
                ),
            ):
                self.imports[name].append(module)
            case ast.Name(id=name), (
                ast.Name()
                | ast.Attribute()
                | ast.IfExp()
                | ast.BoolOp()
                | ast.Call(func=ast.Name(id="getattr"))
            ):
                self.aliases[name].append(value)
            case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), ast.Tuple(elts=values)) if len(
                targets
            ) == len(values):
                for one, other in zip(targets, values, strict=True):
                    self._assign(one, other)
            case _:
                self._hide(target)

    def _hide(self, target: ast.expr) -> None:
        self.opaque.update(
            node.id
            for node in ast.walk(target)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )

    def source_of(self, node: ast.ImportFrom) -> str:
        """The absolute name of the module that a ``from … import`` reads."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        parts = parts[: len(parts) - node.level + (self.path.stem == "__init__")]
        return ".".join([*parts, node.module] if node.module else parts)

    def binds(self, name: str) -> bool:
        """Whether the file binds the name, except by a star import."""
        return name in self.imports or name in self.aliases or name in self.opaque


class Package:
    """All files under one folder, parsed when they are first needed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = sorted(
            path for suffix in ("py", "pyi") for path in root.rglob(f"*.{suffix}") if path.is_file()
        )
        self.paths = {
            self._name(path): path for path in sorted(self.files, key=lambda path: path.suffix, reverse=True)
        }
        self.unparsed: dict[str, str] = {}
        self._modules: dict[Path, Module] = {}
        self._meanings: dict[tuple[Path, str], tuple[Meaning, ...]] = {}
        self._active: set[tuple[Path, str]] = set()

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def parse(self, path: Path) -> ast.Module | None:
        """The tree of a file, or None where it does not parse; the reason is then in `unparsed`."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(path.read_bytes())
        except (SyntaxError, ValueError, RecursionError) as error:
            self.unparsed[path.relative_to(self.root).as_posix()] = str(error)
            return None

    def module(self, path: Path, tree: ast.Module | None = None) -> Module:
        """What a file binds: nothing, where it does not parse."""
        if path not in self._modules:
            self._modules[path] = module = Module(path, self._name(path))
            if tree := tree or self.parse(path):
                module.read(tree)
        return self._modules[path]

    def canonical(self, meaning: Meaning) -> Iterator[Meaning]:
        """Follows a name of the package itself to whatever the module that it comes from binds it to."""
        if meaning.name.startswith("torch.") and WATCHED.match(meaning.name):
            yield meaning  # torch's own files would lead on to where it is defined
            return
        parts = meaning.name.split(".")
        for length in range(len(parts), 0, -1):
            path = self.paths.get(".".join(parts[:length]))
            if path is None:
                continue
            targets = self.lookup(self.module(path), parts[length]) if length < len(parts) else ()
            if not targets:
                break
            for target in targets:
                name = ".".join([target.name, *parts[length + 1 :]])
                yield Meaning(name, "re-export", meaning.rebound or target.rebound)
            return
        yield meaning

    def lookup(self, module: Module, name: str) -> tuple[Meaning, ...]:
        """Everything that a name may stand for anywhere in a file."""
        key = module.path, name
        if key in self._active:
            return ()
        if key not in self._meanings:
            self._active.add(key)
            found = tuple(dict.fromkeys(self._lookup(module, name)))
            self._active.remove(key)
            if self._active:  # a cycle of imports may have hidden something: right here, and not to be kept
                return found
            self._meanings[key] = found
        return self._meanings[key]

    def _lookup(self, module: Module, name: str) -> Iterator[Meaning]:
        imports, aliases = module.imports.get(name, []), module.aliases.get(name, [])
        rebound = name in module.opaque or len({*imports, *(ast.dump(alias) for alias in aliases)}) > 1
        for target in imports:
            yield from self.canonical(Meaning(target, rebound=rebound))
        for alias in aliases:
            for meaning in self.meanings(module, alias):
                via = "alias" if meaning.via == "direct" else meaning.via
                yield Meaning(meaning.name, via, meaning.rebound or rebound)
        if not module.binds(name) and not hasattr(builtins, name):
            for star in module.stars:
                yield from self.canonical(Meaning(f"{star}.{name}"))

    def meanings(self, module: Module, node: ast.expr) -> Sequence[Meaning]:
        """The dotted names that an expression may stand for; nothing where it stands for no name."""
        match node:
            case ast.Name(id=name):
                return self.lookup(module, name)
            case (
                ast.Attribute(value=base, attr=name)
                | ast.Call(func=ast.Name(id="getattr"), args=[base, ast.Constant(value=str(name)), *_])
            ):
                found = (self.canonical(meaning.attribute(name)) for meaning in self.meanings(module, base))
                return [meaning for group in found for meaning in group]
            case ast.IfExp(body=first, orelse=second) | ast.BoolOp(values=[first, second]):
                either = [*self.meanings(module, first), *self.meanings(module, second)]
                return [replace(meaning, rebound=True) for meaning in either]
            case ast.NamedExpr(value=value):
                return self.meanings(module, value)
        return ()


class Finder:
    """Walks one file and collects its uses."""

    def __init__(self, package: Package, module: Module) -> None:
        self.package = package
        self.module = module
        self.lines = re.split("\r\n|\r|\n", module.path.read_bytes().decode("utf-8-sig", "replace"))
        self.uses: list[Use] = []

    def visit(self, node: ast.AST, form: str = "reference") -> None:
        """Records the node, or looks inside it; ``form`` is the place that its parent gives it."""
        match node:
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.Name() | ast.Attribute():
                if not self._name(node, form) and isinstance(node, ast.Attribute):
                    self.visit(node.value, form if form.endswith("annotation") else "reference")
            case ast.Call():
                self._call(node, form)
            case ast.Constant(value=str(text)):
                self._string(node, text, form)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._definition(node)
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                self.visit(target)
                self.visit(annotation, "annotation")
                if value is not None:
                    self.visit(value, "alias")
            case ast.arg(annotation=annotation):
                if annotation is not None:
                    self.visit(annotation, "annotation")
            case ast.Assign(targets=targets, value=value):
                self.visit(value, "alias")
                for assigned in targets:
                    self.visit(assigned)
            case ast.Expr(value=ast.Constant()):
                pass  # a docstring
            case _:
                for child in ast.iter_child_nodes(node):
                    self.visit(child, form if form.endswith("annotation") else "reference")

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            called = isinstance(decorator, ast.Call)
            self.visit(decorator, "decorator with arguments" if called else "decorator")
        if isinstance(node, ast.ClassDef):
            for base in (*node.bases, *(keyword.value for keyword in node.keywords)):
                self.visit(base, "base class")
        else:
            arguments = node.args
            for default in (*arguments.defaults, *arguments.kw_defaults):
                if default is not None:
                    self.visit(default, "default")
            for argument in ast.walk(arguments):
                if isinstance(argument, ast.arg):
                    self.visit(argument)
            if node.returns is not None:
                self.visit(node.returns, "annotation")
        for statement in node.body:
            self.visit(statement)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """An import statement names what it binds, and the module that it reads."""
        for alias in node.names:
            name = alias.name
            if isinstance(node, ast.ImportFrom):
                source = self.module.source_of(node)
                name = source if alias.name == "*" else f"{source}.{alias.name}"
            for meaning in dict.fromkeys(self.package.canonical(Meaning(name))):
                self._record(alias, meaning, "star import" if alias.name == "*" else "import")

    def _name(self, node: ast.Name | ast.Attribute, form: str) -> bool:
        if not isinstance(node.ctx, ast.Load):
            if isinstance(node, ast.Name):
                return False
            form = "assignment" if isinstance(node.ctx, ast.Store) else "deletion"
        found = [self._record(node, meaning, form) for meaning in self.package.meanings(self.module, node)]
        if any(found):
            return True
        if isinstance(node, ast.Attribute) and node.attr == CAPTURE:
            self._record(node, Meaning(f"?.{CAPTURE}", "unknown"), form)
        return False

    def _call(self, node: ast.Call, form: str) -> None:
        found = [
            self._record(node, meaning, "getattr") for meaning in self.package.meanings(self.module, node)
        ]
        if any(found):
            return
        function = node.func
        self.visit(function, form if form.startswith("decorator") else "call")
        leaf = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        arguments = node.args
        match arguments:
            # hasattr(torch.jit, "script"), monkeypatch.setattr(torch.cuda, "…", …), mock.patch.object(…): one use
            case [base, ast.Constant(value=str(name)), *rest] if name.isidentifier():
                found = [
                    self._record(node, meaning.attribute(name), leaf)
                    for meaning in self.package.meanings(self.module, base)
                ]
                arguments = rest if any(found) else arguments
            case [tested, classes] if leaf in ("isinstance", "issubclass"):
                for one in classes.elts if isinstance(classes, ast.Tuple) else [classes]:
                    self.visit(one, "isinstance")
                arguments = [tested]
            case [function, *rest] if leaf == "partial":
                self.visit(function, "partial")
                arguments = rest
        for argument in arguments:
            self.visit(argument, "argument")
        for keyword in node.keywords:
            self.visit(keyword.value, "argument")

    def _string(self, node: ast.Constant, text: str, form: str) -> None:
        if form == "annotation":
            try:
                expression = ast.parse(text, mode="eval").body
            except (SyntaxError, ValueError):
                return
            for child in ast.walk(expression):
                ast.copy_location(child, node)
            self.visit(expression, "string annotation")
        elif found := QUOTED.match(text):
            self._record(node, Meaning(found["name"]), "string")
        elif text == CAPTURE or text.endswith(f".{CAPTURE}"):
            self._record(
                node, Meaning(text if text.startswith("torch.") else f"?.{CAPTURE}", "unknown"), "string"
            )

    def _record(self, node: ast.expr | ast.alias, meaning: Meaning, form: str) -> bool:
        if not WATCHED.match(meaning.name):
            return False
        line = self.lines[node.lineno - 1]
        column = len(line.encode()[: node.col_offset].decode("utf-8", "replace")) + 1
        use = Use(
            path=self.module.path.relative_to(self.package.root).as_posix(),
            line=node.lineno,
            column=column,
            end_line=node.end_lineno or node.lineno,
            name=meaning.name,
            form=form,
            via=meaning.via,
            rebound=meaning.rebound,
            source=line.strip()[:160],
        )
        if use not in self.uses:
            self.uses.append(use)
        return True


def uses_of(package: Package) -> list[Use]:
    """Every use in a package, by path and line.

    Files that hold a token are looked at first; then, again and again, those that hold a name which the files so far
    gave to a watched symbol.
    """
    data = {path: path.read_bytes() for path in package.files}
    waiting = set(data)
    chosen = [path for path in sorted(waiting) if b"torch" in data[path] and TOKENS.search(data[path])]
    uses: list[Use] = []
    while chosen:
        waiting.difference_update(chosen)
        names: set[str] = set()
        for path in chosen:
            tree = package.parse(path)
            if tree is None:
                continue
            module = package.module(path, tree)
            finder = Finder(package, module)
            finder.visit(tree)
            uses += finder.uses
            if finder.uses:
                bound = (name for name in {*module.imports, *module.aliases})
                names |= {
                    name for name in bound if any(WATCHED.match(m.name) for m in package.lookup(module, name))
                }
        if not names:
            break
        tokens = re.compile(rb"\b(" + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb")\b")
        chosen = [path for path in sorted(waiting) if tokens.search(data[path])]
    return sorted(uses, key=lambda use: (use.path, use.line, use.column, use.name))


def main(folders: list[str]) -> None:
    """Prints the uses in each folder as JSON, and a count by form on standard error."""
    for folder in folders:
        package = Package(Path(folder))
        uses = uses_of(package)
        print(json.dumps({"uses": [asdict(use) for use in uses], "unparsed": package.unparsed}, indent=1))
        counts = Counter(f"{use.form} ({use.via}{', rebound' if use.rebound else ''})" for use in uses)
        print(folder, len(uses), dict(counts.most_common()), file=sys.stderr)


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    main(sys.argv[1:])
