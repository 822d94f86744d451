# SPDX-License-Identifier: MIT
"""End-to-end tests: a real healerd in a folder of its own, asked through the real healerctl.

A test is a method of a Case:

    class Counting(support.Case):
        def test_third_failure_in_a_row_acts_once(self):
            check = self.statuses("check", [0, 1])
            acted = self.path("acted")
            daemon = self.start(f'''
                check program node with path "{check}"
                  if status != 0 for 3 cycles then exec "{self.script("act", f"echo x >> {acted}")}"''')
            self.wait_for(acted.exists, "the action")

Each method is a ctest of its own, run in a process of its own. A daemon that a test leaves running is stopped and must
end well: status 0, no word of a sanitizer, no process left. HEALER_BUILD names the build folder.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Callable

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "support"))
import control_groups  # noqa: E402
import monits  # noqa: E402,F401
import processes  # noqa: E402

BUILD = Path(os.environ.get("HEALER_BUILD") or TOP / "build")
SANITIZED = bool(os.environ.get("HEALER_SANITIZE"))  # a build that is slow and takes much memory
LIMIT = 60.0  # seconds: what a wait may take on a slow machine, under a sanitizer; nothing is proven by it
SANITIZER_WORDS = ("Sanitizer", "runtime error:")


class Daemon:
    """A healerd with its files in `folder`. Made by Case.start."""

    asked: set[tuple[str, ...]] = set()  # what was asked already, of any

    def __init__(self, case: "Case", folder: Path, options: list[str]):
        self.case = case
        self.folder = folder
        self.rules = folder / "healer.conf"
        self.socket = folder / "healer.sock"
        self.log = folder / "healer.log"
        self.errors = folder / "stderr"
        self.binary = BUILD / "healerd"
        self.options = options
        self.environment: dict[str, str] = {}  # beside the test's own
        self.process: subprocess.Popen | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    def launch(self) -> "Daemon":
        """Starts the process and waits until it answers."""
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                [str(self.binary), "-I", "-c", str(self.rules), *self.options], cwd="/",
                stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, preexec_fn=processes.die_with_parent,
                env={**os.environ, **self.environment})
        self.case.wait_for(lambda: self.ended() or self.ctl("ping").returncode == 0, "an answer of healerd", limit=3 * LIMIT)
        if self.ended():
            self.case.fail(f"healerd ended at once with status {self.process.returncode}:\n{self.errors.read_text()}")
        return self

    def ended(self) -> bool:
        return self.process.poll() is not None

    def write_rules(self, rules: str) -> None:
        self.rules.write_text(rules)
        self.rules.chmod(0o600)

    def ctl(self, *words: str, limit: float = LIMIT) -> subprocess.CompletedProcess:
        """healerctl WORDS, not judged: look at returncode, stdout, stderr."""
        # What waits asks the same again and again: for that the gate gives a client that no sanitizer slows down.
        again = os.environ.get("HEALER_QUICK_CTL") if words in self.asked else None
        self.asked.add(words)
        return subprocess.run([again or str(BUILD / "healerctl"), "--socket", str(self.socket), *words], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=limit)

    def ask(self, *words: str) -> Any:
        """healerctl WORDS --json, which must succeed; the document."""
        done = self.ctl(*words, "--json")
        self.case.assertEqual(done.returncode, 0, done.stderr or done.stdout)
        return json.loads(done.stdout)

    def log_text(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def reload(self) -> subprocess.CompletedProcess:
        return self.ctl("reload")

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Ends it by a signal and waits for that, judging nothing."""
        self.process.send_signal(number)
        self.process.wait(LIMIT)

    def stop(self) -> None:
        """Ends it as an administrator does; it must end well."""
        if not self.ended():
            self.process.terminate()
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                self.case.fail("healerd did not end on SIGTERM\n" + self.told())
        self.case.assertEqual(self.process.returncode, 0, self.told())
        self.judge_errors()

    def judge_errors(self) -> None:
        text = self.errors.read_text(errors="replace")
        for word in SANITIZER_WORDS:
            self.case.assertNotIn(word, text)

    def told(self) -> str:
        """What it printed and logged, for the message of a failed test."""
        return f"--- stderr\n{self.errors.read_text(errors='replace')}\n--- log\n{self.log_text()}"


class Case(unittest.TestCase):
    """A test with a folder of its own, which goes when it succeeds."""

    maxDiff = None

    def run(self, result: unittest.TestResult | None = None):
        self.result = result if result is not None else self.defaultTestResult()
        self.failures_before = len(self.result.failures) + len(self.result.errors)
        return super().run(self.result)

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="healer-test-"))
        self.daemons: list[Daemon] = []
        self.may_outlive = False  # a test sets it whose programs may outlive the daemon
        if not (BUILD / "healerd").exists():
            self.skipTest(f"{BUILD}/healerd is not built")

    def tearDown(self) -> None:
        failed = len(self.result.failures) + len(self.result.errors) > self.failures_before
        try:
            for daemon in self.daemons:
                if failed:
                    print(daemon.told(), file=sys.stderr)
                elif daemon.process and not daemon.ended():
                    daemon.stop()
                else:
                    daemon.judge_errors()
            if not failed and not self.may_outlive:
                self.wait_for(lambda: processes.reap() or not processes.descendants(), "the end of all processes",
                              detail=lambda: "\n".join(map(processes.command_line, processes.descendants())))
        finally:
            processes.end_all()
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- making -----------------------------------------------------------------------------------------------

    def path(self, name: str) -> Path:
        return self.folder / name

    def script(self, name: str, body: str) -> Path:
        """An executable shell script."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def statuses(self, name: str, wanted: list[int]) -> Path:
        """A program whose n-th run ends with the n-th status; the last one stays. Runs are counted by runs(name)."""
        (self.folder / f"{name}.statuses").write_text("".join(f"{status}\n" for status in wanted))
        return self.script(name, f"""
cd {self.folder}
echo x >> {name}.runs
run=$(wc -l < {name}.runs)
status=$(sed -n "${{run}}p" {name}.statuses)
[ -n "$status" ] || status=$(tail -n 1 {name}.statuses)
exit "$status\"""")

    def runs(self, name: str) -> int:
        return self.lines(f"{name}.runs")

    def own_port(self) -> int:
        """A port of 127.0.0.1 that nobody else is given during the test, also while no server listens there. One that
        does must set SO_REUSEADDR, as servers do."""
        place = socket.socket()
        self.addCleanup(place.close)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]

    def lines(self, name: str) -> int:
        """Number of lines of a file of this test; 0 where there is none."""
        path = self.folder / name
        return len(path.read_text().splitlines()) if path.exists() else 0

    def configure(self, rules: str, name: str = "healerd", cycle: str = "1", options: tuple[str, ...] = ()) -> Daemon:
        """A daemon that is not started yet: `rules` with the statements that put its files into a folder of its own."""
        folder = self.folder / name
        folder.mkdir()
        daemon = Daemon(self, folder, list(options))
        self.daemons.append(daemon)
        daemon.write_rules(self.settings(daemon, cycle) + rules)
        return daemon

    @staticmethod
    def settings(daemon: Daemon, cycle: str = "1") -> str:
        folder = daemon.folder
        return (f"set daemon {cycle}\nset log {folder}/healer.log\nset pidfile {folder}/healer.pid\n"
                f"set idfile {folder}/healer.id\nset statefile {folder}/healer.state\n"
                f"set control socket {folder}/healer.sock\n")

    def start(self, rules: str, **how) -> Daemon:
        return self.configure(rules, **how).launch()

    # ---- waiting ----------------------------------------------------------------------------------------------

    def wait_for(self, condition: Callable[[], Any], what: str, limit: float = LIMIT,
                 detail: Callable[[], str] = lambda: "") -> Any:
        """Waits until the condition is true and returns its value; fails the test after `limit` seconds."""
        deadline = time.monotonic() + limit
        while True:
            if value := condition():
                return value
            if time.monotonic() > deadline:
                self.fail(f"waited {limit:.0f} s in vain for {what}\n{detail()}")
            time.sleep(0.02)


def threads_left(limit: float = 10.0) -> list[str]:
    """Threads that a test has left running, for which Python would wait for ever at its end."""
    left = [one for one in threading.enumerate() if not one.daemon and one is not threading.current_thread()]
    deadline = time.monotonic() + limit
    for one in left:
        one.join(max(0.0, deadline - time.monotonic()))
    return [one.name for one in left if one.is_alive()]


def main() -> None:
    """Runs the tests named on the command line (all by default); exit status 77 where every one was skipped."""
    processes.adopt_orphans()
    with control_groups.another():
        program = unittest.main(module="__main__", exit=False, verbosity=2)
    if left := threads_left():
        print(f"a test has left threads running: {', '.join(left)}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    result = program.result
    if not result.testsRun and not result.skipped:
        sys.exit("no test of that name")
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if len(result.skipped) == result.testsRun else 0)
