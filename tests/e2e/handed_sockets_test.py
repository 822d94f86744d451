# SPDX-License-Identifier: MIT
"""Sockets that systemd hands over for `set httpd`: from systemd-socket-activate, and from a launcher of this test, so that
their names, and what programs get of them, are what the test says."""
import base64
import http.client
import os
import shutil
import socket
import subprocess
import sys

import support
from support import processes

# Hands over its standard input as the first socket: its number, the names and the process are as systemd tells them.
LAUNCH = """
import os, sys
os.dup2(0, 3, inheritable=True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES=sys.argv[1])
os.execv(sys.argv[2], sys.argv[2:])
"""


class HandedSockets(support.Case):
    def ping(self, place: socket.socket | tuple[str, int] | str) -> str:
        if isinstance(place, str):
            link = http.client.HTTPConnection("localhost", timeout=support.LIMIT)
            link.sock = socket.socket(socket.AF_UNIX)
            link.sock.connect(place)
        else:
            link = http.client.HTTPConnection(*place, timeout=support.LIMIT)
        link.request("GET", "/_ping", headers={"Authorization": "Basic " + base64.b64encode(b"admin:monit").decode()})
        answer = link.getresponse()
        text = answer.read().decode()
        link.close()
        return text if answer.status == 200 else str(answer.status)

    def launch(self, daemon: support.Daemon, command: list[str], **how) -> None:
        with daemon.errors.open("ab") as errors:
            daemon.process = subprocess.Popen([*command, str(daemon.binary), "-I", "-c", str(daemon.rules)], cwd="/", stdout=errors,
                                              stderr=errors, preexec_fn=processes.die_with_parent, **how)

    def by_name(self, rules: str, listener: socket.socket, name: str = "http") -> support.Daemon:
        daemon = self.configure(rules)
        self.launch(daemon, [sys.executable, "-c", LAUNCH, name], stdin=listener.fileno())
        self.wait_for(lambda: daemon.ended() or daemon.ctl("ping").returncode == 0, "an answer of healerd")
        return daemon

    def listener(self, path: str | None = None) -> socket.socket:
        made = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.addCleanup(made.close)
        made.bind(path or ("127.0.0.1", 0))
        made.listen(8)
        return made

    def test_a_socket_with_the_name_http_is_answered_on_and_no_program_gets_it(self):
        listener = self.listener()
        place = listener.getsockname()
        seen = self.path("seen")
        program = self.script("look", f"env > {seen}.new; ls -l /proc/self/fd >> {seen}.new; mv {seen}.new {seen}")
        daemon = self.by_name(f"set httpd allow admin:monit\ncheck program look with path {program}\n  if status != 0 then alert\n",
                              listener)
        listener.close()  # as systemd's stays open, healerd's does
        self.assertEqual(self.ping(place), "pong")
        self.assertIn(f"listening on 127.0.0.1:{place[1]}, a socket of systemd's", daemon.log_text())
        told = self.wait_for(lambda: seen.exists() and seen.read_text(), "what a program gets")
        self.assertNotIn("LISTEN_", told)
        self.assertNotIn("socket:", told)
        # Without `set httpd` nobody is answered; with it again they are.
        rules = daemon.rules.read_text()
        daemon.write_rules(rules.replace("set httpd allow admin:monit\n", ""))
        self.assertEqual(daemon.reload().returncode, 0)
        waiting = socket.create_connection(place)
        self.addCleanup(waiting.close)
        daemon.write_rules(rules)
        self.assertEqual(daemon.reload().returncode, 0)
        self.assertEqual(self.ping(place), "pong")

    def test_a_socket_of_the_path_that_the_rules_name_is_not_made_anew_nor_taken_away(self):
        path = str(self.path("http.sock"))
        listener = self.listener(path)
        inode = os.stat(path).st_ino
        daemon = self.by_name(f"set httpd unixsocket {path} allow admin:monit\n", listener, name="other")
        self.assertEqual(self.ping(path), "pong")
        daemon.stop()
        self.assertEqual(os.stat(path).st_ino, inode)

    def test_others_are_not_used(self):
        listener, unbound = self.listener(), socket.socket()
        self.addCleanup(unbound.close)
        daemon = self.by_name("set httpd port 1 allow admin:monit\n".replace("port 1", f"port {self.own_port()}"), listener, name="other")
        self.assertNotIn(f":{listener.getsockname()[1]}", daemon.log_text())
        daemon.stop()
        other = self.configure("set httpd allow admin:monit\n", name="second")
        self.launch(other, [sys.executable, "-c", LAUNCH, "http"], stdin=unbound.fileno())
        self.wait_for(lambda: "is not used: it does not listen" in other.log_text(), "the word of it")
        self.wait_for(lambda: other.ctl("ping").returncode == 0, "an answer")

    def test_systemd_socket_activate_starts_it_when_somebody_connects(self):
        activate = shutil.which("systemd-socket-activate")
        if not activate:
            self.skipTest("systemd-socket-activate is not here")
        path = str(self.path("http.sock"))
        daemon = self.configure("set httpd allow admin:monit\n")
        self.launch(daemon, [activate, "--fdname=http", "-l", path], stdin=subprocess.DEVNULL)
        self.wait_for(lambda: os.path.exists(path), "the socket")
        self.assertNotEqual(daemon.ctl("ping").returncode, 0)
        self.assertEqual(self.ping(path), "pong")
        self.assertIn(f"listening on {path}, a socket of systemd's", daemon.log_text())


if __name__ == "__main__":
    support.main()
