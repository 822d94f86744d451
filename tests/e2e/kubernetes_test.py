# SPDX-License-Identifier: MIT
"""Nodes of Kubernetes, healed by the rules of the example kubernetes-nodes, against an API server and an OpenStack of this test's
own, whose faults are those that users of such healers complain about."""
import support
from far_end import LOST, UNSEEN, Gate
from nodes import REBOOT_FAILS, Nodes


class Workers(Nodes):
    def test_a_worker_that_a_reboot_helps_is_ready_again_and_takes_pods(self):
        daemon = self.watch()
        self.cloud.healed_by_reboot.add("worker-1")
        self.cluster.silence("worker-1")
        self.wait_told(daemon, "healing of worker-1 with reboot_worker recovered")
        self.assertEqual(self.done(), ["cordon worker-1", "uncordon worker-1", "reboot worker-1"])
        self.assertIn("worker-1", self.cluster.ready_nodes())
        self.assertEqual(self.cluster.nodes["worker-1"].annotations, {})
        self.more_readings()
        self.assertEqual(len(self.done()), 3)
        self.shows_no_secret(daemon)

    def test_a_worker_that_no_reboot_helps_is_drained_as_budgets_allow_and_replaced(self):
        daemon = self.watch(REBOOT_FAILS)
        self.cluster.run("web", "worker-0", "worker-1", "worker-1", "worker-2", need=2)
        self.cluster.run("log", "worker-0", "worker-1", "worker-2", owner="DaemonSet")
        self.cluster.run("db", "worker-1", "worker-2", need=2)
        self.cluster.pods_start = False
        self.cluster.silence("worker-1")
        # Two of `web` are well elsewhere, so both may go; of `db` one is, and the budget wants two.
        self.wait_for(lambda: self.cluster.count("evict db-8") >= 3, "an eviction to be tried again", detail=lambda: self.all_told(daemon))
        self.assertEqual(self.cluster.on("worker-1"), ["db", "log"])
        self.assertNotIn("stop worker-1", self.done())
        job, = daemon.ask("jobs")["jobs"]
        hindered = lambda: daemon.ctl("output", str(job["id"])).stdout  # noqa: E731
        self.wait_for(lambda: "The disruption budget db needs 2 healthy pods and has 1 currently" in hindered(),
                      "what hinders it to be shown", detail=hindered)
        self.cluster.run("db", "worker-0")  # somebody gives it another one
        self.wait_told(daemon, "healing of worker-1 with replace_worker recovered")
        self.assertEqual([name for name in self.done() if not name.startswith("evict")],
                         ["cordon worker-1", "uncordon worker-1", "cordon worker-1", "forget worker-1",
                          "reboot worker-1", "stop worker-1", "replace worker-1"])
        self.assertEqual(self.cluster.ready_nodes(), ["master-0", "master-1", "master-2", "worker-0", "worker-2", "worker-new-1"])
        self.wait_for(lambda: "worker_worker-new-1" in daemon.ctl("names").stdout and
                      "worker_worker-1\n" not in daemon.ctl("names").stdout, "the new worker instead of the old one")
        self.assertEqual(self.cluster.asked.count("evict log-5"), 0)
        self.shows_no_secret(daemon)

    def test_where_a_budget_never_allows_it_nothing_is_replaced_and_a_person_is_called(self):
        daemon = self.watch(REBOOT_FAILS, {"timeout 30 minutes repeatable": "timeout 2 seconds repeatable"})
        self.cluster.run("db", "worker-1", "worker-2", need=2)
        self.cluster.silence("worker-1")
        self.wait_told(daemon, "healing of worker-1 with replace_worker failed")
        self.wait_mail("worker-1 could not be healed: ")
        self.more_readings()
        self.assertEqual(self.done(), ["cordon worker-1", "uncordon worker-1", "cordon worker-1", "uncordon worker-1", "reboot worker-1"])
        self.assertEqual(self.cluster.on("worker-1"), ["db"])

    def test_no_worker_is_left_off_where_it_cannot_be_replaced(self):
        """The node was deleted and its server left SHUTOFF where the repair broke in between; nobody looked at it any more."""
        for fault in (503, 409, LOST):
            with self.subTest(fault=fault):
                daemon = self.watch(REBOOT_FAILS, name=f"healerd-{fault}")
                self.cluster.silence("worker-1")
                self.cloud.fails_updates = True
                self.cloud.fault("replace worker-1", fault)
                self.wait_told(daemon, "healing of worker-1 with call_a_person_to_node ended")  # what is done after a failure is done
                self.assertEqual(self.cloud.server_of("worker-1").status, "ACTIVE")
                self.assertFalse(self.cluster.nodes["worker-1"].cordoned)
                self.assertEqual(self.cloud.count("replace worker-1"), 1)
                self.assertEqual(self.cluster.count("forget worker-1"), 0)
                self.wait_mail("worker-1 could not be healed: ")
                # What somebody mends then is seen to be well.
                self.cluster.awake("worker-1")
                self.wait_for(lambda: daemon.ask("status", "worker_worker-1")["services"][0]["state"] == "running", "its recovery")
                daemon.stop()
                self.cloud.asked.clear()
                self.cloud.cluster_status = "CREATE_COMPLETE"

    def test_no_worker_is_left_off_where_the_update_fails(self):
        daemon = self.watch(REBOOT_FAILS)
        self.cluster.silence("worker-1")
        self.cloud.fails_updates = True
        text = self.wait_told(daemon, "healing of worker-1 with replace_worker failed")
        self.assertIn('.status is "UPDATE_FAILED"', text)
        self.wait_mail("worker-1 could not be healed: ")
        self.assertEqual(self.done()[-4:], ["reboot worker-1", "stop worker-1", "replace worker-1", "start worker-1"])
        self.assertEqual(self.cloud.server_of("worker-1").status, "ACTIVE")
        self.assertFalse(self.cluster.nodes["worker-1"].cordoned)
        self.assertIn("worker-1", self.cluster.nodes)
        # Magnum says that the cluster is broken: nothing more is done to it by itself.
        self.more_readings()
        self.assertEqual(self.cloud.count("replace worker-1"), 1)

    def test_no_worker_is_left_cordoned(self):
        """Nodes stayed Ready,SchedulingDisabled after a reboot where the API server was not there for a moment."""
        daemon = self.watch()
        self.cloud.healed_by_reboot.add("worker-1")
        self.cluster.fault("uncordon worker-1", 503, UNSEEN, LOST, 409)
        self.cluster.silence("worker-1")
        self.wait_told(daemon, "healing of worker-1 with reboot_worker recovered")
        self.assertEqual(self.cluster.count("uncordon worker-1"), 5)
        self.assertIn("worker-1", self.cluster.ready_nodes())
        self.assertEqual(self.cluster.nodes["worker-1"].annotations, {})
        self.assertEqual(self.cloud.count("reboot worker-1"), 1)

    def test_one_that_healer_has_left_cordoned_is_told_of(self):
        daemon = self.watch()
        self.cluster.nodes["worker-2"].annotations["healer/cordoned"] = "0ac4"
        self.cluster.nodes["worker-2"].cordoned = True
        self.wait_mail("healer/cordoned")
        self.cluster.nodes["worker-2"].annotations.clear()  # by a person it may be as long as he likes
        self.wait_for(lambda: daemon.ask("status", "worker_worker-2")["services"][0]["state"] == "running", "its recovery")
        self.assertEqual(self.done(), [])

    def test_a_drain_that_is_cancelled_leaves_nothing_cordoned_or_off(self):
        daemon = self.watch(REBOOT_FAILS)
        self.cluster.run("db", "worker-1", "worker-2", need=2)
        self.cluster.silence("worker-1")
        self.wait_for(lambda: self.cluster.count("evict db-1"), "the drain", detail=lambda: self.all_told(daemon))
        job, = daemon.ask("jobs")["jobs"]
        self.assertEqual(daemon.ctl("cancel", str(job["id"])).returncode, 0)
        self.wait_told(daemon, "healing of worker-1 with replace_worker cancelled")
        self.wait_for(lambda: self.cloud.server_of("worker-1").status == "ACTIVE", "its server")
        self.wait_for(lambda: not self.cluster.nodes["worker-1"].cordoned, "the node to take pods", detail=lambda: self.all_told(daemon))
        self.assertEqual(self.cluster.nodes["worker-1"].annotations, {})

    def test_no_worker_is_repaired_twice(self):
        """A repair that took longer than the interval of the checks was begun again; so was one whose answer was lost."""
        daemon = self.watch(REBOOT_FAILS)
        self.cloud.holds |= {"boot worker-1", "update"}
        self.cloud.fault("reboot worker-1", LOST)
        self.cluster.silence("worker-1")
        self.wait_told(daemon, "healing of worker-1 with reboot_worker, step \"ready\"")
        self.assertEqual((self.cloud.count("reboot worker-1"), self.cloud.did("reboot worker-1")), (2, 1))  # the second got a 409
        self.wait_asked(daemon, "replace worker-1")
        self.more_readings(10)
        self.assertEqual((self.cloud.count("replace worker-1"), self.cloud.count("stop worker-1")), (1, 1))
        self.assertEqual(self.cluster.count("forget worker-1"), 0)  # not before its server is gone
        self.cloud.finish()
        self.wait_told(daemon, "healing of worker-1 with replace_worker recovered")
        self.more_readings()
        self.assertEqual((self.cloud.count("replace worker-1"), self.cloud.did("reboot worker-1")), (1, 1))
        self.assertEqual(self.cluster.ready_nodes(), ["master-0", "master-1", "master-2", "worker-0", "worker-2", "worker-new-1"])

    def test_one_that_is_ready_again_when_its_reboot_was_given_up_is_not_replaced(self):
        daemon = self.watch(REBOOT_FAILS)
        gate = Gate(after=True)
        self.cluster.fault("uncordon worker-1", gate)
        self.cluster.silence("worker-1")
        self.wait_for(gate.arrived.is_set, "the end of the reboot", detail=lambda: self.all_told(daemon))
        self.cluster.awake("worker-1")
        gate.open.set()
        self.wait_told(daemon, "worker-1: it is well again")
        self.more_readings()
        self.assertEqual(self.done(), ["cordon worker-1", "uncordon worker-1", "reboot worker-1"])

    def test_where_most_workers_fail_nothing_is_done(self):
        daemon = self.watch(cycle="3")  # by its third all of them have failed
        self.cluster.silence("worker-0", "worker-1")
        self.wait_told(daemon, "workflow reboot_worker is paused: ")
        self.wait_mail("Healing paused")
        self.more_readings()
        self.assertEqual(self.done(), [])

    def test_a_slow_magnum_holds_up_nothing_but_what_asks_it(self):
        """A healer restarted when Magnum was slow."""
        daemon = self.watch()
        gate = Gate()
        self.cloud.fault("show cluster", gate)
        self.cloud.healed_by_reboot |= {"worker-1"}
        self.cluster.silence("worker-1")
        self.wait_for(gate.arrived.is_set, "the guard that asks")
        self.more_readings(6)
        self.assertFalse(daemon.ended())
        gate.open.set()
        self.wait_told(daemon, "healing of worker-1 with reboot_worker recovered")


class Masters(Nodes):
    def test_a_master_whose_api_server_fails_is_rebooted_and_then_replaced_by_heat(self):
        daemon = self.watch(REBOOT_FAILS)
        first = self.cluster.nodes["master-1"].server
        self.cluster.nodes["master-1"].api_well = False
        self.wait_told(daemon, "healing of master-1 with replace_master recovered")
        self.assertEqual(self.done(), ["reboot master-1", "mark master-1", "update stack"])
        self.assertNotEqual(self.cluster.nodes["master-1"].server, first)
        self.shows_no_secret(daemon)

    def test_masters_are_healed_one_at_a_time_and_not_without_a_majority(self):
        """All masters were rebuilt at once."""
        daemon = self.watch(cycle="3")  # by its third all have failed
        for name in ("master-0", "master-1", "master-2"):
            self.cluster.nodes[name].api_well = False
        self.wait_told(daemon, "workflow reboot_master is paused: ")
        self.wait_mail("Healing paused")
        self.more_readings()
        self.assertEqual(self.done(), [])
        self.cloud.healed_by_reboot |= {"master-0", "master-1", "master-2"}
        self.cluster.nodes["master-1"].api_well = True
        self.cluster.nodes["master-2"].api_well = True
        self.cloud.holds.add("boot master-0")
        self.wait_asked(daemon, "reboot master-0")
        self.cluster.nodes["master-1"].api_well = False  # another one meanwhile
        self.wait_told(daemon, "healing of master-1 with reboot_master is held back")
        self.more_readings()
        self.assertEqual(self.done(), ["reboot master-0"])
        self.cluster.nodes["master-0"].api_well = True
        self.cloud.booted("master-0")
        self.wait_told(daemon, "healing of master-0 with reboot_master recovered")
        self.wait_asked(daemon, "reboot master-1")

if __name__ == "__main__":
    support.main()
