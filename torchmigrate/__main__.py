"""``python -m torchmigrate``.

Python puts the current folder first among the places that modules come from. It may be the project to check, in which
nothing is to be executed: a ``click.py`` there is not click. What Python itself imports before this line cannot be
helped; the command ``torchmigrate`` and ``python -P`` (3.11) leave the current folder out from the beginning.
"""

import sys

if __name__ == "__main__":  # and not where a worker process imports it
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]

    from torchmigrate.cli.commands import main

    main()
