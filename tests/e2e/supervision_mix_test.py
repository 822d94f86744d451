# SPDX-License-Identifier: MIT
"""Supervision where two things meet: a cancel in each kind of step, a pause or a change of rules during a job, a healerd
that is killed in the middle of a stop."""
import os

import mails
import supervised
import support
from supervised import HANG, SLEEP, Web
from support import processes


class Mix(mails.Receiving, supervised.Case):
    def web(self, name: str = "web", **how) -> Web:
        return Web(self.folder, name, **how).write()

    def cancel(self, daemon: support.Daemon, command) -> None:
        """Ends the one job there is; who asked for it is told so."""
        job, = daemon.ask("jobs")["jobs"]
        self.assertEqual(self.ctl(daemon, "jobs", "cancel", str(job["id"])).returncode, 0)
        ended = self.end(command)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("cancelled by ", ended.stdout + ended.stderr)

    # ---- a cancel, in each kind of step -----------------------------------------------------------------------

    def test_a_cancel_ends_a_start_program_that_hangs(self):
        node = self.process("node", rules="  onreboot nostart\n", start="touch begun; " + HANG + "; " + supervised.LAUNCH)
        daemon = self.start(self.rules(node))
        start = self.begin_ctl(daemon, "start", "node")
        self.wait_for(self.path("begun").exists, "the start program")
        self.path("begun").unlink()
        self.cancel(daemon, start)
        # It is monitored now, so its own rule starts it, when what was begun has ended.
        self.wait_for(self.path("begun").exists, "the next start program")
        self.path("go").touch()
        self.wait_up(daemon, node)
        self.assertEqual(len(node.copies()), 1)
        self.alone()

    def test_a_cancel_while_a_pid_file_is_waited_for(self):
        node = self.process("node", rules="  onreboot nostart\n", live=HANG + "; write_pid")
        daemon = self.start(self.rules(node))
        start = self.begin_ctl(daemon, "start", "node")
        self.wait_for(node.copies, "the process")
        self.cancel(daemon, start)
        self.more_cycles(daemon, 2)
        self.path("go").touch()
        self.wait_up(daemon, node)
        self.assertEqual(len(node.copies()), 1)  # what was begun is the service, and has no second beside it
        self.alone()

    def test_a_cancel_of_a_stop_by_signal_leaves_what_lives(self):
        node = self.process("node", stop=None, live="trap '' TERM; write_pid; " + SLEEP)
        daemon = self.start(self.rules(node))
        self.wait_for(lambda: self.seen_pid(daemon, "node"), "the process")
        self.wait_for(lambda: not daemon.ask("jobs")["jobs"], "the end of its start")
        stop = self.begin_ctl(daemon, "stop", "node")
        self.wait_for(lambda: "SIGTERM to process" in str(self.told(daemon, "node")), "the signal")
        self.cancel(daemon, stop)
        self.more_cycles(daemon, 2)
        self.assertEqual(len(node.copies()), 1)
        status, = daemon.ask("status", "node")["services"]
        self.assertTrue(status["monitored"])
        self.assertEqual(status["process"]["pid"], node.copies()[0])
        self.assertNotIn("SIGKILL", str(self.told(daemon, "node")))
        os.kill(node.copies()[0], 9)

    def test_a_cancel_of_the_start_and_of_the_stop_of_a_foreground_process(self):
        web = self.web(words="ready after 60 seconds stop signal TERM within 60 seconds", rules="  onreboot nostart\n")
        daemon = self.start(self.rules(web))
        start = self.begin_ctl(daemon, "start", "web")
        self.wait_for(web.living, "the process")
        self.ctl(daemon, "unmonitor", "web")
        self.cancel(daemon, start)
        self.wait_for(lambda: not web.living(), "its end")  # what was not ready yet is not left behind
        self.more_cycles(daemon, 2)
        self.assertEqual(len(web.copies()), 1)
        self.web(words="ready after 0 seconds", live="trap 'touch heard' TERM; write_pid; " + SLEEP)
        daemon.write_rules(daemon.rules.read_text().replace("ready after 60 seconds", "ready after 0 seconds"))
        self.assertEqual(daemon.reload().returncode, 0)
        self.assertEqual(self.ctl(daemon, "start", "web").returncode, 0)
        self.wait_for(lambda: len(web.copies()) == 2 and web.pidfile.read_text() == f"{web.copies()[1]}\n",
                      "the process, which hears")
        stop = self.begin_ctl(daemon, "stop", "web")
        self.wait_for(self.path("heard").exists, "the first signal")
        self.cancel(daemon, stop)
        self.more_cycles(daemon, 2)
        status, = daemon.ask("status", "web")["services"]
        self.assertTrue(status["monitored"])
        self.assertEqual(len(web.copies()), 2)
        os.kill(web.copies()[1], 9)
        self.wait_for(lambda: len(web.copies()) == 3, "another start")
        self.alone()

    # ---- a pause, a change of rules ----------------------------------------------------------------------------

    def test_a_pause_lets_a_job_end_and_no_other_begin(self):
        node = self.process("node")
        daemon = self.start("set settle 0 seconds\n" + self.rules(node))
        self.wait_up(daemon, node)
        self.process("node", start="touch begun; " + HANG + "; " + supervised.LAUNCH)
        node.kill()
        self.wait_for(self.path("begun").exists, "the start program")
        self.assertEqual(self.ctl(daemon, "pause", "node").returncode, 0)
        self.path("go").touch()
        self.wait_up(daemon, node)
        self.assertEqual(len(node.copies()), 2)
        node.kill()
        self.more_cycles(daemon, 3)
        self.assertEqual(len(node.copies()), 2)
        self.assertEqual(self.ctl(daemon, "resume", "node").returncode, 0)
        self.wait_up(daemon, node)
        self.assertEqual(len(node.copies()), 3)
        self.alone()

    def test_a_stop_program_runs_as_whom_the_rules_of_now_say(self):
        if os.geteuid() != 0:
            self.skipTest("only root may be somebody else")
        self.folder.chmod(0o1777)  # as /tmp: what healer keeps below it stays its own
        node = self.process("node", stop="id -u > stopped.uid; id -g > stopped.gid; kill $(cat {pidfile})", within=5)
        daemon = self.start(self.rules(node))
        self.wait_up(daemon, node)
        rules = self.rules(node).replace("/node stop\"", '/node stop" as uid nobody and gid sys')
        self.assertIn("as uid nobody", rules)
        daemon.write_rules(self.settings(daemon) + rules)
        self.assertEqual(daemon.reload().returncode, 0)
        stop = self.ctl(daemon, "stop", "node")
        self.assertNotEqual(stop.returncode, 0)  # nobody may not end what root has started
        self.assertNotEqual(self.path("stopped.uid").read_text(), "0\n")
        self.assertNotEqual(self.path("stopped.gid").read_text(), "0\n")
        self.assertTrue(node.pid())
        self.assertEqual(node.copies(), [node.pid()])

    def test_reminders_count_on_over_a_reload_and_a_kill(self):
        _, port = self.sink()
        check = self.script("check", f"cd {self.folder}; echo x >> check.runs; echo run $(wc -l < check.runs); exit 1")
        rules = (f"set mailserver 127.0.0.1 port {port}\nset alert admin@x.org not on {{ instance }} reminder 6\n"
                 f'check program node with path "{check}"\n  if status != 0 then alert\n')
        daemon = self.start(rules, cycle="2")  # where healer is away for more than three cycles it counts anew
        self.wait_for(lambda: self.runs("check") >= 2, "two runs")
        daemon.write_rules(self.settings(daemon, cycle="2") + rules + "  group night\n")
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: self.runs("check") >= 4, "four runs")
        daemon.kill()
        daemon.launch()
        self.wait_for(lambda: self.runs("check") >= 9 and len(self.subjects()) >= 2, "the reminder")
        first, reminder = [mail.field("Description") for mail in self.mails()]
        self.assertTrue(first.endswith("run 1"), first)
        self.assertRegex(reminder, "run [67]$")  # the kill may have cut one off

    def test_a_digest_is_without_the_services_of_which_one_wants_no_alert(self):
        _, port = self.sink()
        checks = "".join(f'check program {name} with path "{self.statuses(name, [1])}"\n  if status != 0 then alert\n{more}'
                         for name, more in (("web", ""), ("db", "  noalert night@x.org\n"),
                                            ("cache", "  alert night@x.org digest only on { timeout }\n"), ("dns", "")))
        self.start(f"set mailserver 127.0.0.1 port {port}\nset alert day@x.org not on {{ instance }}\n"
                   "set alert night@x.org digest not on { instance }\n" + checks, cycle="4")
        self.wait_for(lambda: len(self.subjects("day@x.org")) == 4 and self.subjects("night@x.org"), "all mails")
        before = self.runs("web")
        self.wait_for(lambda: self.runs("web") >= before + 2, "two more cycles")
        (digest,) = [mail for mail in self.mails() if mail.to == "night@x.org"]
        self.assertRegex(digest.subject, r"^healer: 2 alerts on \S+: (web, dns|dns, web) failed$")
        self.assertNotIn("Service db", digest.text)
        self.assertNotIn("Service cache", digest.text)

    # ---- a healerd that is killed --------------------------------------------------------------------------------

    def test_a_stop_begins_its_signals_anew_under_the_next_healerd(self):
        web = self.web(words="stop signal INT within 4 seconds  stop signal TERM within 30 seconds",
                       live=f"trap 'echo int >> heard' INT; trap 'echo term >> heard; exit 0' TERM; write_pid; {SLEEP}")
        daemon = self.start(self.rules(web))
        self.wait_for(lambda: web.pidfile.exists() and not daemon.ask("jobs")["jobs"], "the process")
        stop = self.begin_ctl(daemon, "stop", "web")
        self.wait_for(self.path("heard").exists, "the first signal")
        daemon.kill()
        self.end(stop)
        daemon.launch()
        self.wait_for(lambda: not daemon.ask("jobs")["jobs"], "the end of the stop", detail=lambda: str(self.told(daemon)))
        self.assertEqual(self.path("heard").read_text(), "int\nint\nterm\n")
        self.more_cycles(daemon, 2)
        status, = daemon.ask("status", "web")["services"]
        self.assertFalse(status["monitored"])
        self.assertEqual(len(web.copies()), 1)
        self.alone()

    def test_one_that_never_said_it_is_ready_is_ended_by_the_next_healerd(self):
        web = self.web(words="ready on notify within 1 seconds  stop signal TERM within 4 seconds",
                       live=f"[ -e once ] || {{ touch once; trap '' TERM; }}; write_pid; {SLEEP}")
        daemon = self.start(self.rules(web))
        self.wait_for(lambda: "did not report" in str(self.told(daemon, "web")), "the end of its time")
        daemon.kill()
        daemon.launch()
        self.wait_for(lambda: len(web.copies()) == 2, "another start", detail=lambda: str(self.told(daemon)))
        self.assertEqual(processes.command_line(web.copies()[0]), "")
        self.alone()


if __name__ == "__main__":
    support.main()
