# SPDX-License-Identifier: MIT
"""`check unit` with a systemd of the test's own: what is shown of a unit, what is done to it, and by whom."""
import subprocess
import unittest

import support
import systemd


@unittest.skipIf(systemd.is_missing(), systemd.is_missing())
class Units(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.systemd = systemd.Systemd(self).start()

    def tearDown(self) -> None:
        self.systemd.end()
        super().tearDown()

    def watch(self, rules: str, cycle: str = "1") -> support.Daemon:
        daemon = self.configure(rules, cycle=cycle)
        daemon.environment = dict(self.systemd.environment)
        return daemon.launch()

    def state(self, daemon: support.Daemon, name: str = "web") -> dict:
        return daemon.ask("status", name)["services"][0]

    def wait_state(self, daemon: support.Daemon, wanted: str, name: str = "web") -> None:
        self.wait_for(lambda: self.state(daemon, name)["state"] == wanted, f"{name} to be {wanted}",
                      detail=lambda: str(self.state(daemon, name)))

    def texts(self, daemon: support.Daemon, kind: str) -> list[str]:
        return [one["text"] for one in daemon.ask("history", "web")["records"] if one["kind"] == kind]

    def test_what_systemd_says_of_a_unit_is_shown(self):
        self.systemd.say("unit web.service restarts=3 memory=1048576 tasks=5 cpu=1000")
        daemon = self.watch('check unit web with name "web.service"\n  if restarts > 5 then alert\n')
        self.wait_for(lambda: self.state(daemon).get("unit", {}).get("state"), "the first look")
        status = self.state(daemon)
        self.assertEqual(status["unit"], {"name": "web.service", "state": "active", "substate": "running",
                                          "standing": "active (running)"})
        self.assertEqual(status["kind"], "unit")
        measured = {one["name"]: one["value"] for one in status["measured"]}
        self.assertEqual((measured["restarts"], measured["tasks"]), (3, 5))
        shown = daemon.ctl("status", "web").stdout
        self.assertRegex(shown, r"unit +web.service: active \(running\)")
        self.assertRegex(shown, r"restarts +3")
        self.assertRegex(daemon.ctl("summary").stdout, r"web +running +.*active \(running\), restarts 3, .*1 MB, tasks 5")
        self.assertIn("active (running), restarts 3", daemon.ctl("explain", "web").stdout)
        self.systemd.say("unit web.service restarts=6")
        self.wait_state(daemon, "failed")
        self.assertEqual(self.texts(daemon, "rule-failed"), ["restarts by systemd: 6 > 5"])

    def test_a_unit_that_fails_is_restarted_at_once_by_a_job_of_systemd(self):
        self.systemd.say("unit web.service")
        daemon = self.watch('check unit web with name "web.service"\n  if failed then restart\n', cycle="600")
        self.wait_for(lambda: self.state(daemon)["unit"]["state"] == "active", "the first look")
        self.systemd.say("unit web.service active=failed sub=failed result=exit-code")
        self.wait_for(lambda: self.systemd.count("RestartUnit web.service replace"), "the restart")
        self.wait_for(lambda: self.texts(daemon, "job-ended"), "the end of the job")
        self.wait_state(daemon, "running")
        self.assertEqual(self.texts(daemon, "rule-failed"), ["unit is failed (exit-code)"])
        self.assertEqual(self.systemd.count("RestartUnit web.service replace"), 1)

    def test_what_systemd_refuses_is_told_in_its_words(self):
        self.systemd.say("unit web.service load=masked active=inactive sub=dead",
                         "refuse web.service Unit web.service is masked.")
        daemon = self.watch('check unit web with name "web.service"\n  if failed then start\n')
        done = daemon.ctl("start", "web")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("failed to start: Unit web.service is masked.", done.stdout + done.stderr)
        self.assertIn("start failed: failed to start: Unit web.service is masked.", self.texts(daemon, "job-failed"))
        self.assertEqual(self.state(daemon)["unit"]["standing"], "inactive (masked)")
        self.systemd.say("jobs web.service failed", "refuse web.service ", "unit web.service load=loaded active=active sub=running")
        done = daemon.ctl("stop", "web")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("failed to stop: the job for web.service has failed: the unit is failed", done.stdout + done.stderr)

    def test_a_unit_that_systemd_restarts_is_left_to_it_until_it_has_given_up(self):
        self.systemd.say("unit web.service active=activating sub=auto-restart")
        daemon = self.watch('check unit web with name "web.service"\n  if not active then restart\n')
        self.wait_for(lambda: self.texts(daemon, "job-held"), "a restart that waits")
        self.assertEqual(self.texts(daemon, "job-held"), ["restart waits: systemd restarts it by itself (auto-restart)"])
        looks = self.systemd.count("GetAll web.service")
        self.wait_for(lambda: self.systemd.count("GetAll web.service") > looks + 2, "more looks")
        self.assertEqual(self.systemd.count("RestartUnit web.service replace"), 0)
        self.systemd.say("unit web.service active=failed sub=failed result=start-limit-hit")
        self.wait_state(daemon, "running")
        self.assertEqual(self.systemd.count("RestartUnit web.service replace"), 1)

    def test_nothing_is_known_while_the_bus_is_dead(self):
        self.systemd.say("unit web.service")
        daemon = self.watch('check unit web with name "web.service"\n  if failed then alert\n  if not active then alert\n')
        self.wait_state(daemon, "running")
        self.systemd.end()
        self.wait_state(daemon, "unknown")
        looks = self.state(daemon)["runs"]
        self.wait_for(lambda: self.state(daemon)["runs"] > looks + 2, "more looks")
        self.assertEqual(self.state(daemon)["state"], "unknown")
        self.assertEqual(daemon.log_text().count("units cannot be checked until systemd answers"), 1)
        self.systemd.start()
        self.systemd.say("unit web.service")
        self.wait_state(daemon, "running")
        self.assertIn("systemd answers again", daemon.log_text())
        self.assertEqual(self.texts(daemon, "rule-failed"), [])

    def test_a_job_outlives_a_kill_and_is_asked_for_once(self):
        self.systemd.say("unit web.service active=inactive sub=dead", "jobs web.service hold")
        daemon = self.watch('check unit web with name "web.service"\n  if not active then start\n')
        self.wait_for(lambda: self.systemd.count("StartUnit web.service replace"), "the start")
        self.wait_for(lambda: daemon.ask("jobs")["jobs"], "the job")
        daemon.kill()
        daemon.launch()
        self.wait_for(lambda: daemon.ask("jobs")["jobs"], "the job")
        self.systemd.say("end web.service done")
        self.wait_state(daemon, "running")
        self.wait_for(lambda: self.texts(daemon, "job-ended"), "the end of the job")
        self.assertEqual(self.systemd.count("StartUnit web.service replace"), 1)

    def test_a_simulation_plays_a_unit(self):
        rules, script = self.path("a.rules"), self.path("a.script")
        rules.write_text("""set daemon 10
check unit web with name "web.service"
  if failed then restart
  if state = "activating" for 30 seconds then alert
  if restarts > 3 within 10 minutes then alert
check unit lone with name "lone.service"
  if not active then start
""")
        rules.chmod(0o600)
        script.write_text("""web state: active*2 failed*2 active activating*8 unknown active
web substate: running*5 auto-restart*4 start*4 running
web restarts: 0*8 5 0
at 1 minute lone fails
exec "systemd start lone.service" exits 1
expect fired web restart at run 3
expect fired web restart 2 times
expect recovered web at run 4
expect fired web at run 9
expect web failed at 85 seconds
expect fired lone start
expect web running at 10 minutes
run for 10 minutes
""")
        done = subprocess.run([support.BUILD / "healerctl", "simulate", rules, "--script", script], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("systemd restart web.service", done.stdout)
        for wrong, said in (("web state: runing", "'runing' is not a state of a unit"), ("web state:", "the values are missing"),
                            ("web state: ...", "nothing to repeat"), ("web tasks: 5", "no rule of 'web' compares 'tasks'")):
            script.write_text(wrong + "\n")
            done = subprocess.run([support.BUILD / "healerctl", "simulate", rules, "--script", script], capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(said, done.stderr + done.stdout)

    def test_many_units_are_looked_at_each_cycle(self):
        names = [f"u{i}" for i in range(1000)]
        self.systemd.say(*(f"quiet {name}.service" for name in names))
        daemon = self.watch("".join(f'check unit {name} with name "{name}.service"\n  if failed then alert\n' for name in names),
                            cycle="5")
        self.wait_for(lambda: all(self.systemd.count(f"GetAll {name}.service") > 1 for name in (names[0], names[-1])), "looks")
        self.systemd.say("unit u500.service active=failed sub=failed")
        self.wait_state(daemon, "failed", "u500")
        status = daemon.ask("summary")
        self.assertEqual(sum(one["state"] == "running" for one in status["services"]), 999)


if __name__ == "__main__":
    support.main()
