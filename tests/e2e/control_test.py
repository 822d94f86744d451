# SPDX-License-Identifier: MIT
"""healerctl against a real daemon: what it prints, what it changes, how it ends."""
import json
import os
import signal
import subprocess

import support


class Control(support.Case):
    @staticmethod
    def state(daemon: support.Daemon, name: str) -> str:
        return next(service["state"] for service in daemon.ask("summary")["services"] if service["name"] == name)

    def two(self) -> support.Daemon:
        good, bad = self.statuses("good", [0]), self.statuses("bad", [1])
        daemon = self.start(f'check program good with path "{good}"\n  group web\n  if status != 0 then alert\n'
                            f'check program bad with path "{bad}"\n  if status != 0 for 2 cycles then alert\n')
        self.wait_for(lambda: self.state(daemon, "bad") == "failed", "the failure")
        return daemon

    def test_reading_commands_answer_in_text_and_in_json(self):
        daemon = self.two()
        for words in (("status",), ("summary",), ("history",), ("explain", "bad")):
            text = daemon.ctl(*words)
            self.assertEqual((text.returncode, text.stderr), (0, ""), words)
            self.assertIn("bad", text.stdout)
            self.assertNotIn("\x1b", text.stdout)
            self.assertEqual(daemon.ask(*words)["version"], 1)
        self.assertIn(f"{daemon.rules}:", daemon.ctl("explain", "bad").stdout)
        states = {service["name"]: service["state"] for service in daemon.ask("status")["services"]}
        self.assertEqual(states, {"good": "running", "bad": "failed"})

    def test_a_command_returns_when_the_thing_has_happened(self):
        daemon = self.two()
        self.assertEqual(daemon.ctl("unmonitor", "-g", "web").returncode, 0)
        states = {service["name"]: service["state"] for service in daemon.ask("summary")["services"]}
        self.assertEqual(states, {"good": "unmonitored", "bad": "failed"})
        before = self.runs("good")
        self.assertEqual(daemon.ctl("monitor", "all").returncode, 0)
        self.wait_for(lambda: self.runs("good") > before, "a run")
        validated = daemon.ctl("validate")
        self.assertEqual((validated.returncode, validated.stdout), (1, "1 of 2 services failed: bad\n"))
        records = [record["kind"] for record in daemon.ask("history", "good")["records"]]
        # On a busy machine a run may overrun its cycle.
        self.assertEqual([kind for kind in records if kind != "run-overrun"], ["unmonitored", "monitored"])

    def test_faults_are_told_with_a_remedy_and_an_exit_status(self):
        daemon = self.two()
        unknown = daemon.ctl("explain", "goood")
        self.assertEqual(unknown.returncode, 1)
        self.assertIn("good", unknown.stderr)
        self.assertEqual(daemon.ctl("frobnicate").returncode, 2)
        lost = subprocess.run([str(support.BUILD / "healerctl"), "--socket", str(self.path("nowhere")), "status"],
                              capture_output=True, text=True)
        self.assertEqual(lost.returncode, 2)
        self.assertIn(str(self.path("nowhere")), lost.stderr)

    def test_a_stranger_is_refused(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        daemon = self.two()
        self.folder.chmod(0o755)
        daemon.folder.chmod(0o755)
        done = subprocess.run([str(support.BUILD / "healerctl"), "--socket", str(daemon.socket), "unmonitor", "all"],
                              capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.state(daemon, "good"), "running")

    def test_history_is_followed_as_it_happens(self):
        daemon = self.two()
        follower = subprocess.Popen([str(support.BUILD / "healerctl"), "--socket", str(daemon.socket), "history", "--follow",
                                     "--json"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (follower.kill(), follower.wait(), follower.stdout.close()))
        daemon.ctl("unmonitor", "good")
        for line in follower.stdout:
            if '"unmonitored"' in line:
                return
        self.fail("the follower ended without a word of it")

    def test_a_followed_history_ends_well_with_the_daemon(self):
        daemon = self.two()
        command = [str(support.BUILD / "healerctl"), "--socket", str(daemon.socket), "history", "--follow"]
        followers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        for follower in followers:
            self.addCleanup(lambda one=follower: (one.kill(), one.wait()))
            self.assertIn("started", follower.stdout.readline())  # it follows
        # One that does not read keeps nobody.
        followers[0].send_signal(signal.SIGSTOP)
        daemon.stop()
        followers[0].send_signal(signal.SIGCONT)
        for follower in followers:
            told, complaint = follower.communicate(timeout=support.LIMIT)
            self.assertEqual((follower.returncode, complaint), (0, ""))
            self.assertRegex(told, r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}  healer: healer stopped\n\Z")

    def test_the_output_of_a_program_is_followed_while_it_runs(self):
        go_on = self.path("go-on")
        heal = self.script("heal", f"id -u\nwhile [ ! -e {go_on} ]; do sleep 0.1; done\necho done")
        other = os.geteuid() == 0  # then its output is another user's file
        self.folder.chmod(0o755)
        bad = self.statuses("bad", [1])
        daemon = self.start(f'check program bad with path "{bad}"\n'
                            f'  if status != 0 then exec "{heal}"{" as uid 65534 and gid 65534" if other else ""}\n')
        self.wait_for(lambda: any(job["pid"] for job in daemon.ask("jobs")["jobs"]), "the program")
        job, = daemon.ask("jobs")["jobs"]
        self.assertEqual((job["kind"], job["service"], job["doing"]), ("exec", "bad", f"exec {heal}"))
        table = daemon.ctl("jobs").stdout.splitlines()
        self.assertEqual(table[1].split()[:3], [str(job["id"]), "exec", "bad"])
        follower = subprocess.Popen([str(support.BUILD / "healerctl"), "--socket", str(daemon.socket), "jobs", "follow",
                                     str(job["id"])], stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (follower.kill(), follower.wait(), follower.stdout.close()))
        self.assertEqual(follower.stdout.readline(), "65534\n" if other else f"{os.geteuid()}\n")
        go_on.touch()
        self.assertEqual(follower.stdout.read(), "done\n")
        self.assertEqual(follower.wait(), 0)
        self.assertEqual(daemon.ask("jobs")["jobs"], [])
        gone = daemon.ctl("jobs", "follow", str(job["id"]))
        self.assertEqual(gone.returncode, 1)
        self.assertIn("nothing with the number", gone.stderr)

    def test_a_person_ends_the_program_of_an_action(self):
        begun, bad = self.path("begun"), self.statuses("bad", [1])
        # What it has started does not heed SIGTERM.
        heal = self.script("heal", f"echo x >> {begun}\n(trap '' TERM; sleep 321) &\necho $! > {self.path('child')}\nwait")
        daemon = self.start(f'check program bad with path "{bad}"\n  if status != 0 then exec "{heal}"\n')
        self.wait_for(lambda: self.path("child").exists() and self.path("child").read_text().strip(), "the program")
        self.wait_for(lambda: any(job["pid"] for job in daemon.ask("jobs")["jobs"]), "its number to be known")
        job, = daemon.ask("jobs")["jobs"]
        child = int(self.path("child").read_text())
        cancelled = daemon.ctl("jobs", "cancel", str(job["id"]))
        self.assertEqual((cancelled.returncode, cancelled.stdout), (0, f"exec {heal} cancelled\n"))
        self.wait_for(lambda: not daemon.ask("jobs")["jobs"], "its end")
        self.wait_for(lambda: support.processes.state(child) in ("", "Z"), "the end of its child")
        records = {one["kind"]: one["text"] for one in daemon.ask("history", "bad")["records"]}
        self.assertRegex(records["action-held"], r"^exec .*/heal is to end: cancelled by \w+")
        self.assertRegex(records["action-failed"], r"^exec .*/heal was ended after .*: cancelled by \w+")
        runs = daemon.ask("status", "bad")["services"][0]["runs"]
        self.wait_for(lambda: daemon.ask("status", "bad")["services"][0]["runs"] > runs + 2, "more runs")
        self.assertEqual(begun.read_text(), "x\n")  # its rule stands failed, and does not ask for it anew
        gone = daemon.ctl("jobs", "cancel", str(job["id"]))
        self.assertEqual(gone.returncode, 1)
        self.assertIn("nothing with the number", gone.stderr)

    def test_the_output_of_a_service_is_that_of_its_last_program(self):
        heal = self.script("heal", "echo healing")
        bad = self.statuses("bad", [1])
        daemon = self.start(f'check program bad with path "{bad}"\n  if status != 0 then exec "{heal}"\n'
                            f'check program fine with path "{self.script("fine", "echo all is well")}"\n'
                            f'  if status != 0 then alert\n')
        self.wait_for(lambda: daemon.ctl("output", "BAD").stdout == "healing\n", "the output of the action")
        self.wait_for(lambda: daemon.ctl("output", "fine").stdout == "all is well\n", "the output of the check")
        part = json.loads(daemon.ctl("output", "bad", "--json").stdout.splitlines()[0])
        self.assertEqual((part["service"], part["text"]), ("bad", "healing\n"))
        self.assertEqual(daemon.ctl("output", str(part["action"])).stdout, "healing\n")
        follower = subprocess.Popen([str(support.BUILD / "healerctl"), "--socket", str(daemon.socket), "output", "bad", "-f"],
                                    stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (follower.kill(), follower.wait(), follower.stdout.close()))
        self.assertEqual(follower.stdout.readline(), "healing\n")
        daemon.ctl("unmonitor", "bad")
        daemon.ctl("monitor", "bad")  # begins afresh: it fails, and is healed, once more
        self.assertRegex(follower.stdout.readline(), r"^==> exec .*/heal.* <==$")
        self.assertEqual(follower.stdout.readline(), "healing\n")
        daemon.stop()
        self.assertEqual((follower.stdout.read(), follower.wait(support.LIMIT)), ("", 0))

    def test_texts_show_the_way(self):
        daemon = self.two()
        for words in (["start", "all"], ["-c", str(daemon.rules), "summary"]):
            asked = subprocess.run([str(support.BUILD / "healerd"), *words], capture_output=True, text=True)
            self.assertEqual((asked.returncode, asked.stdout), (1, ""))
            command = " ".join(word for word in words if word not in ("-c", str(daemon.rules)))
            self.assertEqual(asked.stderr, f"healerd: commands are given by healerctl: healerctl {command}\n"
                                           "  `healerd --help` shows how it is used\n")
        for word, complaint in (("frobnicate", 'healerd takes no "frobnicate"'),
                                ("--shadw", "healerd has no option --shadw; did you mean --shadow?"),
                                ("--dialect=perl", "--dialect perl: there must be healer, monit, monit-5.34 or monit-5.33"),
                                ("-dx", "-d x: not a number"), ("-c", "-c needs a value: -c PATH")):
            asked = subprocess.run([str(support.BUILD / "healerd"), word], capture_output=True, text=True)
            self.assertEqual((asked.returncode, asked.stderr.splitlines()[0]), (1, f"healerd: {complaint}"))
        self.assertRegex(daemon.ctl("history", "healer").stdout, r"^\S+ \S+  healer: healer .* started\n$")
        self.assertEqual(daemon.ctl("accept", "all").stdout, "nothing to accept: no rule of 2 services is dormant\n")

    def test_services_are_counted_named_and_drawn(self):
        daemon = self.two()
        report = daemon.ctl("report").stdout.splitlines()
        self.assertEqual(report[:2], ["up:             1 (50.0%)", "down:           1 (50.0%)"])
        self.assertEqual(daemon.ctl("report", "total").stdout, "2\n")
        self.assertEqual(daemon.ctl("names").stdout, "good\nbad\n")
        self.assertEqual(daemon.ctl("names", "--groups").stdout, "web\n")
        self.assertIn('label="bad\\nprogram, failed"', daemon.ctl("graph").stdout)

    def test_rules_are_rehearsed_in_virtual_time(self):
        rules = self.path("rehearsed.rules")
        rules.write_text('set daemon 20\ncheck program node with path "/bin/true"\n'
                         '  if status != 0 for 3 cycles then exec "/bin/true"\n')
        rules.chmod(0o600)
        script = self.path("script")
        script.write_text("node: 0 1 1 1 0\n")
        command = [str(support.BUILD / "healerctl"), "simulate", str(rules), "--script", str(script)]
        text = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertIn("run 4  rule-failed", text.stdout)
        self.assertIn("run 4  exec  /bin/true", text.stdout)
        document = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True).stdout)
        self.assertEqual(document["version"], 1)
        actions = subprocess.run([*command, "--actions"], capture_output=True, text=True).stdout
        self.assertEqual([line.split("  ")[3] for line in actions.splitlines()[:-1]], ["exec"], actions)

    def test_a_script_s_expectations_make_the_exit_status(self):
        rules = self.path("tested.rules")
        rules.write_text('set daemon 20\ncheck program node with path "/bin/true"\n'
                         '  if status != 0 for 3 cycles then exec "/bin/true"\n')
        rules.chmod(0o600)
        script = self.path("script")
        command = [str(support.BUILD / "healerctl"), "simulate", str(rules), "--script", str(script)]
        script.write_text("node: 0 1 1 1 0\nexpect fired node exec at run 4\n")
        met = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(met.returncode, 0, met.stderr)
        self.assertTrue(met.stdout.endswith("1 of 1 expectation is met\n"), met.stdout)
        script.write_text("node: 0 1 1 1 0\nexpect fired node exec at run 3\nexpect node running\n")
        unmet = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(unmet.returncode, 1)
        self.assertTrue(unmet.stdout.endswith("1 of 2 expectations are met\n"), unmet.stdout)
        self.assertIn(f"{script}:2:1: error: expected node to fire exec at run 3: it happened at run 4 (00:01:00)\n"
                      "  expect fired node exec at run 3\n", unmet.stderr)
        document = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True).stdout)
        self.assertEqual((document["expectations"], len(document["unmet"])), (2, 1))

    def test_a_command_waits_no_longer_than_it_is_told(self):
        daemon = self.start('check program slow with path "/bin/true"\n  start program = "/bin/sleep 600"\n  if status != 0 then alert\n')
        done = daemon.ctl("--timeout", "1s", "start", "slow")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(done.stderr, "healerctl: start has not finished in time\n"
                         "  healerd continues with it; `healerctl jobs` shows its progress\n")
        self.assertEqual(daemon.ctl("--timeout", "soon", "ping").returncode, 2)
        self.assertEqual(daemon.ctl("jobs", "cancel", str(daemon.ask("jobs")["jobs"][0]["id"])).returncode, 0)

    def test_a_program_that_writes_nothing_is_said_to(self):
        daemon = self.start('check program quiet with path "/bin/true"\n  start program = "/bin/true"\n  if status != 0 then alert\n')
        self.wait_for(lambda: self.state(daemon, "quiet") == "running", "a run")
        self.assertEqual(daemon.ctl("start", "quiet").returncode, 0)
        told = daemon.ctl("output", "quiet")
        self.assertEqual((told.returncode, told.stdout), (0, ""))
        self.assertRegex(told.stderr, "^healerctl: nothing was written: program /bin/true exited with status 0")


if __name__ == "__main__":
    support.main()
