# SPDX-License-Identifier: MIT
"""What is mailed of healings: what opens a breaker, what is held back, each turn of an escalation once; and nothing of what
people have planned."""
import healings
import mails
import support


class Told(healings.Case):
    def settings_of_mail(self) -> str:
        _, port = self.sink()
        return f"set mailserver 127.0.0.1 port {port}\nset alert admin@localhost not on {{ instance }}\n"

    def of(self, event: str, target: str = "") -> list[mails.Mail]:
        return [mail for mail in self.mails() if mail.subject.startswith("healer: ") and event in mail.subject and target in mail.text]

    def wait_mail(self, event: str, daemon: support.Daemon, target: str = "") -> mails.Mail:
        self.wait_for(lambda: self.of(event, target), f'a mail "{event}" of {target or "all"}',
                      detail=lambda: f"{self.subjects()}\n" + "\n".join(self.texts(daemon)))
        return self.of(event, target)[-1]

    def fleet(self, *names: str, workflow: str = "rebuild") -> str:
        return "".join(self.service(name, workflow, more="  group vms\n") for name in names)

    def test_a_breaker_that_opens_names_its_targets_and_the_next_one_that_fails_is_told_at_once(self):
        self.put("status.rebuild", "1")
        plan = self.workflow(more="  tries 1\n  breaker 2 failed within 1 hour\n")
        daemon = self.start(self.settings_of_mail() + plan + self.fleet("n1", "n2", "n3", "n4", "n5", "n6"))
        for name in ("n1", "n2"):
            self.put(f"broken.{name}")
            self.wait_mail("Healing failed", daemon, name)
        opened = self.wait_mail("Healing stopped", daemon)
        self.assertRegex(opened.text, r"2 of its healings have failed within 1 h \(of n1, n2\)")
        self.assertIn("healerctl healing reset rebuild", opened.text)
        self.assertEqual(self.of("Healing held back"), [])
        self.put("broken.n3")
        held = self.wait_mail("Healing held back", daemon, "n3")
        self.assertIn("breaker: too many healings with rebuild have failed (of n1, n2)", " ".join(held.text.split()))
        self.assertEqual(daemon.ask("healing", "status")["open"][0]["targets"], ["n1", "n2"])
        self.assertIn("2 failed (of n1, n2), ", " ".join(daemon.ctl("healing").stdout.split()))
        self.assertIn("healerctl healing reset rebuild", held.text)
        self.assertNotIn("n3 rebuild", self.trace())
        self.more_cycles(daemon, 3)
        self.assertEqual((len(self.of("Healing stopped")), len(self.of("Healing held back"))), (1, 1))

    def test_a_maintenance_window_is_no_news(self):
        names = ("n1", "n2", "n3", "n4", "n5", "n6")
        self.put("heals.rebuild")
        rules = self.settings_of_mail() + self.workflow() + self.fleet(*names)
        daemon = self.start('set maintenance "* * * * *" for 5 minutes\n' + rules)
        self.put("broken.n1")
        self.wait_told(daemon, "healing of n1 with rebuild")
        self.more_cycles(daemon, 5)
        self.assertEqual(self.trace(), [])
        daemon.write_rules(self.settings(daemon) + rules)
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_told(daemon, "healing of n1 with rebuild recovered")
        self.wait_mail("Healing recovered", daemon, "n1")
        self.assertEqual(self.of("Healing paused") + self.of("Healing resumed"), [])

    def test_under_dry_run_the_mail_says_so(self):
        daemon = self.start("set dry run\n" + self.settings_of_mail() + self.workflow() +
                            f'check program n1 with path "{self.check} n1"\n'
                            f'  start program "{self.do} start"\n  if status != 0 for 2 cycles then restart\n')
        self.put("broken.n1")
        self.wait_for(lambda: self.subjects(), "the mail", detail=lambda: "\n".join(self.texts(daemon)))
        self.assertIn("restart (held back: dry run)", self.mails()[0].text)
        self.more_cycles(daemon, 3)
        self.assertEqual((len(self.subjects()), self.trace()), (1, []))

    def test_an_escalating_healing_sends_a_mail_at_its_beginning_at_each_escalation_and_at_its_end(self):
        for step in ("reboot", "rebuild"):
            self.put(f"status.{step}", "1")
        self.put("heals.replace")
        plans = (self.workflow(name="reboot", steps=("reboot",), cooldown="1 second", more="  tries 2\n  on failure heal with rebuild\n") +
                 self.workflow(name="rebuild", more="  tries 1\n  on failure heal with replace\n") +
                 self.workflow(name="replace", steps=("replace",)))
        daemon = self.start(self.settings_of_mail() + plans + self.service("n1", "reboot"))
        self.put("broken.n1")
        self.wait_told(daemon, "healing of n1 with replace recovered")
        self.wait_mail("Healing recovered", daemon, "n1")
        self.more_cycles(daemon, 3)
        healing = [mail for mail in self.mails() if mail.subject.startswith("healer: ")]
        self.assertEqual([mail.subject for mail in healing],
                         ["healer: Healing begun n1", "healer: Healing escalated n1", "healer: Healing escalated n1",
                          "healer: Healing recovered n1"])
        for mail, comes in zip(healing, ('"reboot"', "It goes on with rebuild", "It goes on with replace", "recovered")):
            self.assertIn(comes, mail.text)

    def test_the_end_of_a_healing_that_has_called_a_person_says_so_everywhere(self):
        self.put("status.reboot", "1")
        daemon = self.start(self.settings_of_mail() + 'workflow call { step "call" alert "${TARGET} needs a person" }\n' +
                            self.workflow(name="reboot", steps=("reboot",), more="  tries 1\n  on failure heal with call\n") +
                            self.service("n1", "reboot"))
        self.put("broken.n1")
        self.wait_told(daemon, "healing of n1 with call ended: a person was called")
        self.assertIn("ended: a person was called. reboot failed: ", self.wait_mail("Healing ended", daemon, "n1").text)
        self.assertEqual([one["kind"] for one in daemon.ask("history")["records"] if "a person was called" in one["text"]],
                         ["healing-ended"])
        self.assertEqual([one["end"] for one in daemon.ask("healing", "status")["cooldowns"]], ["a person was called"])
        self.assertRegex(daemon.ctl("healing").stdout, r"\(healing \d+:\sa person was called")
        self.assertEqual(self.of("Healing failed"), [])

    def test_a_fleet_that_is_a_list_and_a_group_is_paused_by_one_mail(self):
        names = ", ".join(f'"n{number}"' for number in range(1, 7))
        daemon = self.start(self.settings_of_mail() + self.workflow() + f"for each NODE in {names} {{\n" +
                            self.service("${NODE}", more="  group vms\n") + "}\n")
        for number in range(1, 5):
            self.put(f"broken.n{number}")
        self.wait_mail("Healing paused", daemon)
        self.wait_told(daemon, "workflow rebuild is paused: ", count=2)
        self.assertTrue(any("of 6 in list NODE are not well" in text for text in self.texts(daemon)), self.texts(daemon))
        self.assertEqual({(one["list"], one["group"]) for one in daemon.ask("healing", "status")["closed"]},
                         {("NODE", ""), ("", "vms")})
        for number in range(1, 5):
            self.take(f"broken.n{number}")
        self.wait_mail("Healing resumed", daemon)
        self.wait_told(daemon, "workflow rebuild goes on: ", count=2)
        self.more_cycles(daemon, 3)
        self.assertEqual((len(self.of("Healing paused")), len(self.of("Healing resumed"))), (1, 1))


if __name__ == "__main__":
    support.main()
