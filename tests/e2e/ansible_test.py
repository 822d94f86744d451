# SPDX-License-Identifier: MIT
"""Ansible's module community.general.monit on healerd: it asks a `monit` in PATH, which is Monit's own client with the
file that says where healerd's HTTP side is. `restarted` is left out: the module fails with Monit 5.33 itself, since it takes
"OK - restart pending" and "Initializing - restart pending" for the status before. What both show is compared in
monit_client_test.py."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import support
from support import monits


def collections() -> str | None:
    """Where the module is, as COLLECTIONS_PATH has it; None: it is not here."""
    for place in (os.environ.get("HEALER_ANSIBLE_COLLECTIONS"), "/usr/lib/python3/dist-packages",
                  "/usr/share/ansible/collections", str(Path.home() / ".ansible/collections")):
        if place and (Path(place) / "ansible_collections/community/general/plugins/modules/monit.py").exists():
            return place
    return None


class AnsibleModule(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.monit = monits.find(monits.OLD)
        self.collections = collections()
        for what, there in (("ansible", shutil.which("ansible")), (f"monit {monits.OLD}", self.monit),
                            ("the collection community.general", self.collections)):
            if not there:
                self.skipTest(f"{what} is not here")

    def ask(self, state: str, name: str = "node") -> dict:
        """What the module says that it has done."""
        done = subprocess.run(
            ["ansible", "localhost", "-c", "local", "-m", "community.general.monit", "-a", f"name={name} state={state} timeout=60"],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=self.folder,
            env={**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "HOME": str(self.folder), "LC_ALL": "C.UTF-8",
                 "ANSIBLE_LOCAL_TEMP": str(self.path("tmp")), "ANSIBLE_REMOTE_TEMP": str(self.path("tmp")),
                 "ANSIBLE_COLLECTIONS_PATH": self.collections, "ANSIBLE_COLLECTIONS_PATHS": self.collections,
                 "ANSIBLE_STDOUT_CALLBACK": "minimal", "ANSIBLE_NOCOLOR": "1", "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3"})
        self.assertIn("{", done.stdout, done.stderr)
        answer = json.loads(done.stdout[done.stdout.index("{"):])
        self.assertEqual(done.returncode, 0, answer)
        return answer

    def test_the_module_starts_stops_monitors_and_unmonitors(self):
        port = self.own_port()
        pid = self.path("node.pid")
        started = self.script("begin", f"setsid sleep 1000 < /dev/null > /dev/null 2>&1 & echo $! > {pid}")
        ended = self.script("end", f"kill $(cat {pid}); rm {pid}")
        daemon = self.start(f"""
set httpd port {port} use address 127.0.0.1 allow admin:monit
check process node with pidfile {pid}
  start program = "{started}"
  stop program = "{ended}"
""")
        rc = self.path("monitrc")
        rc.write_text(f"set daemon 1\nset pidfile {daemon.folder}/healer.pid\nset idfile {self.folder}/id\n"
                      f"set statefile {self.folder}/state\nset httpd port {port} use address 127.0.0.1 allow admin:monit\n")
        rc.chmod(0o600)
        self.path("bin").mkdir()
        client = self.path("bin") / "monit"
        client.write_text(f'#!/bin/sh\nexec {self.monit} -c {rc} "$@"\n')
        client.chmod(0o755)

        said = lambda: daemon.ctl("status", "node").stdout
        self.wait_for(pid.exists, "the process")
        self.assertTrue(self.ask("stopped")["changed"])
        self.assertFalse(pid.exists())
        self.assertTrue(self.ask("started")["changed"])
        self.wait_for(pid.exists, "the process")
        self.assertTrue(self.ask("unmonitored")["changed"])
        self.assertFalse(self.ask("unmonitored")["changed"])
        self.assertIn("unmonitored", said())
        self.assertTrue(self.ask("monitored")["changed"])
        self.assertFalse(self.ask("started")["changed"])
        self.assertFalse(self.ask("present")["changed"])
        daemon.ctl("stop", "node")


if __name__ == "__main__":
    support.main()
