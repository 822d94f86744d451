# SPDX-License-Identifier: MIT
"""Servers that play the services which healings call: what they share. Each call is kept, so that it can be counted; any
can be held up, answered otherwise, or done and never answered, which is how a call is lost."""
import base64
import fnmatch
import http.server
import json
import threading
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Call:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]  # names in lower case
    text: str

    def is_of(self, method: str, path: str) -> bool:
        """`path` may have * in it."""
        return self.method == method and fnmatch.fnmatchcase(self.path, path)

    def json(self) -> dict:
        """Its body; an empty object where that is no object of JSON."""
        try:
            body = json.loads(self.text)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def login(self) -> tuple[str, str] | None:
        """User and password of HTTP Basic."""
        kind, _, coded = self.headers.get("authorization", "").partition(" ")
        if kind != "Basic":
            return None
        user, colon, password = base64.b64decode(coded).decode().partition(":")
        return (user, password) if colon else None


@dataclass
class Answer:
    """A body that is a text is sent as HTML, all else as JSON."""

    status: int
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Fault:
    """What happens to some calls instead of what should: `answer` is given in place of the server's own and nothing is
    done; where `lost`, it is done, and the connection ends without an answer; where `refused`, likewise, but nothing is
    done. `times`: how often; None: always."""

    method: str
    path: str
    answer: Answer | None = None
    lost: bool = False
    refused: bool = False
    times: int | None = 1


class Held:
    """A call that has been done and is answered when `go_on` says so."""

    def __init__(self, method: str, path: str) -> None:
        self.method, self.path = method, path
        self.came, self.may_go = threading.Event(), threading.Event()

    def go_on(self) -> None:
        self.may_go.set()


class FarEnd:
    """A server on a port of its own. What it answers, `answer(call)` says; it is called under a lock."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.held: list[Held] = []
        self.lock = threading.RLock()
        self.ended = threading.Event()
        end = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self) -> None:
                text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode(errors="replace")
                path, _, query = self.path.partition("?")
                call = Call(self.command, urllib.parse.unquote(path), urllib.parse.parse_qs(query),
                            {name.lower(): value for name, value in self.headers.items()}, text)
                answer = end.serve(call)
                if answer is None or end.ended.is_set():
                    self.close_connection = True
                    return
                is_text = isinstance(answer.body, str)
                body = b"" if answer.status == 204 else answer.body.encode() if is_text else json.dumps(answer.body).encode()
                try:
                    self.send_response(answer.status)
                    self.send_header("Content-Type", "text/html; charset=UTF-8" if is_text else "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:  # who asked has gone
                    self.close_connection = True

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = serve

            def log_message(self, *_args) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=[0.05])
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def stop(self) -> None:
        self.ended.set()
        for one in self.held:
            one.go_on()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    # ---- what tests say and ask

    def fail(self, method: str, path: str, answer: Answer | None = None, **how) -> None:
        self.faults.append(Fault(method, path, answer, **how))

    def hold(self, method: str, path: str) -> Held:
        """The next such call."""
        held = Held(method, path)
        self.held.append(held)
        return held

    def of(self, method: str, path: str, wanted: Callable[[Call], bool] = lambda call: True) -> list[Call]:
        with self.lock:
            return [call for call in self.calls if call.is_of(method, path) and wanted(call)]

    def count(self, method: str, path: str, wanted: Callable[[Call], bool] = lambda call: True) -> int:
        return len(self.of(method, path, wanted))

    # ---- what it does

    def answer(self, call: Call) -> Answer:
        raise NotImplementedError

    def serve(self, call: Call) -> Answer | None:
        """None: the connection ends without an answer."""
        with self.lock:
            self.calls.append(call)
            fault = next((one for one in self.faults if one.times != 0 and call.is_of(one.method, one.path)), None)
            if fault is not None and fault.times is not None:
                fault.times -= 1
            if fault is not None and fault.refused:
                return None
            answer = fault.answer if fault is not None and fault.answer else self.answer(call)
            held = next((one for one in self.held if not one.came.is_set() and call.is_of(one.method, one.path)), None)
            if held is not None:
                held.came.set()
        if held is not None:
            held.may_go.wait()
        return None if fault is not None and fault.lost else answer
