# SPDX-License-Identifier: MIT
"""What keeps the example kubernetes-nodes from healing, and healerd killed while it does."""
import os
import re

import support
from far_end import Gate
from kubernetes_cluster import now
from nodes import REBOOT_FAILS, Nodes


class Switches(Nodes):
    """Who may stop it, and how."""

    MASTERS, WORKERS = 1, 3

    def untouched(self, daemon: support.Daemon, why: str) -> None:
        self.wait_told(daemon, why)
        self.more_readings()
        self.assertEqual(self.done(), [])

    def test_an_annotation_keeps_a_node_from_being_healed(self):
        daemon = self.watch({"cooldown 10 minutes": "cooldown 1 second"})
        self.cluster.nodes["worker-1"].annotations["healer/disabled"] = "true"
        self.cloud.healed_by_reboot.add("worker-1")
        self.cluster.silence("worker-1")
        self.untouched(daemon, "refused by its guard: exited with status 1: worker-1: its annotation healer/disabled is set")
        self.wait_mail("Healing refused")
        self.cluster.nodes["worker-1"].annotations.clear()
        self.wait_told(daemon, "healing of worker-1 with reboot_worker recovered")

    def test_a_label_of_the_cluster_switches_it_off(self):
        daemon = self.watch({"cooldown 10 minutes": "cooldown 1 second"})
        self.cloud.labels["auto_healing_enabled"] = "false"
        self.cloud.healed_by_reboot.add("worker-1")
        self.cluster.silence("worker-1")
        self.untouched(daemon, "worker-1: healing is off: the label auto_healing_enabled of the cluster is not true")
        self.cloud.labels["auto_healing_enabled"] = "true"
        self.wait_told(daemon, "healing of worker-1 with reboot_worker recovered")

    def test_a_pause_holds_it_back(self):
        daemon = self.watch()
        self.assertEqual(daemon.ctl("pause").returncode, 0)
        self.cloud.healed_by_reboot.add("worker-1")
        self.cluster.silence("worker-1")
        self.untouched(daemon, "healing of worker-1 with reboot_worker is held back")
        self.assertEqual(daemon.ctl("resume").returncode, 0)
        self.wait_told(daemon, "healing of worker-1 with reboot_worker recovered")

    def test_a_dry_run_only_asks(self):
        daemon = self.watch({"# set healing mode dry run": "set healing mode dry run"})
        self.cluster.silence("worker-1")
        self.untouched(daemon, "would")
        self.assertEqual(self.cloud.count("show cluster"), 1)

    def test_who_is_cordoned_by_a_person_and_who_is_new_is_left_alone(self):
        daemon = self.watch({"cooldown 10 minutes": "cooldown 1 second"})
        self.cluster.nodes["worker-1"].cordoned = True
        self.cluster.silence("worker-1")
        self.untouched(daemon, "worker-1: somebody has cordoned it")
        self.cluster.nodes["worker-1"].cordoned = False
        self.cluster.nodes["worker-1"].created = now()
        self.untouched(daemon, "worker-1: it was added less than 20 minutes ago")

    def test_a_worker_that_is_added_has_time_to_come_up(self):
        self.cluster.silence("worker-2")
        daemon = self.start(self.rules({"delay 1 second": "delay 1 hour"}))  # to healer all of them are new
        explained = lambda: daemon.ctl("explain", "worker_worker-2").stdout  # noqa: E731
        self.wait_for(lambda: "delay" in explained(), "its delay to be told of", detail=explained)
        self.more_readings()
        self.assertIsNone(self.told(daemon, "healing of worker-2"))
        self.assertEqual(self.done(), [])

    def test_while_the_cluster_is_updated_nothing_is_healed(self):
        daemon = self.watch({"cooldown 10 minutes": "cooldown 1 second"})
        self.cloud.cluster_status = "UPDATE_IN_PROGRESS"
        self.cloud.healed_by_reboot.add("worker-1")
        self.cluster.silence("worker-1")
        self.untouched(daemon, "worker-1: the cluster is UPDATE_IN_PROGRESS")
        self.cloud.cluster_status = "UPDATE_COMPLETE"
        self.wait_told(daemon, "healing of worker-1 with reboot_worker recovered")


class Killed(Nodes):
    """healerd is killed while a call is under way, and started again; the call was carried out, or was not."""

    MASTERS, WORKERS = 1, 9
    # The names of calls, of a worker {0}, and how many of that name come before: the guard's.
    REBOOT = [("read {0}", 1), ("cordon {0}", 0), ("token", 1), ("reboot {0}", 0), ("uncordon {0}", 0)]
    REPLACE = [("cordon {0}", 1), ("evict {1}", 0), ("token", 3), ("stop {0}", 0), ("show server", 0),
               ("show cluster", 2), ("replace {0}", 0), ("forget {0}", 0)]
    # With these calls more must not be done by a second one; which come again is for the journal to know.
    ONCE = ("reboot {0}", "stop {0}", "replace {0}", "forget {0}")

    def kill_at_each(self, calls: list[tuple[str, int]], reboots: bool) -> None:
        daemon = self.watch(REBOOT_FAILS, {"  limit 4 within 6 hours\n": "", "  breaker 3 failed within 12 hours\n": ""})
        # By default only at those that must not be repeated, and carried out; else all of them, and each also not carried out.
        long = bool(os.environ.get("HEALER_LONG"))
        cases = [(call, before, done) for call, before in calls for done in ((True, False) if long else (True,))
                 if long or call in self.ONCE]
        for call, before, done in cases:
            with self.subTest(call=call, done=done):
                name = next(name for name in sorted(self.cluster.nodes) if name.startswith("worker") and self.fresh(daemon, name))
                self.kill_at(daemon, name, call, before, done, reboots)

    def fresh(self, daemon: support.Daemon, name: str) -> bool:
        """Nothing was healed of it yet."""
        return self.cluster.nodes[name].ready and not any(f"healing of {name} " in text for text in self.texts(daemon))

    def kill_at(self, daemon: support.Daemon, name: str, call: str, before: int, done: bool, reboots: bool) -> None:
        for one in (self.cluster, self.cloud):
            one.asked.clear()
            one.done.clear()
        pod = f"web-{self.cluster.made + 1}"
        if reboots:
            self.cloud.healed_by_reboot.add(name)
        else:
            self.cluster.run("web", name)
        call = call.format(name, pod)
        far = self.cloud if call.split()[0] in ("token", "reboot", "stop", "replace", "show") else self.cluster
        if call.startswith("reboot"):
            self.cloud.holds.add(f"boot {name}")
        gate = Gate(after=done, drop=not done)
        far.fault(call, *[None] * before, gate)
        self.cluster.silence(name)
        self.wait_for(gate.arrived.is_set, call, detail=lambda: self.all_told(daemon))
        daemon.kill()
        gate.open.set()
        daemon.launch()
        if call.startswith("reboot"):  # which takes a server longer than healer
            self.wait_asked(daemon, call, 2)
            self.cloud.booted(name)
        ended = lambda: [text for text in self.texts(daemon) if re.match(  # noqa: E731
            rf"healing of {name} with (\w+ (recovered|interrupted)|replace_worker failed)", text)] and not daemon.ask("jobs")["jobs"]
        self.wait_for(ended, "the end of the healing", detail=lambda: self.all_told(daemon))
        for once in self.ONCE:
            self.assertLessEqual(self.cloud.did(once.format(name)) + self.cluster.did(once.format(name)), 1, self.all_told(daemon))
        self.assertLessEqual(self.cloud.count(f"replace {name}"), 1)
        self.assertEqual([node.name for node in self.cluster.nodes.values() if node.cordoned], [], self.all_told(daemon))
        self.assertEqual([server.name for server in self.cloud.servers_known.values() if server.status != "ACTIVE"], [])
        self.assertEqual(len([node for node in self.cluster.nodes.values() if node.ready]), self.MASTERS + self.WORKERS)
        self.shows_no_secret(daemon)

    def test_it_is_killed_at_each_call_of_a_reboot(self):
        self.kill_at_each(self.REBOOT, reboots=True)

    def test_it_is_killed_at_each_call_of_a_replacement(self):
        self.kill_at_each(self.REPLACE, reboots=False)

if __name__ == "__main__":
    support.main()
