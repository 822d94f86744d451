# SPDX-License-Identifier: MIT
"""healer and the real Monit side by side, each with the same rules and with processes of its own.

Beside the services each has a program that runs once a cycle, by which the test sees that a supervisor has nothing more
to do.
"""
import re
import subprocess
import sys
from pathlib import Path

import supervised
from support import monits

# Six threads, of which one always computes and writes, four children, forty files and 40 MB.
BUSY = """
import os, sys, threading, time
files = [open("/dev/null") for _ in range(40)]
room = bytearray(os.urandom(1 << 20) * 40)
def work():
    with open(sys.argv[1] + ".written", "wb") as file:
        while True:
            file.seek(0)
            file.write(os.urandom(1 << 16))
            os.fsync(file.fileno())
threading.Thread(target=work, daemon=True).start()
for _ in range(4):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
for _ in range(2):
    if os.fork() == 0:
        os.fork()
        time.sleep(1000)
        os._exit(0)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(1000)
"""

QUIET = 2  # cycles after which nothing more comes: the second begins after the last program


class Case(supervised.Case):
    VERSION = monits.OLD  # of Monit
    MEANING = ""          # what healer's rules begin with

    def setUp(self) -> None:
        super().setUp()
        self.real = monits.find(self.VERSION)
        if self.real is None:
            self.skipTest(f"monit {self.VERSION} is not here")
        self.known = dict.fromkeys(self.folders(), 0)

    def folders(self) -> tuple[Path, Path]:
        return self.path("by-healer"), self.path("by-monit")

    def run_both(self, services, more=lambda folder: "", cycle: int = 1) -> None:
        """Starts both with the rules that `services` (a function of the folder) and `more` give."""
        texts, self.services = [], []
        for folder in self.folders():
            folder.mkdir(exist_ok=True)
            beat = self.place(folder, "beat", "echo x >> beats")
            processes = services(folder)
            self.services.append({one.name: one for one in processes})
            texts.append(self.rules(*processes) + more(folder) +
                         f'check program beat with path "{beat}"\n  if status != 0 then alert\n')
        self.daemon = self.start(self.MEANING + texts[0], cycle=str(cycle))
        folder = self.path("monit")
        folder.mkdir()
        self.monitrc = folder / "monitrc"
        # healer has no web page to be asked through; Monit has no other way.
        extra = folder / "extra"
        extra.write_text(f"set httpd unixsocket {folder}/socket allow me:me\n")
        self.monitrc.write_text(f"set daemon {cycle}\nset log {folder}/log\nset pidfile {folder}/pid\nset idfile {folder}/id\n"
                                f"set statefile {folder}/state\ninclude {extra}\n" + texts[1])
        for path in (extra, self.monitrc):
            path.chmod(0o600)
        self.launch_monit()

    def launch_monit(self) -> None:
        self.monit = self.begin(self.real, "-I", "-c", self.monitrc)
        self.addCleanup(self.end_monit, self.monit)

    @staticmethod
    def end_monit(monit: subprocess.Popen) -> None:
        monit.kill()
        monit.wait()
        monit.stdout.close()
        monit.stderr.close()

    def busy_process(self) -> Path:
        """Starts a process of which there is something to measure; the pid file that names it."""
        pidfile, program = self.path("node.pid"), self.path("node.py")
        program.write_text(BUSY)
        node = subprocess.Popen([sys.executable, str(program), str(pidfile)], start_new_session=True)
        self.addCleanup(node.wait)
        self.wait_for(pidfile.exists, "the process")
        return pidfile

    @staticmethod
    def place(folder: Path, name: str, body: str) -> Path:
        supervised.Process.place(folder / name, f"\ncd {folder}\n{body}")
        return folder / name

    def beats(self, folder: Path) -> int:
        return self.lines(f"{folder.name}/beats")

    def news(self, folder: Path) -> list[str]:
        """What was run since `order` was last content."""
        return self.log(folder)[self.known[folder]:]

    def order(self, what: str, lines: list[str], quiet: bool = True, free: int = 0) -> None:
        """Since the last call both have run these programs, and, where they are quiet afterwards, no others follow. The
        first `free` of them need nothing of each other, and healer may see any of them first."""
        for folder in self.folders():
            self.wait_for(lambda: len(self.news(folder)) >= len(lines), f"{what}, {folder.name}",
                          detail=lambda: str(self.news(folder)))
        if quiet:
            self.more_beats(QUIET)
        for folder in self.folders():
            news = self.news(folder)
            self.assertEqual(sorted(news[:free]) + news[free:], lines, f"{what}, {folder.name}")
            self.known[folder] += len(lines)

    def more_beats(self, count: int) -> None:
        beats = {folder: self.beats(folder) for folder in self.folders()}
        for folder in self.folders():
            self.wait_for(lambda: self.beats(folder) >= beats[folder] + count, f"cycles of {folder.name}")

    def command(self, *words: str) -> None:
        done = self.ctl(self.daemon, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.end(self.begin(self.real, "-c", self.monitrc, *words))
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    def watched(self, *names: str) -> None:
        """These services are monitored by both, and the other processes by neither."""
        told = {one["name"]: one["monitored"] for one in self.daemon.ask("status")["services"]}
        told.pop("beat")
        self.assertEqual({name for name, on in told.items() if on}, set(names))

        def of_monit() -> set[str]:
            text = self.end(self.begin(self.real, "-B", "-c", self.monitrc, "summary")).stdout
            return {line.split()[0] for line in text.splitlines()
                    if line.split() and line.split()[0] in told and "Not monitored" not in line}

        self.wait_for(lambda: of_monit() == set(names), f"{names} to be monitored by Monit", detail=lambda: str(of_monit()))


DATE = re.compile(r"\w{3}, \d+ \w{3} \d{4} [\d:]+|\d{4}-\d\d-\d\dT[\d:.+Z]+")


class Acts(Case):
    """Rules whose actions write down which one has fired, and what it was told."""

    def act(self, folder: Path) -> Path:
        """Leaves its argument, the event and the description in `acts`."""
        return self.place(folder, "act", 'echo "$1: $MONIT_EVENT: $MONIT_DESCRIPTION" >> acts')

    def block(self, folder: Path, header: str, tests: dict[str, str]) -> str:
        """A service each of whose tests, by its name, runs the program above; one of `else NAME` has a branch."""
        act, text = self.act(folder), header + "\n"
        for name, test in tests.items():
            name, _, otherwise = name.partition(" else ")
            over = "failed" if test.startswith("succeeded") else "succeeded"
            branch = f' else if {over} then exec "{act} {otherwise}"' if otherwise else ""
            text += f'  if {test} then exec "{act} {name}"{branch}\n'
        return text

    def acts(self, folder: Path) -> list[str]:
        path = folder / "acts"
        text = path.read_text() if path.exists() else ""
        return sorted(DATE.sub("DATE", line).replace(str(folder), "") for line in text.splitlines())

    def fired(self, expected: list[str]) -> None:
        for folder in self.folders():
            self.wait_for(lambda: len(self.acts(folder)) >= len(expected), f"the actions of {folder.name}",
                          detail=lambda: str(self.acts(folder)))
        self.more_beats(QUIET)
        for folder in self.folders():
            self.assertEqual(self.acts(folder), sorted(expected), folder.name)
