#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks that look at this machine alone, in the real healerd and in the real monit: how many each makes of a second of
processor time, and the least that any program could do.

 - files: exist, size and timestamp of each, against `fleet stat` (a loop of statx)
 - processes: one sleeping process each, by its pid file
 - logs: a growing file each with one pattern, against `grep -E` over what was added

The processor time of a number of cycles is compared, without that of as many cycles of a daemon that has nothing to look
at. The same files, the same rules. Checks of a thousand processes begin with a look at all, by either.

usage: bench_local.py BUILD [--short]      prints the rates and their ratios; --short has a twentieth of the services
"""
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import processes  # noqa: E402
from measures import TICKS, cpu  # noqa: E402

CYCLES = 10
LIMIT = 300.0  # seconds that one measurement may take
PATTERN = "error (disk|net)[0-9]+: .* failed$"
LINE = "Jan 12 12:00:00 host daemon[123]: info disk17: all is well, and nothing is to be done about it\n"


class Daemon:
    """healerd or monit on its rules, with a program that leaves a line in `beats` in each cycle."""

    def __init__(self, command: list[str], folder: Path, rules: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        self.beats = folder / "beats"
        beat = folder / "beat"
        beat.write_text(f"#!/bin/sh\necho x >> {self.beats}\n")
        beat.chmod(0o755)
        control = folder / "control"
        control.write_text(f"set daemon 1\nset pidfile {folder}/pid\nset idfile {folder}/id\nset statefile {folder}/state\n"
                           f"set log {folder}/log\n{rules}check program beat with path \"{beat}\"\n  if status != 0 then alert\n")
        control.chmod(0o600)
        self.daemon = subprocess.Popen([*command, "-I", "-c", str(control)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, preexec_fn=processes.die_with_parent)

    def cycles(self, count: int, before_each: Callable[[], None]) -> float:
        """Seconds of its processor time for so many cycles, each after `before_each`."""
        self.wait(2)  # the first looks are others: there is no former one to compare with
        begin = cpu(self.daemon.pid)
        for _ in range(count):
            before_each()
            self.wait(1)
        return cpu(self.daemon.pid) - begin

    def wait(self, more: int) -> None:
        wanted = self.seen() + more
        until = time.monotonic() + LIMIT
        while self.seen() < wanted:
            if self.daemon.poll() is not None or time.monotonic() > until:
                sys.exit(f"{self.daemon.args[0]} makes no cycles")
            time.sleep(0.01)

    def seen(self) -> int:
        return len(self.beats.read_text()) // 2 if self.beats.exists() else 0

    def end(self) -> None:
        self.daemon.terminate()
        self.daemon.wait()


class Bench:
    def __init__(self, build: Path, folder: Path) -> None:
        self.build, self.folder = build, folder
        self.commands = {"healer": [str(build / "healerd"), "--socket", str(folder / "healer/socket")], "monit": ["monit"]}
        self.idle = {name: self.cost(name, "", lambda: None) for name in self.commands}

    def costs(self, rules: str, before_each: Callable[[], None] = lambda: None) -> dict[str, float]:
        """Seconds of processor time, by daemon, that a cycle takes more than one with nothing to do."""
        return {name: max(self.cost(name, rules, before_each) - self.idle[name], 1 / TICKS) / CYCLES for name in self.commands}

    def cost(self, name: str, rules: str, before_each: Callable[[], None]) -> float:
        daemon = Daemon(self.commands[name], self.folder / name, rules)
        try:
            return daemon.cycles(CYCLES, before_each)
        finally:
            daemon.end()

    def files(self, count: int) -> None:
        place = self.folder / "files"
        place.mkdir()
        for number in range(count):
            (place / str(number)).write_text("x")

        rules = "".join(f"check file file{number} with path {place}/{number}\n  if does not exist then alert\n"
                        f"  if size > 10 MB then alert\n  if timestamp > 10 days then alert\n" for number in range(count))

        bare = min(measured_children([str(self.build / "fleet"), "stat", str(place), str(count)]) for _ in range(5))
        self.show("files", count, self.costs(rules), 50, ("a loop of statx", bare))

    def processes(self, count: int) -> None:
        place = self.folder / "pids"
        place.mkdir()
        sleepers = [subprocess.Popen(["sleep", "infinity"], preexec_fn=processes.die_with_parent) for _ in range(count)]
        try:
            for number, sleeper in enumerate(sleepers):
                (place / str(number)).write_text(f"{sleeper.pid}\n")

            rules = "".join(f"check process process{number} with pidfile {place}/{number}\n  if cpu > 90% then alert\n"
                            f"  if memory > 1 GB then alert\n" for number in range(count))
            self.show("processes", count, self.costs(rules), 20)
        finally:
            for sleeper in sleepers:
                sleeper.kill()
            for sleeper in sleepers:
                sleeper.wait()

    def logs(self, count: int) -> None:
        place = self.folder / "logs"
        place.mkdir()
        added = LINE * 100
        paths = [place / str(number) for number in range(count)]

        def grow() -> None:
            for path in paths:
                with path.open("a") as out:
                    out.write(added)

        rules = "".join(f'check file log{number} with path {path}\n  if content = "{PATTERN}" then alert\n'
                        for number, path in enumerate(paths))

        grow()
        bare = min(measured_children(["grep", "-E", "-c", PATTERN, *map(str, paths)]) for _ in range(5))
        costs = self.costs(rules, grow)
        self.show("logs", count, costs, None, (f"grep -E over the same {count * len(added) / 1e6:.1f} MB", bare))

    @staticmethod
    def show(what: str, count: int, costs: dict[str, float], wanted: int | None, bare: tuple[str, float] | None = None) -> None:
        rates = ", ".join(f"{name} {count / cost:,.0f}" for name, cost in costs.items())
        print(f"{what}: {count} in a cycle; of a second of processor time: {rates}")
        print(f"  healer's rate is {costs['monit'] / costs['healer']:.1f} times monit's" + (f" (wanted: {wanted})" if wanted else ""))
        if bare:
            print(f"  and {bare[1] / costs['healer']:.2f} of that of {bare[0]} (wanted: 0.5)")


def measured_children(command: list[str]) -> float:
    """Seconds of processor time that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    part = 20 if "--short" in sys.argv else 1
    if not shutil.which("monit"):
        print("skipped: there is no monit here")
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(sys.argv[1]).resolve(), Path(folder))
        bench.files(10000 // part)
        bench.processes(2000 // part)
        bench.logs(1000 // part)


if __name__ == "__main__":
    main()
