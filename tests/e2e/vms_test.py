# SPDX-License-Identifier: MIT
"""Virtual machines under libvirt, healed by the rules and playbooks of the example self-healing-vms."""
import socket
import threading

import mails
import support
import virtual_machines

LIMIT = 240.0  # seconds: the longest wait, for a rebuild on a machine that is busy
# The example's times are those of machines that boot for minutes.
QUICKER = {"every 1 minute": "every 1 second", "every 2 minutes": "every 20 seconds", "timeout 10 seconds": "timeout 5 seconds",
           "recovered within 2 minutes": "recovered within 10 seconds"}


class Watching(mails.Receiving, support.Case):
    COUNT = 0  # of machines

    def setUp(self) -> None:
        super().setUp()
        if why := virtual_machines.missing():
            self.skipTest(why)
        self.addCleanup(support.processes.end_all)  # also where the following fails
        self.vms = virtual_machines.Hypervisor(self.path("vms"), self.own_port(), self.own_port(), self.COUNT)
        self.vms.deploy()
        _, self.mail_port = self.sink()

    def tearDown(self) -> None:
        failed = len(self.result.failures) + len(self.result.errors) > self.failures_before
        if hasattr(self, "vms"):
            if failed:
                print((self.vms.folder / "events").read_text(), *(mail.subject for mail in self.mails()), sep="\n")
            for daemon in self.daemons:
                if daemon.process and not daemon.ended():
                    daemon.stop()
            self.vms.end()
        super().tearDown()

    def watch(self, cycle: str = "1") -> support.Daemon:
        """A daemon with the example's rules, which has found everything well."""
        daemon = self.start(f"set mailserver 127.0.0.1 port {self.mail_port}\nset alert admin@localhost\n"
                            + self.vms.rules(QUICKER), cycle=cycle)
        self.wait_for(lambda: "proven    yes" in daemon.ctl("lists").stdout, "three readings of the list", limit=LIMIT)
        well = lambda: all(one["state"] == "running" and one.get("last") for one in self.services(daemon))  # noqa: E731
        self.wait_for(well, "the first run of every check", limit=LIMIT)
        self.assertEqual([text for text in self.texts(daemon) if "failed" in text], [])
        return daemon

    def services(self, daemon: support.Daemon) -> list[dict]:
        return [one for one in daemon.ask("status")["services"] if one["name"].partition("_")[2] in self.vms.nodes]

    def texts(self, daemon: support.Daemon) -> list[str]:
        """The history, the oldest first."""
        return [record["text"] for record in daemon.ask("history", "--lines", "1000")["records"]]

    def place(self, daemon: support.Daemon, words: str) -> int:
        """Where the history first says so; -1 if nowhere."""
        return next((place for place, text in enumerate(self.texts(daemon)) if words in text), -1)

    def wait_told(self, daemon: support.Daemon, words: str) -> int:
        self.wait_for(lambda: self.place(daemon, words) >= 0, f'"{words}" in the history', limit=LIMIT,
                      detail=lambda: "\n".join(self.texts(daemon)))
        return self.place(daemon, words)

    def wait_mail(self, words: str) -> None:
        found = lambda: any(words in mail.subject or words in mail.text for mail in self.mails())  # noqa: E731
        self.wait_for(found, f"a mail: {words}", limit=LIMIT, detail=lambda: str([mail.subject for mail in self.mails()]))

    def more_cycles(self, daemon: support.Daemon, count: int) -> None:
        cycles = lambda: daemon.ask("summary")["daemon"]["cycles"]  # noqa: E731
        wanted = cycles() + count
        self.wait_for(lambda: cycles() >= wanted, f"{count} more cycles")

    def at_once(self, *nodes: str) -> None:
        """All of them break."""
        threads = [threading.Thread(target=self.vms.fault, args=[node]) for node in nodes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def untouched(self, *nodes: str) -> dict[str, tuple[str, list[str]]]:
        """What is the same as long as nobody does anything with these machines."""
        return {node: (self.vms.instance(node), self.vms.events(node)) for node in nodes}


class Six(Watching):
    COUNT = 6

    def test_a_fault_that_outlasts_a_reboot_is_rebuilt_and_a_machine_without_certificate_is_left_alone(self):
        self.vms.take_certificate("webbox6")
        daemon = self.watch()
        others = self.untouched(*self.vms.nodes[1:])
        first, before = self.vms.instance("webbox1"), len(self.vms.events("webbox1"))
        self.at_once("webbox1", "webbox6")

        # Whatever listens for a machine takes connections also where nothing in it answers.
        rebooted = self.wait_told(daemon, 'healing of webbox1 with reboot_vm, step "reboot": exited with status 0')
        socket.create_connection((self.vms.address("webbox1"), self.vms.port), timeout=10).close()
        states = {one["name"]: [rule["state"] for rule in one["rules"]] for one in self.services(daemon)}
        self.assertEqual((states["http_webbox1"], states["port_webbox1"]), (["failed"], ["ok"]))

        verified = self.wait_told(daemon, 'healing of webbox1 with reboot_vm, step "verify": ')
        rebuilt = self.wait_told(daemon, 'healing of webbox1 with rebuild_vm, step "rebuild": exited with status 0')
        ended = self.wait_told(daemon, "healing of webbox1 with rebuild_vm recovered")
        self.assertLess(rebooted, verified)
        self.assertLess(verified, rebuilt)
        self.assertLess(rebuilt, ended)
        done = [event for event in self.vms.events("webbox1")[before:] if event not in ("Resumed", "Shutdown")]
        self.assertEqual(list(dict.fromkeys(done)), ["reboot", "Stopped", "Undefined", "Defined", "Started", "metadata-change"])
        self.assertNotEqual(self.vms.instance("webbox1"), first)
        self.assertTrue(self.vms.certified("webbox1"))
        self.assertTrue(self.vms.well("webbox1"))
        # It is told whom to watch.
        self.assertEqual(self.vms.ask("webbox1", "/watched"), (self.vms.plays / "nodes").read_text())
        self.wait_mail("Healing recovered")

        self.wait_told(daemon, "healing of webbox6 with reboot_vm refused by its guard: exited with status 1")
        self.wait_mail("Healing refused")
        self.more_cycles(daemon, 3)
        self.assertEqual(self.untouched(*self.vms.nodes[1:]), others)
        self.assertFalse(self.vms.well("webbox6"))

    def test_two_of_six_are_rebuilt_one_after_the_other(self):
        daemon = self.watch()
        broken = ["webbox2", "webbox5"]
        others = self.untouched(*[node for node in self.vms.nodes if node not in broken])
        before = {node: len(self.vms.events(node)) for node in broken}
        self.at_once(*broken)
        self.wait_told(daemon, "is held back: limit reached: 1 of 1 running in group vms")
        for node in broken:
            self.wait_told(daemon, f"healing of {node} with rebuild_vm recovered")
        # From the end of the old machine to the certificate of the new one no other is rebuilt.
        rebuilding = [(node, event) for node, event in self.vms.all_events()
                      if node in broken and event in ("Undefined", "metadata-change")][len(broken):]
        first, second = rebuilding[0][0], rebuilding[-1][0]
        self.assertEqual(rebuilding, [(node, event) for node in (first, second) for event in ("Undefined", "metadata-change")])
        self.assertEqual({first, second}, set(broken))
        for node in broken:
            self.assertEqual(self.vms.events(node)[before[node]:].count("Undefined"), 1)
            self.assertTrue(self.vms.well(node) and self.vms.certified(node))
        self.assertEqual(self.untouched(*others), others)

    def test_where_four_of_six_fail_nothing_is_rebuilt_and_a_person_is_called(self):
        daemon = self.watch(cycle="3")  # by its third all of them have failed
        machines = self.untouched(*self.vms.nodes)
        self.at_once(*self.vms.nodes[:4])
        self.wait_told(daemon, "workflow reboot_vm is paused: ")
        self.wait_told(daemon, "pause while: 4 of 6 in group vms are not well")
        self.wait_mail("Healing paused")
        for node in self.vms.nodes[:4]:
            self.wait_told(daemon, f"healing of {node} with reboot_vm is held back")
        self.more_cycles(daemon, 4)
        self.assertEqual(self.untouched(*self.vms.nodes), machines)
        self.assertEqual(self.place(daemon, "begins"), -1)


class Three(Watching):
    COUNT = 3

    def test_a_machine_that_only_healer_cannot_reach_is_left_alone(self):
        daemon = self.watch()
        machines = self.untouched(*self.vms.nodes)
        self.vms.cut("webbox2")
        self.wait_told(daemon, "healing of webbox2 with reboot_vm refused by its guard: exited with status 1: "
                               "webbox2 is well: it answers webbox1, so only the path from here is cut")
        self.more_cycles(daemon, 3)
        self.assertEqual(self.untouched(*self.vms.nodes), machines)
        self.assertEqual(self.place(daemon, "begins"), -1)

    def test_a_person_is_called_to_a_machine_that_cannot_be_rebuilt(self):
        daemon = self.watch()
        others = self.untouched("webbox1", "webbox3")
        (self.vms.guest / "template.qcow2").rename(self.vms.guest / "elsewhere")
        self.vms.fault("webbox2")
        self.wait_told(daemon, 'healing of webbox2 with rebuild_vm, step "rebuild": exited with status 2')
        self.wait_mail("webbox2 could not be healed: ")
        self.more_cycles(daemon, 3)
        self.assertEqual(self.untouched(*others), others)
        # What the playbook has left there bears no certificate, and nobody touches it again.
        self.assertFalse(self.vms.certified("webbox2"))
        self.assertEqual(sum("begins" in text for text in self.texts(daemon)), 3)


if __name__ == "__main__":
    support.main()
