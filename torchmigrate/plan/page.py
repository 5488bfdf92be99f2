"""HTML pages that load nothing from the network and run nothing from a project.

Every text of a project is escaped by `escape_html`; in addition, the page's Content-Security-Policy allows only the style and
the script whose digests it names.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from importlib import resources
from string import Template

from torchmigrate.console.terminal import escape_controls

_CODE = re.compile(r"`([^`]+)`")


def render_page(title: str, body: Iterable[str], style: str, script: str) -> str:
    """Return a page with a ``title``, which is text, and with the lines of ``body``, which are HTML."""
    return Template(read_asset("plan.html")).substitute(
        title=escape_html(title),
        style=style,
        style_hash=_hash_source(style),
        script=script,
        script_hash=_hash_source(script),
        body="\n".join(body),
    )


def read_asset(name: str, package: str = "torchmigrate.plan") -> str:
    """Return the text of a package's asset."""
    return resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")


def _hash_source(text: str) -> str:
    """Return the source expression by which a Content-Security-Policy allows an inline text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def escape_html(text: str) -> str:
    """Return text as HTML with invisible characters spelled out; quotation marks cannot end an attribute."""
    return html.escape(escape_controls(text), quote=True)


def render_prose(text: str) -> str:
    """Return text as HTML whose backquoted parts are code."""
    return _CODE.sub(r"<code>\1</code>", escape_html(text))
