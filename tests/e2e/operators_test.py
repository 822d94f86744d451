# SPDX-License-Identifier: MIT
"""Who may do what over the control socket: `set operators`; and clients that come back to the history."""
import json
import os
import pwd
import socket
import stat
import subprocess

import support

STRANGER, OPERATOR = "daemon", "nobody"


class Operators(support.Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")

    def rules(self, statement: str) -> str:
        return f'{statement}\ncheck program good with path "/bin/true"\n  if status != 0 then alert\n'

    def begin(self, statement: str) -> support.Daemon:
        daemon = self.start(self.rules(statement))
        for folder in (self.folder, daemon.folder):
            folder.chmod(0o755)
        return daemon

    def ctl_as(self, daemon: support.Daemon, user: str, *words: str) -> subprocess.CompletedProcess:
        entry = pwd.getpwnam(user)
        return subprocess.run([str(support.BUILD / "healerctl"), "--socket", str(daemon.socket), *words], capture_output=True,
                              text=True, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], timeout=support.LIMIT)

    def change(self, daemon: support.Daemon, before: str, after: str) -> None:
        text = daemon.rules.read_text()
        self.assertIn(before, text)
        daemon.write_rules(text.replace(before, after))

    def test_an_operator_may_pause_and_look_but_not_restart(self):
        daemon = self.begin(f"set operators {OPERATOR}")
        self.assertEqual(stat.S_IMODE(daemon.socket.stat().st_mode), 0o666)
        self.assertEqual(self.ctl_as(daemon, OPERATOR, "status").returncode, 0)
        self.assertEqual(self.ctl_as(daemon, OPERATOR, "pause", "good").returncode, 0)
        refused = self.ctl_as(daemon, OPERATOR, "unmonitor", "good")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("'unmonitor' needs the role admin, and the user 'nobody' has the role operator", refused.stderr)
        # The history names him.
        self.assertIn("nobody", "".join(one["text"] for one in daemon.ask("history", "good")["records"]))

    def test_a_stranger_may_ping_and_nothing_else(self):
        daemon = self.begin(f"set operators {OPERATOR}")
        pong = self.ctl_as(daemon, STRANGER, "--json", "ping")
        self.assertEqual(pong.returncode, 0, pong.stderr)
        self.assertEqual(json.loads(pong.stdout)["daemon"]["files"], [])
        refused = self.ctl_as(daemon, STRANGER, "status")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("'status' needs the role read-only", refused.stderr)

    def test_a_reload_gives_and_takes_the_right(self):
        daemon = self.begin("set settle 2 s")
        self.assertEqual(stat.S_IMODE(daemon.socket.stat().st_mode) & 0o006, 0)
        self.assertNotEqual(self.ctl_as(daemon, OPERATOR, "ping").returncode, 0)
        self.change(daemon, "set settle 2 s", f"set settle 2 s set operators {OPERATOR}")
        self.assertIn("changed settings: set operators\n", daemon.ctl("reload").stdout)
        self.assertEqual(self.ctl_as(daemon, OPERATOR, "summary").returncode, 0)
        self.change(daemon, f"set operators {OPERATOR}", "")
        daemon.ctl("reload")
        self.assertNotEqual(self.ctl_as(daemon, OPERATOR, "ping").returncode, 0)
        self.assertEqual(stat.S_IMODE(daemon.socket.stat().st_mode) & 0o006, 0)

    def test_a_name_that_nobody_has_is_an_error_with_its_place(self):
        daemon = self.begin("set settle 2 s")
        self.change(daemon, "set settle 2 s", "set operators nobody, no_such_user")
        refused = daemon.ctl("reload")
        self.assertNotEqual(refused.returncode, 0)
        self.assertRegex(refused.stdout + refused.stderr,
                         r":\d+:23: error: there is no user 'no_such_user' on this machine")

    def test_a_name_that_nobody_has_keeps_no_daemon_from_starting(self):
        daemon = self.begin("set operators nobody, no_such_user")
        unknown = "there is no user 'no_such_user' on this machine"
        self.assertRegex(daemon.errors.read_text(), rf":\d+:23: warning: {unknown}")
        self.assertIn(f"set operators: {unknown}: nobody of that name has a right", daemon.log_text())
        self.assertEqual(self.ctl_as(daemon, OPERATOR, "summary").returncode, 0)
        self.assertEqual(daemon.ctl("reload").returncode, 1)
        daemon.stop()
        daemon.write_rules(daemon.rules.read_text() + "check nothing\n")
        daemon.launch()  # with the last good rules
        self.assertIn("started with the last good rules", daemon.errors.read_text())
        self.wait_for(lambda: daemon.log_text().count(f"set operators: {unknown}") == 2, "the second warning in the log")
        self.assertEqual(self.ctl_as(daemon, OPERATOR, "summary").returncode, 0)


class ComingBack(support.Case):
    def test_who_comes_back_after_restarts_misses_no_record(self):
        daemon = self.start('check program good with path "/bin/true"\n  if status != 0 then alert\n')
        last = 0
        for round_ in range(4):
            for word in ("unmonitor", "monitor"):
                daemon.ctl(word, "good")
            records = json.loads(daemon.ctl("history", "--json", "--after", str(last)).stdout)["records"]
            self.assertNotIn("gap", [key for record in records for key in record])
            self.assertEqual([record["id"] for record in records], list(range(last + 1, last + 1 + len(records))))
            last = records[-1]["id"]
            daemon.kill() if round_ % 2 == 0 else daemon.stop()
            daemon.launch()
        lines = daemon.ctl("history", "--after", str(last)).stdout.splitlines()
        self.assertRegex(lines[0], rf"^ +{last + 1}  \d{{4}}-")
        anew = daemon.ctl("history", "--after", "1000000", "-n", "1")
        self.assertIn("the numbers of records have begun anew", anew.stderr)

    def test_who_comes_back_after_each_of_many_restarts_has_each_of_very_many_records(self):
        records, restarts = (10_000, 20) if os.environ.get("HEALER_LONG") else (1_000, 4)
        daemon = self.start('check program good with path "/bin/true"\n  if status != 0 then alert\n')
        last, had, killed = 0, 0, False
        while had < records:
            # Both are records each time, and are asked for over one connection.
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(daemon.socket))
                answers = client.makefile("rb")
                for number in range(records // restarts):
                    word = "monitor" if number % 2 else "unmonitor"
                    client.sendall(json.dumps({"version": 1, "command": word, "names": ["good"]}).encode() + b"\n")
                    while not (line := answers.readline()).startswith((b'{"end"', b'{"error"')):
                        self.assertTrue(line)
                    self.assertTrue(line.startswith(b'{"end"'), line)
            told = json.loads(daemon.ctl("history", "--json", "-n", "10000", "--after", str(last)).stdout)["records"]
            self.assertNotIn("gap", [key for record in told for key in record])
            self.assertEqual([record["id"] for record in told], list(range(last + 1, last + 1 + len(told))))
            self.assertGreaterEqual(len(told), records // restarts)
            last, had, killed = told[-1]["id"], had + len(told), not killed
            daemon.kill() if killed else daemon.stop()
            daemon.launch()


if __name__ == "__main__":
    support.main()
