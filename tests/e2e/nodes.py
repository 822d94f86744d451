# SPDX-License-Identifier: MIT
"""Nodes of Kubernetes under the rules and programs of the example kubernetes-nodes: what its tests share."""
import collections
import contextlib
import re
import shutil

import mails
import support
from cluster_cloud import CLUSTER, PASSWORD, SUBJECT_TOKEN, Cloud
from kubernetes_cluster import TOKEN, Cluster

EXAMPLE = support.TOP / "rules.d" / "examples" / "kubernetes-nodes"
# The example's times are those of machines that boot for minutes.
QUICKER = {"every 15 seconds": "every 1 second", "every 10 seconds": "every 200 ms", "every 5 seconds": "every 200 ms",
           "for 1 minute then": "for 1 second then", "for 30 seconds": "for 1 second", "for 1 hour then": "for 1 second then",
           "delay 20 minutes": "delay 1 second"}
REBOOT_FAILS = {"every 200 ms within 5 minutes\n  step \"uncordon\"": "every 200 ms within 1 second\n  step \"uncordon\"",
                'step "verify" recovered within 10 minutes': 'step "verify" recovered within 2 seconds'}
SECRETS = (TOKEN, PASSWORD, SUBJECT_TOKEN)


class Nodes(mails.Receiving, support.Case):
    MASTERS, WORKERS = 3, 3

    def setUp(self) -> None:
        super().setUp()
        if missing := [name for name in ("curl", "jq", "openssl") if not shutil.which(name)]:
            self.skipTest(f"not installed: {', '.join(missing)}")
        self.cluster = Cluster(self.folder, self.own_port(), self.MASTERS, self.WORKERS)
        self.cloud = self.cluster.cloud
        self.addCleanup(self.cluster.stop)
        self.programs = self.path("kubernetes-nodes")
        shutil.copytree(EXAMPLE, self.programs)
        self.private("kubernetes-nodes/auth.json", Cloud.login())
        self.path("secrets").mkdir(mode=0o700)
        self.private("secrets/kubernetes", TOKEN + "\n")
        _, self.mail_port = self.sink()

    def private(self, name: str, text: str):
        path = self.path(name)
        path.write_text(text)
        path.chmod(0o600)
        return path

    def rules(self, *changes: dict[str, str]) -> str:
        """The example's, for this cluster and quicker; `changes` are made in it."""
        text = EXAMPLE.with_suffix(".rules").read_text()
        cloud = self.cluster.cloud_url
        places = {"API": self.cluster.url, "KEYSTONE": f"{cloud}/identity", "NOVA": f"{cloud}/compute/v2.1",
                  "MAGNUM": f"{cloud}/magnum/v1/clusters/{CLUSTER}", "HEAT": f"{cloud}/heat/v1/p1", "KUBE": str(self.programs)}
        for name, value in places.items():
            text, found = re.subn(rf'^define {name} ".*"', f'define {name} "{value}"', text, flags=re.M)
            self.assertEqual(found, 1, name)
        for change in (QUICKER, *changes):
            for what, by in change.items():
                self.assertIn(what, text)
                text = text.replace(what, by)
        text = text.replace("port 6443", f"port {self.cluster.port}")
        return (f'set mailserver 127.0.0.1 port {self.mail_port}\nset alert admin@localhost\n'
                f'set secrets "{self.path("secrets")}"\nset ssl {{ cacertificatefile: {self.cluster.certificate}.crt }}\n'
                f'set environment CURL_CA_BUNDLE "{self.cluster.certificate}.crt"\nset environment DRAIN_PATIENCE "1"\n'
                f'set environment DRAIN_INTERVAL "0.2"\n{text}')

    def watch(self, *changes: dict[str, str], **how) -> support.Daemon:
        """A daemon with the example's rules, which has found everything well."""
        daemon = self.start(self.rules(*changes), **how)
        self.wait_for(lambda: daemon.ctl("lists").stdout.count("proven    yes") == 2, "the proof of both lists",
                      detail=lambda: daemon.ctl("lists").stdout)

        def well() -> bool:
            known = daemon.ask("status")["services"]
            return len(known) == 2 * self.MASTERS + self.WORKERS and all(one["state"] == "running" and one["runs"] for one in known)

        self.wait_for(well, "the first run of every check", detail=lambda: daemon.ctl("status").stdout)
        return daemon

    # ---- what is told -------------------------------------------------------------------------------------------

    def texts(self, daemon: support.Daemon) -> list[str]:
        """The history, the oldest first."""
        return [record["text"] for record in daemon.ask("history", "--lines", "1000")["records"]]

    def told(self, daemon: support.Daemon, words: str) -> str | None:
        return next((text for text in self.texts(daemon) if words in text), None)

    def wait_told(self, daemon: support.Daemon, words: str) -> str:
        return self.wait_for(lambda: self.told(daemon, words), f'"{words}" in the history', detail=lambda: self.all_told(daemon))

    def all_told(self, daemon: support.Daemon) -> str:
        asked = [str(collections.Counter(one.asked)) for one in (self.cluster, self.cloud)]
        return "\n".join([*self.texts(daemon), daemon.ctl("status").stdout[:6000], *asked, f"done: {self.done()}"])

    def wait_mail(self, words: str) -> None:
        found = lambda: any(words in mail.subject or words in mail.text for mail in self.mails())  # noqa: E731
        self.wait_for(found, f"a mail: {words}", detail=lambda: str([mail.subject for mail in self.mails()]))

    def done(self) -> list[str]:
        """What was changed, in the cluster and by its cloud, each in its order."""
        with self.cluster.lock:
            looks = ("read", "list", "show", "find", "token", "versions", "groups", "resources", "health")
            return [name for name in self.cluster.done + self.cloud.done if not name.startswith(looks)]

    def wait_asked(self, daemon: support.Daemon, name: str, count: int = 1) -> None:
        self.wait_for(lambda: self.cluster.count(name) + self.cloud.count(name) >= count, f"{name} for the time number {count}",
                      detail=lambda: self.all_told(daemon))

    def more_readings(self, count: int = 4) -> None:
        wanted = self.cluster.count("list nodes") + count
        self.wait_for(lambda: self.cluster.count("list nodes") >= wanted, f"{count} more readings")

    def shows_no_secret(self, daemon: support.Daemon) -> None:
        shown = "".join(daemon.ctl(*words).stdout for words in (["history", "--lines", "1000"], ["healing", "status"], ["status"]))
        for place in [path for path in daemon.folder.rglob("*") if path.is_file() and path != daemon.rules]:
            with contextlib.suppress(FileNotFoundError):  # one that was being written
                shown += place.read_bytes().decode(errors="replace")
        for secret in SECRETS:
            self.assertNotIn(secret, shown)
