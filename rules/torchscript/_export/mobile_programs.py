"""Models for phones: ``optimize_for_mobile(m)._save_for_lite_interpreter(p)`` becomes a program of ExecuTorch.

A program takes the sizes that its memory is planned for: those of the example. Executed with executorch 1.5.1: the outputs
equal the model's, and other numbers of rows raise. https://docs.pytorch.org/executorch/stable/getting-started.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import NoFix
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.call_arguments import find_argument, list_arguments

from .result_chain import ResultChain, SavedFile

FIXED_SIZES = "; ExecuTorch (`pip install executorch`) runs it with the sizes of the example"
"""The end of the title of a fix that makes a program of ExecuTorch."""
SUFFIX = ".pte"
"""The suffix of ExecuTorch's files."""
_PROGRAM = "{lower}({program}, partitioner=[{partitioner}()]).to_executorch()"


def convert_mobile_saves(chain: ResultChain) -> Iterator[FixChange]:
    """Yield the changes that lower an exported program and save it, and note the files in the chain.

    Raise NoFix where the result is used for something else, too.
    """
    others = [*(call for _, call in (*chain.saves, *chain.modes)), *chain.modules, *chain.views]
    if others:
        raise NoFix(
            f"line {others[0].lineno} uses the result in Python, too; export the model for the phone by a call of its own"
        )
    lower = chain.ctx.write_symbol("executorch.exir.to_edge_transform_and_lower", chain.use)
    backend = "executorch.backends.xnnpack.partition.xnnpack_partitioner.XnnpackPartitioner"
    partitioner = chain.ctx.write_symbol(backend, chain.use)
    for place, node in chain.lowered:
        yield replace(node, _PROGRAM, program=place, lower=lower, partitioner=partitioner)
    for _, call in chain.mobile_saves:
        path = find_argument(call, 0, "f")
        if path is None or len(list_arguments(call)) > 1:
            raise NoFix(f"line {call.lineno} saves extra files, which a program of ExecuTorch does not hold")
        assert isinstance(call.func, ast.Attribute)
        yield replace(call.func, "{program}.save", program=call.func.value)
        chain.files.append(SavedFile([path], suffix=SUFFIX))


def check_made_example(chain: ResultChain) -> None:
    """Raise NoFix where the sizes of a program for phones would be those of inputs that the class of the model suggests."""
    for _, call in chain.mobile_saves:
        raise NoFix(
            f"line {call.lineno} saves the result for phones, but nothing shows example inputs, whose sizes ExecuTorch fixes"
        )


def describe_program(exported: str) -> str:
    """Return the code that makes a program for phones of the code of an exported one."""
    return _PROGRAM.format(
        lower="to_edge_transform_and_lower", program=exported, partitioner="XnnpackPartitioner"
    )
