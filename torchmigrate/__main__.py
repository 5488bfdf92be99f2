"""The program: ``torchmigrate`` and ``python -m torchmigrate``.

The latter puts the current folder first among the places that modules come from. It may be the project to check, in which
nothing is to be executed: a ``click.py`` there is not click. What Python itself imports before this line cannot be
helped; the command ``torchmigrate`` and ``python -P`` (3.11) leave the current folder out from the beginning.
"""

import sys


def main() -> None:
    """Runs the command line and exits with its status; Ctrl-C says nothing, from the first import on."""
    try:
        from torchmigrate.cli import commands

        commands.main()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":  # and not where a worker process imports it
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    main()
