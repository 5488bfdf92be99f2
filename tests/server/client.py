"""A client of the language server that speaks the protocol by itself, over pipes."""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PATIENCE = 60.0
"""Seconds to wait for what has to come."""

Message = dict[str, Any]

CAPABILITIES: Message = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceEdit": {"documentChanges": True},
        "workspaceFolders": True,
    },
    "textDocument": {"codeAction": {"resolveSupport": {"properties": ["edit"]}, "dataSupport": True}},
}


class Client:
    """Starts a server, and talks to it."""

    def __init__(self, *arguments: str, cwd: Path | None = None) -> None:
        command = [sys.executable, "-m", "torchmigrate", "server", *arguments]
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
        )
        self.capabilities: Message = {}
        """What the server can do."""
        self.log: list[Message] = []
        """All that the server has sent of itself."""
        self.diagnostics: dict[str, Message] = {}
        """The last that was published of each document."""
        self._numbers = itertools.count(1)
        self._inbox: queue.Queue[Message | None] = queue.Queue()
        self._answers: dict[Any, Message] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def initialize(self, folder: Path, **capabilities: Any) -> Message:
        """Begins a session in a folder."""
        result: Message = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": folder.as_uri(),
                "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
                "capabilities": {**CAPABILITIES, **capabilities},
            },
        )["result"]
        self.notify("initialized", {})
        return result

    def open(self, path: Path, text: str | None = None) -> str:
        """Opens a file, with a text that need not be on the disk; returns its URI."""
        uri = path.as_uri()
        text = path.read_bytes().decode() if text is None else text
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(self, uri: str, version: int, *changes: Message) -> None:
        """Types."""
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def shown(self, uri: str, version: int | None = 1) -> list[Message]:
        """The diagnostics of a document in one version, once they are there."""
        while uri not in self.diagnostics or self.diagnostics[uri].get("version") != version:
            self.receive()
        found: list[Message] = self.diagnostics[uri]["diagnostics"]
        return found

    def again(self, uri: str, version: int | None = 1) -> list[Message]:
        """The diagnostics of a document that are published next."""
        self.diagnostics.pop(uri, None)
        return self.shown(uri, version)

    def actions(self, uri: str, where: Message, only: list[str] | None = None) -> list[Message]:
        """What can be done in a range."""
        context = {"diagnostics": [], **({"only": only} if only else {})}
        asked = {"textDocument": {"uri": uri}, "range": where, "context": context}
        return list(self.request("textDocument/codeAction", asked)["result"])

    def request(self, method: str, params: Any = None) -> Message:
        """The whole answer to a request."""
        number = next(self._numbers)
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return self.answer(number)

    def answer(self, number: Any) -> Message:
        """The answer with this number."""
        while number not in self._answers:
            self.receive()
        return self._answers.pop(number)

    def notify(self, method: str, params: Any = None) -> None:
        """Tells something."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: Any) -> None:
        """Sends a message."""
        self.write(json.dumps(message).encode())

    def write(self, body: bytes) -> None:
        """Sends whatever that is, with a header."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def receive(self) -> Message:
        """The next message of the server; what it asks is agreed to."""
        message = self._inbox.get(timeout=PATIENCE)
        assert message is not None, "the server has ended"
        if "method" not in message:
            self._answers[message["id"]] = message
            return message
        self.log.append(message)
        if message["method"] == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]
        if "id" in message:
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": None})
        return message

    def said(self, method: str) -> list[Message]:
        """What the server has sent of one kind."""
        return [message["params"] for message in self.log if message["method"] == method]

    def end(self) -> int:
        """Ends the server as the protocol says; returns its exit status."""
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """Ends the server whatever it does."""
        self.process.kill()
        self.process.communicate()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
                header = self.process.stdout.readline()
            self._inbox.put(json.loads(self.process.stdout.read(length)))
        self._inbox.put(None)


def applied(text: str, edits: list[Message]) -> str:
    """A text with edits made, in the encoding UTF-16 and independently of the server's own arithmetic."""
    units = text.encode("utf-16-le")
    starts = [0]
    position = 0
    while position < len(units):
        two = units[position : position + 2]
        if two == b"\r\0" and units[position + 2 : position + 4] == b"\n\0":
            position += 4
            starts.append(position)
        else:
            position += 2
            if two in (b"\n\0", b"\r\0"):
                starts.append(position)

    def offset(place: Message) -> int:
        return starts[place["line"]] + 2 * place["character"] if place["line"] < len(starts) else len(units)

    for edit in sorted(edits, key=lambda one: offset(one["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        units = units[:start] + edit["newText"].encode("utf-16-le") + units[end:]
    return units.decode("utf-16-le")
