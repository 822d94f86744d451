#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Events over HTTP: 20,000 in a minute, evenly, nine in ten of which came before, each answered when it is on the disk. How
long each waits for its answer, counted from when it was due to be sent, beside a bare fdatasync in the same minute; what
becomes of the cycle meanwhile; memory; and whether each distinct one was acted on once.

usage: bench_events.py BUILD [--short]      prints figures; --short has two seconds of them
"""
import collections
import json
import os
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import processes  # noqa: E402

RATE = 20_000 / 60
SECONDS = 60
AGAIN = 10  # each event comes so often
CONNECTIONS = 20
WANTED = 50  # milliseconds, of 99 in 100
CYCLE = 1
TOKEN = "a-token-of-a-hook-of-some-length"


def figures(times: list[float]) -> str:
    times.sort()
    return f"median {times[len(times) // 2]:.1f} ms, p99 {times[int(len(times) * 0.99) - 1]:.1f} ms, longest {times[-1]:.1f} ms"


def cpu(pid: int) -> float:
    """Seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


class Events:
    """Sends events when they are due, each over the connection that has waited longest for nothing."""

    def __init__(self, port: int):
        self.selector = selectors.DefaultSelector()
        self.idle: collections.deque[socket.socket] = collections.deque()
        self.due: dict[socket.socket, float] = {}
        self.tails: dict[socket.socket, bytes] = {}
        self.times: list[float] = []
        self.statuses: collections.Counter[bytes] = collections.Counter()
        for _ in range(CONNECTIONS):
            client = socket.create_connection(("127.0.0.1", port))
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.setblocking(False)
            self.selector.register(client, selectors.EVENT_READ)
            self.idle.append(client)

    @staticmethod
    def request(number: int) -> bytes:
        body = json.dumps({"unit": f"u{number // AGAIN}", "state": "gone", "reason": "r" * 500}).encode()
        return (f"POST /hooks/units HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nwebhook-id: u{number // AGAIN}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body

    def play(self, seconds: float) -> int:
        begun = time.monotonic()
        sent, whole = 0, int(seconds * RATE)
        while sent < whole or self.due:
            now = time.monotonic()
            while sent < whole and self.idle and begun + sent / RATE <= now:
                client = self.idle.popleft()
                self.due[client], self.tails[client] = begun + sent / RATE, b""
                client.send(self.request(sent))
                sent += 1
            next_due = begun + sent / RATE - time.monotonic() if sent < whole and self.idle else 1.0
            for key, _ in self.selector.select(max(0.0, next_due)):
                self.take(key.fileobj)
        for client in self.idle:
            client.close()
        return (sent + AGAIN - 1) // AGAIN

    def take(self, client: socket.socket) -> None:
        text = self.tails[client] = self.tails[client] + client.recv(1 << 16)
        head, end, body = text.partition(b"\r\n\r\n")
        if not text:
            sys.exit("healerd has closed a connection")
        size = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
        if not end or len(body) < size:
            return
        self.statuses[head.split(b" ", 2)[1]] += 1
        self.times.append(1000 * (time.monotonic() - self.due.pop(client)))
        self.idle.append(client)


class Disk:
    """What the disk itself takes: a small append and fdatasync, ten times a second."""

    def __init__(self, path: Path):
        self.times: list[float] = []
        self.enough = threading.Event()
        self.file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self.thread = threading.Thread(target=self.play)
        self.thread.start()

    def play(self) -> None:
        while not self.enough.wait(0.1):
            begun = time.monotonic()
            os.write(self.file, b"x" * 4096)
            os.fdatasync(self.file)
            self.times.append(1000 * (time.monotonic() - begun))

    def stop(self) -> str:
        self.enough.set()
        self.thread.join()
        os.close(self.file)
        return figures(self.times) if self.times else "not measured"


def lateness(runs: Path, since: float) -> str:
    """Of the runs of a program that is due each cycle, how far they were from that; from the times that it has written."""
    times = [float(line) for line in runs.read_text().split() if float(line) >= since]
    late = [abs((time_ - times[0] + CYCLE / 2) % CYCLE - CYCLE / 2) * 1000 for time_ in times[1:]]
    return f"{len(late)} cycles, {figures(late)} off" if late else "no cycle"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def main() -> None:
    build, seconds = Path(sys.argv[1]), 2 if "--short" in sys.argv else SECONDS
    folder = Path(tempfile.mkdtemp(prefix="healer-events-"))
    path, runs, acted, port = str(folder / "socket"), folder / "runs", folder / "acted", free_port()
    for name, body in (("clock", f"exec date +%s.%N >> {runs}"), ("act", f'echo "$1" >> {acted}')):
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    rules = folder / "rules"
    rules.write_text(f"""set daemon {CYCLE}
set httpd port {port} allow localhost
check program clock with path {folder / "clock"}
  if status != 0 then alert
check event units with hook "/hooks/units" token "{TOKEN}" within 1 hour
  if json '.state' = "gone" then exec "{folder / "act"} ${{EVENT.unit}}"
""")
    rules.chmod(0o600)
    daemon = subprocess.Popen([build / "healerd", "-I", "-c", rules, "-p", folder / "pid", "-s", folder / "state", "-l",
                               folder / "log", "--socket", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              preexec_fn=processes.die_with_parent)
    try:
        until = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                if time.monotonic() > until or daemon.poll() is not None:
                    sys.exit("healerd does not answer")
                time.sleep(0.05)
        since = time.time()
        time.sleep(max(seconds / 3, 3))
        before = memory(daemon.pid)
        print(f"without events: {lateness(runs, since)}; {before:.0f} MB")
        events, disk, since, used = Events(port), Disk(folder / "disk"), time.time(), cpu(daemon.pid)
        begun = time.monotonic()
        distinct = events.play(seconds)
        took = time.monotonic() - begun
        bare = disk.stop()
        print(f"{len(events.times)} events in {took:.1f} s ({len(events.times) / took:.0f}/s), {distinct} distinct, each on disk: "
              f"{figures(events.times)}; {(cpu(daemon.pid) - used) / took * 100:.0f} % of a core")
        print(f"a bare fdatasync meanwhile: {bare}")
        print(f"with events: {lateness(runs, since)}; {memory(daemon.pid):.0f} MB")
        until = time.monotonic() + 120
        while not acted.exists() or len(acted.read_text().split()) < distinct:
            if time.monotonic() > until:
                sys.exit(f"of {distinct} distinct events {len(acted.read_text().split())} were acted on")
            time.sleep(0.2)
        print(f"all were acted on {time.monotonic() - begun - took:.1f} s after the last had come")
        twice = [name for name, times in collections.Counter(acted.read_text().split()).items() if times > 1]
        if twice or set(events.statuses) != {b"202"}:
            sys.exit(f"answers: {dict(events.statuses)}; acted on twice: {twice}")
        p99 = sorted(events.times)[int(len(events.times) * 0.99) - 1]
        if p99 > WANTED:
            print(f"of 100 events one waits for longer than the {WANTED} ms that are wanted")
    finally:
        daemon.kill()
        daemon.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
