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
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path

from measures import Paced, cpu, figures, running

RATE = 2_000
SECONDS = 10
CONNECTIONS = 100
HEARTBEATS = 1_000
WANTED = 50  # milliseconds, of 99 in 100
CYCLE = 1


def request(command: str, **fields) -> bytes:
    return json.dumps({"version": 1, "command": command, **fields}).encode() + b"\n"


class Beats(Paced):
    def __init__(self, path: str):
        clients = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(CONNECTIONS)]
        for client in clients:
            client.connect(path)
        super().__init__(clients, RATE)
        self.refused = 0
        self.reason = b""

    def request(self, number: int) -> bytes:
        return request("beat", names=[f"job{number % HEARTBEATS}"], beat={"word": "exit", "status": int(number % 20 == 0)})

    def take(self, client: socket.socket) -> bool:
        text = self.tails[client] = self.tails[client] + client.recv(1 << 16)
        if b'"end":' not in text and b'"error":' not in text:
            return False
        if b'"ok":true' not in text:
            self.refused += 1
            self.reason = text
        return True


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
    rules = f"set daemon {CYCLE}\ncheck program clock with path {clock}\n  if status != 0 then alert\n" + "".join(
        f"check heartbeat job{i} every 1 day within 1 hour\n  if missed then alert\n  if failed for 3 cycles then alert\n"
        for i in range(HEARTBEATS))
    with running(build, folder, rules) as daemon:
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


if __name__ == "__main__":
    main()
