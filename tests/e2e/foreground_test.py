# SPDX-License-Identifier: MIT
"""Processes that healer runs in the foreground: they die, are slow to be ready, are stopped, and outlive healerd."""
import os
import shutil
import signal
import sqlite3
import time

import supervised
import support
from supervised import SLEEP, Web
from support import processes

NOTIFY = "systemd-notify --ready"


class Foreground(supervised.Case):
    def web(self, name: str = "web", **how) -> Web:
        return Web(self.folder, name, **how).write()

    def state(self, daemon: support.Daemon, service: str = "web") -> str:
        return next(one["state"] for one in daemon.ask("summary")["services"] if one["name"] == service)

    def wait_gone(self, *services: Web) -> None:
        for one in services:
            self.wait_for(lambda: not one.living(), f"the end of {one.name}")

    def needs_notify(self) -> None:
        if not shutil.which("systemd-notify"):
            self.skipTest("systemd-notify is not installed")

    # ---- life and death ---------------------------------------------------------------------------------------

    def test_it_is_started_and_seen(self):
        web = self.web(live="write_pid; echo here; env > environment")
        daemon = self.start(self.rules(web))
        self.wait_up(daemon, web)
        self.assertIn(web.pid(), processes.children(daemon.pid))
        environment = dict(line.split("=", 1) for line in self.path("environment").read_text().splitlines() if "=" in line)
        self.assertEqual(environment["MONIT_SERVICE"], "web")
        self.assertEqual(environment["NOTIFY_SOCKET"], f"{daemon.folder}/healer.pid.notify")
        self.assertNotIn("MONIT_EVENT", environment)
        output, = (daemon.folder / "healer.state.actions").glob("*.out")
        self.assertEqual(output.read_text(), "here\n")
        self.more_cycles(daemon, 2)
        self.assertEqual(len(web.copies()), 1)
        self.alone()

    def test_what_is_killed_runs_again_without_a_poll(self):
        web = self.web()
        daemon = self.start(self.rules(web), cycle="3600")
        self.wait_up(daemon, web)
        gone = web.kill()
        self.wait_for(lambda: len(web.copies()) == 2, "another start")
        self.wait_up(daemon, web)
        self.assertNotEqual(web.pid(), gone)
        self.alone()

    def test_what_exits_is_told_with_its_status_and_its_output(self):
        web = self.web(live='write_pid; [ -e once ] || { touch once; sleep 2; echo "no room" >&2; exit 3; }')
        daemon = self.start(self.rules(web), cycle="3600")
        self.wait_for(lambda: len(web.copies()) == 2, "another start", detail=lambda: str(self.told(daemon)))
        self.wait_up(daemon, web)
        told = " ".join(text for _, text in self.told(daemon, "web"))
        self.assertIn("status 3", told)
        self.assertIn("no room", told)
        self.alone()

    def test_what_it_leaves_behind_goes_with_it(self):
        web = self.web(live=f"write_pid; for i in 1 2; do {self.path('left-behind')} 100000 & done")
        self.path("left-behind").symlink_to(shutil.which("sleep"))
        daemon = self.start(self.rules(web), cycle="3600")
        self.wait_up(daemon, web)
        left = lambda: [pid for pid in processes.descendants()  # noqa: E731
                        if processes.command_line(pid).startswith(str(self.path("left-behind")))]
        self.wait_for(lambda: len(left()) == 2, "its children")
        before = set(left())
        web.kill()
        self.wait_for(lambda: len(web.copies()) == 2, "another start")
        self.assertFalse(before & set(left()))
        self.wait_up(daemon, web)
        self.assertEqual(self.ctl(daemon, "stop", "web").returncode, 0)
        self.assertEqual(left(), [])
        self.alone()

    def test_what_goes_to_the_background_leaves_no_copy_behind(self):
        copy = self.path("copy")
        copy.symlink_to(shutil.which("sleep"))
        copies = lambda: [pid for pid in processes.descendants()  # noqa: E731
                          if processes.command_line(pid).startswith(str(copy))]
        gate = self.path("gate")
        program = self.script("daemonizer", f"echo going >> {self.path('starts')}; setsid -f {copy} 100000; "
                                            f"while [ -e {gate} ]; do sleep 0.05; done; sleep 0.2")
        daemon = self.start(f'check process web with program "{program}"\n')
        starts = lambda: self.path("starts").read_text().count("going") if self.path("starts").exists() else 0  # noqa: E731
        most = 0

        def three_tries():
            nonlocal most
            most = max(most, len(copies()))
            return starts() >= 3

        self.wait_for(three_tries, "three tries", detail=lambda: str(self.told(daemon)))
        self.assertEqual(most, 1)
        texts = [text for _, text in self.told(daemon, "web")]
        self.assertEqual(len([text for text in texts if text.startswith("it went to the background: ")]), 1, texts)
        self.assertRegex(str(texts), r"failed to start: it exited with status 0 after \d+ ms "
                                     r"\(process \d+, which had left its session, was ended with it\)")
        # While it stays for a while: at its stop, and after its adoption.
        gate.touch()
        for adopt in (False, True):
            self.assertEqual(self.ctl(daemon, "restart", "web").returncode, 0)
            self.wait_for(lambda: len(copies()) == 1, "its copy")
            if adopt:
                daemon.kill()
                daemon.launch()
            self.assertEqual(self.ctl(daemon, "stop", "web").returncode, 0)
            self.assertEqual(copies(), [])

    def test_what_cannot_run_is_told(self):
        broken = self.script("broken", "")
        broken.write_text("#!/no/such/interpreter\n")
        daemon = self.start(f'check process web with program "{broken}"\n')
        self.wait_for(lambda: "its interpreter is missing" in str(self.told(daemon, "web")), "the reason",
                      detail=lambda: str(self.told(daemon)))

    def test_what_dies_at_once_again_and_again_is_given_up(self):
        web = self.web(live="exit 1", rules="  if 3 restarts within 5 cycles then unmonitor\n")
        daemon = self.start(self.rules(web))
        self.wait_for(lambda: self.state(daemon) == "given up", "the end of it", detail=lambda: str(self.told(daemon)))
        self.assertLessEqual(len(web.copies()), 12)
        self.alone()

    # ---- being ready ------------------------------------------------------------------------------------------

    def test_what_needs_it_waits_until_it_is_ready(self):
        self.needs_notify()
        base = self.web("base", words="ready on notify within 60 seconds",
                        live=f"write_pid; while [ ! -e go ]; do sleep 0.05; done; {NOTIFY}; touch told")
        top = self.web("top", depends="base", live="write_pid; [ -e told ] || [ -e go ] || touch early")
        daemon = self.start(self.rules(top, base))
        self.wait_for(base.copies, "the base")
        self.more_cycles(daemon, 2)
        self.assertEqual(top.copies(), [])
        self.path("go").touch()
        self.wait_up(daemon, base, top)
        self.assertFalse(self.path("early").exists())
        self.assertEqual(len(base.copies()), 1)
        self.alone()

    def test_what_is_never_ready_has_failed_to_start(self):
        web = self.web(words="ready on notify within 1 seconds")
        daemon = self.start("set daemon 3600\n" + self.rules(web), cycle="3600")
        self.wait_for(lambda: web.copies(), "the process")
        self.wait_for(lambda: any(kind in ("job-failed", "job-ended") for kind in self.kinds(daemon, "web")),
                      "the end of the start", detail=lambda: str(self.told(daemon)))
        self.assertNotIn("start done", str(self.told(daemon, "web")))
        first = web.copies()[0]
        self.wait_for(lambda: first not in web.living(), "the end of what was not ready")
        self.alone()

    def test_a_socket_that_is_out_of_reach_is_told(self):
        if os.geteuid() != 0:
            self.skipTest("only root can start programs as another user")
        self.folder.chmod(0o711)
        program = "/bin/sleep 600"
        daemon = self.configure(f'check process web with program "{program}" as uid 65534 and gid 65534\n'
                                "  ready on notify within 60 seconds\n")
        daemon.folder.chmod(0o700)
        daemon.launch()
        words = f"user 65534 may not enter {daemon.folder}, on the way to the socket"
        self.wait_for(lambda: daemon.log.exists() and words in daemon.log.read_text(), "the warning",
                      detail=lambda: daemon.log.read_text())
        self.assertEqual(self.ctl(daemon, "stop", "web").returncode, 0)
        self.alone()

    def test_a_socket_whose_path_would_be_too_long_has_a_name(self):
        self.needs_notify()
        web = self.web(words="ready on notify within 60 seconds",
                       live=f'write_pid; echo "$NOTIFY_SOCKET" > place; {NOTIFY}; touch told')
        daemon = self.start(self.rules(web), name="x" * (92 - len(f"{self.folder}/")))
        self.wait_up(daemon, web)
        self.wait_for(self.path("told").exists, "the end of the notice")
        self.assertTrue(self.path("place").read_text().startswith("@healer-notify-"))
        self.alone()

    # ---- being well -------------------------------------------------------------------------------------------

    def speaks(self, loop: str) -> str:
        """What a process does in Python that says something on its socket."""
        program = self.path("speaks.py")
        program.write_text("import os,socket,time\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\n"
                           "def say(what): s.sendto(what,os.environ['NOTIFY_SOCKET'])\n" + loop)
        return f"write_pid; exec python3 {program}"

    def test_what_falls_silent_is_started_anew(self):
        well = ("say(b'READY=1')\nopen('usec','w').write(os.environ['WATCHDOG_USEC'])\n"
                "while not os.path.exists('hang'):\n say(b'WATCHDOG=1')\n time.sleep(0.2)\n"
                "os.rename('hang','hung')\ntime.sleep(600)\n")
        web = self.web(words="ready on notify within 60 seconds  watchdog 2 seconds", live=self.speaks(well))
        daemon = self.start(self.rules(web), cycle="3600")
        self.wait_for(lambda: self.path("usec").exists() and self.path("usec").read_text() == "2000000", "its start")
        time.sleep(4)
        self.assertEqual(len(web.copies()), 1)
        self.path("hang").touch()
        self.wait_for(lambda: len(web.copies()) == 2, "another start", detail=lambda: str(self.told(daemon)))
        told = " ".join(text for _, text in self.told(daemon, "web"))
        self.assertIn("has not sent WATCHDOG=1 for 2 s: it is ended", told)
        self.assertIn("it had not sent WATCHDOG=1 for 2 s", told)
        self.alone()

    def test_a_process_that_ends_with_a_certain_status_is_given_up(self):
        web = self.web(live="write_pid; exit 78", rules="  if status = 78 then unmonitor\n")
        daemon = self.start(self.rules(web))
        self.wait_for(lambda: self.state(daemon) == "given up", "the end of it", detail=lambda: str(self.told(daemon)))
        copies = len(web.copies())
        time.sleep(2)  # two cycles
        self.assertEqual(len(web.copies()), copies)
        self.assertIn("if status = 78 then unmonitor", daemon.ctl("summary", "--failed").stdout)
        self.alone()

    # ---- stopping ---------------------------------------------------------------------------------------------

    def test_a_stop_goes_through_its_signals(self):
        web = self.web(words="stop signal INT within 1 seconds  stop signal TERM within 30 seconds",
                       live=f"trap 'echo int >> heard' INT; trap 'echo term >> heard; exit 0' TERM; write_pid; {SLEEP}")
        daemon = self.start(self.rules(web))
        self.wait_for(lambda: web.pidfile.exists(), "the process")
        self.wait_for(lambda: not daemon.ask("jobs")["jobs"], "the end of the start")
        pid = int(web.pidfile.read_text())
        begun = time.monotonic()
        self.assertEqual(self.ctl(daemon, "stop", "web").returncode, 0)
        self.assertGreaterEqual(time.monotonic() - begun, 1.0)
        self.assertEqual(self.path("heard").read_text(), "int\nterm\n")
        self.assertEqual(processes.command_line(pid), "")
        self.assertEqual(self.state(daemon), "unmonitored")
        self.more_cycles(daemon, 2)
        self.assertEqual(len(web.copies()), 1)
        self.assertEqual(self.ctl(daemon, "start", "web").returncode, 0)
        self.assertEqual(len(web.copies()), 2)
        self.alone()

    def test_what_does_not_hear_is_killed(self):
        web = self.web(words="stop signal TERM within 1 seconds", live="trap '' TERM; write_pid")
        daemon = self.start(self.rules(web))
        self.wait_up(daemon, web)
        self.assertEqual(self.ctl(daemon, "restart", "web").returncode, 0)
        self.assertEqual(len(web.copies()), 2)
        self.wait_up(daemon, web)
        self.alone()

    # ---- healerd comes and goes -------------------------------------------------------------------------------

    def outlives(self, end) -> None:
        services = [self.web("base"), self.web("top", depends="base")]
        daemon = self.start(self.rules(*services))
        self.wait_up(daemon, *services)
        pids = [one.pid() for one in services]
        for _ in range(3):
            end(daemon)
            self.assertEqual([one.pid() for one in services], pids)
            daemon.launch()
            self.wait_up(daemon, *services)
            self.more_cycles(daemon, 1)
            self.assertEqual([one.copies() for one in services], [[pid] for pid in pids])
        os.kill(pids[0], signal.SIGKILL)
        self.wait_for(lambda: all(len(one.copies()) == 2 for one in services), "another start of both",
                      detail=lambda: str(self.told(daemon)))
        self.wait_up(daemon, *services)
        self.alone()

    def test_it_outlives_a_healerd_that_is_killed(self):
        self.outlives(lambda daemon: daemon.kill())

    def test_it_outlives_a_restart_of_healerd(self):
        self.outlives(lambda daemon: daemon.stop())

    def test_the_next_healerd_is_told_how_it_ended(self):
        self.needs_ends_told()
        web = self.web(live="write_pid; [ -e once ] || { touch once; while [ ! -e go ]; do sleep 0.05; done; "
                       "echo no room; exit 3; }")
        act = self.script("act", f"cd {self.folder}; touch acting; while [ ! -e go ]; do sleep 0.05; done; kill -SEGV $$")
        check = self.statuses("check", [1])
        daemon = self.start(self.rules(web) + f'check program node with path "{check}"\n'
                            f'  if status != 0 then exec "{act}"\n')
        self.wait_for(lambda: web.pidfile.exists() and self.path("acting").exists(), "both programs")
        pid = int(web.pidfile.read_text())
        self.wait_for(lambda: self.seen_pid(daemon, "web") == pid, "healer to see it")
        daemon.kill()
        daemon.launch()
        self.wait_for(lambda: self.seen_pid(daemon, "web") == pid, "the next healer to see it")
        self.wait_for(lambda: [text for _, text in self.told(daemon, "node")][-1].endswith("still runs"), "the exec")
        self.path("go").touch()
        self.wait_for(lambda: len(web.copies()) == 2 and "action-failed" in self.kinds(daemon, "node"), "both ends",
                      detail=lambda: str(self.told(daemon)))
        ends = [text for kind, text in self.told(daemon, "web") if kind == "process-died"]
        self.assertRegex(ends[0], f"^process {pid} exited with status 3 after .*: no room$")
        ends = [text for kind, text in self.told(daemon, "node") if kind == "action-failed"]
        self.assertRegex(ends[0], r"act was killed by signal 11 \(SIGSEGV\) after ")
        self.wait_up(daemon, web)
        written = [path.read_text() for path in (daemon.folder / "healer.state.actions").glob("*.pid")]
        self.assertEqual(sum("\nended 0 3 " in text or "\nended 1 11 " in text for text in written), 2)
        self.alone()

    def test_what_ended_without_healerd_is_started_once(self):
        web = self.web()
        daemon = self.start(self.rules(web))
        self.wait_up(daemon, web)
        daemon.kill()
        web.kill()
        self.wait_gone(web)
        processes.reap({daemon.pid})
        daemon.launch()
        self.wait_for(lambda: len(web.copies()) == 2, "another start", detail=lambda: str(self.told(daemon)))
        self.wait_up(daemon, web)
        self.more_cycles(daemon, 2)
        self.assertEqual(len(web.copies()), 2)
        self.alone()

    def test_kills_of_healerd_at_any_time_start_nothing_twice(self):
        services = [self.web("base"), self.web("top", depends="base")]
        daemon = self.start(self.rules(*services))
        for pause in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4):
            self.wait_up(daemon, *services)
            restart = self.begin_ctl(daemon, "restart", "base")
            time.sleep(pause)
            daemon.kill()
            self.end(restart)
            daemon.launch()
        self.wait_up(daemon, *services)
        self.assertEqual([len(one.living()) for one in services], [1, 1])
        self.alone()

    def test_it_can_be_stopped_by_the_next_healerd(self):
        web = self.web()
        daemon = self.start(self.rules(web))
        self.wait_up(daemon, web)
        daemon.kill()
        daemon.launch()
        self.assertEqual(self.ctl(daemon, "stop", "web").returncode, 0)
        self.assertEqual(web.living(), [])
        self.alone()

    def test_what_was_started_while_the_store_was_sick_is_not_started_twice(self):
        web = self.web()
        daemon = self.start("")
        store = sqlite3.connect(daemon.folder / "healer.state", isolation_level=None)
        store.execute("BEGIN EXCLUSIVE")
        daemon.write_rules(self.settings(daemon) + self.rules(web))
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: web.pidfile.exists() and web.living(), "the process")
        pid = web.pid()
        daemon.kill()
        store.execute("ROLLBACK")
        self.assertEqual(store.execute("SELECT count(*) FROM execs").fetchone(), (0,))
        store.close()
        daemon.launch()
        self.wait_up(daemon, web)
        self.more_cycles(daemon, 2)
        self.assertEqual((web.pid(), web.copies()), (pid, [pid]))
        self.assertEqual(self.ctl(daemon, "restart", "web").returncode, 0)
        self.wait_up(daemon, web)
        self.assertEqual(len(web.living()), 1)
        self.assertEqual(len(web.copies()), 2)
        self.alone()

    # ---- reload -----------------------------------------------------------------------------------------------

    def test_a_service_that_is_taken_away_before_its_start_was_written_down(self):
        web = self.web()
        daemon = self.start(self.rules(web))
        self.wait_up(daemon, web)
        self.assertEqual(self.ctl(daemon, "stop", "web").returncode, 0)
        store = sqlite3.connect(daemon.folder / "healer.state", isolation_level=None)
        store.execute("BEGIN EXCLUSIVE")
        start = self.begin_ctl(daemon, "start", "web")
        self.wait_for(lambda: daemon.ask("jobs")["jobs"], "the start")
        daemon.write_rules(self.settings(daemon))
        self.assertEqual(daemon.reload().returncode, 0)
        store.execute("ROLLBACK")
        store.close()
        self.assertNotEqual(self.end(start).returncode, 0)
        self.more_cycles(daemon, 2)
        self.wait_gone(web)
        self.alone()

    def test_a_service_that_is_taken_away_is_stopped(self):
        keeps, goes = self.web("keeps"), self.web("goes")
        daemon = self.start(self.rules(keeps, goes))
        self.wait_up(daemon, keeps, goes)
        daemon.write_rules(self.settings(daemon) + self.rules(keeps))
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_gone(goes)
        self.assertEqual(len(keeps.copies()), 1)
        self.wait_up(daemon, keeps)
        self.alone()

    def test_a_new_command_is_for_the_next_start(self):
        web = self.web()
        daemon = self.start(self.rules(web))
        self.wait_up(daemon, web)
        first = web.pid()
        other = self.script("other", f"touch {self.path('used')}; exec {web.live_script}")
        daemon.write_rules(self.settings(daemon) + self.rules(web).replace(str(web.live_script), str(other)))
        self.assertEqual(daemon.reload().returncode, 0)
        self.more_cycles(daemon, 2)
        self.assertEqual((web.pid(), web.copies()), (first, [first]))
        self.assertEqual(self.ctl(daemon, "restart", "web").returncode, 0)
        self.wait_up(daemon, web)
        self.assertTrue(self.path("used").exists())
        self.assertEqual(len(web.copies()), 2)
        self.alone()

    def test_a_state_file_that_moves_is_told_with_what_it_does_not_know(self):
        web, other = self.web(), self.path("other.state")
        daemon = self.start(self.rules(web))
        self.wait_up(daemon, web)
        old = daemon.folder / "healer.state"
        moved = self.settings(daemon).replace(f"set statefile {old}", f"set statefile {other}")
        daemon.write_rules(moved + self.rules(web))
        done = daemon.reload()
        told = f"the state file is {old} until healerd is restarted, then {other}, which does not contain the " \
               "running foreground processes: stop them before the restart, or they will be started a second time"
        queue = f"the mail queue is {old}.mail until healerd is restarted, then {other}.mail"
        changes = "changed settings: set statefile\nrules reloaded: 0 added, 0 removed, 0 changed, 1 kept"
        self.assertEqual((done.returncode, done.stdout), (0, f"warning: {told}\nwarning: {queue}\n{changes}\n"))
        self.wait_for(lambda: told in daemon.log_text(), "the word of it in the log")
        # As it says: they are stopped, and the next healerd starts them once.
        self.assertEqual(self.ctl(daemon, "stop", "web").returncode, 0)
        daemon.stop()
        daemon.launch()
        self.assertEqual(self.ctl(daemon, "start", "web").returncode, 0)
        self.wait_up(daemon, web)
        self.assertEqual(len(web.living()), 1)
        self.alone()


if __name__ == "__main__":
    support.main()
