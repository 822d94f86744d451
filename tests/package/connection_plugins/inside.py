# SPDX-License-Identifier: MIT
"""Ansible's connection to a container of the tests: nsenter into the process whose number is the inventory's `leader`."""
import subprocess

from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: inside
short_description: into a container of the tests
description: runs what Ansible sends in the name spaces of a process
options:
  leader:
    description: number of the first process of the container
    vars: [{name: leader}]
    required: true
"""


class Connection(ConnectionBase):
    transport = "inside"
    has_pipelining = True

    def _connect(self):
        self._connected = True
        return self

    def _enter(self, *command: str) -> list[str]:
        return ["nsenter", "-t", str(self.get_option("leader")), "-m", "-u", "-i", "-n", "-p", "-C", "--", "/usr/bin/env",
                "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8", *command]

    def exec_command(self, cmd, in_data=None, sudoable=True):
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        done = subprocess.run(self._enter("/bin/sh", "-c", cmd), input=in_data or b"", capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def put_file(self, in_path, out_path):
        with open(in_path, "rb") as source:
            subprocess.run(self._enter("/bin/sh", "-c", f"cat > '{out_path}'"), stdin=source, check=True)

    def fetch_file(self, in_path, out_path):
        with open(out_path, "wb") as target:
            subprocess.run(self._enter("cat", in_path), stdout=target, check=True)

    def close(self):
        self._connected = False
