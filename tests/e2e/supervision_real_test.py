# SPDX-License-Identifier: MIT
"""Daemons of Debian under supervision, with their own pid files: killed, stopped, hung, restarted by another hand."""
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import supervised
import support
from support import processes

# The start program is the daemon itself, which goes to the background and writes its pid file.
REDIS = ("bind 127.0.0.1\nport {port}\ndaemonize yes\npidfile {folder}/pid\ndir {folder}\nlogfile {folder}/log\n"
         'save ""\nappendonly no\n')
NGINX = ("pid {folder}/pid;\nerror_log {folder}/error.log;\nworker_processes 1;\nevents {{ worker_connections 16; }}\n"
         "http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; "
         "fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;\n"
         "server {{ listen 127.0.0.1:{port}; location / {{ return 200 'well'; }} }} }}\n")


class Real:
    """A daemon with its files in `folder`."""

    def __init__(self, folder: Path, port: int, program: str, configuration: str, question: bytes, answer: bytes):
        folder.mkdir()
        folder.chmod(0o755)
        self.pidfile = folder / "pid"
        self.starts = folder / "starts"
        self.port, self.question, self.answer = port, question, answer
        self.configuration = folder / "configuration"
        self.configuration.write_text(configuration.format(folder=folder, port=self.port))
        self.program = program
        options = "-c" if "nginx" in program else ""
        self.start_script = folder / "start"
        self.stop_script = folder / "stop"
        supervised.Process.place(self.start_script,
                                 f"\necho x >> {self.starts}\nexec {program} {options} {self.configuration}")
        supervised.Process.place(self.stop_script, f'\nkill "$(cat {self.pidfile})"')

    def statement(self) -> str:
        return (f"check process real with pidfile {self.pidfile}\n"
                f'  start program = "{self.start_script}"\n  stop program = "{self.stop_script}"\n')

    def pid(self) -> int:
        """By its pid file, if such a process lives; else 0."""
        try:
            pid = int(self.pidfile.read_text())
        except (OSError, ValueError):
            return 0
        return pid if pid in self.masters() else 0

    def masters(self) -> list[int]:
        """All processes of it but its workers."""
        names = Path(self.program).name, str(self.port), str(self.configuration)
        return [pid for pid in processes.descendants()
                if processes.state(pid) != "Z" and (line := processes.command_line(pid)).find(names[0]) >= 0
                and (names[1] in line or names[2] in line)]

    def count(self) -> int:
        """Of its starts by healer."""
        return len(self.starts.read_text().splitlines()) if self.starts.exists() else 0

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=support.LIMIT) as peer:
                peer.sendall(self.question)
                peer.settimeout(support.LIMIT)
                return self.answer in peer.recv(4096)
        except OSError:
            return False


class SupervisionReal(supervised.Case):
    def redis(self) -> Real:
        return self.real("redis-server", REDIS, b"PING\r\n", b"+PONG")

    def nginx(self) -> Real:
        return self.real("nginx", NGINX, b"GET / HTTP/1.0\r\n\r\n", b"well")

    def real(self, name: str, *how) -> Real:
        program = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not program:
            self.skipTest(f"{name} is not installed")
        self.folder.chmod(0o755)
        return Real(self.path(name), self.own_port(), program, *how)

    def up(self, daemon: support.Daemon, real: Real) -> int:
        """Waits until it serves, healer knows it, and nothing is under way; its pid."""
        self.wait_for(lambda: real.pid() and real.answers(), "an answer", detail=lambda: str(self.told(daemon)))
        self.wait_for(lambda: self.seen_pid(daemon, "real") == real.pid(), "healer to see it",
                      detail=lambda: str(self.told(daemon)))
        self.wait_for(lambda: not daemon.ask("jobs")["jobs"], "the end of all jobs")
        self.wait_for(lambda: real.masters() == [real.pid()], "one copy", detail=lambda: str(real.masters()))
        return real.pid()

    def ordeal(self, real: Real) -> None:
        daemon = self.start(real.statement())
        first = self.up(daemon, real)

        # With its workers: those of nginx would keep the port.
        for pid in (first, *processes.children(first)):
            os.kill(pid, signal.SIGKILL)
        self.wait_for(lambda: real.pid() not in (0, first), "another one after its death")
        second = self.up(daemon, real)

        # Stopped by hand, with nobody who starts it again: healer does.
        subprocess.run([str(real.stop_script)], check=True)
        self.wait_for(lambda: real.pid() not in (0, second), "another one after a stop")
        third = self.up(daemon, real)
        self.assertEqual(real.count(), 3)

        # One that hangs is no dead one.
        os.kill(third, signal.SIGSTOP)
        self.more_cycles(daemon, 3)
        self.assertEqual((real.masters(), real.count()), ([third], 3))
        os.kill(third, signal.SIGCONT)
        self.assertEqual(self.up(daemon, real), third)

        # An upgrade: a package stops it and starts it some time later, which a pause allows for.
        self.assertEqual(self.ctl(daemon, "pause", "real", "--reason", "upgrade").returncode, 0)
        subprocess.run([str(real.stop_script)], check=True)
        self.wait_for(lambda: not real.masters(), "its end")
        self.more_cycles(daemon, 3)
        self.assertEqual((real.masters(), real.count()), ([], 3))
        subprocess.run([str(real.start_script)], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(self.ctl(daemon, "resume", "real").returncode, 0)
        fourth = self.up(daemon, real)
        self.assertEqual(real.count(), 4)

        self.assertEqual(self.ctl(daemon, "restart", "real").returncode, 0)
        fifth = self.up(daemon, real)
        self.assertNotEqual(fifth, fourth)
        self.assertEqual(self.ctl(daemon, "stop", "real").returncode, 0)
        self.assertEqual((real.masters(), real.count()), ([], 5))
        self.assertEqual(self.ctl(daemon, "start", "real").returncode, 0)
        sixth = self.up(daemon, real)

        # Without a word to healer: whoever is the first to start it, one runs.
        subprocess.run([str(real.stop_script)], check=True)
        self.wait_for(lambda: not real.masters(), "its end")
        subprocess.run([str(real.start_script)], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertNotEqual(self.up(daemon, real), sixth)

    def test_redis_is_kept_up_and_alone(self):
        self.ordeal(self.redis())

    def test_nginx_is_kept_up_and_alone(self):
        self.ordeal(self.nginx())

    def test_an_nginx_that_hands_over_to_a_new_binary_is_followed(self):
        real = self.nginx()
        daemon = self.start(real.statement())
        first = self.up(daemon, real)
        os.kill(first, signal.SIGUSR2)  # the new master takes the pid file, the old one goes on
        self.wait_for(lambda: real.pid() not in (0, first), "the new master")
        self.wait_for(lambda: self.seen_pid(daemon, "real") == real.pid(), "healer to see it")
        os.kill(first, signal.SIGQUIT)
        self.wait_for(lambda: first not in processes.descendants(), "the end of the old one")
        self.more_cycles(daemon, 3)
        self.up(daemon, real)
        self.assertEqual(real.count(), 1)


if __name__ == "__main__":
    support.main()
