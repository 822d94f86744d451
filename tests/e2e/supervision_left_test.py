# SPDX-License-Identifier: MIT
"""What a start program has left running without a pid file: found again whatever it made of itself, waited for, ended
before the next start, and never taken for what another healer has left. And what has outlived a process that was killed.
"""
import contextlib
import os
import re
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

    def waits(self, daemon: support.Daemon, service: str, pid: int) -> bool:
        """Whether it was told that nothing is started because of this process."""
        words = f"restart waits: its start program has left process {pid} \\(.+\\), which runs still, and no pid file names it"
        return any(re.fullmatch(words, text) for text in self.texts(daemon, service))

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
        self.assertTrue(self.waits(daemon, "left", first), self.texts(daemon, "left"))
        self.assertRegex("\n".join(self.texts(daemon, "left")),
                         f"SIGTERM to process {first} \\(.*{program}.*\\), which its start program has left")
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
        self.wait_for(lambda: self.waits(daemon, "one", first), "it to be found",
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
        self.assertTrue(self.waits(daemons[0], "left", first), self.texts(daemons[0], "left"))

    def test_a_worker_that_keeps_the_port_is_named_and_ended_where_the_rules_say_so(self):
        # The lock stands for the port: who has it lives on when its master is killed, as a worker of nginx does.
        self.need_groups()
        worker, master = self.path("worker"), self.path("master")
        for program in (worker, master):
            program.symlink_to(shutil.which("sleep"))
        start = self.path("start")
        supervised.Process.place(start, f"""
cd {self.folder}
echo start >> starts
exec 8>>port
flock -n 8 || {{ echo "address in use" >&2; exit 1; }}
setsid sh -c '{worker} 100000 & echo $$ > pid.new; mv pid.new pid; exec {master} 100000' >/dev/null 2>&1 </dev/null &""")
        service = f'check process web with pidfile {self.path("pid")}\n  start program = "{start}"\n'
        daemon = self.start(service)
        pid = lambda: int(self.path("pid").read_text()) if self.path("pid").exists() else 0  # noqa: E731
        self.wait_for(lambda: pid() and self.seen_pid(daemon, "web") == pid(), "its start")
        self.wait_for(lambda: not daemon.ask("jobs")["jobs"], "the end of all jobs")
        first = pid()
        [left] = [one for one in processes.descendants() if processes.command_line(one).startswith(str(worker))]
        os.kill(first, 9)
        word = f"process {left} ({worker} 100000) of its former start runs still"
        self.wait_for(lambda: any(kind == "job-failed" and text.endswith(f"address in use; {word}")
                                  for kind, text in self.told(daemon, "web")),
                      "the failure", detail=lambda: str(self.texts(daemon, "web")))
        self.assertEqual(daemon.ask("status", "web")["services"][0]["left"], word)
        self.assertIn("'with leftovers ended' ends it first", daemon.ctl("explain", "web").stdout)
        self.assertTrue(processes.command_line(left))

        daemon.write_rules(self.settings(daemon) + service + "  with leftovers ended\n")
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: pid() != first and self.seen_pid(daemon, "web") == pid(), "the next start",
                      detail=lambda: str(self.texts(daemon, "web")))
        self.assertIn(f"SIGTERM to process {left} ({worker} 100000), which its start program has left",
                      self.texts(daemon, "web"))
        self.assertEqual(processes.state(left) or "Z", "Z")


if __name__ == "__main__":
    support.main()
