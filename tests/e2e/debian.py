# SPDX-License-Identifier: MIT
"""Daemons of Debian 12 as they are on a machine: their own init scripts, pid files, users and folders, and the process
checks that Debian ships for Monit.

What they must not share with the machine (their configuration, /run, their data, the folder of their binary) is covered
by folders of the test, in a mount namespace which the test makes for itself and all that it starts.
"""
import ctypes
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

from support import processes

CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000
CONF_AVAILABLE = Path("/etc/monit/conf-available")
_covered: list[str] = []


def leave(spaces: int) -> None:
    """From now on this process and its children have such namespaces for themselves."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(spaces) != 0:
        raise OSError(ctypes.get_errno(), f"unshare({spaces:#x})")


def leave_mounts() -> None:
    """From now on what this process and its children mount is seen by them alone."""
    leave(CLONE_NEWNS)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def leave_network() -> None:
    """From now on this process and its children have a loopback of their own, and no other network."""
    leave(CLONE_NEWNET)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def cover(path: str | Path, by: Path) -> None:
    """From now on the test sees `by` where `path` is, until `uncover`."""
    subprocess.run(["mount", "--bind", str(by), str(path)], check=True)
    _covered.append(str(path))


def uncover() -> None:
    """Everything, when nothing runs there any more."""
    while _covered:
        subprocess.run(["umount", "--lazy", _covered.pop()], check=True)


def shipped_rules(package: str) -> str:
    """Debian's process check for Monit, without its tests of connections and without the checks of files that it needs,
    and without its limit of restarts: a test restarts in nearly every cycle. Debian 13's have `service` without its path,
    where Monit finds it as little as healer does: they get the init script, as in Debian 12."""
    text = re.sub(r'"service (\S+ \w+)"', r'"/etc/init.d/\1"', (CONF_AVAILABLE / package).read_text())
    block = re.search(r"^ *check process .*?(?=^ *check |\Z)", text, re.M | re.S).group()
    left_out = re.compile(r" *(#|depend|if failed|if 5 restarts|$)")
    return "".join(line + "\n" for line in block.splitlines() if not left_out.match(line))


class Debian:
    """A daemon of Debian with its files under `folder`, covered, and that port if it has one."""

    name = ""          # as a service
    package = ""       # of the daemon, and of its rules
    script = ""        # its init script
    pidfile = ""
    program = ""       # its binary
    covered: tuple[str, ...] = ()  # what is empty before `prepare`

    def __init__(self, folder: Path, port: int):
        self.folder, self.port = folder, port
        folder.mkdir(parents=True)
        folder.chmod(0o755)
        self.init = self.script.rpartition("/")[2]

    @classmethod
    def missing(cls) -> str:
        """Why it cannot be had here; empty: it can."""
        if not Path(cls.program).exists():
            return f"{cls.package} is not installed"
        return "" if Path(cls.script).exists() or cls.own_script() else f"{cls.package} has no init script"

    @classmethod
    def own_script(cls) -> str:
        """An init script, where Debian 12 ships none."""
        return ""

    def place(self) -> None:
        """Covers its paths and makes what it needs there."""
        for path in self.covered:
            self.put(path).mkdir()
            cover(path, self.put(path))
        if own := self.own_script():
            scripts = self.put("init.d")
            shutil.copytree("/etc/init.d", scripts, symlinks=True)
            (scripts / self.init).write_text(own)
            (scripts / self.init).chmod(0o755)
            cover("/etc/init.d", scripts)
        self.prepare()

    def put(self, path: str) -> Path:
        """Where the test has what is seen at `path`."""
        return self.folder / path.strip("/").replace("/", "-")

    def prepare(self) -> None:
        """Its configuration, below paths that are covered."""

    def rules(self) -> str:
        return shipped_rules(self.package)

    def statement(self) -> str:
        """In the form of Debian's, for a daemon for which it ships none."""
        return (f" check process {self.name} with pidfile {self.pidfile}\n   group {self.name}\n"
                f'   start program = "{self.script} start"\n   stop program = "{self.script} stop"\n')

    def hand(self, verb: str) -> subprocess.Popen:
        """What an administrator or the script of a package does."""
        return subprocess.Popen([self.script, verb], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, cwd="/")

    def replace(self) -> None:
        """A new version of its binary is unpacked."""
        new = self.folder / f"binary{len(list(self.folder.glob('binary*')))}"
        shutil.copy2(Path(self.program).resolve(), new)
        cover(Path(self.program).resolve(), new)

    def is_new(self, pid: int) -> bool:
        """Whether it runs from what was unpacked last."""
        now, of_process = os.stat(self.program), os.stat(f"/proc/{pid}/exe")
        return (now.st_dev, now.st_ino) == (of_process.st_dev, of_process.st_ino)

    def copies(self) -> list[int]:
        """All that run as daemons of their own: not its workers, nor what its scripts run for a moment."""
        return [pid for pid in processes.descendants() if self.is_copy(pid)]

    def runs(self, pid: int) -> bool:
        """Whether `pid` runs its binary."""
        try:
            return os.readlink(f"/proc/{pid}/exe") == str(Path(self.program).resolve())
        except OSError:
            return False

    def is_copy(self, pid: int) -> bool:
        try:
            leads = os.getsid(pid) == pid
        except OSError:
            return False
        return leads and self.runs(pid) and processes.state(pid) != "Z" and not self.runs(processes.parent(pid))

    def pid(self) -> int:
        """By its pid file, if it lives; else 0."""
        try:
            pid = int(Path(self.pidfile).read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return 0
        return pid if pid in self.copies() else 0

    def answers(self) -> bool:
        """Whether it does its work."""
        return True

    def asks(self, question: bytes, answer: bytes) -> bool:
        """Whether its port answers so."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as peer:
                if question:
                    peer.sendall(question)
                peer.settimeout(5)
                return peer.recv(4096).startswith(answer)
        except OSError:
            return False


class Nginx(Debian):
    name, package, script = "nginx", "nginx", "/etc/init.d/nginx"
    pidfile, program = "/run/nginx.pid", "/usr/sbin/nginx"
    covered = ("/run", "/etc/nginx", "/var/log/nginx", "/var/lib/nginx")

    def prepare(self) -> None:
        Path("/etc/nginx/nginx.conf").write_text(
            "user www-data;\npid /run/nginx.pid;\nworker_processes 1;\nevents { worker_connections 16; }\n"
            f"http {{ access_log off; server {{ listen 127.0.0.1:{self.port}; location / {{ return 200 'well'; }} }} }}\n")

    def answers(self) -> bool:
        return self.asks(b"GET / HTTP/1.0\r\n\r\n", b"HTTP/1.1 200")


class Redis(Debian):
    name, package, script = "redis", "redis-server", "/etc/init.d/redis-server"
    pidfile, program = "/run/redis/redis-server.pid", "/usr/bin/redis-server"
    covered = ("/run", "/etc/redis", "/var/lib/redis", "/var/log/redis")

    def prepare(self) -> None:
        Path("/etc/redis/redis.conf").write_text(
            f"bind 127.0.0.1\nport {self.port}\ndaemonize yes\npidfile {self.pidfile}\ndir /var/lib/redis\n"
            'logfile /var/log/redis/log\nsave ""\n')
        for path in ("/var/lib/redis", "/var/log/redis"):
            shutil.chown(path, "redis", "redis")

    def rules(self) -> str:
        return self.statement()

    def answers(self) -> bool:
        return self.asks(b"PING\r\n", b"+PONG")


class Ssh(Debian):
    name, package, script = "sshd", "openssh-server", "/etc/init.d/ssh"
    pidfile, program = "/run/sshd.pid", "/usr/sbin/sshd"
    covered = ("/run", "/etc/ssh")

    def prepare(self) -> None:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/etc/ssh/key"], check=True)
        Path("/etc/ssh/sshd_config").write_text(f"ListenAddress 127.0.0.1:{self.port}\nHostKey /etc/ssh/key\n")

    def answers(self) -> bool:
        return self.asks(b"", b"SSH-2.0-")


class Cron(Debian):
    name, package, script = "crond", "cron", "/etc/init.d/cron"
    pidfile, program = "/run/crond.pid", "/usr/sbin/cron"
    covered = ("/run", "/etc/cron.d", "/var/spool/cron")

    def prepare(self) -> None:
        Path("/var/spool/cron/crontabs").mkdir()
        empty = self.folder / "crontab"
        empty.touch()
        if Path("/etc/crontab").exists():
            cover("/etc/crontab", empty)


class Rsyslog(Debian):
    name, package, script = "rsyslogd", "rsyslog", "/etc/init.d/rsyslog"
    pidfile, program = "/run/rsyslogd.pid", "/usr/sbin/rsyslogd"
    covered = ("/run", "/var/spool/rsyslog")
    asked = 0

    @classmethod
    def own_script(cls) -> str:
        daemon = f"--quiet --pidfile {cls.pidfile} --exec {cls.program}"
        return ("#!/bin/sh\ncase $1 in\n"
                f"start) start-stop-daemon --start --oknodo {daemon} ;;\n"
                f"stop) start-stop-daemon --stop --oknodo --retry TERM/20/KILL/5 {daemon} ;;\n"
                "restart) $0 stop; $0 start ;;\nesac\n")

    def prepare(self) -> None:
        configuration = self.folder / "rsyslog.conf"
        configuration.write_text('module(load="imuxsock" SysSock.Use="off")\ninput(type="imuxsock" Socket="/run/log")\n'
                                 'global(workDirectory="/var/spool/rsyslog")\n*.* /run/messages\n')
        cover("/etc/rsyslog.conf", configuration)

    def answers(self) -> bool:
        """The previous word has been written; it is given another one."""
        messages = Path("/run/messages")
        word = f"question {self.asked}."
        if self.asked and messages.exists() and word in messages.read_text(errors="replace"):
            self.asked += 1
            return True
        self.asked = max(self.asked, 1)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as peer:
                peer.setblocking(False)
                peer.sendto(f"<13>test: question {self.asked}.".encode(), "/run/log")
        except OSError:
            pass
        return False


class Postgresql(Debian):
    name, package, script = "postgresql", "postgresql", "/etc/init.d/postgresql"
    covered = ("/run", "/etc/postgresql", "/var/lib/postgresql", "/var/log/postgresql")
    version = max((int(path.parts[-3]) for path in Path("/usr/lib/postgresql").glob("[1-9]*/bin/postgres")), default=0)
    pidfile, program = f"/run/postgresql/{version}-main.pid", f"/usr/lib/postgresql/{version}/bin/postgres"

    def prepare(self) -> None:
        for path in self.covered[1:]:
            shutil.chown(path, "postgres", "postgres")
        done = subprocess.run(["pg_createcluster", str(self.version), "main", "--port", str(self.port), "--locale", "C",
                               "--", "--no-sync"], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd="/")
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)

    def rules(self) -> str:
        return self.statement()

    def is_copy(self, pid: int) -> bool:  # of one that was killed others are left for a moment, which say what they are
        return super().is_copy(pid) and not processes.command_line(pid).startswith("postgres:")

    def answers(self) -> bool:
        return self.asks(b"\0\0\0\x08\x04\xd2\x16\x2f", b"S") or self.asks(b"\0\0\0\x08\x04\xd2\x16\x2f", b"N")
