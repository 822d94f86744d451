# SPDX-License-Identifier: MIT
"""Processes that healer starts, stops and looks after: real ones, which die, hang, lie and are restarted by others."""
import os
import random
import sqlite3
import time

import mails
import supervised
import support
from supervised import HANG
from support import processes

SETTLE = 1.0  # seconds: healer's own default


class Supervision(mails.Receiving, supervised.Case):
    def chain(self) -> list[supervised.Process]:
        """web needs app, app needs db; written the other way round."""
        return [self.process("web", depends="app"), self.process("app", depends="db"), self.process("db")]

    # ---- start and death --------------------------------------------------------------------------------------

    def test_a_cold_start_goes_in_the_order_of_dependencies(self):
        services = self.chain()
        daemon = self.start(self.rules(*services))
        self.wait_up(daemon, *services)
        self.assertEqual(self.log(), ["db start", "app start", "web start"])
        self.alone()

    def test_what_dies_is_noticed_before_the_next_poll(self):
        services = self.chain()
        daemon = self.start("set settle 0 seconds\n" + self.rules(*services), cycle="3600")
        self.wait_up(daemon, *services)
        before = len(self.kinds(daemon))
        gone = services[1].kill()
        self.wait_for(lambda: len(services[0].copies()) == 2, "the second start of all that depends on it")
        self.wait_up(daemon, *services)
        self.assertEqual(self.log()[3:], ["web stop", "app start", "web start"])
        told = self.told(daemon)[before:]
        self.assertEqual(told[0][0], "process-died")
        self.assertRegex(told[0][1], fr"^process {gone} has died(: killed by signal 9 \(SIGKILL\))?$")
        self.assertIn("job-ended", [kind for kind, _ in told])
        self.assertEqual([text for kind, text in told if kind == "job-started"],
                         ["restart by rule: stop web, stop app, start app, start web"])
        self.alone()

    def test_how_a_process_died_is_told(self):
        self.needs_ends_told()
        killed = self.process("killed")
        exits = self.process("exits", live="write_pid; [ -e once ] || { touch once; while [ ! -e go ]; do sleep 0.05; "
                             "done; exit 3; }")
        daemon = self.start("set settle 0 seconds\n" + self.rules(killed, exits), cycle="3600")
        self.wait_up(daemon, killed)
        self.wait_for(lambda: exits.copies() and self.seen_pid(daemon, "exits") == exits.copies()[0], "healer to see it")
        gone = killed.kill()
        self.path("go").touch()
        self.wait_up(daemon, killed, exits)
        died = {text for kind, text in self.told(daemon) if kind == "process-died"}
        self.assertEqual(died, {f"process {gone} has died: killed by signal 9 (SIGKILL)",
                                f"process {exits.copies()[0]} has died: exited with status 3"})
        self.alone()

    def test_a_zombie_is_started_again_and_not_signalled(self):
        # Its parent does not wait for it; one that ignored SIGCHLD would have the kernel do so.
        parent = self.script("parent", f"{self.path('node.run')} & echo $! > {self.path('child')}; "
                             "exec sleep 100000")
        node = self.process("node", start=f"if [ -e child ]; then {supervised.LAUNCH}\n"
                            f"else setsid {parent} >/dev/null 2>&1 </dev/null & sleep 0.2; fi")
        daemon = self.start(self.rules(node))
        self.wait_up(daemon, node)
        gone = node.kill()
        self.wait_for(lambda: len(node.copies()) == 2, "another start")
        self.wait_up(daemon, node)
        self.assertEqual(processes.state(gone), "Z")
        self.alone()

    # ---- the hand of an administrator -------------------------------------------------------------------------

    def test_a_restart_by_hand_is_not_raced(self):
        lots = [[self.process(f"node{lot}x{number}") for number in range(10)] for lot in range(6)]
        daemon = self.start(self.rules(*(one for lot in lots for one in lot)))
        everything = [one for lot in lots for one in lot]
        self.wait_for(lambda: all(one.pid() for one in everything), "the first start of all")
        self.wait_for(lambda: not daemon.ask("jobs")["jobs"], "the end of all jobs")
        good = 0
        for lot in lots:
            begun = time.monotonic()
            for one in lot:
                one.kill()
            time.sleep(0.2)
            for one in lot:
                one.by_hand()
            self.wait_for(lambda: all(one.pid() for one in lot), "the start by hand")
            if time.monotonic() - begun > 0.9 * SETTLE:
                continue  # the hand was slower than what healer waits for: nothing is learnt
            good += 1
            self.wait_up(daemon, *lot)
            for one in lot:
                self.assertEqual(self.log().count(f"{one.name} start"), 1, self.told(daemon, one.name))
                self.assertEqual(len(one.copies()), 2)
                self.assertIn("process-died", self.kinds(daemon, one.name))
                self.assertNotIn(one.name, self.doubles())
            if good == 3:
                return
        self.skipTest("too slow to restart processes by hand within the settle time")

    # ---- the death of healer ----------------------------------------------------------------------------------

    def killed_in_the_middle(self, verb: str) -> None:
        """healerd is killed while the program for `verb` of a restart runs."""
        hold = f"while [ -e {self.path('hold')} ]; do sleep 0.05; done"
        services = self.chain()
        services[1] = self.process("app", depends="db", **{verb: hold + "\n" + (
            supervised.LAUNCH if verb == "start" else supervised.KILL)})
        daemon = self.start(self.rules(*services))
        self.wait_up(daemon, *services)
        self.path("hold").touch()
        restart = self.begin_ctl(daemon, "restart", "app")
        self.wait_for(lambda: self.log()[3:].count(f"app {verb}"), f"the {verb} program")
        daemon.kill()
        self.assertNotEqual(self.end(restart).returncode, 0)
        daemon.launch()
        job, = daemon.ask("jobs")["jobs"]
        self.assertEqual((job["kind"], job["service"], job["doing"]), ("restart", "app", f"{verb} app"))
        self.path("hold").unlink()
        self.wait_for(lambda: len(services[0].copies()) == 2, "the end of the restart")
        self.wait_up(daemon, *services)
        self.assertEqual(self.log()[3:], ["web stop", "app stop", "app start", "web start"])
        self.assertEqual([len(one.copies()) for one in services], [2, 2, 1])
        self.alone()

    def test_a_restart_goes_on_after_a_kill_while_it_stops(self):
        self.killed_in_the_middle("stop")

    def test_a_restart_goes_on_after_a_kill_while_it_starts(self):
        self.killed_in_the_middle("start")

    def test_kills_at_any_time_start_nothing_twice(self):
        services = self.chain()
        daemon = self.start("set settle 0 seconds\n" + self.rules(*services))
        for pause in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4):
            self.wait_up(daemon, *services)
            restart = self.begin_ctl(daemon, "restart", "db")
            time.sleep(pause)
            daemon.kill()
            self.end(restart)
            daemon.launch()
        self.wait_up(daemon, *services)
        self.alone()

    def test_a_restart_goes_on_after_an_orderly_end(self):
        node = self.process("node")
        daemon = self.start(self.rules(node))
        self.wait_up(daemon, node)
        self.process("node", stop=HANG + "\n" + supervised.KILL)
        restart = self.begin_ctl(daemon, "restart", "node")
        self.wait_for(lambda: "node stop" in self.log(), "the stop program")
        daemon.stop()  # it does not wait for the stop program
        self.assertEqual(self.end(restart).returncode, 2)
        self.path("go").touch()
        daemon.launch()
        self.wait_for(lambda: len(node.copies()) == 2, "the end of the restart")
        self.wait_up(daemon, node)
        self.assertEqual(self.log(), ["node start", "node stop", "node start"])
        self.alone()

    def test_deaths_kills_commands_and_reloads_without_order_leave_one_of_each(self):
        services = [self.process("web", depends="app,files"), self.process("app", depends="db"),
                    self.process("files", depends="db", stop=None), self.process("db", start="exec {live}"),
                    self.process("lone")]
        other = self.process("other", depends="db")
        rules = "set settle 0 seconds\n" + self.rules(*services)
        daemon = self.start(rules)
        self.wait_up(daemon, *services)
        lot, commands = random.Random(1), []
        for _ in range(30):
            what = lot.choice(("die", "die", "ask", "ask", "reload", "kill"))
            if what == "die":
                for one in lot.sample(services, lot.randint(1, 3)):
                    one.kill()
            elif what == "ask":
                commands.append(self.begin_ctl(daemon, lot.choice(("start", "stop", "restart")), lot.choice(services).name))
            elif what == "reload":
                daemon.write_rules(self.settings(daemon) + rules + lot.choice(("", other.statement())))
                self.assertEqual(daemon.reload().returncode, 0)
            else:
                daemon.kill()
                daemon.launch()
            until = time.monotonic() + lot.random() / 3
            self.wait_for(lambda: time.monotonic() > until, "some time")
        for command in commands:
            self.end(command)
        self.wait_for(lambda: not daemon.ask("jobs")["jobs"], "the end of all jobs")
        self.assertEqual(self.ctl(daemon, "start", "all").returncode, 0)
        self.wait_up(daemon, *services)
        self.alone()

    # ---- start programs ---------------------------------------------------------------------------------------

    def failing(self, why: str, **how) -> tuple[support.Daemon, supervised.Process]:
        """A service that does not come up: tried again, the reason each time recorded."""
        node = self.process("node", within=2, **how)
        daemon = self.start(self.rules(node))
        self.wait_for(lambda: [text for kind, text in self.told(daemon, "node") if kind == "job-failed" and why in text],
                      f"the word {why!r}", detail=lambda: str(self.told(daemon, "node")))
        self.wait_for(lambda: self.log().count("node start") >= 3, "a third try",
                      detail=lambda: str(self.told(daemon, "node")))
        self.alone()
        return daemon, node

    def test_a_start_program_that_fails_is_tried_again(self):
        daemon, node = self.failing("(exit status 3)", start="echo no licence >&2; exit 3")
        self.assertIn("no licence", str(self.told(daemon, "node")))
        self.process("node", within=2)
        self.wait_up(daemon, node)
        self.assertEqual(len(node.copies()), 1)

    def test_a_start_program_that_hangs_is_ended(self):
        self.failing("timed out after 2 s", start="exec sleep 99999")
        hung = lambda: [pid for pid in processes.descendants() if "99999" in processes.command_line(pid)]  # noqa: E731
        self.wait_for(lambda: len(hung()) <= 1, "the end of the tries before")

    def test_a_start_program_whose_process_writes_no_pid_file_is_told(self):
        # In the foreground: what did not come up in time is ended before it is tried again.
        _, node = self.failing("timed out", start="exec {live}", live="")
        self.assertLessEqual(len(node.living()), 1)

    def test_a_process_that_forks_twice_and_one_that_is_late_run_once(self):
        twice = self.process("twice", start="setsid sh -c 'setsid {live} & exit 0' >/dev/null 2>&1 </dev/null & exit 0")
        late = self.process("late", live="sleep 1.5; write_pid")
        daemon = self.start(self.rules(twice, late))
        self.wait_up(daemon, twice, late)
        self.more_cycles(daemon, 3)
        self.assertEqual(sorted(self.log()), ["late start", "twice start"])
        self.assertEqual([len(twice.copies()), len(late.copies())], [1, 1])
        self.alone()

    def test_a_pid_file_that_comes_after_the_timeout_makes_no_second_copy(self):
        node = self.process("node", within=1, live=HANG + "\nwrite_pid")
        daemon = self.start(self.rules(node))
        self.wait_for(lambda: "its start program has left process" in str(self.told(daemon)), "the word of it",
                      detail=lambda: str(self.told(daemon, "node")))
        left, = node.copies()
        self.assertRegex(str(self.told(daemon)), fr"'job-held', 'restart waits: its start program has left process {left} "
                                                 r"\([^)]*\), which runs still, and no pid file names it'")
        daemon.kill()
        daemon.launch()
        self.more_cycles(daemon, 3)
        start = self.begin_ctl(daemon, "start", "node")
        self.wait_for(lambda: "its start waits" in str(self.told(daemon)), "the word of it to a person")
        self.path("go").touch()
        self.assertEqual(self.end(start).returncode, 0)
        self.wait_up(daemon, node)
        self.assertEqual((self.log(), node.copies()), (["node start"], [left]))
        self.alone()

    def test_a_pid_file_of_another_process_is_not_what_was_started(self):
        # That of one long gone names nobody.
        node = self.process("node", within=2)
        node.pidfile.write_text("4194304\n")
        daemon = self.start(self.rules(node))
        self.wait_up(daemon, node)
        self.assertEqual(len(node.copies()), 1)
        self.alone()

    def test_a_start_program_may_be_the_process_itself(self):
        node = self.process("node", start="exec {live}")
        daemon = self.start(self.rules(node))
        self.wait_up(daemon, node)
        node.kill()
        self.wait_for(lambda: len(node.copies()) == 2, "another start")
        self.wait_up(daemon, node)
        daemon.stop()
        self.assertEqual(len(node.living()), 1)  # it outlives healer, which finds it again
        daemon.launch()
        self.wait_up(daemon, node)
        self.assertEqual(len(node.copies()), 2)
        self.assertEqual(self.ctl(daemon, "restart", "node").returncode, 0)
        self.assertEqual(len(node.copies()), 3)
        self.alone()

    def test_programs_run_as_their_user_and_learn_the_cause(self):
        root = os.geteuid() == 0
        self.folder.chmod(0o1777)  # as /tmp: what healer keeps below it stays its own
        node = self.process("node", owner="as uid 65534 and gid 65534" if root else "", rules="  alert a@localhost\n")
        daemon = self.start(self.rules(node))
        self.wait_up(daemon, node)
        user = "65534" if root else str(os.geteuid())
        self.assertEqual((self.folder / "node.start.uid").read_text().strip(), user)
        self.assertEqual(node.variable("start", "MONIT_SERVICE"), "node")
        self.assertEqual(node.variable("start", "MONIT_EVENT"), "Does not exist")
        self.assertEqual(node.variable("start", "MONIT_DESCRIPTION"), "process is not running")
        self.assertEqual(node.variable("start", "HEALER_PROCESS_PID"), "-1")
        first = node.pid()
        self.assertEqual(self.ctl(daemon, "stop", "node").returncode, 0)
        self.assertEqual((self.folder / "node.stop.uid").read_text().strip(), user)
        self.assertEqual(node.variable("stop", "MONIT_PROCESS_PID"), str(first))
        self.assertEqual(node.variable("stop", "MONIT_EVENT"), "Stopped")

    # ---- stop programs ----------------------------------------------------------------------------------------

    def test_a_stop_program_that_hangs_fails_the_stop(self):
        node = self.process("node", stop=HANG, within=2)
        daemon = self.start(self.rules(node))
        self.wait_up(daemon, node)
        done = self.ctl(daemon, "stop", "node")
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed to stop", done.stdout + done.stderr)
        self.assertEqual(len(node.living()), 1)
        self.assertEqual(len(node.copies()), 1)

    def test_a_stop_program_that_hangs_after_its_work_has_stopped(self):
        node = self.process("node", stop=supervised.KILL + "\n" + HANG, within=2)
        daemon = self.start(self.rules(node))
        self.wait_up(daemon, node)
        self.assertEqual(self.ctl(daemon, "restart", "node").returncode, 0)
        self.wait_up(daemon, node)
        self.assertEqual(len(node.copies()), 2)
        self.alone()

    def test_without_a_stop_program_signals_stop_it(self):
        deaf = self.process("deaf", stop=None, live="trap '' TERM; write_pid")
        hears = self.process("hears", stop=None)
        daemon = self.start("set limits { stopTimeout: 1 s }\n" + self.rules(deaf, hears))
        self.wait_up(daemon, deaf, hears)
        gone = deaf.pid(), hears.pid()
        self.assertEqual(self.ctl(daemon, "restart", "deaf", "hears").returncode, 0)
        self.wait_up(daemon, deaf, hears)
        self.assertIn(("job-step", f"it did not stop: SIGKILL to process {gone[0]}"), self.told(daemon, "deaf"))
        self.assertIn(("job-step", f"it has no stop program: SIGTERM to process {gone[1]}"), self.told(daemon, "hears"))
        self.assertNotIn("SIGKILL", str(self.told(daemon, "hears")))
        self.assertEqual([len(deaf.copies()), len(hears.copies())], [2, 2])
        self.alone()

    def test_who_was_started_after_the_pid_file_was_written_is_not_signalled(self):
        node = self.process("node", stop=None)
        node.by_hand()
        self.wait_for(node.pid, "its start by hand")
        daemon = self.start(self.rules(node))
        self.wait_up(daemon, node)
        before = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + 1  # of this boot, and long before its start
        os.utime(node.pidfile, (before, before))
        self.more_cycles(daemon, 2)  # it sees that
        restart = self.ctl(daemon, "restart", "node")
        self.assertNotEqual(restart.returncode, 0)
        doubt = f"process {node.pid()} may belong to another service, because it was started after the pid file was written"
        self.assertIn(doubt, restart.stdout)
        self.assertEqual((self.log(), len(node.living())), ([], 1))
        self.assertIn(doubt, daemon.ask("status", "node")["services"][0]["process"]["doubt"])
        self.assertIn(doubt[1:], self.ctl(daemon, "explain", "node").stdout.replace("\n", " ").replace("  ", " "))
        wrong = self.ctl(daemon, "accept", "node", f"--pid={node.pid() + 1}")
        self.assertEqual((wrong.returncode, wrong.stdout), (1, f"nothing accepted; the process of node is {node.pid()}\n"))
        accept = self.ctl(daemon, "accept", "node", "--pid")
        self.assertEqual((accept.returncode, accept.stdout), (0, f"accepted: process {node.pid()} of node\n"))
        self.assertEqual(self.ctl(daemon, "restart", "node").returncode, 0)
        self.wait_up(daemon, node)
        self.assertEqual((self.log(), len(node.copies())), (["node start"], 2))

    def test_whom_another_user_can_have_named_is_not_signalled(self):
        if os.geteuid() != 0:
            self.skipTest("only root has processes that others may not signal")
        node = self.process("node", stop=None)
        node.by_hand()
        self.wait_for(node.pid, "its start by hand")
        os.chown(node.pidfile, 65534, 65534)
        daemon = self.start(self.rules(node))
        self.wait_up(daemon, node)
        word = f"process {node.pid()} belongs to user 0, and its pid file, or a folder or link on the way, to user 65534"
        self.assertIn(("job-held", f"{word}: healer will not signal it before `healerctl accept node --pid`"),
                      self.told(daemon, "node"))
        restart = self.ctl(daemon, "restart", "node")
        self.assertNotEqual(restart.returncode, 0)
        self.assertIn(word, restart.stdout)
        self.assertEqual((self.log(), len(node.living())), ([], 1))

    def test_a_pid_file_that_is_lost_while_no_healer_runs_makes_no_second_copy(self):
        lost = [self.process("emptied"), self.process("removed")]
        daemon = self.start(self.rules(*lost))
        self.wait_up(daemon, *lost)
        pids = [one.pid() for one in lost]
        daemon.kill()
        lost[0].pidfile.write_text("")
        lost[1].pidfile.unlink()
        daemon.launch()
        self.more_cycles(daemon, 3)
        self.assertEqual([one.copies() for one in lost], [[pid] for pid in pids])
        self.assertEqual([self.seen_pid(daemon, one.name) for one in lost], pids)
        self.alone()

    # ---- commands ---------------------------------------------------------------------------------------------

    def test_services_are_started_stopped_and_restarted_by_command(self):
        services = self.chain()
        daemon = self.start(self.rules(*services))
        self.wait_up(daemon, *services)
        for words, wanted in ((("stop", "app"), ["web stop", "app stop"]),
                              (("start", "web"), ["app start", "web start"]),
                              (("restart", "app"), ["web stop", "app stop", "app start", "web start"]),
                              (("stop", "all"), ["web stop", "app stop", "db stop"]),
                              (("start", "all"), ["db start", "app start", "web start"])):
            before = len(self.log())
            done = self.ctl(daemon, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.log()[before:], wanted, words)  # it has happened when the command returns
            self.assertEqual([bool(one.pid()) for one in services],
                             {"stop": [False, False, words[1] == "app"]}.get(words[0], [True] * 3))
        self.alone()

    def test_what_cannot_be_started_is_told_with_a_status(self):
        node = self.process("node", start="exit 3", within=10, rules="  if does not exist for 60 cycles then restart\n")
        daemon = self.start(self.rules(node))
        done = self.ctl(daemon, "start", "node")
        self.assertEqual(done.returncode, 1)
        self.assertIn("exit status 3", done.stdout + done.stderr)
        self.assertEqual(self.ctl(daemon, "start", "nobody").returncode, 1)
        self.assertEqual(self.ctl(daemon, "jobs", "cancel", "12345").returncode, 1)

    def test_a_person_ends_a_job(self):
        node = self.process("node")
        daemon = self.start(self.rules(node))
        self.wait_up(daemon, node)
        self.process("node", stop=HANG)
        restart = self.begin_ctl(daemon, "restart", "node")
        self.wait_for(lambda: "node stop" in self.log(), "the stop program")
        busy = self.ctl(daemon, "start", "node")
        self.assertEqual(busy.returncode, 1)
        self.assertIn("under way", busy.stdout + busy.stderr)
        job, = daemon.ask("jobs")["jobs"]
        self.assertEqual(self.ctl(daemon, "jobs", "cancel", str(job["id"])).returncode, 0)
        ended = self.end(restart)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("cancelled", ended.stdout + ended.stderr)
        self.assertEqual(daemon.ask("jobs")["jobs"], [])
        self.assertEqual(len(node.copies()), 1)

    def test_unmonitored_and_paused_services_are_left_alone(self):
        left, held = self.process("left"), self.process("held")
        daemon = self.start("set settle 0 seconds\n" + self.rules(left, held))
        self.wait_up(daemon, left, held)
        self.assertEqual(self.ctl(daemon, "unmonitor", "left").returncode, 0)
        self.assertEqual(self.ctl(daemon, "pause", "held", "for", "1", "hour", "--reason", "upgrade").returncode, 0)
        left.kill()
        held.kill()
        for name in ("left", "held"):
            self.wait_for(lambda: "process-died" in self.kinds(daemon, name), "the death")
        daemon.kill()
        daemon.launch()  # both last
        self.more_cycles(daemon, 3)
        self.assertEqual([left.pid(), held.pid()], [0, 0])
        self.assertEqual(self.ctl(daemon, "monitor", "left").returncode, 0)
        self.assertEqual(self.ctl(daemon, "resume", "held").returncode, 0)
        self.wait_up(daemon, left, held)
        self.assertEqual([len(left.copies()), len(held.copies())], [2, 2])
        self.alone()

    def test_what_died_while_paused_is_started_when_the_pause_ends(self):
        node = self.process("node")
        daemon = self.start("set settle 0 seconds\n" + self.rules(node))
        self.wait_up(daemon, node)
        self.assertEqual(self.ctl(daemon, "pause", "node", "for", "3", "seconds").returncode, 0)
        node.kill()
        self.wait_for(lambda: len(node.copies()) == 2, "another start")
        self.wait_up(daemon, node)
        kinds = self.kinds(daemon, "node")
        self.assertLess(kinds.index("paused"), kinds.index("process-died"))
        self.alone()

    # ---- reload -----------------------------------------------------------------------------------------------

    def test_a_job_goes_on_over_a_reload(self):
        services = self.chain()
        daemon = self.start(self.rules(*services))
        self.wait_up(daemon, *services)
        self.process("app", depends="db", stop=HANG + "\n" + supervised.KILL)
        restart = self.begin_ctl(daemon, "restart", "app")
        self.wait_for(lambda: "app stop" in self.log(), "the stop program")
        extra = self.process("extra")
        daemon.write_rules(self.settings(daemon) + self.rules(extra, *services))
        self.assertEqual(daemon.reload().returncode, 0)
        self.path("go").touch()
        self.assertEqual(self.end(restart).returncode, 0)
        self.wait_up(daemon, extra, *services)
        self.assertEqual([line for line in self.log()[3:] if line != "extra start"],
                         ["web stop", "app stop", "app start", "web start"])
        self.alone()

    def test_a_restart_uses_the_programs_of_now(self):
        node = self.process("node")
        daemon = self.start(self.rules(node))
        self.wait_up(daemon, node)
        self.process("node", stop=HANG + "\n" + supervised.KILL)
        other = self.script("other", f'cd {self.folder}; echo "node other" >> log; setsid {node.live_script} >/dev/null 2>&1 &')
        restart = self.begin_ctl(daemon, "restart", "node")
        self.wait_for(lambda: "node stop" in self.log(), "the stop program")
        daemon.write_rules(self.settings(daemon) + self.rules(node).replace(f"{node.script} start", str(other)))
        self.assertEqual(daemon.reload().returncode, 0)
        self.path("go").touch()
        self.assertEqual(self.end(restart).returncode, 0)
        self.wait_up(daemon, node)
        self.assertEqual(self.log(), ["node start", "node stop", "node other"])
        self.alone()

    def test_a_reload_that_takes_a_service_away_ends_its_job(self):
        keeps, goes = self.process("keeps"), self.process("goes", stop=HANG)
        daemon = self.start(self.rules(keeps, goes))
        self.wait_up(daemon, keeps, goes)
        stop = self.begin_ctl(daemon, "stop", "goes")
        self.wait_for(lambda: "goes stop" in self.log(), "the stop program")
        daemon.write_rules(self.settings(daemon) + self.rules(keeps))
        self.assertEqual(daemon.reload().returncode, 0)
        self.assertEqual(self.end(stop).returncode, 1)
        self.assertEqual(daemon.ask("jobs")["jobs"], [])
        self.path("go").touch()
        self.wait_up(daemon, keeps)
        self.alone()

    # ---- the rest ---------------------------------------------------------------------------------------------

    def test_a_process_is_found_by_its_command_line(self):
        node = self.process("node")
        rules = node.statement().replace(f"with pidfile {node.pidfile}", f'matching "^{node.program} 1000"')
        daemon = self.start(rules)
        self.wait_up(daemon, node)
        node.kill()
        self.wait_for(lambda: len(node.copies()) == 2, "another start")
        self.wait_up(daemon, node)
        self.assertEqual(self.ctl(daemon, "restart", "node").returncode, 0)
        self.wait_up(daemon, node)
        self.assertEqual(self.log(), ["node start", "node start", "node stop", "node start"])
        self.alone()

    def test_restarts_without_end_are_given_up(self):
        node = self.process("node", within=2, live="write_pid; sleep 0.5; exit 1",
                            rules="  if 3 restarts within 5 cycles then unmonitor\n")
        daemon = self.start("set settle 0 seconds\n" + self.rules(node))
        state = lambda: daemon.ask("summary")["services"][0]["state"]  # noqa: E731
        self.wait_for(lambda: state() == "given up", "the end of it", detail=lambda: str(self.told(daemon)))
        self.assertLessEqual(len(self.log()), 3)
        self.alone()

    def test_after_a_reboot_each_service_is_watched_as_it_says(self):
        services = [self.process(word, rules=f"  onreboot {word}\n") for word in ("start", "nostart", "laststate")]
        daemon = self.start(self.rules(*services))
        self.assertEqual(self.ctl(daemon, "start", "nostart").returncode, 0)
        self.wait_up(daemon, *services)
        self.assertEqual(self.ctl(daemon, "unmonitor", "start", "laststate").returncode, 0)
        daemon.kill()
        daemon.launch()  # the same boot
        states = lambda: {one["name"]: one["monitored"] for one in daemon.ask("status")["services"]}  # noqa: E731
        self.assertEqual(states(), {"start": False, "nostart": True, "laststate": False})
        daemon.stop()
        state = sqlite3.connect(daemon.folder / "healer.state")
        with state:
            self.assertEqual(state.execute("UPDATE services SET boot = boot + 1").rowcount, 3)
        state.close()
        daemon.launch()  # as after another boot
        self.assertEqual(states(), {"start": True, "nostart": False, "laststate": False})

    def test_mails_tell_of_what_was_gone_and_is_back(self):
        _, port = self.sink()
        node = self.process("node")
        node.by_hand()
        self.wait_for(node.pid, "the process")
        daemon = self.start(f"set mailserver 127.0.0.1 port {port}\nset alert admin@localhost on {{ nonexist, exist }}\n" +
                            self.rules(node))
        self.wait_up(daemon, node)
        self.more_cycles(daemon, 1)
        node.kill()
        self.wait_for(lambda: len(self.subjects()) >= 2, "two mails", detail=lambda: str(self.told(daemon)))
        self.assertEqual(self.subjects(), ["monit alert --  Does not exist node", "monit alert --  Exists node"])
        self.alone()


if __name__ == "__main__":
    support.main()
