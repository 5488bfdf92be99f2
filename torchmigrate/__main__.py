"""The program: ``torchmigrate`` and ``python -m torchmigrate``.

The latter puts the current folder first among the places that modules come from. It may be the project to check, in which
nothing is to be executed: a ``click.py`` there is not click. What Python itself imports before this line cannot be
helped; the command ``torchmigrate`` and ``python -P`` (3.11) leave the current folder out from the beginning.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys

_OBJECTS = 200_000
"""The number of new objects between two garbage collections: a run creates few cycles, and Python's default is 700."""


def main() -> None:
    """Run the command line and exit with its status; Ctrl-C prints nothing, from the first import on."""
    gc.set_threshold(_OBJECTS)
    sys.unraisablehook = _hide_interrupts
    try:
        from torchmigrate.cli import commands

        commands.main()
    except KeyboardInterrupt:
        sys.exit(130)
    except SystemExit as end:
        _exit_at_once(end.code)
        raise


def _hide_interrupts(lost: sys.UnraisableHookArgs) -> None:
    # An interrupt may fall into a callback of the import system, which Python would show with a traceback.
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)


def _exit_at_once(status: object) -> None:
    """End the process at once if no other thread runs: freeing its objects one by one takes a tenth of a run."""
    import atexit
    import threading

    if isinstance(status, int) and threading.active_count() == 1:
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":  # and not where a worker process imports it
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    main()
