# SPDX-License-Identifier: MIT
"""The programs of the example kubernetes-nodes, by themselves: its guard, and what drains a node."""
import os
import shutil
import subprocess
import threading

import support
from cluster_cloud import CLUSTER
from kubernetes_cluster import TOKEN, now
from nodes import SECRETS, Nodes


class Programs(Nodes):
    """What the rules run, by itself."""

    MASTERS, WORKERS = 1, 3

    def run_program(self, *words: str, **environment: str) -> subprocess.CompletedProcess:
        known = {"KUBERNETES_API": self.cluster.url, "KUBERNETES_TOKEN": TOKEN, "CURL_CA_BUNDLE": f"{self.cluster.certificate}.crt",
                 "DRAIN_PATIENCE": "1", "DRAIN_INTERVAL": "0.1", "PATH": os.environ["PATH"], "HOME": str(self.folder)}
        return subprocess.run([self.programs / words[0], *words[1:]], capture_output=True, text=True, env=known | environment,
                              timeout=support.LIMIT)

    def drains(self) -> None:
        """A node that is dead, with pods that may go, that may not yet, that belong to it, that nobody would start again, and one
        that was told to end long ago."""
        self.cluster.run("web", "worker-0", "worker-1", "worker-2", need=2)
        self.cluster.run("log", "worker-0", "worker-1", owner="DaemonSet")
        self.cluster.run("bare", "worker-1", owner="")
        self.cluster.run("late", "worker-1", owner="StatefulSet")
        self.cluster.pods["late-7"].deleted = "2026-01-01T00:00:00Z"
        self.cluster.run("db", "worker-1", "worker-2", need=2)
        self.cluster.silence("worker-1")
        self.cluster.nodes["worker-1"].cordoned = True
        held = threading.Event()
        running = threading.Thread(target=lambda: (held.wait(), self.cluster.run("db", "worker-0")))
        running.start()
        self.addCleanup(running.join)
        self.addCleanup(held.set)
        results: list[subprocess.CompletedProcess] = []
        drain = threading.Thread(target=lambda: results.append(self.run_program("drain", "worker-1")))
        drain.start()
        self.addCleanup(drain.join)
        self.wait_for(lambda: self.cluster.count("evict db-8") >= 2, "an eviction that the budget refuses", detail=self.cluster.told)
        self.assertEqual(results, [])
        held.set()
        drain.join()
        self.assertEqual(results[0].returncode, 0, results[0])
        self.assertEqual(self.cluster.on("worker-1"), ["log"])
        self.assertEqual([name for name in self.cluster.done if name.startswith("evict")].count("evict web-2"), 1)
        self.assertEqual(self.cluster.count("evict log-5") + self.cluster.count("evict late-7"), 0)
        self.assertIn("disruption budget", results[0].stdout + results[0].stderr)

    def test_a_node_is_drained_without_kubectl(self):
        self.drains()

    def test_a_node_is_drained_by_kubectl(self):
        if not shutil.which("kubectl"):
            self.skipTest("there is no kubectl")
        self.cluster.kubeconfig(self.programs / "kubeconfig")
        self.drains()
        self.assertGreater(self.cluster.count("groups"), 0)  # only kubectl asks for these

    def test_who_may_be_healed(self):
        """The guard, each time of a worker that was silent for long, with one thing changed."""
        cloud = {"KEYSTONE": f"{self.cluster.cloud_url}/identity",
                 "MAGNUM_CLUSTER": f"{self.cluster.cloud_url}/magnum/v1/clusters/{CLUSTER}"}
        node = self.cluster.nodes["worker-1"]

        def refused(why: str, name: str = "worker-1", **environment: str) -> None:
            done = self.run_program("may-be-healed", name, **(cloud | environment))
            self.assertEqual((done.returncode, done.stderr), (1 if why else 0, ""), done)
            self.assertRegex(done.stdout, f"^{why and name + ': ' + why}\n?$")
            for secret in SECRETS:
                self.assertNotIn(secret, done.stdout)

        refused("it is well again")
        self.cluster.set_conditions("worker-1", DiskPressure="True")
        refused("")
        self.cluster.silence("worker-1")
        refused("")
        refused("", MAGNUM_CLUSTER="")
        node.annotations["healer/disabled"] = "true"
        refused("its annotation healer/disabled is set")
        node.annotations = {"healer/disabled": "false"}
        refused("")
        node.cordoned = True
        refused("somebody has cordoned it")
        node.annotations = {"healer/cordoned": "1"}
        refused("")
        node.created = now()
        refused("it was added less than 20 minutes ago")
        node.created = "2026-01-01T00:00:00Z"
        refused("Kubernetes cannot be asked: .*404", "worker-9")
        refused("Kubernetes cannot be asked: .*401", KUBERNETES_TOKEN="another")
        refused("Kubernetes cannot be asked: .*connect to .*", KUBERNETES_API="https://127.0.0.1:1")
        self.cloud.labels = {}
        refused("healing is off: the label auto_healing_enabled of the cluster is not true")
        self.cloud.labels = {"auto_healing_enabled": "true"}
        for status in ("UPDATE_IN_PROGRESS", "UPDATE_FAILED"):
            self.cloud.cluster_status = status
            refused(f"the cluster is {status}")
        self.cloud.cluster_status = "UPDATE_COMPLETE"
        self.cloud.fault("show cluster", 503)
        refused("Magnum cannot be asked: .*503")
        self.cloud.fault("token", 401)
        refused("Keystone cannot be asked: .*401")
        # A master may say that it is well while its API server is not.
        refused("", "master-0")

if __name__ == "__main__":
    support.main()
