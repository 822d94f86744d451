# SPDX-License-Identifier: MIT
"""State lasts: what has fired does not fire again, and counters go on where they were, over SIGKILL, reload and SIGHUP."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import support


class Lasting(support.Case):
    def acting(self, tolerance: str, every: str = "") -> str:
        """Rules of a check that always fails and whose action leaves a line in `acted`."""
        check = self.statuses("check", [1])
        act = self.script("act", f"echo x >> {self.path('acted')}")
        return f'check program node with path "{check}" {every}\n  if status != 0 {tolerance} then exec "{act}"\n'

    def more_runs(self, count: int) -> None:
        wanted = self.runs("check") + count
        self.wait_for(lambda: self.runs("check") >= wanted, f"{count} more runs")

    def test_what_has_fired_does_not_fire_again_after_a_kill(self):
        daemon = self.start(self.acting("for 2 cycles"))
        self.wait_for(lambda: self.lines("acted"), "the action")
        for _ in range(3):
            daemon.kill()
            daemon.launch()
            self.more_runs(3)
        self.assertEqual(self.lines("acted"), 1)

    def test_counters_go_on_after_a_kill(self):
        # Where healer is away for more than three cycles it counts anew.
        daemon = self.configure(self.acting("for 5 cycles"), cycle="3").launch()
        self.wait_for(lambda: self.runs("check") >= 3, "three runs")
        self.wait_for(lambda: "3 of the last 5" in daemon.ctl("explain", "node").stdout, "the third judgement")
        daemon.kill()
        daemon.launch()
        self.wait_for(lambda: self.lines("acted"), "the action")
        self.assertLessEqual(self.runs("check"), 6)  # a fifth failure, not five new ones

    def test_a_reload_keeps_what_did_not_change(self):
        rules = self.acting("for 2 cycles")
        daemon = self.start(rules)
        self.wait_for(lambda: self.lines("acted"), "the action")
        daemon.write_rules(self.settings(daemon) + "set alert nobody@localhost\n" + rules + "  if status = 77 then alert\n")
        self.assertEqual(daemon.reload().returncode, 0)
        self.more_runs(4)
        self.assertEqual(self.lines("acted"), 1)

    def test_a_hang_up_with_a_broken_file_changes_nothing(self):
        rules = self.acting("for 2 cycles")
        daemon = self.start(rules)
        self.wait_for(lambda: self.lines("acted"), "the action")
        daemon.write_rules(self.settings(daemon) + rules + "check progam x\n")
        daemon.process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "the rules files have errors" in daemon.log_text(), "the refusal in the log")
        done = daemon.reload()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("progam", done.stdout + done.stderr)
        refused = json.loads(daemon.ctl("reload", "--json").stdout)["error"]
        self.assertEqual([(one["severity"], one["place"].rsplit("/", 1)[-1].split(":")[0])
                          for one in refused["diagnostics"]], [("error", "healer.conf")])
        self.assertEqual(daemon.ctl("diff").returncode, 1)
        self.tells_of_the_files(daemon, True)
        self.more_runs(3)
        self.assertEqual(self.lines("acted"), 1)
        daemon.write_rules(self.settings(daemon) + rules + "  if status = 77 then alert\n"
                           "check program x with path /bin/true\n  if status != 0 then alert\n")
        for command, last in (("diff", "a reload would give: 1 added, 0 removed, 1 changed, 0 kept"),
                              ("reload", "rules reloaded: 1 added, 0 removed, 1 changed, 0 kept")):
            told = daemon.ctl(command).stdout
            self.assertRegex(told, r"(?m)^added    x \(.*healer\.conf:\d+\)$")
            self.assertRegex(told, r"(?m)^           starts over  if status = 77 then alert$")
            self.assertTrue(told.endswith(last + "\n"), told)
        self.assertEqual(daemon.ctl("diff").stdout, "a reload would change nothing\n")
        self.tells_of_the_files(daemon, False)
        daemon.write_rules(daemon.rules.read_text() + 'workflow call {\n  step "call" alert "help"\n}\n')
        for command, last in (("diff", "a reload would give: 0 added, 0 removed, 0 changed, 2 kept"),
                              ("reload", "rules reloaded: 0 added, 0 removed, 0 changed, 2 kept")):
            told = daemon.ctl(command).stdout
            self.assertIn("the workflows have changed: a healing that is under way keeps its original workflow\n", told)
            self.assertTrue(told.endswith(last + "\n"), told)

    def test_a_comparison_changes_nothing_and_answers_all_who_ask_at_once(self):
        rules = self.acting("for 2 cycles")
        daemon = self.start(rules)
        another = self.path("another.log")
        daemon.write_rules(self.settings(daemon) + f"set log {another}\n" + rules + "  if status = 77 then alert\n")
        with ThreadPoolExecutor(20) as many:
            told = list(many.map(lambda _: daemon.ctl("diff").stdout, range(20)))
        self.assertEqual(len(set(told)), 1, told)
        self.assertTrue(told[0].endswith("a reload would give: 0 added, 0 removed, 1 changed, 0 kept\n"), told[0])
        self.assertFalse(another.exists())
        self.assertEqual(daemon.reload().returncode, 0)
        self.assertTrue(another.exists())

    def tells_of_the_files(self, daemon, stale: bool) -> None:
        """Whether whoever asks the daemon hears that the rules on disk are not loaded."""
        for command in (["ping"], ["summary"], ["status"], ["top", "--batch"]):
            told = daemon.ctl(*command).stdout
            self.assertEqual("the rules on disk are not loaded" in told, stale, told)
            if stale:
                self.assertIn("progam", told)
        known = daemon.ask("summary")["daemon"]["stale"]
        self.assertEqual(known is not None and "progam" in known["error"], stale, known)

    def test_the_unit_s_status_says_that_the_rules_on_disk_are_not_in_force(self):
        heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(heard.close)
        heard.bind(str(self.path("notify")))
        heard.settimeout(support.LIMIT)
        os.environ["NOTIFY_SOCKET"] = str(self.path("notify"))
        self.addCleanup(os.environ.pop, "NOTIFY_SOCKET")

        def status() -> str:
            while not (found := re.search("STATUS=(.*)", heard.recv(65536).decode())):
                pass
            return found.group(1)

        rules = "check program web with path /bin/true\n  if status != 0 then alert\n"
        daemon = self.start(rules)
        self.assertEqual(status(), "1 service")
        daemon.write_rules(self.settings(daemon) + rules + "check progam x\n")
        self.assertEqual(daemon.reload().returncode, 1)
        self.assertRegex(status(), "^1 service; the rules on disk are not loaded: .*healer.conf:.*progam")
        daemon.write_rules(self.settings(daemon) + rules)
        self.assertEqual(daemon.reload().returncode, 0)
        self.assertEqual(status(), "1 service")

    def test_a_start_with_a_broken_file_runs_the_last_good_rules(self):
        rules = self.acting("for 2 cycles")
        daemon = self.start(rules)
        self.wait_for(lambda: self.lines("acted"), "the action")
        daemon.stop()
        daemon.write_rules(self.settings(daemon) + rules + "check progam x\n")
        daemon.launch()
        self.more_runs(3)
        self.assertEqual(self.lines("acted"), 1)
        self.wait_for(lambda: "the rules files have errors" in daemon.log_text(), "the word of it in the log")
        self.tells_of_the_files(daemon, True)

    def test_a_broken_file_without_an_earlier_one_is_refused(self):
        daemon = self.configure("check progam x\n")
        done = subprocess.run([str(support.BUILD / "healerd"), "-I", "-c", str(daemon.rules)], capture_output=True,
                              text=True, timeout=support.LIMIT)
        daemon.errors.write_text("")
        self.assertEqual(done.returncode, 1)
        self.assertIn("healer.conf:7:7: error:", done.stderr)

    def test_an_exec_that_runs_outlives_the_daemon_and_never_runs_twice(self):
        check = self.statuses("check", [1])
        act = self.script("act", f"echo x >> {self.path('acted')}; while [ ! -e {self.path('go')} ]; do sleep 0.1; done")
        daemon = self.start(f'check program node with path "{check}"\n  if status != 0 then exec "{act}" repeat every 1 cycles\n')
        self.wait_for(lambda: self.lines("acted"), "the action")
        daemon.kill()
        daemon.launch()
        self.more_runs(4)
        self.assertEqual(self.lines("acted"), 1)
        self.path("go").touch()
        self.wait_for(lambda: self.lines("acted") >= 2, "the firing that was held back")

    def test_a_playbook_runs_on_under_the_next_binary(self):
        # As under an upgrade of healer and a crash after it: one process from its begin to its end.
        check = self.statuses("check", [1])
        play = self.script("play", f"""
echo $$ >> {self.path("began")}
echo begins
while [ ! -e {self.path("go")} ]; do echo x >> {self.path("progress")}; sleep 0.05; done
echo ends
exit 4""")
        daemon = self.start(f'check program node with path "{check}"\n  if status != 0 then exec "{play}"\n')
        self.wait_for(lambda: self.lines("began"), "its begin")
        pid = int(self.path("began").read_text())
        for number, end in enumerate((daemon.stop, daemon.kill)):
            end()
            before = self.lines("progress")
            self.wait_for(lambda: self.lines("progress") > before + 2, "its progress without healer")
            daemon.binary = Path(shutil.copy(daemon.binary, self.path(f"healerd{number}")))
            daemon.launch()
            job, = daemon.ask("jobs")["jobs"]
            self.assertEqual((job["kind"], job["doing"]), ("exec", f"exec {play}"))
            self.wait_for(lambda: daemon.ask("jobs")["jobs"][0]["pid"] == pid, "its number to be known")
            self.more_runs(2)
            self.assertEqual(support.processes.command_line(pid), f"/bin/sh {play}")
        follow = subprocess.Popen([support.BUILD / "healerctl", "--socket", daemon.socket, "jobs", "follow",
                                   str(job["id"])], stdout=subprocess.PIPE, text=True)
        self.assertEqual(follow.stdout.readline(), "begins\n")
        self.path("go").touch()
        self.assertEqual(follow.communicate(timeout=support.LIMIT)[0], "ends\n")
        ended = lambda: [one for one in daemon.ask("history", "node")["records"]  # noqa: E731
                         if one["kind"] in ("action-ended", "action-failed")]
        self.wait_for(ended, "the record of its end")
        self.assertEqual([one["output"] for one in ended()], ["begins\nends\n"])
        self.assertNotIn("while healer was away", ended()[0]["text"])  # it was there
        self.more_runs(2)
        self.assertEqual((daemon.ask("jobs")["jobs"], self.lines("began")), ([], 1))

    def test_a_person_s_unmonitor_lasts(self):
        daemon = self.start(self.acting("for 2 cycles"))
        self.assertEqual(daemon.ctl("unmonitor", "node").returncode, 0)
        daemon.kill()
        daemon.launch()
        self.assertIn("unmonitored", daemon.ctl("summary").stdout.lower())
        before = self.runs("check")
        self.assertEqual(daemon.ctl("monitor", "node").returncode, 0)
        self.wait_for(lambda: self.runs("check") > before, "a run")


if __name__ == "__main__":
    support.main()
