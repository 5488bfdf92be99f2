"""The command `torchmigrate server`: a language server for editors, over standard input and output.

Exit status: 0 after the editor has shut it down, 1 where it ends otherwise, 2 without the packages that it needs.
"""

from __future__ import annotations

import logging
import os
import sys

import click

from torchmigrate.cli import options, rule_pages


@click.command(short_help="Run a language server for editors.")
@options.cache_folder
@click.option("--no-cache", is_flag=True, help="Do not use or write the cache.")
@click.option("--stdio", is_flag=True, help="Use standard input and output, which is the default.")
@click.option("-v", "--verbose", is_flag=True, help="Write a log of the messages to standard error.")
def server(cache_dir: str, no_cache: bool, stdio: bool, verbose: bool) -> int:
    """Run a language server: findings while you type, fixes, explanations."""
    logging.basicConfig(level=logging.DEBUG if verbose else logging.CRITICAL)
    try:
        from torchmigrate.server import features
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise options.Failure(
            f"the server needs the package {error.name}: pip install 'torchmigrate[lsp]'"
        ) from None
    made = features.create_server(None if no_cache else cache_dir, _explain_rule)
    # Standard output is the protocol's alone: what else is printed, as by a plugin, goes to standard error.
    sys.stdout.flush()
    taken = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    made.start_io(sys.stdin.buffer, taken)
    return 0 if made.is_shut_down else 1


def _explain_rule(code: str) -> str | None:
    """Return the page of `torchmigrate explain` for a rule as Markdown; None if there is no such rule."""
    from torchmigrate.engine import registry

    rule = registry.load_rules().get(code)
    return None if rule is None else rule_pages.render_page(rule)
