"""Proofs at the end of a program: does what it scripts or traces export, with equal results for all recorded inputs?

Each proof runs in a forked process with a limit of time and memory, so that nothing of it is seen by the program. The sizes of
all dimensions are free, as the fixes free them, except those that only ever were 1.
"""

from __future__ import annotations

import atexit
import contextlib
import copy
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from .proof_errors import describe_error, find_refusal
from .signatures import order_names

MOST_BYTES = 64 << 20
"""The most bytes of inputs that are kept, of all together."""
MOST_PLAIN_BYTES = 16 << 20
"""The most bytes of inputs of plain modules, which may never be scripted, that are kept besides."""
MOST_PARAMETERS = 1 << 30
"""The most bytes of parameters of a module that is exported."""
SECONDS = 120
"""The time that one proof may take."""
MEMORY = 8 << 30
"""The memory that one proof may take beside what the program has."""


class _Kept:
    """What a proof needs: the plain module or function, what TorchScript made of it, and inputs."""

    def __init__(self, made: Any, result: Any, maker: str) -> None:
        self.made, self.plain, self.result, self.maker = made, made.wraps, result, maker
        self.inputs: list[Any] = []
        self.left_out = ""
        """What a proof would not cover, because it was not kept."""


class _Undecided(Exception):
    """Raised where a proof cannot be tried."""


class Keeper:
    """Keeps what the proofs need, and proves at the end of the process."""

    def __init__(self, recording: Any) -> None:
        self._recorder = recording.recorder
        self._places = recording.places
        self._torch: Any = sys.modules["torch"]
        self._kept: dict[int, _Kept] = {}
        self._process = os.getpid()
        self._bytes = self._plain_bytes = 0
        atexit.register(self._prove_all)

    def begin(self, made: Any, result: Any, maker: str) -> None:
        """Keep a module or function for the end."""
        if made.at is None and made.package is None:
            return
        kept = self._kept.setdefault(made.number, _Kept(made, result, maker))
        if kept.plain is not made.wraps:
            kept.left_out = "the line makes several, and only the first one is kept for a proof"

    def keep(self, made: Any, args: Any, kwargs: Any) -> None:
        """Keep a copy of the inputs of a call."""
        kept = self._kept.get(made.number)
        if kept is None or kept.plain is not made.wraps or kept.left_out:
            return
        size = self._measure((args, kwargs))
        if self._bytes + size > MOST_BYTES:
            self.leave_out(made)
            return
        self._bytes += size
        kept.inputs.append(self._copy((args, kwargs)))

    def add(self, made: Any, values: Any) -> None:
        """Keep inputs that are copied already: a call's positional and named arguments."""
        kept = self._kept.get(made.number)
        if kept is not None and kept.plain is made.wraps and not kept.left_out:
            kept.inputs.append(values)

    def copy_plain(self, values: Any) -> Any:
        """Return a copy of the arguments of a plain module's call; None where the tensors are more than may be kept."""
        size = self._measure(values)
        if self._plain_bytes + size > MOST_PLAIN_BYTES:
            return None
        self._plain_bytes += size
        return self._copy(values)

    def _measure(self, values: Any) -> int:
        return sum(one.numel() * one.element_size() for one in self._list_tensors(values))

    def leave_out(self, made: Any) -> None:
        """Note that a call has inputs which are not kept, so that equal results for the others prove too little."""
        kept = self._kept.get(made.number)
        if kept is not None and kept.plain is made.wraps:
            kept.left_out = kept.left_out or "there were more inputs than can be kept"

    def _list_tensors(self, value: Any) -> list[Any]:
        from torch.utils._pytree import tree_leaves  # type: ignore[attr-defined,unused-ignore]

        return [leaf for leaf in tree_leaves(value) if isinstance(leaf, self._torch.Tensor)]

    def _copy(self, value: Any) -> Any:
        from torch.utils._pytree import tree_map  # type: ignore[attr-defined,unused-ignore]

        tensor = self._torch.Tensor
        return tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, tensor) else leaf, value)

    def _prove_all(self) -> None:
        """Prove all in a forked process, which loads torch's compiler once for the proofs that it forks."""
        if os.getpid() != self._process or not hasattr(os, "fork"):
            return
        kept = [one for one in self._kept.values() if one.inputs]
        if kept:
            with contextlib.suppress(Exception):
                self._run_apart(lambda: self._prove_each(kept), (len(kept) + 1) * SECONDS)

    def _prove_each(self, all_kept: list[_Kept]) -> None:
        self._silence()
        with contextlib.suppress(Exception):
            self._load_compiler(all_kept)
        for kept in all_kept:
            with contextlib.suppress(Exception):
                status = self._run_apart(lambda kept=kept: self._prove(kept), SECONDS)  # type: ignore[misc]
                if status is None:
                    self._note(kept, False, "the proof takes longer than two minutes")
                elif status != 0:
                    self._note(kept, False, "the proof has crashed")

    def _run_apart(self, function: Callable[[], None], seconds: float) -> int | None:
        """Run a function in a forked process; return the exit status, or None if it had to be stopped."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._recorder.purpose = "proof"
        child = os.fork()
        if child == 0:
            try:
                function()
            finally:
                os._exit(0)
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            time.sleep(0.05)
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return status
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None

    def _load_compiler(self, all_kept: list[_Kept]) -> None:
        """Load what exports and compiles, which takes longer than most proofs: exporting the least does it."""
        torch = self._torch
        identity = torch.nn.Identity()
        if any(isinstance(one.plain, torch.nn.Module) for one in all_kept):
            torch.export.export(identity, (torch.zeros(2),), strict=False)
        if any(not isinstance(one.plain, torch.nn.Module) for one in all_kept):
            torch.compile(identity, backend="eager")(torch.zeros(2))

    def _prove(self, kept: _Kept) -> None:
        """Export or compile a copy, compare, and note the outcome; runs in a process of its own."""
        self._kept.clear()  # the calls of the proof are none of the program
        try:
            compared = self._compare(kept)
        except (_Undecided, MemoryError) as error:
            self._note(kept, False, str(error) or "there is not enough memory for a proof")
        except BaseException as error:
            self._note(
                kept, False, describe_error(error), decided=True, refused_at=find_refusal(error, self._places)
            )
        else:
            self._note(kept, True, "", compared, decided=True, ignores_mode=self._ignores_mode(kept))

    def _silence(self) -> None:
        import logging
        import resource

        null = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(null, stream)
        logging.disable(logging.CRITICAL)
        warnings.simplefilter("ignore")
        self._torch.set_num_threads(1)
        with contextlib.suppress(Exception):
            with open("/proc/self/statm") as file:
                used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))

    def _compare(self, kept: _Kept) -> int:
        torch = self._torch
        if isinstance(kept.plain, torch.nn.Module):
            if sum(one.numel() * one.element_size() for one in kept.plain.parameters()) > MOST_PARAMETERS:
                raise _Undecided("the module is too large for a proof")
            new = self._export(kept)
        else:
            new = torch.compile(kept.plain, backend="eager")
        for args, kwargs in kept.inputs:
            old = _copy_module(kept.result) if isinstance(kept.plain, torch.nn.Module) else kept.result
            try:
                expected = self._call(old, args, kwargs)
            except Exception as error:
                raise _Undecided("TorchScript itself fails: %s" % describe_error(error)) from None
            found = self._call(new, args, kwargs)
            torch.testing.assert_close(found, expected, equal_nan=True)
        if kept.left_out:
            raise _Undecided(kept.left_out)
        return len(kept.inputs)

    def _ignores_mode(self, kept: _Kept) -> bool:
        """Return whether the module gives the same results in training and in eval mode, and changes nothing in itself."""
        torch, plain = self._torch, kept.plain
        if not isinstance(plain, torch.nn.Module):
            return False
        asking = (torch.nn.modules.dropout._DropoutNd, torch.nn.modules.batchnorm._NormBase)
        if any(isinstance(one, asking) for one in plain.modules()):
            return False  # whatever becomes of these inputs
        try:
            for args, kwargs in kept.inputs:
                modules = [_copy_module(plain).train(mode) for mode in (True, False)]
                torch.testing.assert_close(
                    *(self._call(one, args, kwargs) for one in modules), rtol=0, atol=0, equal_nan=True
                )
                for one in modules:
                    torch.testing.assert_close(
                        one.state_dict(), plain.state_dict(), rtol=0, atol=0, equal_nan=True
                    )
        except Exception:
            return False
        return True

    def _call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function with copies of inputs, and with the random numbers that it would get any other time."""
        self._torch.manual_seed(0)
        with self._torch.no_grad():
            return function(*self._copy(args), **self._copy(kwargs))

    def _export(self, kept: _Kept) -> Any:
        """Export a copy of the module as the fixes do: with all sizes free, and no example of a batch of a single row."""
        torch = self._torch
        from torch.utils._pytree import tree_map  # type: ignore[attr-defined,unused-ignore]

        dim = getattr(torch.export.Dim, "AUTO", None)
        if dim is None:
            raise _Undecided("this torch has no `torch.export.Dim.AUTO`")
        args, kwargs = max(kept.inputs, key=lambda one: sum(leaf.numel() for leaf in self._list_tensors(one)))
        if self._list_tensors((args, kwargs)) == []:
            raise _Undecided("no input is a tensor")
        varies = self._vary_first_sizes(kept.inputs)

        def double(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor):
                if type(leaf) not in (bool, int):
                    raise _Undecided("an input is of the type %s" % type(leaf).__name__)
                return leaf
            return leaf.repeat_interleave(2, 0) if leaf.shape[:1] == (1,) and not varies else leaf

        def free(leaf: Any) -> Any:
            return [dim] * leaf.ndim if isinstance(leaf, torch.Tensor) else None

        def export(rows: Any, named: Any) -> Any:
            shapes = (*tree_map(free, rows), *tree_map(free, named).values())
            plain = _copy_module(kept.plain)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                program = torch.export.export(plain, rows, named or None, dynamic_shapes=shapes, strict=False)
            lost = [str(one.message) for one in caught if "assigned during export" in str(one.message)]
            if lost and kept.maker == "script":
                raise ValueError(lost[0])  # a script keeps what it assigns for the next call
            return program.module()

        given = args, order_names(kwargs, kept.plain)
        try:
            return export(*tree_map(double, given))
        except _Undecided:
            raise
        except Exception:
            if varies or all(leaf.shape[:1] != (1,) for leaf in self._list_tensors(given)):
                raise
            export(*given)
            raise _Undecided("it exports, but only with the single rows of the recorded inputs") from None

    def _vary_first_sizes(self, inputs: Any) -> bool:
        """Return whether the first size of a tensor varies: then one that is always 1 is not the number of rows."""
        firsts = [[leaf.shape[:1] for leaf in self._list_tensors(one)] for one in inputs]
        return any(len(set(of_tensor)) > 1 for of_tensor in zip(*firsts))

    def _note(
        self,
        kept: _Kept,
        holds: bool,
        reason: str,
        compared: int = 0,
        *,
        decided: bool = False,
        refused_at: Any = None,
        ignores_mode: bool = False,
    ) -> None:
        fact = {
            "kind": "proof",
            "of": kept.made.at,
            "package": kept.made.package,
            "tried": "export" if isinstance(kept.plain, self._torch.nn.Module) else "compile",
            "holds": holds,
            "decided": decided,
            "reason": reason,
            "compared": compared,
            "refused_at": refused_at,
            "ignores_mode": ignores_mode,
        }
        self._recorder.note(("proof", kept.made.number), fact)


def _copy_module(module: Any) -> Any:
    """Return a copy of a module. Raise _Undecided where it keeps what cannot be copied, such as a result of its own."""
    try:
        return copy.deepcopy(module)
    except Exception as error:
        raise _Undecided("the module cannot be copied: %s" % type(error).__name__) from None
