#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The HTTP side beside the cycle: 1,000 requests of `/_status` in a second, evenly, over a few connections, of 100 services;
then clients that connect and are silent, or send a byte now and then, as many as there are places for, and come again whenever
they are dropped. What is measured is how late runs are without, with the requests, and with the flood, in one run.

usage: bench_status.py BUILD [--short]      prints figures; --short has a few seconds of each
"""
import base64
import contextlib
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path

from measures import Paced, cpu, figures, memory, running

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


class Requests(Paced):
    def __init__(self, port: int):
        super().__init__((socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)), RATE)
        self.bytes = 0

    def request(self, number: int) -> bytes:
        return REQUEST

    def take(self, client: socket.socket) -> bool:
        part = client.recv(1 << 18)
        if not part:
            sys.exit("healerd has closed a connection")
        self.bytes += len(part)
        tail = self.tails[client] = (self.tails[client] + part)[-len(END):]
        return tail == END


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
    rules = (
        f"set daemon {CYCLE}\nset httpd port {port} use address 127.0.0.1 allow admin:monit\n"
        + "".join(f'check program clock{i} with path "{clock} clock{i}"\n  if status != 0 then alert\n' for i in range(CLOCKS))
        + "".join(f"check file file{i} with path /etc/passwd\n  if size > 1 GB then alert\n" for i in range(FILES)))
    log = folder / "log"
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        daemon = stack.enter_context(running(build, folder, rules, lambda: log.exists() and "listening on" in log.read_text()))
        time.sleep(2 * CYCLE)
        since = time.time()
        time.sleep(seconds)
        print(f"without requests: {lateness(runs, since)}; {memory(daemon.pid):.0f} MB")
        requests, since, used = Requests(port), time.time(), cpu(daemon.pid)
        begun = time.monotonic()
        requests.play(seconds, patience=1)
        took = time.monotonic() - begun
        print(f"{len(requests.times)} requests in {took:.1f} s ({len(requests.times) / took:.0f}/s of {RATE}, "
              f"{requests.bytes / took / 1e6:.0f} MB/s): {figures(requests.times)}; {(cpu(daemon.pid) - used) / took * 100:.0f} % of a core")
        print(f"with requests: {lateness(runs, since)}; {memory(daemon.pid):.0f} MB")
        time.sleep(CYCLE)
        since, used, begun = time.time(), cpu(daemon.pid), time.monotonic()
        count = flood(port, seconds)
        took = time.monotonic() - begun
        print(f"{count} connections that are silent or slow, {FLOOD} at a time; {(cpu(daemon.pid) - used) / took * 100:.0f} % of a core")
        print(f"with them: {lateness(runs, since)}; {memory(daemon.pid):.0f} MB")


if __name__ == "__main__":
    main()
