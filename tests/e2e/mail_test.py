# SPDX-License-Identifier: MIT
"""Mails: one at each transition, none lost and none doubled by dead servers and kills, no password where others can read."""
import json
import os
import random
import subprocess
import time

import contacts_test
import mails
import support


class Mail(mails.Receiving, support.Case):
    def rules(self, port: int, statuses: list[int]) -> str:
        check = self.statuses("check", statuses)
        return (f"set mailserver 127.0.0.1 port {port}\nset alert admin@localhost not on {{ instance }}\n"
                f'check program node with path "{check}"\n  if status != 0 for 3 cycles then alert\n')

    def test_one_mail_at_each_transition(self):
        _, port = self.sink()
        self.start(self.rules(port, [1, 1, 1, 1, 1, 0, 0]))
        self.wait_for(lambda: len(self.subjects()) >= 2 and self.runs("check") >= 9, "two mails and quiet runs after them")
        self.assertEqual(self.subjects(), ["monit alert --  Status failed node", "monit alert --  Status succeeded node"])

    def test_a_dead_server_and_kills_lose_and_double_nothing(self):
        server, port = self.sink()
        server.kill()
        server.wait()
        daemon = self.start(self.rules(port, [1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0]))
        self.wait_for(lambda: self.runs("check") >= 6, "a transition without a server")
        daemon.kill()
        daemon.launch()
        self.wait_for(lambda: self.runs("check") >= 12, "more transitions")
        self.sink(port)
        self.wait_for(lambda: len(self.subjects()) >= 4, "the mails that waited", limit=3 * support.LIMIT)
        daemon.kill()
        daemon.launch()
        before = self.runs("check")
        self.wait_for(lambda: self.runs("check") >= before + 3, "quiet runs")
        failed, well = "monit alert --  Status failed node", "monit alert --  Status succeeded node"
        self.assertEqual(self.subjects(), [failed, well, failed, well])

    def test_kills_while_all_is_sent_lose_nothing_and_double_only_what_was_under_way(self):
        """Each alert goes by mail and to a contact. The servers answer late, so that kills come before, between and after
        all that is said."""
        _, port = self.sink()
        wall = contacts_test.Wall()
        self.addCleanup(wall.stop)
        self.mode("slow answer 30")
        wall.delay = 0.03
        names = "abcd"
        checks = "".join(f'check program {name} with path "{self.statuses(name, [1, 0] * 2000)}"\n  if status != 0 then alert\n'
                         for name in names)
        daemon = self.start(
            f"set mailserver 127.0.0.1 port {port}\nset alert you@x.org not on {{ instance }}\n"
            f'set contact team url "{wall.url()}" body \'{{"text": "${{EVENT}} ${{SERVICE}}"}}\'\n'
            f"set alert to team not on {{ instance }}\n{checks}")
        dice = random.Random(20261128)
        under_way, calls_under_way = set(), set()  # which may come twice: the last that was said before a kill
        for _ in range(100 if os.environ.get("HEALER_LONG") else 10):
            wanted = self.taken() + dice.randint(1, 5)
            self.wait_for(lambda: self.taken() >= wanted, "more mails", detail=daemon.log_text)
            time.sleep(dice.uniform(0, 0.06))  # at any moment
            daemon.kill()
            self.wait_for(self.all_ended, "the mail server to be done with it")
            wall.settle(self.wait_for)
            under_way.add(self.taken() - 1)
            calls_under_way.add(len(wall.calls) - 1)
            daemon.launch()
        self.mode("")
        wall.delay = 0
        for name in names:
            self.path(f"{name}.statuses").write_text("0\n")
        before = {name: self.runs(name) for name in names}
        self.wait_for(lambda: all(self.runs(name) >= before[name] + 3 for name in names), "quiet runs")
        status = lambda: daemon.ask("status")["daemon"]  # noqa: E731
        self.wait_for(lambda: status()["mail"]["waiting"] == 0 and not status().get("contacts"), "all of them to be sent",
                      detail=lambda: str(status()))
        decided = [one for name in names for one in daemon.ask("history", name, "--lines", "10000")["records"]
                   if one["kind"] in ("rule-failed", "rule-recovered")]
        mailed = [(mail.id, mail.subject.removeprefix("monit alert --  ")) for mail in self.mails()]
        told = [(headers["Idempotency-Key"], json.loads(body)["text"]) for _, headers, body in wall.calls]
        for which, sent, doubles in (("mail", mailed, under_way), ("contact", told, calls_under_way)):
            ids = [one for one, _ in sent]
            once = [text for i, (one, text) in enumerate(sent) if one not in ids[:i]]
            for name in names:
                its = [text for text in once if text.endswith(f" {name}")]
                alternating = [f"Status {('failed', 'succeeded')[i % 2]} {name}" for i in range(len(its))]
                self.assertEqual(its, alternating, which)
            again = [i for i, one in enumerate(ids) if one in ids[i + 1:]]
            self.assertLessEqual(set(again), doubles, f"{which}: {again}, under way were {sorted(doubles)}")
            self.assertEqual(len(once), len(decided), which)

    def start_watched(self):
        """A daemon that mails what becomes of itself alone, and a call that gives what it has told so far."""
        _, port = self.sink()
        check = self.statuses("check", [0])
        daemon = self.start(f"set mailserver 127.0.0.1 port {port}\nset alert admin@localhost only on {{ instance }}\n"
                            f'check program node with path "{check}"\n  if status != 0 then alert\n')
        told = lambda: [mail.field("Description") for mail in self.mails()]  # noqa: E731
        self.wait_for(lambda: len(told()) == 1 and self.runs("check") > 1, "the word of the start")
        return daemon, told

    def test_the_death_of_healer_is_mailed_by_the_next(self):
        daemon, told = self.start_watched()
        daemon.kill()
        daemon.launch()
        self.wait_for(lambda: len(told()) == 2, "the word of the death")
        daemon.stop()
        daemon.launch()
        self.wait_for(lambda: len(told()) == 4, "the words of an orderly end and another start")
        started = r"healer \S+ started"
        self.assertRegex(told()[0], f"^{started}$")
        self.assertRegex(told()[1], f"^{started}; the previous healerd died: its last record is of "
                                    r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d \([\d.]+ m?s ago\)$")
        self.assertEqual(told()[2], "healer stopped")
        self.assertRegex(told()[3], f"^{started}$")
        self.assertIn("the previous healerd died", daemon.ctl("history").stdout)

    def test_a_damaged_state_is_told_by_one_alert(self):
        daemon, told = self.start_watched()
        daemon.stop()
        (daemon.folder / "healer.state").write_bytes(b"x" * 5000)
        self.assertNotIn("corrupt", daemon.ctl("doctor", "--rules", str(daemon.rules)).stdout)
        for restarts in range(3):
            daemon.launch()
            self.wait_for(lambda: len(told()) == 4 + 2 * restarts, "the words of the start")
            if restarts == 0:
                lines = [line for line in daemon.log_text().splitlines() if "it was moved to" in line]
                self.assertEqual(sum("error" in line for line in lines), 1, lines)  # and told once
                self.assertIn("was moved to", daemon.ctl("status").stdout)
                self.assertIn("corrupt", daemon.ctl("ping").stdout)
            aside = next(daemon.folder.glob("healer.state.corrupt-*"))
            self.assertIn(f"a damaged state file was moved to {aside}",
                          " ".join(daemon.ctl("doctor", "--rules", str(daemon.rules)).stdout.split()))
            told_of = [one for one in daemon.ask("history")["records"] if aside.name in one["text"]]
            self.assertEqual([one["kind"] for one in told_of], ["state-damaged"])
            daemon.stop()
            self.wait_for(lambda: len(told()) == 5 + 2 * restarts, "the word of the end")
        damaged = [mail for mail in self.mails() if "damaged" in mail.subject]
        self.assertEqual(len(damaged), 1)
        self.assertTrue(damaged[0].subject.startswith("monit alert --  State damaged "), damaged[0].subject)
        self.assertIn(str(aside), "".join(damaged[0].text.split()))
        self.assertEqual(sum("it was moved to" in "".join(text.split("\n")) for text in told()), 1)

    def test_the_status_says_what_mails_wait_and_why(self):
        _, port = self.sink()
        self.mode("refuse")
        daemon = self.start(self.rules(port, [0] * 5 + [1, 1, 1, 1, 1, 0]))
        mail = lambda: daemon.ask("status")["daemon"]["mail"]  # noqa: E731
        nothing = {"waiting": 0, "since": None, "error": "", "error_since": None, "held": 0, "held_until": None,
                   "limit": "", "gathered": 0, "digest_until": None}
        self.assertEqual(mail(), nothing)
        self.wait_for(lambda: mail()["waiting"] == 2 and mail()["error"], "mails that wait", detail=lambda: str(mail()))
        self.assertIn("421", mail()["error"])
        self.assertRegex(daemon.ctl("status").stdout, rf"\n2 mails wait, for .*; the mail server: 127.0.0.1:{port}: .*421")
        self.mode("")
        self.wait_for(lambda: mail() == nothing, "them to be sent", detail=lambda: str(mail()))
        self.assertNotIn("mails wait", daemon.ctl("status").stdout)
        self.assertEqual(len(self.subjects()), 2)

    # ---- several mails to one person ----------------------------------------------------------------------------

    def failing(self, *names: str) -> str:
        """A check of each name that fails from its first run on."""
        return "".join(f'check program {name} with path "{self.statuses(name, [1])}"\n  if status != 0 then alert\n'
                       for name in names)

    def test_a_digest_has_all_alerts_of_a_cycle_in_one_mail_also_over_a_kill(self):
        _, port = self.sink()
        daemon = self.start(f"set mailserver 127.0.0.1 port {port}\nset alert day@x.org not on {{ instance }}\n"
                            "set alert night@x.org digest not on { instance }\n" + self.failing("web", "db", "cache"), cycle="10")
        self.wait_for(lambda: len(self.subjects("day@x.org")) == 3, "the mails of who wants each by itself")
        self.assertEqual(self.subjects("night@x.org"), [])
        daemon.kill()
        daemon.launch()
        self.wait_for(lambda: self.subjects("night@x.org"), "the digest")
        before = self.runs("web")
        self.wait_for(lambda: self.runs("web") > before, "another cycle")
        (digest,) = [mail for mail in self.mails() if mail.to == "night@x.org"]
        self.assertRegex(digest.subject, r"^healer: 3 alerts on \S+: (web, db|db, web|web, cache|cache, web|db, cache|cache, db),"
                                         r" (web|db|cache) failed$")
        for name in ("web", "db", "cache"):
            self.assertIn(f"  {name}: Status failed\n", digest.text)
            self.assertIn(f"Status failed Service {name} \n", digest.text)

    def test_a_mail_limit_tells_what_it_held_back_also_over_a_kill(self):
        _, port = self.sink()
        daemon = self.start(f"set mailserver 127.0.0.1 port {port}\nset alert you@x.org not on {{ instance }}\n"
                            "set mail limit 2 mails within 20 seconds\n" + self.failing("a", "b", "c", "d", "e", "f"))
        self.wait_for(lambda: daemon.ask("status")["daemon"]["mail"]["waiting"] == 4, "mails that are held back",
                      detail=daemon.log_text)
        self.wait_for(lambda: "mail to you@x.org held back: the limit of 2 mails within 20 s is reached" in
                      daemon.ctl("history").stdout, "the word of it", detail=daemon.log_text)
        self.assertEqual(len(self.subjects()), 2)
        daemon.kill()
        daemon.launch()
        self.wait_for(lambda: len(self.subjects()) == 3, "one mail")
        self.assertRegex(self.subjects()[2], r"^healer: 4 alerts held back on \S+: ., ., ., . failed$")
        self.wait_for(lambda: daemon.ask("status")["daemon"]["mail"]["waiting"] == 0, "an empty queue")
        self.assertEqual(len(self.subjects()), 3)

    def test_the_queue_lies_where_eventqueue_says_beside_that_of_monit(self):
        _, port = self.sink()
        self.mode("refuse")
        theirs, ours = self.path("queue"), self.path("queue.healer")
        theirs.mkdir()
        (theirs / "1795285747_55d1").write_text("an event of Monit's")
        settings = f"set mailserver 127.0.0.1 port {port}\nset alert you@x.org not on {{ instance }}\n"
        checks = self.failing("a", "b", "c")
        waiting = lambda folder: len(list(folder.glob("*.mail"))) if folder.exists() else 0  # noqa: E731
        daemon = self.start(settings + checks)
        usual = daemon.folder / "healer.state.mail"
        self.wait_for(lambda: waiting(usual) == 3, "mails that wait in the usual place")
        daemon.write_rules(self.settings(daemon) + f"set eventqueue basedir {theirs} slots 4\n" + settings + checks)
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: f"the mail queue is {usual} until healerd is restarted, then {ours}" in daemon.log_text(),
                      "the word of the other queue", detail=daemon.log_text)
        daemon.stop()
        daemon.write_rules(self.settings(daemon) + f"set eventqueue basedir {theirs} slots 4\n" + settings + checks +
                           self.failing("d", "e"))
        daemon.launch()
        self.wait_for(lambda: "dropped: the mail queue is full, and newer ones came" in daemon.ctl("history").stdout,
                      "an old mail to be dropped", detail=daemon.log_text)
        self.assertEqual((waiting(usual), waiting(ours)), (0, 4))
        self.mode("")
        self.wait_for(lambda: len(self.subjects()) == 5, "the mails of both lives, and the word of what was dropped")
        self.assertRegex(self.subjects()[1], r"^healer: 1 alert dropped on \S+: [abc] failed$")
        self.assertEqual(sorted(self.subjects()[3:]), [f"monit alert --  Status failed {name}" for name in "de"])
        self.assertEqual([path.name for path in theirs.iterdir()], ["1795285747_55d1"])

    def test_a_password_is_nowhere_to_be_read(self):
        secret = "hunter2-not-to-be-seen"
        check = self.statuses("check", [1])
        daemon = self.start(f'set mailserver 127.0.0.1 port 1 username "u" password "{secret}"\nset alert a@localhost\n'
                            f'check program node with path "{check}"\n  if status != 0 then exec "/usr/bin/env"\n',
                            options=("-v",))
        self.wait_for(lambda: "exec /usr/bin/env exited" in daemon.log_text(), "the exec")
        told = daemon.log_text() + daemon.errors.read_text()
        for words in (("status",), ("status", "--json"), ("explain", "node"), ("history", "--json")):
            told += daemon.ctl(*words).stdout
        for output in (daemon.folder / "healer.state.actions").glob("*"):
            told += output.read_text(errors="replace")
        told += subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True).stdout
        told += subprocess.run([str(support.BUILD / "healerd"), "-t", "-v", "-c", str(daemon.rules)], capture_output=True,
                               text=True).stdout
        self.assertIn("node", told)
        self.assertNotIn(secret, told)


if __name__ == "__main__":
    support.main()
