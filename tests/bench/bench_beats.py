#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Beats of heartbeats over the control socket: 2,000 in a second, evenly, over a few connections, each answered when it is
on the disk; how long each waits for its answer, counted from when it was due to be sent, and what becomes of the cycle
meanwhile. First with the state in memory (/dev/shm), which shows what healer takes, then on the disk, beside what the
disk takes: a bare write and fdatasync of 4 kB at the same rhythm as healer's commits, without healer.

usage: bench_beats.py BUILD [--short]      prints figures; --short has a second of them
"""
import json
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

RATE = 2_000
SECONDS = 10
CONNECTIONS = 100
HEARTBEATS = 1_000
WANTED = 50  # milliseconds, of 99 in 100
CYCLE = 1


def request(command: str, **fields) -> bytes:
    return json.dumps({"version": 1, "command": command, **fields}).encode() + b"\n"


def figures(times: list[float]) -> str:
    times.sort()
    return f"median {times[len(times) // 2]:.1f} ms, p99 {times[int(len(times) * 0.99) - 1]:.1f} ms, longest {times[-1]:.1f} ms"


def cpu(pid: int) -> float:
    """Seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Beats:
    """Sends beats when they are due, each over the connection that has waited longest for nothing."""

    def __init__(self, path: str):
        self.selector = selectors.DefaultSelector()
        self.idle: deque[socket.socket] = deque()
        self.due: dict[socket.socket, float] = {}
        self.tails: dict[socket.socket, bytes] = {}
        self.times: list[float] = []
        self.refused = 0
        self.reason = b""
        for _ in range(CONNECTIONS):
            client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            client.connect(path)
            client.setblocking(False)
            self.selector.register(client, selectors.EVENT_READ)
            self.idle.append(client)

    def play(self, seconds: float) -> None:
        begun = time.monotonic()
        sent, all_beats = 0, int(seconds * RATE)
        while sent < all_beats or self.due:
            now = time.monotonic()
            while sent < all_beats and self.idle and begun + sent / RATE <= now:
                client = self.idle.popleft()
                self.due[client], self.tails[client] = begun + sent / RATE, b""
                client.send(request("beat", names=[f"job{sent % HEARTBEATS}"], beat={"word": "exit", "status": int(sent % 20 == 0)}))
                sent += 1
            next_due = begun + sent / RATE - time.monotonic() if sent < all_beats and self.idle else 1.0
            for key, _ in self.selector.select(max(0.0, next_due)):
                self.take(key.fileobj)
        for client in self.idle:
            client.close()

    def take(self, client: socket.socket) -> None:
        text = self.tails[client] = self.tails[client] + client.recv(1 << 16)
        if b'"end":' not in text and b'"error":' not in text:
            return
        if b'"ok":true' not in text:
            self.refused += 1
            self.reason = text
        self.times.append(1000 * (time.monotonic() - self.due.pop(client)))
        self.idle.append(client)


def lateness(runs: Path, since: float) -> str:
    """Of the runs of a program that is due each cycle, how far they were from that; from the times that it has written."""
    times = [float(line) for line in runs.read_text().split() if float(line) >= since]
    late = [abs((time_ - times[0] + CYCLE / 2) % CYCLE - CYCLE / 2) * 1000 for time_ in times[1:]]
    return f"{len(late)} cycles, {figures(late)} off" if late else "no cycle"


def bare(folder: Path, seconds: float) -> str:
    """What the disk takes by itself."""
    times = []
    with open(folder / "bare", "wb", buffering=0) as file:
        end = time.monotonic() + seconds
        while (begun := time.monotonic()) < end:
            file.write(b"x" * 4096)
            os.fdatasync(file.fileno())
            times.append(1000 * (time.monotonic() - begun))
            time.sleep(0.002)
    return figures(times)


def main() -> None:
    build, seconds = Path(sys.argv[1]), 1 if "--short" in sys.argv else SECONDS
    for where, place in (("in memory", "/dev/shm"), ("on the disk", None)):
        folder = Path(tempfile.mkdtemp(prefix="healer-beats-", dir=place))
        try:
            print(f"-- the state {where}; a bare write and fdatasync there: {bare(folder, max(seconds, 3))}")
            measure(build, seconds, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def measure(build: Path, seconds: float, folder: Path) -> None:
    path, runs = str(folder / "socket"), folder / "runs"
    clock = folder / "clock"
    clock.write_text(f"#!/bin/sh\nexec date +%s.%N >> {runs}\n")
    clock.chmod(0o755)
    rules = folder / "rules"
    rules.write_text(f"set daemon {CYCLE}\ncheck program clock with path {clock}\n  if status != 0 then alert\n" + "".join(
        f"check heartbeat job{i} every 1 day within 1 hour\n  if missed then alert\n  if failed for 3 cycles then alert\n"
        for i in range(HEARTBEATS)))
    rules.chmod(0o600)
    daemon = subprocess.Popen([build / "healerd", "-I", "-c", rules, "-p", folder / "pid", "-s", folder / "state", "-l",
                               folder / "log", "--socket", path], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, preexec_fn=processes.die_with_parent)
    try:
        until = time.monotonic() + 60
        while subprocess.run([build / "healerctl", "--socket", path, "ping"], capture_output=True).returncode != 0:
            if time.monotonic() > until or daemon.poll() is not None:
                sys.exit("healerd does not answer")
            time.sleep(0.05)
        since = time.time()
        time.sleep(max(seconds, 3))
        print(f"without beats: {lateness(runs, since)}")
        beats, since, used = Beats(path), time.time(), cpu(daemon.pid)
        begun = time.monotonic()
        beats.play(seconds)
        took = time.monotonic() - begun
        print(f"{len(beats.times)} beats in {took:.1f} s ({len(beats.times) / took:.0f}/s), each on disk: {figures(beats.times)}; "
              f"{(cpu(daemon.pid) - used) / took * 100:.0f} % of a core")
        print(f"with beats: {lateness(runs, since)}")
        if beats.refused:
            sys.exit(f"{beats.refused} beats were refused: {beats.reason.decode().splitlines()[-1]}")
        p99 = sorted(beats.times)[int(len(beats.times) * 0.99) - 1]
        if p99 > WANTED:
            print(f"of 100 beats one waits for longer than the {WANTED} ms that are wanted")
    finally:
        daemon.kill()
        daemon.wait()


if __name__ == "__main__":
    main()
