# SPDX-License-Identifier: MIT
"""`matching` never takes a program that healer runs for something else, and healer never signals one as the service."""
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import support
from support import processes


class OwnPrograms(support.Case):
    def setUp(self):
        super().setUp()
        # A word that no command line has by chance: not even that of the test itself.
        self.word = f"shop{os.getpid()}x{time.monotonic_ns()}d"
        self.may_outlive = True  # what is left is ended by the test

    def probe(self, name: str, lasts: str = "30", tail: str = "") -> Path:
        """A program that says its pid, and that SIGTERM has reached it."""
        return self.script(name, f"trap 'echo $$ >> {self.path('signalled')}; exit 3' TERM\n"
                                 f"echo $$ >> {self.path(name + '.pids')}\n"
                                 f"sleep {lasts} & wait $!\n{tail}")

    @staticmethod
    def lives(pid: int) -> bool:
        return processes.state(pid) not in ("", "Z")

    def pids(self, name: str) -> list[int]:
        path = self.path(name + ".pids")
        return [int(pid) for pid in path.read_text().split()] if path.exists() else []

    def service(self, start: str = "", name: str = "shopd") -> str:
        """A service that looks for the word."""
        self.script("start", f"echo >> {self.path('starts')}\n{start}")
        return (f'check process {name} matching "{self.word}"\n'
                f'  start program = "{self.path("start")}" timeout 1 seconds\n')

    def kinds_and_texts(self, daemon, service: str) -> list[tuple[str, str]]:
        return [(one["kind"], one["text"]) for one in daemon.ask("history", service)["records"]]

    def state(self, daemon, service: str = "shopd") -> dict:
        return daemon.ask("status", service)["services"][0]

    def is_absent(self, daemon, service: str = "shopd") -> bool:
        return "pid" not in (self.state(daemon, service).get("process") or {})

    def test_a_check_program_is_never_taken_for_the_service(self):
        probe = self.probe("probe")
        daemon = self.start(f'{self.service()}check program probe with path "{probe} {self.word}" timeout 60 seconds\n'
                            "  if status != 0 then alert\n")
        self.wait_for(lambda: self.pids("probe"), "the check program to run")
        self.wait_for(lambda: self.lines("starts") >= 2, "the service to be started again and again")
        done = daemon.ctl("restart", "shopd")
        self.assertEqual(done.returncode, 1, done.stdout)
        stopped = daemon.ctl("stop", "shopd")
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        self.assertFalse(self.path("signalled").exists(), "a check program was signalled")
        self.assertTrue(self.lives(self.pids("probe")[0]))

    def test_what_a_check_program_leaves_in_its_session_is_not_taken_either(self):
        leaver = self.script("leaver", f"sh -c 'sleep 600; : {self.word}' </dev/null >/dev/null 2>&1 &\n"
                                       f"echo $! >> {self.path('leaver.pids')}")
        daemon = self.start(f'{self.service()}check program leaver with path "{leaver}" every 1000 cycles\n'
                            "  if status != 0 then alert\n")
        self.wait_for(lambda: self.pids("leaver"), "the check program to run")
        self.wait_for(lambda: self.lines("starts") >= 2, "the service to be started again and again")
        self.assertTrue(self.lives(self.pids("leaver")[0]))

    def test_an_exec_and_what_is_in_its_session_are_not_taken(self):
        probe = self.probe("action")
        flag = self.path("flag")
        daemon = self.start(f'{self.service()}check file flag with path {flag}\n'
                            f'  if exist then exec "{probe} {self.word}"\n')
        self.wait_for(lambda: self.lines("starts") >= 1, "the service to be started")
        flag.write_text("")
        [pid] = self.wait_for(lambda: self.pids("action"), "the exec to run")
        before = self.lines("starts")
        self.wait_for(lambda: self.lines("starts") > before, "the service to be started beside the exec")
        # Also by the next daemon, which has not started it.
        daemon.kill()
        daemon.launch()
        before = self.lines("starts")
        self.wait_for(lambda: self.lines("starts") > before + 1, "the service to be started by the next daemon")
        daemon.ctl("stop", "shopd")
        self.assertFalse(self.path("signalled").exists(), "the exec was signalled")
        self.assertTrue(self.lives(pid))
        os.kill(pid, signal.SIGKILL)

    def test_a_step_of_a_healing_is_not_taken(self):
        probe = self.probe("step")
        daemon = self.start(f'{self.service()}'
                            f'workflow heal_it {{\n  step "work" program "{probe} {self.word}" timeout 60 seconds\n'
                            '  cooldown 1 hour\n}\n'
                            f'check file flag with path {self.path("flag")}\n  if exist then heal with heal_it\n')
        self.wait_for(lambda: self.lines("starts") >= 1, "the service to be started")
        self.path("flag").write_text("")
        [pid] = self.wait_for(lambda: self.pids("step"), "the step to run")
        before = self.lines("starts")
        self.wait_for(lambda: self.lines("starts") > before + 1, "the service to be started beside the step")
        self.assertFalse(self.path("signalled").exists(), "the step was signalled")
        self.assertTrue(self.lives(pid))
        os.kill(pid, signal.SIGKILL)

    def test_what_its_start_program_has_left_is_the_service(self):
        daemon = self.start(self.service(f"sh -c 'sleep 600; : {self.word}' </dev/null >/dev/null 2>&1 &"
                                         f"\necho $! >> {self.path('left.pids')}"))
        self.wait_for(lambda: not self.is_absent(daemon), "the service to run")
        [pid] = self.pids("left")
        self.assertEqual(self.state(daemon)["process"]["pid"], pid)
        self.assertEqual(self.lines("starts"), 1)
        self.assertEqual(daemon.ctl("stop", "shopd").returncode, 0)
        self.assertFalse(self.lives(pid))

    def test_a_daemon_with_a_session_of_its_own_is_taken_whoever_has_started_it(self):
        daemon = self.start(f'{self.service()}check file flag with path {self.path("flag")}\n'
                            f'  if exist then exec "{self.script("run", self.launch())}"\n')
        self.wait_for(lambda: self.lines("starts") >= 1, "the service to be started")
        self.path("flag").write_text("")
        self.wait_for(lambda: not self.is_absent(daemon), "the service to run")
        self.assertEqual(self.state(daemon)["process"]["pid"], self.pids("run")[0])
        os.kill(self.pids("run")[0], signal.SIGKILL)

    def launch(self) -> str:
        return (f"setsid sh -c 'echo $$ >> {self.path('run.pids')}; sleep 600; : {self.word}' "
                "</dev/null >/dev/null 2>&1 &")

    def test_a_child_of_a_foreground_process_may_be_a_service(self):
        run = self.script("run", f"sh -c 'sleep 600; : {self.word}' & echo $! >> {self.path('run.pids')}\nwait")
        daemon = self.start(f'{self.service()}check process front with program "{run}"\n')
        self.wait_for(lambda: not self.is_absent(daemon), "the service to run")
        self.assertIn(self.state(daemon)["process"]["pid"], self.pids("run"))

    def test_procmatch_takes_none_either(self):
        probe = self.probe("probe")
        daemon = self.start(f'check program probe with path "{probe} {self.word}" timeout 60 seconds\n'
                            "  if status != 0 then alert\n")
        self.wait_for(lambda: self.pids("probe"), "the check program to run")
        done = subprocess.run([support.BUILD / "healerctl", "--json", "procmatch", f"{self.word}"], capture_output=True,
                              text=True)
        [one] = json.loads(done.stdout)["processes"]
        self.assertEqual((one["pid"], one["chosen"], one["own"]), (self.pids("probe")[0], False, True))
        shown = subprocess.run([support.BUILD / "healerctl", "procmatch", self.word], capture_output=True, text=True)
        self.assertIn("a check never takes those marked -, which healer runs for something else", shown.stdout)
        self.assertFalse(daemon.ended())


if __name__ == "__main__":
    support.main()
