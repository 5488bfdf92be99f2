"""Twice as much of anything in a file takes about twice the work: calls are counted, which no busy machine disturbs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.counted_work import count_calls
from tests.support import settings_of
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import runner
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree

HEAD = "import torch\nimport torch.distributed as dist\nfrom torch.jit import Final\n\n"
MOST = 2.3


def many(text: str) -> Callable[[int], str]:
    """A program that repeats a part, in which ``#`` is its number."""
    return lambda number: HEAD + "".join(text.replace("#", str(i)) for i in range(number))


def after(head: str, text: str, foot: str = "") -> Callable[[int], str]:
    return lambda number: many(text)(number).replace(HEAD, HEAD + head, 1) + foot


PROGRAMS = {
    "scripted functions": many("@torch.jit.script\ndef f#(x):\n    return x + #\n\n"),
    "findings in statements": many("x# = torch.jit.annotate(int, #)\n"),
    "findings in one function": after("def f():\n", "    x# = torch.jit.annotate(int, #)\n"),
    "functions": many("def f#():\n    return torch.jit.annotate(int, #)\n\n"),
    "aliases": many("j# = torch.jit\ny# = j#.script(g)\n"),
    "imports": many("from torch.jit import script as s#\ny# = s#(g)\n"),
    "names": after("", "a# = #\n", "y = torch.jit.script(g)\nz = torch.jit.annotate(int, 1)\n"),
    "decorators": after("", "@torch.jit.ignore\n", "def f():\n    pass\n"),
    "branches": after("if a:\n    b = 0\n", "elif x# and not torch.jit.is_scripting():\n    b = #\n"),
    "classes": many(
        "class C#(torch.nn.Module):\n    a: Final[int]\n    @torch.jit.export\n    def f(self, x):\n"
        "        if torch.jit.is_scripting():\n            return x\n        return -x\n\n"
    ),
    "chains": many("m# = torch.jit.trace(model, torch.randn(2, 8))\nm#.save('m#.pt')\n"),
    "captures": many("c# = torch.cuda.is_current_stream_capturing()\n"),
    "messages": after("def f(t):\n", "    dist.send(t, #)\n    dist.recv(t, #)\n"),
    "groups": many("def f#(t, rank):\n    if rank == 0:\n        g = dist.new_group([0, #])\n"),
    "callers": lambda number: (
        many("def f#(t):\n    dist.isend(t, #)\n    dist.irecv(t, #)\n")(number)
        + "def main(t):\n    dist.init_process_group('nccl')\n"
        + "".join(f"    f{i}(t)\n" for i in range(number))
    ),
    "chains of calls": many("def f#(t):\n    dist.isend(t, #)\n    g#(t)\ndef g#(t):\n    f#(t)\n"),
    "comments": many(
        "# torchmigrate: ignore TS154\nx# = torch.jit.annotate(int, #)\n".replace("# t", "\0 t")
    ),
}


def growth(make: Callable[[int], str], run: Callable[[bytes], object], number: int) -> float:
    """How many times the work twice the number takes; what is done once for any file is taken off."""
    programs = [make(times).replace("\0", "#").encode() for times in (1, 1, number, 2 * number)]
    _, least, once, twice = (count_calls(lambda program=program: run(program)) for program in programs)  # type: ignore[misc]
    return (twice - least) / (once - least)


@pytest.mark.parametrize("name", PROGRAMS)
def test_checking_grows_with_the_file(name: str) -> None:
    settings, minimum = settings_of(["--unsafe"])

    def check(program: bytes) -> None:
        for result in runner.check_tree(
            Tree([InputFile("a.py", program)], create_uniform_profile(settings, minimum))
        ):
            assert not result.errors

    assert 1.5 < growth(PROGRAMS[name], check, 100) < MOST


@pytest.mark.parametrize("name", PROGRAMS)
def test_fixing_grows_with_the_file(name: str) -> None:
    settings, minimum = settings_of(["--unsafe"])

    def fix(program: bytes) -> None:
        for fixed in runner.fix_tree(
            Tree([InputFile("a.py", program)], create_uniform_profile(settings, minimum))
        ):
            assert not fixed.result.errors

    assert growth(PROGRAMS[name], fix, 40) < MOST


def test_nested_loops_do_not_double_the_work_with_each_level() -> None:
    def nested(depth: int) -> str:
        loops = "".join("    " * (i + 1) + f"for i{i} in x:\n" for i in range(depth))
        inside = "    " * (depth + 1)
        return f"{HEAD}def f(x):\n    m = None\n{loops}{inside}m = torch.jit.script(m)\n{inside}m.save('a')\n"

    settings, minimum = settings_of([])

    def check(program: bytes) -> None:
        list(runner.check_tree(Tree([InputFile("a.py", program)], create_uniform_profile(settings, minimum))))

    assert growth(nested, check, 9) < 4


def test_classes_that_change_together_are_looked_at_once() -> None:
    classes = many(
        "class C#(torch.jit.ScriptModule):\n    @torch.jit.script_method\n    def forward(self, x):\n"
        "        return x + #\n\ndef make#():\n    return C#()\n\n"
    )
    settings, minimum = settings_of(["--unsafe"])

    def fix(program: bytes) -> None:
        for fixed in runner.fix_tree(
            Tree([InputFile("a.py", program)], create_uniform_profile(settings, minimum))
        ):
            assert not fixed.result.errors

    assert growth(classes, fix, 8) < MOST


@pytest.mark.parametrize(
    "make",
    [
        after("x = [", "torch.jit.annotate(int, #), ", "]\n"),
        after("f(", "torch.jit.annotate(int, #), ", ")\n"),
        after("", "x# = torch.jit.annotate(int, #); ", "\n"),
    ],
    ids=["a list", "a call", "a line"],
)
def test_fixing_grows_with_the_findings_of_one_line(make: Callable[[int], str]) -> None:
    settings, minimum = settings_of(["--unsafe"])
    fixed: list[bytes] = []

    def fix(program: bytes) -> None:
        tree = Tree([InputFile("a.py", program)], create_uniform_profile(settings, minimum))
        fixed.extend(one.after for one in runner.fix_tree(tree) if not one.result.errors)

    assert growth(make, fix, 100) < 3
    assert b"annotate" not in fixed[-1]
    assert b"199" in fixed[-1]
