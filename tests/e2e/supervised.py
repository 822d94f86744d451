# SPDX-License-Identifier: MIT
"""Processes to be supervised, for the tests of supervision: shell scripts that start, stop and are a process of their own.

A Process is one script NAME with the verbs of an init script. Each verb leaves "NAME VERB" in the file `log` beside it,
in the order in which a supervisor ran them. What it starts holds a lock as long as it lives, so a second copy beside a
living one is told in `doubles`, however short the two were there together; each copy leaves its pid in NAME.copies.
"""
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import support
from support import processes

LAUNCH = "setsid {live} >/dev/null 2>&1 </dev/null &"
KILL = 'kill "$(cat {pidfile})"; rm -f {pidfile}'  # before the process has gone
RESTART = 'kill "$(cat {pidfile})"; rm -f {pidfile}; flock {name}.lock true\n' + LAUNCH  # when the former has gone
HANG = "while [ ! -e {folder}/go ]; do sleep 0.05; done"  # until the test creates the file
SLEEP = "while :; do sleep 0.05 9>&-; done"  # of a shell that hears signals meanwhile; its lock dies with it


@dataclass
class Process:
    """A service `name` whose files are in `folder`."""

    folder: Path
    name: str
    depends: str = ""           # names of other services, comma between them
    start: str | None = LAUNCH  # what the start program does; None: it has none
    stop: str | None = KILL
    restart: str | None = None
    live: str = "write_pid"     # what the process does before it sleeps
    within: int = 0             # timeout of its programs in seconds; 0: none is written
    owner: str = ""             # "as uid ..."
    rules: str = ""             # more statements

    @property
    def script(self) -> Path:
        return self.folder / self.name

    @property
    def live_script(self) -> Path:
        return self.folder / f"{self.name}.run"

    @property
    def pidfile(self) -> Path:
        return self.folder / f"{self.name}.pid"

    @property
    def program(self) -> Path:
        """What the command line of the process begins with."""
        return self.folder / f"{self.name}-live"

    def write(self) -> "Process":
        """Makes its scripts."""
        words = {"live": self.live_script, "pidfile": self.pidfile, "folder": self.folder, "name": self.name}

        def filled(text: str | None) -> str:
            for word, value in words.items():
                text = (text or ":").replace("{" + word + "}", str(value))
            return text

        self.program.unlink(missing_ok=True)
        self.program.symlink_to(shutil.which("sleep"))
        self.place(self.live_script, f"""
write_pid() {{ echo $$ > {self.pidfile}.new && mv {self.pidfile}.new {self.pidfile}; }}
cd {self.folder}
exec 9>>{self.name}.lock
flock -n 9 || echo {self.name} >> doubles
echo $$ >> {self.name}.copies
{filled(self.live)}
exec {self.program} 100000""")
        self.place(self.script, f"""
cd {self.folder}
echo "{self.name} $1" >> log
env > {self.name}.$1.environment
id -u > {self.name}.$1.uid
case $1 in
start) {filled(self.start)} ;;
stop) {filled(self.stop)} ;;
restart) {filled(self.restart)} ;;
esac""")
        return self

    @staticmethod
    def place(path: Path, body: str) -> None:
        """An executable script; one that is running meanwhile goes on as it was."""
        new = path.with_name(f"{path.name}.new")
        new.write_text(f"#!/bin/sh{body}\n")
        new.chmod(0o755)
        new.replace(path)

    def statement(self) -> str:
        """It as a service of a rules file."""
        owner = f" {self.owner}" if self.owner else ""
        within = f" with timeout {self.within} seconds" if self.within else ""
        text = f"check process {self.name} with pidfile {self.pidfile}\n"
        if self.start is not None:
            text += f'  start program = "{self.script} start"{owner}{within}\n'
        if self.stop is not None:
            text += f'  stop program = "{self.script} stop"{owner}{within}\n'
        if self.restart is not None:
            text += f'  restart program = "{self.script} restart"{owner}{within}\n'
        if self.depends:
            text += f"  depends on {self.depends}\n"
        return text + self.rules

    def copies(self) -> list[int]:
        """The pids of all that it ever was."""
        path = self.folder / f"{self.name}.copies"
        return list(map(int, path.read_text().split())) if path.exists() else []

    def living(self) -> list[int]:
        """Those that run, be it still the script that is about to become the program."""
        lines = {pid: processes.command_line(pid) for pid in self.copies()}
        return [pid for pid, line in lines.items() if line.startswith(str(self.program)) or str(self.live_script) in line]

    def pid(self) -> int:
        """By its pid file, if it lives; else 0."""
        try:
            number = int(self.pidfile.read_text())
        except (OSError, ValueError):
            return 0
        return number if number in self.living() else 0

    def kill(self, number: int = signal.SIGKILL) -> int:
        """Kills what its pid file names, and returns that; 0 where nothing lives."""
        if pid := self.pid():
            os.kill(pid, number)
        return pid

    def by_hand(self) -> None:
        """Starts it as an administrator does, beside its supervisor."""
        subprocess.run(["setsid", "--fork", str(self.live_script)], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def variable(self, verb: str, name: str) -> str | None:
        """Of the environment of its last start or stop program."""
        for line in (self.folder / f"{self.name}.{verb}.environment").read_text().splitlines():
            if line.startswith(f"{name}="):
                return line.partition("=")[2]
        return None


@dataclass
class Web(Process):
    """A service whose process is healer's own child: its script is all there is of it."""

    words: str = ""  # of its statement

    def statement(self) -> str:
        depends = f"  depends on {self.depends}\n" if self.depends else ""
        return f'check process {self.name} with program "{self.live_script}"\n  {self.words}\n{depends}{self.rules}'


class Case(support.Case):
    """Processes outlive their supervisor: each test ends them itself, and none may ever have run twice at a time."""

    def setUp(self) -> None:
        super().setUp()
        self.may_outlive = True
        self.running: list[subprocess.Popen] = []
        for name in ("flock", "setsid"):
            if not shutil.which(name):
                self.skipTest(f"{name} is not installed")

    def tearDown(self) -> None:
        for daemon in self.daemons:
            if daemon.process and not daemon.ended() and not self.failed():
                daemon.stop()
        super().tearDown()

    def failed(self) -> bool:
        return len(self.result.failures) + len(self.result.errors) > self.failures_before

    def process(self, name: str, folder: Path | None = None, **how) -> Process:
        """A process whose scripts are made; by default in the folder of the test."""
        return Process(folder or self.folder, name, **how).write()

    @staticmethod
    def rules(*services: Process) -> str:
        return "".join(service.statement() for service in services)

    def log(self, folder: Path | None = None) -> list[str]:
        """What start and stop programs were run, in their order."""
        path = (folder or self.folder) / "log"
        return path.read_text().splitlines() if path.exists() else []

    def doubles(self) -> list[str]:
        """The names of those that ever ran beside another copy of them."""
        return [name for path in self.folder.rglob("doubles") for name in path.read_text().split()]

    def alone(self) -> None:
        self.assertEqual(self.doubles(), [], "two at a time")

    def wait_for(self, condition, what: str, **how):
        """As of every test; orphans that have died go meanwhile, as where a system runs."""

        def judged():
            known = {one.process.pid for one in self.daemons if one.process} | {one.pid for one in self.running}
            processes.reap(known)
            return condition()

        return super().wait_for(judged, what, **how)

    def needs_ends_told(self) -> None:
        """Of a test that wants to know how a process ended that is not healerd's child."""
        kernel = tuple(map(int, os.uname().release.replace("-", ".").split(".")[:2]))
        first = os.geteuid() == 0 and os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"
        if kernel < (6, 15) and not first:
            self.skipTest("before Linux 6.15 only root outside of containers is told how the processes of others end")

    def begin(self, *command) -> subprocess.Popen:
        """A program beside the test."""
        program = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=processes.die_with_parent)
        self.running.append(program)
        return program

    def end(self, program: subprocess.Popen) -> subprocess.CompletedProcess:
        """Waits for it."""
        self.wait_for(lambda: program.poll() is not None, f"the end of {program.args}")
        told, complaint = program.communicate()
        return subprocess.CompletedProcess(program.args, program.returncode, told, complaint)

    def begin_ctl(self, daemon: support.Daemon, *words) -> subprocess.Popen:
        return self.begin(support.BUILD / "healerctl", "--socket", daemon.socket, *words)

    def ctl(self, daemon: support.Daemon, *words) -> subprocess.CompletedProcess:
        """healerctl WORDS, which may wait for the end of processes."""
        return self.end(self.begin_ctl(daemon, *words))

    def told(self, daemon: support.Daemon, service: str = "") -> list[tuple[str, str]]:
        """The history, of a service or of all: kind and text."""
        records = daemon.ask("history", *([service] if service else []))["records"]
        return [(record["kind"], record["text"]) for record in records]

    def kinds(self, daemon: support.Daemon, service: str = "") -> list[str]:
        return [kind for kind, _ in self.told(daemon, service)]

    def seen_pid(self, daemon: support.Daemon, service: str) -> int:
        """The process that healer takes for the service; 0: none."""
        status = next(one for one in daemon.ask("status", service)["services"] if one["name"] == service)
        return (status.get("process") or {}).get("pid", 0)

    def more_cycles(self, daemon: support.Daemon, count: int) -> None:
        cycles = lambda: daemon.ask("summary")["daemon"]["cycles"]  # noqa: E731
        wanted = cycles() + count
        self.wait_for(lambda: cycles() >= wanted, f"{count} more cycles")

    def wait_up(self, daemon: support.Daemon, *services: Process) -> None:
        """Until each runs, healer knows it, and nothing is under way."""
        for one in services:
            self.wait_for(lambda: one.pid() and self.seen_pid(daemon, one.name) == one.pid(), f"{one.name} to run",
                          detail=lambda: f"{one.copies()} {self.told(daemon, one.name)}")
        self.wait_for(lambda: not daemon.ask("jobs")["jobs"], "the end of all jobs")
