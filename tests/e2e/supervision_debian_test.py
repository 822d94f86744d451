# SPDX-License-Identifier: MIT
"""Daemons of Debian by its init scripts, after Debian's own rules for Monit, by healer's own defaults: killed, stopped,
hung, restarted and upgraded by another hand. Never two, never none.
"""
import os
import shutil
import signal
import subprocess
import time

import debian
import supervised
import support
from support import processes


DOUBLE = 5.0  # seconds: of two that were started at a time the second may take so long to find the first one there


class SupervisionDebian(supervised.Case):
    def setUp(self) -> None:
        super().setUp()
        self.one: debian.Debian | None = None
        self.two_since: float | None = None
        if os.geteuid() != 0:
            self.skipTest("it takes root to cover paths and to start daemons of the system")
        for tool in ("mount", "start-stop-daemon"):
            if not shutil.which(tool):
                self.skipTest(f"{tool} is not installed")
        if not debian.CONF_AVAILABLE.is_dir():
            self.skipTest("monit, whose package has the rules, is not installed")

    def placed(self, kind: type[debian.Debian]) -> debian.Debian:
        if why := kind.missing():
            self.skipTest(why)
        self.folder.chmod(0o755)
        try:
            debian.leave_mounts()
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f"no mounts of its own: {error}")
        self.addCleanup(debian.uncover)
        self.one = kind(self.path(kind.name), self.own_port())
        self.one.place()
        return self.one

    def wait_for(self, condition, what: str, **how):
        """As of every test; two at a time fail it."""

        def judged():
            copies = self.one.copies() if self.one else []
            if len(copies) < 2:
                self.two_since = None
            elif self.two_since is None:
                self.two_since = time.monotonic()
            else:
                self.assertLess(time.monotonic() - self.two_since, DOUBLE, f"two of them while waiting for {what}")
            return condition()

        return super().wait_for(judged, what, **how)

    def hand(self, verb: str) -> None:
        """Without a word to healer."""
        self.running.append(program := self.one.hand(verb))
        self.wait_for(lambda: program.poll() is not None, f"the end of {program.args}")

    def starts(self, daemon: support.Daemon) -> int:
        """By healer."""
        return self.kinds(daemon, self.one.name).count("action-started")

    def up(self, daemon: support.Daemon, *gone: int) -> int:
        """Waits until it serves as another process than those, healer knows it, and nothing is under way; its pid."""
        one = self.one

        def detail() -> str:
            return f"{one.copies()} {[processes.command_line(pid) for pid in processes.descendants()]} " + "\n".join(
                map(str, self.told(daemon, one.name)))

        self.wait_for(lambda: one.pid() not in (0, *gone) and one.answers(), f"{one.name} to serve", detail=detail)
        self.wait_for(lambda: self.seen_pid(daemon, one.name) == one.pid(), "healer to see it", detail=detail)
        self.wait_for(lambda: not daemon.ask("jobs")["jobs"], "the end of all jobs", detail=detail)
        # Its pid file may be written anew meanwhile, and is empty for a moment.
        return self.wait_for(lambda: (pid := one.pid()) and one.copies() == [pid] and pid, "one copy", detail=detail)

    def kill(self, pid: int) -> None:
        """With its workers: those of nginx would keep the port."""
        for one in (pid, *processes.children(pid)):
            os.kill(one, signal.SIGKILL)

    def ordeal(self, kind: type[debian.Debian]) -> None:
        one = self.placed(kind)
        daemon = self.start(one.rules(), cycle="1")
        first = self.up(daemon)

        self.kill(first)
        second = self.up(daemon, first)

        # Stopped by an administrator and left so.
        self.hand("stop")
        third = self.up(daemon, second)
        self.assertEqual(self.starts(daemon), 3)

        # One that hangs is no dead one; it is, when its administrator ends it.
        os.kill(third, signal.SIGSTOP)
        self.more_cycles(daemon, 2)
        self.assertEqual((one.copies(), self.starts(daemon)), ([third], 3))
        self.assertEqual(daemon.ask("summary")["services"][0]["state"], "running")
        self.kill(third)
        last = self.up(daemon, third)
        self.assertEqual(self.starts(daemon), 4)

        # Restarted by hand.
        self.hand("restart")
        last = self.up(daemon, last)

        # An upgrade by restart, and one by stop and start between which healer has brought it up.
        one.replace()
        self.hand("restart")
        last = self.up(daemon, last)
        self.assertTrue(one.is_new(last))
        self.hand("stop")
        one.replace()
        last = self.up(daemon, last)
        self.hand("start")
        self.more_cycles(daemon, 1)
        self.assertEqual(self.up(daemon), last)
        self.assertTrue(one.is_new(last))

        # One that is announced.
        self.assertEqual(self.ctl(daemon, "pause", one.name, "--reason", "upgrade").returncode, 0)
        started = self.starts(daemon)
        self.hand("stop")
        self.wait_for(lambda: not one.copies(), "its end")
        self.more_cycles(daemon, 1)
        self.assertEqual((one.copies(), self.starts(daemon)), ([], started))
        one.replace()
        self.hand("start")
        self.assertEqual(self.ctl(daemon, "resume", one.name).returncode, 0)
        last = self.up(daemon, last)
        self.assertTrue(one.is_new(last))
        self.assertEqual(self.starts(daemon), started)

        self.assertEqual(self.ctl(daemon, "restart", one.name).returncode, 0)
        last = self.up(daemon, last)
        self.assertEqual(self.ctl(daemon, "stop", one.name).returncode, 0)
        self.assertEqual(one.copies(), [])
        self.assertEqual(self.ctl(daemon, "start", one.name).returncode, 0)
        self.up(daemon, last)

    def test_nginx_of_debian_is_kept_up_and_alone(self):
        self.ordeal(debian.Nginx)

    def test_redis_of_debian_is_kept_up_and_alone(self):
        self.ordeal(debian.Redis)

    def test_sshd_of_debian_is_kept_up_and_alone(self):
        self.ordeal(debian.Ssh)

    def test_cron_of_debian_is_kept_up_and_alone(self):
        self.ordeal(debian.Cron)

    def test_rsyslog_of_debian_is_kept_up_and_alone(self):
        self.ordeal(debian.Rsyslog)

    def test_postgresql_of_debian_is_kept_up_and_alone(self):
        self.ordeal(debian.Postgresql)


if __name__ == "__main__":
    support.main()
