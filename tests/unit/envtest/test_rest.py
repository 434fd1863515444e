"""The client of a local control plane: its kubeconfig, and its second tries."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pykb.client.login.credentials import Credentials, StaticCredentials
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.rest import Rest


def test_a_kubeconfig_that_is_too_deep_is_said_with_its_line(tmp_path: Path) -> None:
    """The C parser would end the process."""
    path = tmp_path / "kubeconfig"
    path.write_text("kind: Config\nclusters: " + "[" * 50_000)
    with pytest.raises(EnvironmentProblem) as caught:
        Rest.from_kubeconfig(path)
    assert caught.value.diagnostic.notes == ("it is nested more than 100 levels deep, in line 2",)


@contextmanager
def answering(*statuses: int, retry_after: str = "0") -> Iterator[tuple[Rest, list[int]]]:
    """Serve these statuses one after the other. The last one is repeated."""
    served: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status = statuses[min(len(served), len(statuses) - 1)]
            served.append(status)
            body = json.dumps({"message": f"answer {len(served)}"}).encode()
            self.send_response(status)
            if status != 200:
                self.send_header("Retry-After", retry_after)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            source = StaticCredentials(Credentials(f"http://127.0.0.1:{server.server_address[1]}"))
            yield Rest(source), served
        finally:
            server.shutdown()
            thread.join()


def test_a_server_that_asks_for_a_moment_is_asked_again() -> None:
    """It answers 503 to requests that meet the exchange of a kind's definition."""
    with answering(503, 429, 200) as (rest, served):
        assert rest.call("POST", "/x", {"a": 1}).message == "answer 3"
        assert served == [503, 429, 200]


@pytest.mark.parametrize(("status", "retry_after"), [(500, ""), (503, "tomorrow"), (404, "0"), (503, "-1")])
def test_other_refusals_are_answers(status: int, retry_after: str) -> None:
    """Only the server knows whether a second try can differ."""
    with answering(status, retry_after=retry_after) as (rest, served):
        assert rest.call("POST", "/x", {}).status == status
        assert served == [status]


def test_a_server_that_stays_busy_gets_ten_requests() -> None:
    """As from client-go."""
    with answering(503) as (rest, served):
        assert rest.call("POST", "/x", {}).status == 503
        assert len(served) == 10
