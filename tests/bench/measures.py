# SPDX-License-Identifier: MIT
"""What benchmarks of a running healerd share: the daemon itself, clients that ask at a rate, and figures."""
import contextlib
import math
import os
import selectors
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import processes  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")  # in a second


def figures(times: list[float]) -> str:
    """Of milliseconds; sorts them."""
    times.sort()
    return f"median {times[len(times) // 2]:.1f} ms, p99 {times[int(len(times) * 0.99) - 1]:.1f} ms, longest {times[-1]:.1f} ms"


def cpu(pid: int) -> float:
    """Seconds of a process: of itself, not of its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid: int) -> float:
    """Megabytes."""
    return next(int(line.split()[1]) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")) / 1024


@contextlib.contextmanager
def running(build: Path, folder: Path, rules: str, is_up: Callable[[], bool] | None = None) -> Iterator[subprocess.Popen]:
    """healerd with those rules and all its files in `folder`, as soon as it is up: as soon as it answers on
    `folder`/socket, or as `is_up` says."""
    path, file = folder / "socket", folder / "rules"
    file.write_text(rules)
    file.chmod(0o600)
    daemon = subprocess.Popen([build / "healerd", "-I", "-c", file, "-p", folder / "pid", "-s", folder / "state", "-l",
                               folder / "log", "--socket", path], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, preexec_fn=processes.die_with_parent)
    ping = [build / "healerctl", "--socket", path, "ping"]
    try:
        until = time.monotonic() + 60
        while not (is_up() if is_up else subprocess.run(ping, capture_output=True).returncode == 0):
            if time.monotonic() > until or daemon.poll() is not None:
                sys.exit("healerd does not come up")
            time.sleep(0.05)
        yield daemon
    finally:
        daemon.kill()
        daemon.wait()


class Paced:
    """Sends requests when they are due, each over the connection that has waited longest for nothing."""

    def __init__(self, clients: Iterable[socket.socket], rate: int):
        self.rate = rate
        self.selector = selectors.DefaultSelector()
        self.idle: deque[socket.socket] = deque()
        self.due: dict[socket.socket, float] = {}
        self.tails: dict[socket.socket, bytes] = {}
        self.times: list[float] = []  # milliseconds, from when each was due to its whole answer
        for client in clients:
            client.setblocking(False)
            self.selector.register(client, selectors.EVENT_READ)
            self.idle.append(client)

    def request(self, number: int) -> bytes:
        raise NotImplementedError

    def take(self, client: socket.socket) -> bool:
        """Reads some of an answer; whether that was its end."""
        raise NotImplementedError

    def play(self, seconds: float, patience: float = math.inf) -> None:
        """Requests that are not sent `patience` seconds after the end, since all connections wait, are left out."""
        begun = time.monotonic()
        last = begun + seconds + patience
        sent, wanted = 0, int(seconds * self.rate)
        while (sent < wanted and time.monotonic() < last) or self.due:
            now = time.monotonic()
            while sent < wanted and self.idle and begun + sent / self.rate <= now < last:
                client = self.idle.popleft()
                self.due[client], self.tails[client] = begun + sent / self.rate, b""
                client.send(self.request(sent))
                sent += 1
            wait = begun + sent / self.rate - time.monotonic() if sent < wanted and self.idle else 0.2
            for key, _ in self.selector.select(max(0.0, wait)):
                if self.take(key.fileobj):
                    self.times.append(1000 * (time.monotonic() - self.due.pop(key.fileobj)))
                    self.idle.append(key.fileobj)
        for client in self.idle:
            client.close()
