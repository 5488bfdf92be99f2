"""Twice as much of anything in a file takes about twice the work: calls are counted, which no busy machine disturbs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.counted_work import measure_growth
from tests.support import fix_text

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


def measure(make: Callable[[int], str], number: int, *, fix: bool) -> float:
    """How many times the work twice the number of parts of a program takes."""
    return measure_growth(
        lambda times: {"a.py": render(make, times).encode()}, number, fix=fix, flags=["--unsafe"]
    )


def render(make: Callable[[int], str], number: int) -> str:
    return make(number).replace("\0", "#")


@pytest.mark.parametrize("name", PROGRAMS)
def test_checking_grows_with_the_file(name: str) -> None:
    assert 1.5 < measure(PROGRAMS[name], 100, fix=False) < MOST


@pytest.mark.parametrize("name", PROGRAMS)
def test_fixing_grows_with_the_file(name: str) -> None:
    assert measure(PROGRAMS[name], 40, fix=True) < MOST


def test_nested_loops_do_not_double_the_work_with_each_level() -> None:
    def nested(depth: int) -> str:
        loops = "".join("    " * (i + 1) + f"for i{i} in x:\n" for i in range(depth))
        inside = "    " * (depth + 1)
        return f"{HEAD}def f(x):\n    m = None\n{loops}{inside}m = torch.jit.script(m)\n{inside}m.save('a')\n"

    assert measure(nested, 9, fix=False) < 4


def test_classes_that_change_together_are_looked_at_once() -> None:
    classes = many(
        "class C#(torch.jit.ScriptModule):\n    @torch.jit.script_method\n    def forward(self, x):\n"
        "        return x + #\n\ndef make#():\n    return C#()\n\n"
    )
    assert measure(classes, 8, fix=True) < MOST


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
    assert measure(make, 100, fix=True) < 3
    fixed = fix_text(render(make, 200), "--unsafe")
    assert "annotate" not in fixed
    assert "199" in fixed
