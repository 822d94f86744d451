# SPDX-License-Identifier: MIT
"""What a start program has left running without a pid file: found again whatever it made of itself, waited for, ended
before the next start, and never taken for what another healer has left.
"""
import contextlib
import os
import shutil
import sqlite3
import time
from pathlib import Path

import supervised
import support
from support import control_groups, processes

# Neither writes the pid file that healer waits for, and both write over their environment. What begins second takes the
# place of the first: nothing of their own keeps a second copy away.
REDIS = 'port 0\nunixsocket {folder}/socket\ndaemonize yes\npidfile {folder}/own.pid\ndir {folder}\nsave ""\n'
NGINX = ("pid {folder}/own.pid;\nerror_log {folder}/error.log;\nworker_processes 1;\n"
         "events {{ worker_connections 16; }}\nhttp {{ access_log off; client_body_temp_path {folder}/body; "
         "proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; "
         "scgi_temp_path {folder}/scgi;\nserver {{ listen 127.0.0.1:{port} reuseport; }} }}\n")


class SupervisionLeft(supervised.Case):
    def texts(self, daemon: support.Daemon, service: str) -> list[str]:
        return [text for _, text in self.told(daemon, service)]

    @staticmethod
    def waiting(pid: int) -> str:
        """What is told while nothing is started."""
        return f"restart waits: its start program has left process {pid}, which runs still, and no pid file names it"

    def need_groups(self) -> None:
        home = control_groups.own()
        try:
            (home / "probe").mkdir()
            (home / "probe").rmdir()
        except (OSError, TypeError):
            self.skipTest("no control groups can be made here")

    @staticmethod
    def groups(one: supervised.Process) -> list[Path]:
        """Those of the state in which it was started last."""
        state, _, _ = one.variable("start", "HEALER_ACTION").partition(":")
        return list(control_groups.own().rglob(f"healer-{state}-*"))

    def never_named(self, program: str, options: str, configuration: str) -> None:
        self.need_groups()
        binary = shutil.which(program)
        if not binary:
            self.skipTest(f"{program} is not installed")
        folder = self.path("files")
        folder.mkdir()
        place = folder / "configuration"
        place.write_text(configuration.format(folder=folder, port=self.own_port()))
        start = self.path("start")
        supervised.Process.place(start, f"\necho $HEALER_ACTION >> {folder}/starts\nrm -f {folder}/own.pid\n"
                                        f"exec {binary} {options} {place}")

        def is_one(pid: int) -> bool:
            try:
                return os.readlink(f"/proc/{pid}/exe") == os.path.realpath(binary)
            except OSError:
                return False  # it has gone, if only to be a zombie

        def mains() -> list[int]:
            # Children are looked at before their parents: of one that goes to the background just now, whose first
            # process exits, one of both is seen.
            found = {pid: processes.parent(pid) for pid in reversed(processes.descendants()) if is_one(pid)}
            return [pid for pid, parent in found.items() if parent not in found]

        daemon = self.start(f'check process left with pidfile {folder}/never.pid\n'
                            f'  start program = "{start}" with timeout 3 seconds\n')
        self.wait_for(lambda: "job-failed" in self.kinds(daemon, "left"), "the first start to fail")
        [first] = mains()
        self.assertNotIn("HEALER_ACTION", Path(f"/proc/{first}/environ").read_text(errors="replace"))

        # It is waited for first; and then ended, before there is another.
        most = 1

        def next_one() -> bool:
            nonlocal most
            most = max(most, len(mains()))
            return self.lines("files/starts") >= 2

        self.wait_for(next_one, "the second start", detail=lambda: str(self.texts(daemon, "left")))
        told = self.texts(daemon, "left")
        self.assertIn(self.waiting(first), told)
        self.assertIn(f"SIGTERM to process {first}, which its start program has left", told)
        self.assertEqual(processes.state(first) or "Z", "Z")
        self.wait_for(lambda: next_one() and mains() not in ([], [first]), "the second one")
        self.assertEqual(most, 1)

    def test_redis_that_never_gets_its_pid_file_is_waited_for_and_ended_before_the_next(self):
        self.never_named("redis-server", "", REDIS)

    def test_nginx_that_never_gets_its_pid_file_is_waited_for_and_ended_before_the_next(self):
        self.never_named("nginx", "-c", NGINX)

    def test_the_next_daemon_finds_it_from_another_control_group(self):
        self.need_groups()
        one = self.process("one", within=3, live="exec env -i {folder}/one-live 100000")
        daemon = self.start(self.rules(one))
        self.wait_for(lambda: "job-failed" in self.kinds(daemon, "one"), "the first start to fail")
        [first] = one.living()
        daemon.kill()
        elsewhere = control_groups.own() / "elsewhere"
        elsewhere.mkdir()
        home = control_groups.own()
        control_groups.enter(elsewhere)
        daemon.launch()
        control_groups.enter(home)
        self.wait_for(lambda: self.waiting(first) in self.texts(daemon, "one"), "it to be found",
                      detail=lambda: str(self.texts(daemon, "one")))
        self.more_cycles(daemon, 2)
        self.assertEqual(one.copies(), [first])

        # No group stays behind: not that of the former daemon either.
        self.assertEqual(len(self.groups(one)), 1)
        self.assertEqual(self.ctl(daemon, "unmonitor", "one").returncode, 0)
        daemon.stop()
        os.kill(first, 9)
        self.wait_for(lambda: not one.living(), "its end")
        daemon.launch()
        self.assertEqual(self.groups(one), [])

    def test_what_another_healer_has_left_is_not_its_own(self):
        left = self.process("left", within=3, live=":")
        fails = self.process("fails", within=3, start="exit 0")
        daemons = []
        for one in (left, fails):  # in the one state and in the other actions bear the same numbers
            daemon = self.start("check system here\n", name=f"healerd-{one.name}")
            daemon.stop()
            with contextlib.closing(sqlite3.connect(daemon.folder / "healer.state")) as state:
                state.execute("INSERT OR REPLACE INTO meta VALUES('last_id', 9000000000000)")
                state.commit()
            daemon.write_rules(self.settings(daemon) + self.rules(one))
            daemons.append(daemon.launch())
        for one, daemon in zip((left, fails), daemons):
            self.wait_for(lambda: "job-failed" in self.kinds(daemon, one.name), f"{one.name} to fail")
        numbers = [one.variable("start", "HEALER_ACTION").rpartition(":")[2] for one in (left, fails)]
        self.assertEqual(numbers[0], numbers[1])
        [first] = left.living()
        self.wait_for(lambda: self.log().count("fails start") >= 2, "another start of what left nothing",
                      limit=support.LIMIT / 2, detail=lambda: str(self.texts(daemons[1], "fails")))
        time.sleep(1)
        self.assertFalse([text for text in self.texts(daemons[1], "fails") if "has left" in text])
        self.assertEqual(left.living(), [first])
        self.assertIn(self.waiting(first), self.texts(daemons[0], "left"))


if __name__ == "__main__":
    support.main()
