#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A thousand processes: from the death of one to the start of its start program, and all of them killed at once; in
healer, and in the least program that could do it (pidfds, epoll, posix_spawn, nothing written down).

usage: bench_starts.py BUILD [--short]      prints both and their ratios: 10 is the most that p99 may be
"""
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import control_groups  # noqa: E402

SERVICES = 1000
QUICK_DEATH = 11.0  # what was started longer ago is started again without delay


class Fleet:
    """The services, and the pipe by which their start programs report."""

    def __init__(self, build: Path, folder: Path) -> None:
        self.folder = folder
        self.program = build / "fleet"
        self.pipe = folder / "report"
        os.mkfifo(self.pipe)
        self.reader = os.open(self.pipe, os.O_RDWR)
        self.rest = b""
        for number in range(SERVICES):
            subprocess.run([self.program, "start", self.pid_file(number), self.pipe, str(number)], check=True)
        self.reports(SERVICES)

    def pid_file(self, number: int) -> Path:
        return self.folder / f"{number}.pid"

    def kill(self, number: int) -> int:
        """Kills a process; the time just before."""
        pid = int(self.pid_file(number).read_text())
        begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        os.kill(pid, signal.SIGKILL)
        return begin

    def reports(self, count: int) -> list[tuple[int, int]]:
        """So many reports of start programs: number, time."""
        found: list[tuple[int, int]] = []
        while len(found) < count:
            if not select.select([self.reader], [], [], 60)[0]:
                sys.exit(f"only {len(found)} of {count} start programs began within 60 s")
            *lines, self.rest = (self.rest + os.read(self.reader, 65536)).split(b"\n")
            found += [(int(line.split()[0]), int(line.split()[1])) for line in lines]
        return found

    def end(self) -> None:
        for number in range(SERVICES):
            os.kill(int(self.pid_file(number).read_text()), signal.SIGKILL)
        os.close(self.reader)


def measure(fleet: Fleet, kills: int) -> tuple[list[float], float]:
    """Milliseconds from each of so many deaths to the start; and from the death of all until all are being started."""
    times = []
    for number in random.Random(1).sample(range(SERVICES), kills):
        begin = fleet.kill(number)
        [(started, when)] = fleet.reports(1)
        assert started == number, f"{started} was started, not {number}"
        times.append((when - begin) / 1e6)
        time.sleep(0.03)
    time.sleep(QUICK_DEATH)
    begin = [fleet.kill(number) for number in range(SERVICES)][0]
    return sorted(times), (max(when for _, when in fleet.reports(SERVICES)) - begin) / 1e6


def with_bare(fleet: Fleet, kills: int) -> tuple[list[float], float]:
    process = subprocess.Popen([fleet.program, "bare", fleet.folder, str(SERVICES), fleet.pipe])
    wait_for((fleet.folder / "ready").exists)
    try:
        return measure(fleet, kills)
    finally:
        time.sleep(1)  # the last pid files are being written
        process.kill()
        process.wait()


def with_healer(build: Path, fleet: Fleet, kills: int) -> tuple[list[float], float]:
    folder = fleet.folder
    rules = f"set daemon 30\nset settle 0 seconds\nset statefile {folder}/state\nset idfile {folder}/id\nset log {folder}/log\n"
    for number in range(SERVICES):
        rules += (f'check process s{number} with pidfile {fleet.pid_file(number)}\n'
                  f'  start program = "{fleet.program} start {fleet.pid_file(number)} {fleet.pipe} {number}"\n')
    control = folder / "control"
    control.write_text(rules)
    control.chmod(0o600)
    socket = folder / "socket"
    process = subprocess.Popen([build / "healerd", "-I", "-c", control, "-p", folder / "pid", "--socket", socket],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ask = [build / "healerctl", "--socket", socket, "summary"]
        summary = lambda: subprocess.run(ask, capture_output=True, text=True, check=False).stdout
        wait_for(lambda: f"{SERVICES} services: {SERVICES} running" in summary())
        return measure(fleet, kills)
    finally:
        time.sleep(1)
        process.terminate()
        process.wait(30)


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        if time.monotonic() > until:
            sys.exit("nothing came of it within 60 s")
        time.sleep(0.2)


def main() -> None:
    build, kills = Path(sys.argv[1]).resolve(), 100 if "--short" in sys.argv else 400
    if os.geteuid() != 0:
        print("SKIPPED: only root can make a process namespace")
        return
    if "--inside" not in sys.argv:  # orphans are reaped at once in a namespace of their own, and die with it
        inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", build / "fleet", "init"]
        with control_groups.another():
            done = subprocess.run([*inside, sys.executable, *sys.argv, "--inside"], check=False)
        sys.exit(done.returncode)
    results = {}
    with tempfile.TemporaryDirectory(prefix="healer-bench-") as folder:
        for name in ("bare", "healer"):  # no file is removed in between: ext4 makes files slowly where many just went
            own = Path(folder) / name
            own.mkdir()
            fleet = Fleet(build, own)
            results[name] = with_bare(fleet, kills) if name == "bare" else with_healer(build, fleet, kills)
            fleet.end()
    print(f"{SERVICES} processes; {kills} killed one at a time, then all at once")
    figures = {name: (times[len(times) // 2], times[len(times) * 99 // 100], all_of_them)
               for name, (times, all_of_them) in results.items()}
    for name, (half, most, all_of_them) in figures.items():
        print(f"{name:8} start begins after {half:.2f} ms (p50), {most:.2f} ms (p99); all begun after {all_of_them:.0f} ms,"
              f" {SERVICES / all_of_them * 1000:.0f} a second")
    ratios = [healer / bare for bare, healer in zip(figures["bare"], figures["healer"])]
    print(f"ratio    {ratios[0]:.2f} (p50), {ratios[1]:.2f} (p99), {ratios[2]:.2f} (all at once)")


main()
