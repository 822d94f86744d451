# SPDX-License-Identifier: MIT
"""Servers as Debian installs them, on their usual ports and with the configuration of their packages, judged by the rules in
rules.d/examples as they are shipped: all is well. In a network and below mounts that this test has for itself."""
import os
import re
import shutil
import subprocess
import sys
import unittest
from dataclasses import dataclass, field
from pathlib import Path

import debian
import support

EXAMPLES = support.TOP / "rules.d" / "examples"


@dataclass
class Server:
    """By the name of its example; `owned`: folders that it finds empty, by their owner."""

    script: str
    program: str
    owned: dict[str, str] = field(default_factory=dict)
    prepare: list[list[str]] = field(default_factory=list)


SERVERS = {
    "redis": Server("redis-server", "/usr/bin/redis-server", {"/var/lib/redis": "redis", "/var/log/redis": "redis"}),
    "mariadb": Server("mariadb", "/usr/sbin/mariadbd", {"/var/lib/mysql": "mysql", "/var/log/mysql": "mysql"},
                      [["mariadb-install-db", "--user=mysql", "--skip-test-db"]]),
    "postgresql": Server("postgresql", debian.Postgresql.program,
                         {path: "postgres" for path in ("/etc/postgresql", "/var/lib/postgresql", "/var/log/postgresql")},
                         [["pg_createcluster", str(debian.Postgresql.version), "main", "--locale", "C", "--", "--no-sync"]]),
    "bind": Server("named", "/usr/sbin/named", {"/var/cache/bind": "bind"}),
    # Its package leaves a certificate like this one.
    "dovecot": Server("dovecot", "/usr/sbin/dovecot", {"/var/lib/dovecot": "root", "/etc/dovecot/private": "root"},
                      [["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=localhost", "-keyout",
                        "/etc/dovecot/private/dovecot.key", "-out", "/etc/dovecot/private/dovecot.pem"]]),
    "ssh": Server("ssh", "/usr/sbin/sshd"),
    "apache": Server("apache2", "/usr/sbin/apache2", {"/var/log/apache2": "root"}),
    "nginx": Server("nginx", "/usr/sbin/nginx", {"/var/log/nginx": "root", "/var/lib/nginx": "root"}),
}


@unittest.skipIf(os.geteuid() != 0, "it takes root to cover paths and to start daemons of the system")
class Examples(support.Case):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.started: list[str] = []  # their init scripts
        try:
            debian.leave_mounts()
            debian.leave_network()
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f"no mounts and no network of its own: {error}")
        self.addCleanup(debian.uncover)

    def tearDown(self):
        for daemon in self.daemons:  # it would start them again
            if daemon.process and not daemon.ended():
                daemon.stop()
        for script in reversed(self.started):
            subprocess.run([script, "stop"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           cwd="/", timeout=300)
        super().tearDown()

    def run_quietly(self, *command: str) -> None:
        with open(self.path("servers.log"), "ab") as log:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", timeout=300)
        self.assertEqual(done.returncode, 0, self.path("servers.log").read_text(errors="replace")[-2000:])

    def cover(self, path: str, owner: str) -> None:
        own = self.path(path.strip("/").replace("/", "-"))
        own.mkdir()
        shutil.chown(own, owner)
        debian.cover(path, own)

    def rules(self, name: str) -> str:
        """As shipped, but for the version of PostgreSQL, which is another one on another Debian, and the time that a server
        has to come up before it is asked: it is up."""
        text = (EXAMPLES / f"{name}.rules").read_text().replace("15-main", f"{debian.Postgresql.version}-main")
        return re.sub(r"(start program = .* with timeout) \d+ seconds", r"\1 1 second", text)

    def judge(self, *names: str) -> None:
        here = [name for name in names if Path(SERVERS[name].program).exists() and Path("/etc/init.d", SERVERS[name].script).exists()]
        if not here:
            self.skipTest(f"none of {', '.join(names)} is installed")
        self.cover("/run", "root")
        Path("/run/lock").mkdir()
        for name in here:
            server = SERVERS[name]
            for path, owner in server.owned.items():
                if Path(path).exists():
                    self.cover(path, owner)
            for command in server.prepare:
                self.run_quietly(*command)
            self.started.append(f"/etc/init.d/{server.script}")
            self.run_quietly(self.started[-1], "start")
        daemon = self.start("".join(map(self.rules, here)), cycle="1")
        checks = [name for one in here for name in re.findall(r"^check \w+ (\S+)", self.rules(one), re.M)]
        services = lambda: {one["name"]: one for one in daemon.ask("status")["services"]}  # noqa: E731
        # Programs that are due every so many cycles run in the first one, too.
        self.wait_for(lambda: all(services()[name]["runs"] > 0 for name in checks), "a run of each",
                      detail=lambda: str({name: one["runs"] for name, one in services().items()}))
        self.wait_for(lambda: all({one["verdict"] for one in services()[name]["connections"]} == {"passed"} for name in here),
                      "each server to be tried and to pass",
                      detail=lambda: "\n".join(f"{name}: {one['text']}" for name in here for one in services()[name]["connections"]))
        self.wait_for(lambda: all(services()[name]["runs"] > 3 for name in here), "some more runs")
        told = services()
        self.assertEqual({name: told[name]["state"] for name in checks}, dict.fromkeys(checks, "running"),
                         str({name: told[name]["text"] for name in checks}))
        failed = [rule["text"] for name in checks for rule in told[name]["rules"] if rule["failed"]]
        self.assertEqual(failed, [])
        for name in here:
            for one in told[name]["connections"]:
                print(f"{name:11} {one['verdict']:7} {one['text']}", file=sys.stderr)

    def test_the_examples_find_the_servers_of_debian_well(self):
        self.judge("redis", "mariadb", "postgresql", "bind", "dovecot", "ssh", "apache")

    def test_the_example_of_nginx_finds_that_of_debian_well(self):
        self.judge("nginx")


if __name__ == "__main__":
    support.main()
