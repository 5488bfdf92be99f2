"""Prints how many TorchScript findings on real packages get a fix, as Markdown: `python -m tests.ecosystem.rates`.

A table by rule, with the reasons why there is none; then the two kinds of calls whose fixes matter most, with the places
that get none. For the packages of `packages.txt`; an argument names another list.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .packages import REQUIREMENTS, Package, fetch, pinned

OPTIONS = ("--isolated", "--select", "TS", "--min-version", "2.12", "--target-version", "2.15")
# What a finding says of a result that other scopes, files or libraries go on to use.
ESCAPES = re.compile(
    r"the result is (returned|kept|not the only possible value)|line \d+ (stores|passes|uses) the result\b"
)
REASONS = 6


@dataclass(frozen=True)
class Found:
    """One finding: where, whether it gets a fix, and why not."""

    package: Package
    code: str
    path: str
    line: int
    fixed: bool
    reason: str

    @property
    def place(self) -> str:
        """The place, for a reader."""
        return f"{self.package.name}: {self.path}:{self.line}"


def findings(package: Package) -> Iterator[Found]:
    """What `check` finds in a package. Raises subprocess.CalledProcessError where the tool fails.

    It looks at a copy: inside of the checkout, the files of the checkout would be those of one project with the package.
    """
    command = [
        sys.executable,
        "-m",
        "torchmigrate",
        "check",
        "--output-format",
        "json",
        "--show",
        "info",
        "--exit-zero",
    ]
    with tempfile.TemporaryDirectory() as outside:
        folder = Path(outside, package.name)
        shutil.copytree(package.folder, folder)
        done = subprocess.run([*command, *OPTIONS, "."], cwd=folder, capture_output=True, check=True)
    for finding in json.loads(done.stdout)["findings"]:
        reason = finding["withheld"] or "no automatic rewrite"
        yield Found(
            package, finding["code"], finding["path"], finding["line"], finding["fix"] is not None, reason
        )


def is_on_function(found: Found) -> bool:
    """Whether a `script` is a decorator, is not called on the spot, or is given a function or class of its file."""
    tree = ast.parse((found.package.folder / found.path).read_bytes())
    defined = {
        n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and node.func.lineno == found.line
            and ast.unparse(node.func).endswith("script")
        ):
            given = [*node.args, *(keyword.value for keyword in node.keywords)][:1]
            return all(
                isinstance(g, ast.Lambda) or (isinstance(g, ast.Name) and g.id in defined) for g in given
            )
    return True


def generalized(reason: str) -> str:
    """A reason without the names and places in it."""
    return re.sub(r"\S+\.py:\d+", "…", re.sub(r"`[^`]*`", "`…`", re.sub(r"line \d+", "line …", reason)))


def table(found: Iterable[Found]) -> Iterator[str]:
    """The table by rule."""
    rules = defaultdict(list)
    for one in found:
        rules[one.code].append(one)
    yield "| rule | findings | fix | none | reasons |"
    yield "|---|--:|--:|--:|---|"
    for code, ones in sorted(rules.items()):
        reasons = Counter(generalized(one.reason) for one in ones if not one.fixed)
        listed = "; ".join(f"{number} {reason}" for reason, number in reasons.most_common(REASONS))
        fixed = sum(one.fixed for one in ones)
        yield f"| {code} | {len(ones)} | {fixed} | {len(ones) - fixed} | {listed} |"


def rate(title: str, found: list[Found]) -> Iterator[str]:
    """One line with the rate, and the places that have no fix."""
    fixed = sum(one.fixed for one in found)
    share = f" = {fixed / len(found):.0%}" if found else ""
    yield f"**{title}: {fixed} of {len(found)}{share}**"
    yield from (f"- {one.place}: {one.reason}" for one in found if not one.fixed)


def report(requirements: Path) -> Iterator[str]:
    """The table and the two rates for the packages of a list."""
    packages = list(pinned(requirements).values())
    fetch(packages)
    found = [finding for package in packages for finding in findings(package)]
    traces = [one for one in found if one.code == "TS102"]
    yield f"## {len(packages)} packages of {requirements.name}\n"
    yield from table(found)
    yield ""
    yield from rate(
        "`script` as a decorator or on a function",
        [one for one in found if one.code == "TS101" and is_on_function(one)],
    )
    yield ""
    yield from rate(
        "`trace` whose result stays in its scope", [t for t in traces if not ESCAPES.match(t.reason)]
    )
    yield ""
    yield from rate("`trace` whose result leaves its scope", [t for t in traces if ESCAPES.match(t.reason)])
    yield ""


if __name__ == "__main__":
    for requirements in [Path(argument) for argument in sys.argv[1:]] or [REQUIREMENTS]:
        print("\n".join(report(requirements)))
