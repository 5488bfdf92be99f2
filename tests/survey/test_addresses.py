"""`git+https` and `git+ssh` addresses: a server with a certificate of its own, and a program in place of ssh."""

from __future__ import annotations

import http.server
import os
import shlex
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.survey.made import git, make_repository, read_table, run_survey

PASSWORD = "Basic dXNlcjpzZWNyZXQ="
"""`user:secret`, as a credential helper of the user gives it."""


class GitServer(http.server.BaseHTTPRequestHandler):
    """Serves the repositories of `root` over git's smart protocol: `/private` to who has the password, `/moved` elsewhere."""

    root: Path

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, given: bytes) -> None:
        path, _, query = self.path.partition("?")
        if path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", f"http://{self.headers['Host']}/team/one?{query}")
            self.send_header("Content-Length", "0")  # else the end of the connection is the end of the answer
            self.end_headers()
            return
        if path.startswith("/private/") and self.headers["Authorization"] != PASSWORD:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.end_headers()
            return
        variables = {
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path.removeprefix("/private"),
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        made = subprocess.run(
            ["git", "http-backend"],
            input=given,
            capture_output=True,
            check=True,
            env={**os.environ, **variables},
        ).stdout
        head, _, body = made.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, *args: object) -> None:
        """Keep the tests' output free of requests."""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server whose certificate the user's configuration of git trusts."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout {key} -out {certificate}"
    alternative = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *made.split(), *alternative], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    make_repository(tmp_path / "served" / "team" / "one")
    handler = type("Handler", (GitServer,), {"root": tmp_path / "served"})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        serving.socket = context.wrap_socket(serving.socket, server_side=True)
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        settings = tmp_path / "gitconfig"
        settings.write_text(f"[http]\n\tsslCAInfo = {certificate}\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
        yield f"git+https://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()


def test_an_https_address_is_cloned(server: str, tmp_path: Path) -> None:
    done = run_survey(f"{server}/team/one@main", "-o", tmp_path / "out")
    assert done.return_value == 0, done.output
    (row,) = read_table(tmp_path / "out", "repositories")
    assert (row["repository"], row["error"]) == ("team/one", 1)
    assert row["commit"] == git(tmp_path / "served" / "team" / "one", "rev-parse", "HEAD").strip()
    assert "1 unchanged" in run_survey(f"{server}/team/one@main", "-o", tmp_path / "out").output


def test_a_password_is_asked_of_the_users_credential_helper_and_nobody_else(
    server: str, tmp_path: Path
) -> None:
    address = f"{server}/private/team/one"
    assert "could not read Username" in _read_failure(address, tmp_path / "out")
    helper = "!f() { echo username=user; echo password=secret; }; f"
    with (tmp_path / "gitconfig").open("a") as settings:
        settings.write(f'[credential]\n\thelper = "{helper}"\n')
    assert run_survey(address, "-o", tmp_path / "out").return_value == 0


def test_a_server_that_is_not_trusted_and_one_that_leads_to_http_are_refused(
    server: str, tmp_path: Path
) -> None:
    assert 'Protocol "http"' in _read_failure(f"{server}/moved/team/one", tmp_path / "out")
    (tmp_path / "gitconfig").write_text("")
    assert "certificate" in _read_failure(f"{server}/team/one", tmp_path / "out")


def test_an_ssh_address_is_cloned_by_the_users_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_repository(tmp_path / "served" / "team" / "one")
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexec git upload-pack {tmp_path}/served/team/one\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    done = run_survey("git+ssh://git@example.org/team/one", "-o", tmp_path / "out")
    (row,) = read_table(tmp_path / "out", "repositories")
    assert (row["failure"], row["error"], done.return_value) == (None, 1, 0)
    calls = [shlex.split(call)[-3:] for call in (tmp_path / "calls").read_text().splitlines()]
    assert calls
    assert all(call == ["git@example.org", "git-upload-pack", "/team/one"] for call in calls)


def _read_failure(address: str, output: Path) -> str:
    assert run_survey(address, "-o", output).return_value == 2
    (row,) = read_table(output, "repositories")
    return str(row["failure"])
