# SPDX-License-Identifier: MIT
"""How steps end that are to end, with all that comes of them; and how healerd itself ends while healings go on."""
import contextlib
import os
import signal
import subprocess
import threading

import healings
import support
from support import processes

def alive(pid: int) -> bool:
    return processes.state(pid) not in ("", "X", "Z")


class HealingEnd(healings.Case):
    """What a step leaves is in a session of its own, and does not heed SIGTERM. Whoever runs `look WORD` leaves "WORD" in
    the file `looks`, followed by "beside" where that still runs."""

    def setUp(self) -> None:
        super().setUp()
        self.may_outlive = True
        self.left = self.path("left.pid")
        sleeper = self.script("sleeper", f"trap '' TERM\necho $$ > {self.left}.new\nmv {self.left}.new {self.left}\n"
                                         "while :; do sleep 0.1; done")
        self.leave = self.script("leave", f"""
echo "leave" >> {self.path("looks")}
rm -f {self.left}
setsid -f {sleeper} > /dev/null 2>&1
while [ ! -e {self.left} ]; do sleep 0.02; done
if [ -n "$1" ]; then exit "$1"; fi
while :; do sleep 0.1; done""")
        self.look = self.script("look", f"""
word=$1
if grep -q "^State:.[^XZ]" "/proc/$(cat {self.left})/status" 2> /dev/null; then word="$1 beside"; fi
echo "$word" >> {self.path("looks")}""")
        self.put("broken.node")

    def tearDown(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(self.left.read_text()), signal.SIGKILL)
        super().tearDown()

    def looks(self) -> list[str]:
        path = self.path("looks")
        return path.read_text().splitlines() if path.exists() else []

    def wait_look(self, line: str, daemon: support.Daemon) -> None:
        self.wait_for(lambda: line in self.looks() or f"{line} beside" in self.looks(), line,
                      detail=lambda: f"{self.looks()}\n" + "\n".join(self.texts(daemon)))
        self.assertIn(line, self.looks())

    def rules(self, steps: str) -> str:
        return (self.service("node") + 'workflow rebuild {\n  guard program "/bin/true"\n'
                f"{steps}  cooldown 1 hour\n}}\n")

    def wait_left(self, count: int = 1) -> int:
        """The process that the step has left."""
        self.wait_for(lambda: self.looks().count("leave") >= count and self.left.exists(), "what it leaves")
        return int(self.left.read_text())

    def without_groups(self, daemon: support.Daemon) -> support.Daemon:
        """It sees no control groups."""
        hidden = "mount -t tmpfs none /sys/fs/cgroup"
        if subprocess.run(["unshare", "-m", "sh", "-c", hidden], capture_output=True, check=False).returncode != 0:
            self.skipTest("control groups cannot be hidden here")
        daemon.binary = self.script("healerd-alone", f"exec unshare -m sh -c '{hidden}; exec {daemon.binary} \"$@\"' healerd \"$@\"")
        return daemon

    def cancels(self, daemon: support.Daemon) -> None:
        daemon.launch()
        left = self.wait_left()
        job, = daemon.ask("jobs")["jobs"]
        self.assertEqual(daemon.ctl("jobs", "cancel", str(job["id"])).returncode, 0)
        self.wait_look("undo", daemon)
        self.assertFalse(alive(left))
        self.wait_told(daemon, "healing of node with rebuild cancelled")

    CANCELLED = '  step "rebuild" program "{}" timeout 1 hour\n  on cancel program "{} undo"\n'

    def test_what_a_step_has_left_in_a_session_of_its_own_ends_before_on_cancel_begins(self):
        self.cancels(self.configure(self.rules(self.CANCELLED.format(self.leave, self.look))))

    def test_without_control_groups_that_is_known_by_its_mark(self):
        self.cancels(self.without_groups(self.configure(self.rules(self.CANCELLED.format(self.leave, self.look)))))

    def times_out(self, daemon: support.Daemon) -> None:
        daemon.launch()
        first = self.wait_left()
        second = self.wait_for(lambda: self.looks().count("leave") == 2 and self.wait_left(2), "the second attempt")
        self.assertFalse(alive(first))
        self.wait_look("failed", daemon)
        self.assertFalse(alive(second))
        self.wait_told(daemon, "healing of node with rebuild failed: step \"rebuild\" timed out")

    def timing_out(self) -> str:
        return self.rules(f'  step "rebuild" program "{self.leave}" timeout 1 second retry 1 times repeatable\n'
                          f'  on failure program "{self.look} failed"\n')

    def test_the_next_attempt_begins_when_all_that_came_of_the_last_one_has_gone(self):
        self.times_out(self.configure(self.timing_out()))

    def test_so_it_does_without_control_groups(self):
        self.times_out(self.without_groups(self.configure(self.timing_out())))

    def test_what_a_branch_has_left_ends_where_another_one_has_failed(self):
        wait = self.script("wait", f"while [ ! -e {self.left} ]; do sleep 0.02; done\nexit 3")
        daemon = self.start(self.rules(f'  parallel {{\n    step "one" program "{self.leave}"\n    step "two" program "{wait}"\n'
                                       f'  }}\n  on failure program "{self.look} failed"\n'))
        left = self.wait_left()
        self.wait_look("failed", daemon)
        self.assertFalse(alive(left))

    def test_what_a_program_that_has_exited_by_itself_leaves_is_told_where_it_failed_and_never_touched(self):
        daemon = self.start(self.rules(f'  step "one" program "{self.leave} 0"\n  step "two" program "{self.leave} 3"\n'
                                       f'  on failure program "{self.look} failed"\n'))
        first = self.wait_left()
        self.wait_for(lambda: "failed beside" in self.looks(), "on failure")
        second = int(self.left.read_text())
        self.assertTrue(alive(second))
        if first != second:  # it was seen before the second step removed its number
            self.assertTrue(alive(first))
            os.kill(first, signal.SIGKILL)
        self.wait_told(daemon, f'step "two" exited with status 3; process {second} (')
        self.assertFalse(any('step "one"' in text and "still runs" in text for text in self.texts(daemon)))

    def test_a_step_that_times_out_while_healerd_is_away_takes_all_that_came_of_it_along(self):
        daemon = self.start(self.rules(f'  step "rebuild" program "{self.leave}" timeout 2 seconds\n'
                                       f'  on failure program "{self.look} failed"\n'))
        left = self.wait_left()
        daemon.kill()
        self.wait_for(lambda: not alive(left), "its end")
        daemon.launch()
        self.wait_look("failed", daemon)
        self.wait_told(daemon, "timed out")

    # ---- a waiter that is stopped

    def waiter(self, daemon: support.Daemon) -> int:
        return next(pid for pid in processes.children(daemon.pid) if processes.command_line(pid).startswith("healer-waiter"))

    def test_a_waiter_that_was_stopped_holds_up_no_timeout(self):
        daemon = self.start(self.rules(f'  step "rebuild" program "{self.leave}" timeout 2 seconds\n'
                                       f'  on failure program "{self.look} failed"\n'))
        left = self.wait_left()
        os.kill(self.waiter(daemon), signal.SIGSTOP)
        self.wait_look("failed", daemon)
        self.assertFalse(alive(left))
        self.wait_told(daemon, "timed out")

    def test_a_waiter_that_is_stopped_again_and_again_is_done_without(self):
        daemon = self.start(self.rules(f'  step "rebuild" program "{self.leave}" timeout 2 seconds\n'
                                       f'  on failure program "{self.look} failed"\n'))
        left = self.wait_left()
        waiter = self.waiter(daemon)
        os.kill(waiter, signal.SIGSTOP)
        over = threading.Event()

        def stop() -> None:
            while not over.wait(0.001):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(waiter, signal.SIGSTOP)

        thread = threading.Thread(target=stop)
        thread.start()
        try:
            self.wait_look("failed", daemon)
        finally:
            over.set()
            thread.join()
        self.assertFalse(alive(left))
        self.wait_told(daemon, "timed out")


if __name__ == "__main__":
    support.main()
