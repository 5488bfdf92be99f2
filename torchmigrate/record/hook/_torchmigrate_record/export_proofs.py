"""Proofs at the end of a program: does what it scripts or traces export, with equal results for all recorded inputs?

Each proof runs in a forked process with a limit of time and memory, so that nothing of it is seen by the program. The sizes of
all dimensions are free, as the fixes free them, except those that only ever were 1.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from .proof_comparison import Kept, Undecided, compare_results, copy_inputs, ignores_mode, list_tensors
from .proof_errors import describe_error, find_refusal

MOST_BYTES = 64 << 20
"""The most bytes of inputs that are kept, of all together."""
MOST_PLAIN_BYTES = 16 << 20
"""The most bytes of inputs of plain modules, which may never be scripted, that are kept besides."""
SECONDS = 120
"""The time that one proof may take."""
MEMORY = 8 << 30
"""The memory that one proof may take beside what the program has."""


class Keeper:
    """Keeps what the proofs need, and proves at the end of the process."""

    def __init__(self, recording: Any) -> None:
        self._recorder = recording.recorder
        self._places = recording.places
        self._torch: Any = sys.modules["torch"]
        self._kept: dict[int, Kept] = {}
        self._process = os.getpid()
        self._bytes = self._plain_bytes = 0
        atexit.register(self._prove_all)

    def begin(self, made: Any, result: Any, maker: str) -> None:
        """Keep a module or function for the end."""
        if made.at is None and made.package is None:
            return
        kept = self._kept.setdefault(made.number, Kept(made, result, maker))
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
        kept.inputs.append(copy_inputs((args, kwargs)))

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
        return copy_inputs(values)

    def _measure(self, values: Any) -> int:
        return sum(one.numel() * one.element_size() for one in list_tensors(values))

    def leave_out(self, made: Any) -> None:
        """Note that a call has inputs which are not kept, so that equal results for the others prove too little."""
        kept = self._kept.get(made.number)
        if kept is not None and kept.plain is made.wraps:
            kept.left_out = kept.left_out or "there were more inputs than can be kept"

    def _prove_all(self) -> None:
        """Prove all in a forked process, which loads torch's compiler once for the proofs that it forks."""
        if os.getpid() != self._process or not hasattr(os, "fork"):
            return
        kept = [one for one in self._kept.values() if one.inputs]
        if kept:
            with contextlib.suppress(Exception):
                self._run_apart(lambda: self._prove_each(kept), (len(kept) + 1) * SECONDS)

    def _prove_each(self, all_kept: list[Kept]) -> None:
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

    def _load_compiler(self, all_kept: list[Kept]) -> None:
        """Load what exports and compiles, which takes longer than most proofs: exporting the least does it."""
        torch = self._torch
        identity = torch.nn.Identity()
        if any(isinstance(one.plain, torch.nn.Module) for one in all_kept):
            torch.export.export(identity, (torch.zeros(2),), strict=False)
        if any(not isinstance(one.plain, torch.nn.Module) for one in all_kept):
            torch.compile(identity, backend="eager")(torch.zeros(2))

    def _prove(self, kept: Kept) -> None:
        """Export or compile a copy, compare, and note the outcome; runs in a process of its own."""
        self._kept.clear()  # the calls of the proof are none of the program
        try:
            compared = compare_results(kept)
        except (Undecided, MemoryError) as error:
            self._note(kept, False, str(error) or "there is not enough memory for a proof")
        except BaseException as error:
            self._note(
                kept, False, describe_error(error), decided=True, refused_at=find_refusal(error, self._places)
            )
        else:
            self._note(kept, True, "", compared, decided=True, ignores_mode=ignores_mode(kept))

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

    def _note(
        self,
        kept: Kept,
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
