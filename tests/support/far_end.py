# SPDX-License-Identifier: MIT
"""Servers that tests play other systems with: each request has a name in words, is kept, and can be made to go wrong."""
import http.server
import json
import re
import ssl
import threading
from typing import Any, Callable


class Gate:
    """Holds the answer to a request back: `arrived` is set when the request is there, and it is answered when `open` is. What it
    asks for is done before (`after`), when the gate opens, or not at all (`drop`)."""

    def __init__(self, after: bool = False, drop: bool = False) -> None:
        self.after, self.drop = after, drop
        self.arrived, self.open = threading.Event(), threading.Event()


class Answer:
    def __init__(self, status: int, content: Any = None, headers: dict[str, str] | None = None, kind: str = "application/json"):
        self.status, self.headers, self.kind = status, headers or {}, kind
        self.body = content if isinstance(content, bytes) else b"" if content is None else json.dumps(content).encode()


class Request:
    def __init__(self, method: str, path: str, query: dict[str, str], headers: Any, body: bytes) -> None:
        self.method, self.path, self.query, self.headers, self.body = method, path, query, headers, body

    def json(self) -> Any:
        return json.loads(self.body or b"null")


LOST, UNSEEN = "lost", "unseen"  # done, but never answered; neither done nor answered


class FarEnd:
    """`routes`: what a request is called, and what it does, by its method and path. `asked` has the name of each request that came,
    and `done` of each that was carried out."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.asked: list[str] = []
        self.done: list[str] = []
        self.faults: dict[str, list] = {}
        self.lasting: dict[str, Any] = {}
        self.gates: list[Gate] = []
        self.routes: list[tuple[str, re.Pattern, str | Callable[..., str], Callable[..., Answer]]] = []
        self.servers: list[tuple[http.server.ThreadingHTTPServer, threading.Thread]] = []

    def route(self, method: str, path: str, name: str | Callable[..., str], does: Callable[..., Answer]) -> None:
        """Groups of the path are given to what is done, and stand in the name as {0}, {1}; or it is made of request and groups."""
        self.routes.append((method, re.compile(path), name, does))

    def fault(self, name: str, *what: int | str | Gate | None, always: bool = False) -> None:
        """What the next requests of that name meet, one after the other: a status, LOST, UNSEEN, a gate, or nothing."""
        with self.lock:
            self.gates += [one for one in what if isinstance(one, Gate)]
            if always:
                self.lasting[name] = what[0]
            else:
                self.faults.setdefault(name, []).extend(what)

    def mend(self, name: str) -> None:
        with self.lock:
            self.lasting.pop(name, None)
            self.faults.pop(name, None)

    def count(self, name: str) -> int:
        """How often that was asked for."""
        with self.lock:
            return self.asked.count(name)

    def did(self, name: str) -> int:
        with self.lock:
            return self.done.count(name)

    def handle(self, request: Request) -> Answer | None:
        for method, path, name, does in self.routes:
            if method == request.method and (match := path.fullmatch(request.path)):
                called = name.format(*match.groups()) if isinstance(name, str) else name(request, *match.groups())
                return self.meet(request, called, does, match.groups())
        return self.unknown(request)

    def unknown(self, request: Request) -> Answer:
        return Answer(404)

    def allowed(self, request: Request, name: str) -> Answer | None:
        """An answer that refuses."""

    def refusal(self, status: int, name: str) -> Answer:
        return Answer(status)

    def meet(self, request: Request, name: str, does: Callable[..., Answer], groups: tuple) -> Answer | None:
        with self.lock:
            self.asked.append(name)
            waiting = self.faults.get(name)
            fault = waiting.pop(0) if waiting else self.lasting.get(name)
        if isinstance(fault, int):
            return self.refusal(fault, name)
        if fault == UNSEEN:
            return None
        answer = None
        if isinstance(fault, Gate) and not fault.after:
            fault.arrived.set()
            fault.open.wait()
        if not (isinstance(fault, Gate) and fault.drop):
            with self.lock:
                answer = self.allowed(request, name) or does(request, *groups)
                if answer.status < 300:
                    self.done.append(name)
        if isinstance(fault, Gate) and fault.after:
            fault.arrived.set()
            fault.open.wait()
        return None if fault == LOST else answer

    def serve(self, address: str = "127.0.0.1", port: int = 0, context: ssl.SSLContext | None = None,
              handle: Callable[[Request], Answer | None] | None = None) -> int:
        """Listens there; the port."""
        handle = handle or self.handle

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path, _, query = self.path.partition("?")
                words = dict((word.partition("=")[0], word.partition("=")[2]) for word in query.split("&") if word)
                answer = handle(Request(self.command, path, words, self.headers, body))
                if answer is None:
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", answer.kind)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer.body)

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_args) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_args) -> None:
                pass  # a client that was killed

        server = Server((address, port), Handler)
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        self.servers.append((server, thread))
        return server.server_address[1]

    def stop(self) -> None:
        for gate in self.gates:
            gate.open.set()
        for server, thread in self.servers:
            server.shutdown()
            server.server_close()
            thread.join()
