#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Much of one kind: how long healerd's loop is held up by a list of 20,000 rows of which one changes at each reading; how
often a service of one second runs while 20,000 check programs have their first runs; and whether the time to load a service
is linear in the number of its rules.

usage: bench_lists.py BUILD [--short]      prints times and ratios; --short has a tenth of the rows and rules
"""
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import processes  # noqa: E402

ROWS = 20_000
RULES = 100_000
WATCHED = 20.0  # seconds
LIMIT = 300.0


class Daemon:
    def __init__(self, build: Path, folder: Path, rules: str) -> None:
        self.build, self.folder = build, folder
        folder.mkdir(mode=0o700)
        path = folder / "rules"
        path.write_text(rules)
        path.chmod(0o600)
        self.process = subprocess.Popen(
            [build / "healerd", "-I", "-c", path, "-l", folder / "log", "-p", folder / "pid", "-s", folder / "state", "--socket",
             folder / "socket"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=processes.die_with_parent)

    def ctl(self, *words: str) -> str:
        return subprocess.run([self.build / "healerctl", "--socket", self.folder / "socket", *words], capture_output=True,
                              text=True, timeout=LIMIT).stdout

    def ping(self) -> float:
        begin = time.monotonic()
        self.ctl("ping")
        return time.monotonic() - begin

    def wait_for(self, condition) -> None:
        until = time.monotonic() + LIMIT
        while not condition():
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit(f"healerd does not come so far: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.1)

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()


def write(path: Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.chmod(0o600)
    os.replace(fresh, path)


def bench_list(build: Path, folder: Path, count: int) -> None:
    nodes = folder / "nodes"
    names = [f"n{number}" for number in range(count)]
    write(nodes, "\n".join(names) + "\n")
    daemon = Daemon(build, folder / "list", "set daemon 3600\n"
                    f'for each NODE from file "{nodes}" every 1 second {{\n'
                    f"  check file f_${{NODE}} with path {folder}/none/${{NODE}}\n    if size > 10 MB then alert\n}}\n")
    try:
        daemon.wait_for(lambda: f"rows      {count}" in daemon.ctl("lists"))
        time.sleep(10)  # the first looks
        quiet = sorted(daemon.ping() for _ in range(50))
        pings: list[float] = []
        until, changes = time.monotonic() + WATCHED, 0
        change = 0.0
        while time.monotonic() < until:
            if time.monotonic() > change:
                changes += 1
                write(nodes, "\n".join(names[:-1] + [f"x{changes}"]) + "\n")
                change = time.monotonic() + 1.5
            pings.append(daemon.ping())
            time.sleep(0.005)
        taken = (daemon.folder / "log").read_text().count("rules reloaded: ")
        print(f"a list of {count} rows, one of which changes {changes} times in {WATCHED:.0f} s ({taken} taken over): a ping takes "
              f"{max(pings) * 1000:.0f} ms at most, {sorted(pings)[len(pings) * 99 // 100] * 1000:.0f} ms at p99; while nothing "
              f"changes {quiet[-1] * 1000:.0f} ms at most")
    finally:
        daemon.end()


def bench_first_runs(build: Path, folder: Path, count: int) -> None:
    beats = folder / "beats"
    program = folder / "beat"
    program.write_text(f"#!/bin/sh\ndate +%s.%N >> {beats}\n")
    program.chmod(0o755)
    rules = "set daemon 3600\n" + "".join(f'check program p{number} with path "/bin/true"\n  if status != 0 then alert\n'
                                           for number in range(count))
    daemon = Daemon(build, folder / "first", rules + f'check program quick with path "{program}" every 1 second\n'
                    "  if status != 0 then alert\n")
    try:
        daemon.wait_for(lambda: "answers" in daemon.ctl("ping"))
        begin = time.time()
        time.sleep(15)
        times = [float(line) for line in beats.read_text().split()]
        gaps = [b - a for a, b in zip(times, times[1:])]
        print(f"{count} check programs start: one of each second has its first run {times[0] - begin:.2f} s after the first answer, "
              f"then {len(times)} runs in 15 s, at most {max(gaps):.2f} s apart")
    finally:
        daemon.end()


def bench_rules(build: Path, folder: Path, count: int) -> None:
    def took(rules: int) -> float:
        path = folder / "many.rules"
        write(path, 'check program one with path "/bin/true"\n' +
              "".join(f'  if status = {number % 250} then exec "/bin/true {number}"\n' for number in range(rules)))
        begin = time.monotonic()
        done = subprocess.run([build / "healerd", "-t", "-c", path], capture_output=True, text=True, timeout=LIMIT)
        if done.returncode != 0:
            sys.exit(done.stderr[-2000:])
        return time.monotonic() - begin

    half, whole = took(count // 2), took(count)
    print(f"a service of {count} rules is checked in {whole:.2f} s; twice the rules take {whole / half:.1f} times the time")


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    build, share = Path(sys.argv[1]).resolve(), 10 if "--short" in sys.argv else 1
    for bench, count in (bench_list, ROWS), (bench_first_runs, ROWS), (bench_rules, RULES):
        with tempfile.TemporaryDirectory() as folder:
            bench(build, Path(folder), count // share)


if __name__ == "__main__":
    main()
