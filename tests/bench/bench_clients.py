#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Very many clients of the control socket at once: how soon a `ping` is answered among 1,000 that ask for the summary of 100
services again and again, and among 1,000 that follow the history, ten of which never read; and what the daemon's memory is
then.

usage: bench_clients.py BUILD [--short]      prints figures; --short has a tenth of the clients
"""
import contextlib
import json
import resource
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from measures import figures, memory, running

SERVICES = 100
CLIENTS = 1_000
DEAF = 10  # of the followers
PINGS = 100
RECORDS = 200  # that come while they follow


def request(command: str, **fields) -> bytes:
    return json.dumps({"version": 1, "command": command, **fields}).encode() + b"\n"


def connect(path: str) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(path)
    return client


def answer(client: socket.socket, what: bytes) -> bytes:
    """The whole answer."""
    client.sendall(what)
    text = b""
    while b'{"end":' not in text and b'"error":' not in text:
        part = client.recv(1 << 16)
        if not part:
            break
        text += part
    return text


def pinged(path: str, count: int) -> list[float]:
    """Milliseconds from before the connection to the answer, sorted."""
    times = []
    for _ in range(count):
        begun = time.monotonic()
        with connect(path) as client:
            answer(client, request("ping"))
        times.append(1000 * (time.monotonic() - begun))
        time.sleep(0.02)
    return sorted(times)


class Crowd(threading.Thread):
    """Clients in one thread: each is sent what it asks, again where `again`, and all that comes is read, but from `deaf`."""

    def __init__(self, path: str, count: int, what: bytes, again: bool, deaf: int = 0):
        super().__init__(daemon=True)
        self.what, self.again = what, again
        self.bytes = self.answers = 0
        self.done = threading.Event()
        self.selector = selectors.DefaultSelector()
        self.tails: dict[socket.socket, bytes] = {}
        self.clients = [connect(path) for _ in range(count)]
        for number, client in enumerate(self.clients):
            client.sendall(what)
            client.setblocking(False)
            if number >= deaf:
                self.selector.register(client, selectors.EVENT_READ)

    def run(self) -> None:
        while not self.done.is_set():
            for key, _ in self.selector.select(0.1):
                try:
                    text = key.fileobj.recv(1 << 18)
                except BlockingIOError:
                    continue
                if not text:
                    self.selector.unregister(key.fileobj)
                    continue
                self.bytes += len(text)
                tail = self.tails[key.fileobj] = (self.tails.get(key.fileobj, b"") + text)[-400:]
                if self.again and tail.endswith(b"\n") and tail[tail.rfind(b"\n", 0, -1) + 1:].startswith(b'{"end":'):
                    self.answers += 1
                    key.fileobj.send(self.what)

    def end(self) -> None:
        self.done.set()
        self.join()
        for client in self.clients:
            client.close()


def main() -> None:
    build, short = Path(sys.argv[1]), "--short" in sys.argv
    count = CLIENTS // 10 if short else CLIENTS
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(65_536, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    folder = Path(tempfile.mkdtemp(prefix="healer-clients-"))
    path = str(folder / "socket")
    rules = "set daemon 600\n" + "".join(f"check file file{i} with path /var/tmp/none/file{i}\n" for i in range(SERVICES))
    ctl = [build / "healerctl", "--socket", path]
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        daemon = stack.enter_context(running(build, folder, rules))
        print(f"a ping alone: {figures(pinged(path, PINGS))}; {memory(daemon.pid):.1f} MB")

        crowd = Crowd(path, count, request("summary"), again=True)
        crowd.start()
        while crowd.answers < count:  # all of them are at it
            time.sleep(0.05)
        begun, before = time.monotonic(), crowd.answers
        times = pinged(path, PINGS)
        rate = (crowd.answers - before) / (time.monotonic() - begun)
        print(f"among {count} clients that ask for a summary of {SERVICES} services ({rate:.0f} answers/s): {figures(times)}; "
              f"{memory(daemon.pid):.1f} MB")
        crowd.end()

        crowd = Crowd(path, count, request("history", follow=True), again=False, deaf=DEAF)
        crowd.start()
        acting = threading.Thread(target=lambda: [subprocess.run([*ctl, "unmonitor" if i % 2 == 0 else "monitor", "file1"],
                                                                 capture_output=True) for i in range(RECORDS)])
        begun = time.monotonic()
        acting.start()
        times = pinged(path, PINGS)
        acting.join()
        print(f"among {count} that follow the history, {DEAF} of which never read, {RECORDS} records in "
              f"{time.monotonic() - begun:.1f} s: {figures(times)}; {crowd.bytes / 1e6:.1f} MB were told; "
              f"{memory(daemon.pid):.1f} MB")
        crowd.end()


if __name__ == "__main__":
    main()
