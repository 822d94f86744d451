#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The HTTP side beside the cycle: 1,000 requests of `/_status` in a second, evenly, over a few connections, of 100 services;
then clients that connect and are silent, or send a byte now and then, as many as there are places for, and come again whenever
they are dropped. What is measured is how late runs are without, with the requests, and with the flood, in one run.

usage: bench_status.py BUILD [--short]      prints figures; --short has a few seconds of each
"""
import base64
import os
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import processes  # noqa: E402

RATE = 1_000
SECONDS = 10
CONNECTIONS = 40
CLOCKS = 20  # programs that write down when they run
FILES = 80
CYCLE = 1
FLOOD = 600
LOGIN = base64.b64encode(b"admin:monit").decode()
REQUEST = f"GET /_status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {LOGIN}\r\n\r\n".encode()
END = b"\r\n0\r\n\r\n"  # of a chunked body


def figures(times: list[float]) -> str:
    times.sort()
    return f"median {times[len(times) // 2]:.1f} ms, p99 {times[int(len(times) * 0.99) - 1]:.1f} ms, longest {times[-1]:.1f} ms"


def cpu(pid: int) -> float:
    """Seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> int:
    """Megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


class Requests:
    """Sends requests when they are due, each over the connection that has waited longest for nothing."""

    def __init__(self, port: int):
        self.selector = selectors.DefaultSelector()
        self.idle: deque[socket.socket] = deque()
        self.due: dict[socket.socket, float] = {}
        self.tails: dict[socket.socket, bytes] = {}
        self.times: list[float] = []
        self.bytes = 0
        for _ in range(CONNECTIONS):
            client = socket.create_connection(("127.0.0.1", port))
            client.setblocking(False)
            self.selector.register(client, selectors.EVENT_READ)
            self.idle.append(client)

    def play(self, seconds: float) -> None:
        """Requests that are not sent by the end, since all connections wait, are left out."""
        begun = time.monotonic()
        sent, wanted = 0, int(seconds * RATE)
        while (sent < wanted and time.monotonic() < begun + seconds + 1) or self.due:
            now = time.monotonic()
            while sent < wanted and self.idle and begun + sent / RATE <= now < begun + seconds + 1:
                client = self.idle.popleft()
                self.due[client], self.tails[client] = begun + sent / RATE, b""
                client.send(REQUEST)
                sent += 1
            wait = begun + sent / RATE - time.monotonic() if sent < wanted and self.idle else 0.2
            for key, _ in self.selector.select(max(0.0, wait)):
                self.take(key.fileobj)
        for client in list(self.idle):
            client.close()

    def take(self, client: socket.socket) -> None:
        part = client.recv(1 << 18)
        if not part:
            sys.exit("healerd has closed a connection")
        self.bytes += len(part)
        tail = self.tails[client] = (self.tails[client] + part)[-len(END):]
        if tail == END:
            self.times.append(1000 * (time.monotonic() - self.due.pop(client)))
            self.idle.append(client)


def flood(port: int, seconds: float) -> int:
    """Clients that are silent, or slow, for so long; how many connections that were."""
    clients: list[socket.socket] = []
    count = 0
    until = time.monotonic() + seconds
    while (now := time.monotonic()) < until:
        while len(clients) < FLOOD:
            client = socket.create_connection(("127.0.0.1", port))
            client.setblocking(False)
            if count % 2 == 0:
                client.send(b"GET /_status HTTP/1.1\r\nX-Slow: ")
            clients.append(client)
            count += 1
        still = []
        for at, client in enumerate(clients):
            try:
                if client.recv(1) == b"":
                    client.close()
                    continue
            except BlockingIOError:
                pass
            except OSError:
                client.close()
                continue
            if at % 2 == 0:
                try:
                    client.send(b"x")
                except OSError:
                    pass
            still.append(client)
        clients = still
        time.sleep(max(0.0, now + 0.1 - time.monotonic()))
    for client in clients:
        client.close()
    return count


def lateness(runs: Path, since: float) -> str:
    """How far the runs of the programs were from the time at which each was due in its cycle, as they have written it down."""
    late = []
    by_name: dict[str, list[float]] = {}
    for line in runs.read_text().splitlines():
        name, _, when = line.partition(" ")
        if when and float(when) >= since:
            by_name.setdefault(name, []).append(float(when))
    for times in by_name.values():
        phases = sorted(when % CYCLE for when in times)
        usual = phases[len(phases) // 2]
        late += [abs((when - usual + CYCLE / 2) % CYCLE - CYCLE / 2) * 1000 for when in times]
    return f"{len(late)} runs, {figures(late)} off" if late else "no run"


def main() -> None:
    build, seconds = Path(sys.argv[1]), 3 if "--short" in sys.argv else SECONDS
    folder = Path(tempfile.mkdtemp(prefix="healer-status-"))
    runs, clock = folder / "runs", folder / "clock"
    clock.write_text(f'#!/bin/sh\nexec date "+$1 %s.%N" >> {runs}\n')
    clock.chmod(0o755)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    rules, path = folder / "rules", folder / "socket"
    rules.write_text(
        f"set daemon {CYCLE}\nset httpd port {port} use address 127.0.0.1 allow admin:monit\n"
        + "".join(f'check program clock{i} with path "{clock} clock{i}"\n  if status != 0 then alert\n' for i in range(CLOCKS))
        + "".join(f"check file file{i} with path /etc/passwd\n  if size > 1 GB then alert\n" for i in range(FILES)))
    rules.chmod(0o600)
    daemon = subprocess.Popen([build / "healerd", "-I", "-c", rules, "-p", folder / "pid", "-s", folder / "state", "-l",
                               folder / "log", "--socket", path], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, preexec_fn=processes.die_with_parent)
    try:
        until = time.monotonic() + 60
        while "listening on" not in (folder / "log").read_text() if (folder / "log").exists() else True:
            if time.monotonic() > until or daemon.poll() is not None:
                sys.exit("healerd does not listen")
            time.sleep(0.05)
        time.sleep(2 * CYCLE)
        since = time.time()
        time.sleep(seconds)
        print(f"without requests: {lateness(runs, since)}; {memory(daemon.pid)} MB")
        requests, since, used = Requests(port), time.time(), cpu(daemon.pid)
        begun = time.monotonic()
        requests.play(seconds)
        took = time.monotonic() - begun
        print(f"{len(requests.times)} requests in {took:.1f} s ({len(requests.times) / took:.0f}/s of {RATE}, "
              f"{requests.bytes / took / 1e6:.0f} MB/s): {figures(requests.times)}; {(cpu(daemon.pid) - used) / took * 100:.0f} % of a core")
        print(f"with requests: {lateness(runs, since)}; {memory(daemon.pid)} MB")
        time.sleep(CYCLE)
        since, used, begun = time.time(), cpu(daemon.pid), time.monotonic()
        count = flood(port, seconds)
        took = time.monotonic() - begun
        print(f"{count} connections that are silent or slow, {FLOOD} at a time; {(cpu(daemon.pid) - used) / took * 100:.0f} % of a core")
        print(f"with them: {lateness(runs, since)}; {memory(daemon.pid)} MB")
    finally:
        daemon.kill()
        daemon.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
