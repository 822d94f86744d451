# SPDX-License-Identifier: MIT
"""What a rule takes out of monitoring is seen by everybody who asks, until a person takes it up."""
import time

import mails
import supervised
import support


class GivenUp(mails.Receiving, supervised.Case):
    def state(self, daemon: support.Daemon, service: str) -> str:
        return next(one["state"] for one in daemon.ask("summary")["services"] if one["name"] == service)

    def told_to(self, port: int) -> str:
        return f"set mailserver 127.0.0.1 port {port}\nset alert ops@localhost not on {{ instance }}\n"

    def test_a_service_that_does_not_start_is_down_until_a_person_takes_it_up(self):
        start = self.script("play", "echo RUNNING_PID exists >&2; exit 1")
        daemon = self.start(f'check process play with pidfile {self.path("play.pid")}\n'
                            f'  start program = "{start}" with timeout 2 seconds\n  stop program = "/bin/true"\n'
                            "  if 2 restarts within 4 cycles then unmonitor\n")
        self.wait_for(lambda: self.state(daemon, "play") == "given up", "the end of it")
        summary = daemon.ctl("summary", "--failed", "--exit-code")
        self.assertEqual(summary.returncode, 1)
        self.assertRegex(summary.stdout, r"play +given up .*if 2 restarts within 4 cycles")
        self.assertIn("1 service: 1 given up", summary.stdout)
        self.assertEqual(daemon.ctl("report", "down").stdout, "1\n")
        self.assertEqual(daemon.ctl("status", "--exit-code").returncode, 1)
        self.assertIn("by its rule", daemon.ctl("status", "play").stdout)
        self.assertIn("It was given up", daemon.ctl("explain", "play").stdout)
        status, = daemon.ask("status", "play")["services"]
        self.assertEqual((status["taken_out"]["by"], status["taken_out"]["service"]), ("rule", "play"))
        daemon.kill()
        daemon.launch()
        self.assertEqual(self.state(daemon, "play"), "given up")
        self.assertEqual(daemon.ctl("unmonitor", "play").returncode, 0)
        self.assertEqual(daemon.ctl("summary", "--failed", "--exit-code").returncode, 0)
        self.assertEqual(self.state(daemon, "play"), "unmonitored")

    def test_a_dependent_names_the_service_and_the_rule_that_took_it_along(self):
        _, port = self.sink()
        binary = self.path("webd")
        binary.write_text("one")
        web = self.process("web", depends="web_bin")
        daemon = self.start(self.told_to(port) + self.rules(web) +
                            f"check file web_bin with path {binary}\n  if failed checksum then unmonitor\n")
        self.wait_up(daemon, web)
        binary.write_text("two")
        self.wait_for(lambda: self.state(daemon, "web") == "given up", "the end of it")
        self.assertRegex(daemon.ctl("summary").stdout, r"web +given up .*with web_bin: if failed md5 checksum")
        self.assertIn("with web_bin, on which it depends, by the rule 'if failed md5 checksum then unmonitor'",
                      " ".join(daemon.ctl("explain", "web").stdout.split()))
        self.assertIn("unmonitored by rule of web_bin, on which it depends: if failed md5 checksum then unmonitor",
                      [one["text"] for one in daemon.ask("history", "web")["records"]])
        self.wait_for(lambda: any("Given up web" in one for one in self.subjects()), "the mail of web")
        mail = next(one for one in self.mails() if "Given up web" in one.subject)
        self.assertIn("it depends on web_bin, which is given up by its rule: if failed md5 checksum then unmonitor", mail.text)
        own = next(one for one in self.mails() if "web_bin" in one.subject)
        self.assertIn("what depends on it, too: web", own.text)
        self.assertEqual(daemon.ctl("monitor", "web").returncode, 0)
        self.assertIn(self.state(daemon, "web_bin"), ("initialising", "running"))
        self.alone()

    def test_unmonitored_for_a_time_it_comes_back_by_itself(self):
        check = self.statuses("check", [1, 0])
        daemon = self.start(f'check program node with path "{check}"\n  if status != 0 then unmonitor for 3 seconds\n')
        self.wait_for(lambda: self.state(daemon, "node") == "given up", "the end of it")
        self.assertIn("monitored again in", daemon.ctl("summary").stdout)
        self.wait_for(lambda: self.state(daemon, "node") == "running", "its return")
        self.assertEqual(daemon.ctl("unmonitor", "node", "for", "3", "seconds").stdout, "node unmonitored for 3 s\n")
        self.assertEqual(self.state(daemon, "node"), "unmonitored")
        begun = time.monotonic()
        self.wait_for(lambda: self.state(daemon, "node") == "running", "its return")
        self.assertLess(time.monotonic() - begun, support.LIMIT)
        wrong = daemon.ctl("unmonitor", "node", "for", "ever")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("for ever: not a duration", wrong.stderr)


if __name__ == "__main__":
    support.main()
