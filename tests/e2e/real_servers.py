# SPDX-License-Identifier: MIT
"""Real servers of Debian, on ports of a test's own and as its children."""
import signal
import socket
import subprocess
import threading
from pathlib import Path

import probe_test
import support


def connected(place: int | Path) -> socket.socket:
    if not isinstance(place, Path):
        return socket.create_connection(("127.0.0.1", place))
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(place))
    return client


class Cut(probe_test.Server):
    """Stands before a server and lets only so many bytes of its answers through."""

    def __init__(self, place: int | Path, limit: int):
        self.behind, self.limit = place, limit
        super().__init__(self.relay)

    def relay(self, client: socket.socket) -> None:
        with connected(self.behind) as server:
            def ask() -> None:
                try:
                    while data := client.recv(65536):
                        server.sendall(data)
                except OSError:
                    pass
            threading.Thread(target=ask, daemon=True).start()
            left = self.limit
            while left > 0 and (data := server.recv(left)):
                client.sendall(data)
                left -= len(data)
            client.shutdown(socket.SHUT_RDWR)
        client.close()


def speaks(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


class RealServers(support.Case):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.running: list[subprocess.Popen] = []

    def tearDown(self):
        self.end_servers()
        super().tearDown()

    def end_servers(self) -> None:
        while self.running:
            server = self.running.pop()
            server.send_signal(signal.SIGCONT)
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()

    def begin(self, *command, **more) -> subprocess.Popen:
        with open(self.path("servers.log"), "ab") as log:
            server = subprocess.Popen([*map(str, command)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, **more)
        self.running.append(server)
        return server

    def answers(self, *ports: int) -> None:
        for port in ports:
            self.wait_for(lambda: speaks(port), f"a server on {port}", detail=lambda: self.path("servers.log").read_text())

    def silent(self) -> int:
        """Accepts and says nothing, as a server that is stopped."""
        server = probe_test.Server(probe_test.silent)
        self.addCleanup(server.close)
        return server.port

    def cut(self, place: int | Path, limit: int) -> int:
        server = Cut(place, limit)
        self.addCleanup(server.close)
        return server.port

    def stopped(self, started) -> int:
        port, server = started
        server.send_signal(signal.SIGSTOP)
        return port

    def probe(self, port: int, words: str) -> tuple[int, dict]:
        return probe_test.probe("127.0.0.1", f"port {port} {words}")
