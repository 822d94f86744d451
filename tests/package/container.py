# SPDX-License-Identifier: MIT
"""A Debian 12 or 13 with systemd as its process 1, in a container (systemd-nspawn) that is thrown away.

The system is made once (mmdebstrap) and kept in the user's cache; a container is a layer on top of it, and has no network.
"""
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# What the packages need at run time, what tests need, and what installs them.
COMMON = ("systemd", "systemd-sysv", "dbus", "procps", "passwd", "logrotate", "libjq1", "libnghttp2-14", "libncursesw6",
          "libsqlite3-0", "libsystemd0", "libxxhash0", "monit", "python3-apt", "zlib1g")
PACKAGES = {"bookworm": (*COMMON, "libc-ares2", "libcurl4", "libmicrohttpd12", "libssl3", "libuv1", "rpm"),
            "trixie": (*COMMON, "libcares2", "libcurl4t64", "libmicrohttpd12t64", "libssl3t64", "libuv1t64")}
NUMBERS = {"bookworm": 12, "trixie": 13}
RECIPE = 2  # another number: what is cached is not used any more
PATIENCE = 120.0  # seconds; on a machine that is busy with other tests


def reason_to_skip() -> str:
    """Why no container can be had here; empty: it can."""
    if os.geteuid() != 0:
        return "a container needs root"
    for program, package in (("systemd-nspawn", "systemd-container"), ("mmdebstrap", "mmdebstrap")):
        if not shutil.which(program):
            return f"{package} is not installed"
    with tempfile.TemporaryDirectory() as folder:
        for name in ("lower", "upper", "work", "root"):
            Path(folder, name).mkdir()
        layers = f"lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work"
        for what, command in (("layers of folders (overlay)", ["mount", "-t", "overlay", "overlay", "-o", layers, f"{folder}/root"]),
                              ("control groups", ["mount", "-t", "cgroup2", "cgroup2", f"{folder}/root"])):
            done = subprocess.run(["unshare", "--mount", "--pid", "--uts", "--ipc", "--net", "--fork", *command],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                return f"this machine gives a container no {what}: {done.stderr.strip()}"
    return ""


def cache(release: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or f"{os.path.expanduser('~')}/.cache"
    name = hashlib.sha256(" ".join((*PACKAGES[release], str(RECIPE))).encode()).hexdigest()[:12]
    return Path(base, "healer", f"debian-{NUMBERS[release]}-{name}")


class NoBase(RuntimeError):
    """No system could be made: mostly, that Debian's packages cannot be fetched."""


def make_base(release: str) -> Path:
    """The system that all containers of a release begin with; made where there is none yet."""
    base = cache(release)
    if base.exists():
        return base
    base.parent.mkdir(parents=True, exist_ok=True)
    refused = base.with_suffix(".refused")  # so that only the first test tries it
    if refused.exists() and time.time() - refused.stat().st_mtime < 1800:
        raise NoBase(refused.read_text())
    new = Path(tempfile.mkdtemp(prefix=f"{base.name}.", dir=base.parent))
    new.chmod(0o755)
    try:
        done = subprocess.run(["timeout", "--kill-after=10", "600", "mmdebstrap", "--variant=minbase", f"--include={','.join(PACKAGES[release])}",
                               '--dpkgopt=path-exclude=/usr/share/locale/*', release, str(new)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode != 0:
            refused.write_text(f"mmdebstrap failed: {done.stdout[-4000:]}")
            raise NoBase(refused.read_text())
        (new / "etc/machine-id").write_text(f"{RECIPE:032x}\n")  # a boot is no first boot
        # Monit is started by the test that wants it; nothing fetches packages.
        for link in [*new.glob("etc/rc[2-5].d/S*monit"), *new.glob("etc/systemd/system/multi-user.target.wants/monit.service"),
                     *new.glob("etc/systemd/system/timers.target.wants/apt-daily*.timer")]:
            link.unlink()
        with contextlib.suppress(OSError):  # somebody else was faster
            new.rename(base)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return base


def until(what: str, holds: Callable[[], object], patience: float = PATIENCE):
    """Waits until `holds` gives something true, and returns that."""
    end = time.monotonic() + patience
    while True:
        if found := holds():
            return found
        if time.monotonic() > end:
            raise AssertionError(f"this has not come true within {patience:.0f} s: {what}")
        time.sleep(0.1)


def is_first(pid: int) -> bool:
    """Whether it is process 1 of a container: systemd-nspawn has another child for a moment, which makes it."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                return line.split()[-1] == "1"
    return False


class Container:
    """One of them. A `with` block ends it; until then it can be booted again and keeps its files."""

    def __init__(self, release: str = "bookworm") -> None:
        base = make_base(release)
        self.folder = Path(tempfile.mkdtemp(prefix="healer-container-"))
        self.root = self.folder / "root"
        for name in ("root", "upper", "work"):
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                        f"lowerdir={base},upperdir={self.folder}/upper,workdir={self.folder}/work", str(self.root)], check=True)
        self.leader = 0
        self.outer: subprocess.Popen | None = None

    def __enter__(self) -> "Container":
        try:
            self.boot()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        self.end()
        subprocess.run(["umount", "--lazy", str(self.root)], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def boot(self) -> None:
        with open(self.folder / "console", "ab") as console:
            self.outer = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "systemd-nspawn", "-q", "-D", str(self.root),
                 "-M", f"healer-{os.getpid()}-{id(self):x}", "--keep-unit", "--register=no",
                 "--private-network", "--resolv-conf=off", "--timezone=off", "--link-journal=no", "--console=pipe", "-b"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True,
                env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"})

        def leader() -> int:
            if self.outer.poll() is not None:
                raise RuntimeError(f"systemd-nspawn ends: {self.console()}")
            found = subprocess.run(["pgrep", "-P", str(self.outer.pid)], capture_output=True, text=True).stdout.split()
            return next((int(pid) for pid in found if is_first(int(pid))), 0)

        self.leader = until("the container has a first process", leader)
        try:
            until("the container is up", lambda: self.run("systemctl", "is-system-running", check=False).stdout.strip()
                  in ("running", "degraded"))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.console()}") from error

    def console(self) -> str:
        return (self.folder / "console").read_text(errors="replace")[-3000:]

    def end(self) -> None:
        """Powers it off, or kills it."""
        if not self.outer:
            return
        if self.outer.poll() is None:
            # As `systemctl poweroff`, without asking: SIGRTMIN+4 to process 1.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.leader, signal.SIGRTMIN + 4)
            try:
                self.outer.wait(30)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.leader, signal.SIGKILL)
                self.outer.kill()
                self.outer.wait()
        self.outer = None

    def reboot(self) -> None:
        self.end()
        self.boot()

    def run(self, *command: str, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess:
        """A command in the container; with `check` its status must be 0."""
        done = subprocess.run(
            ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p", "-C", "--", "/usr/bin/env", "-i",
             "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "TERM=dumb", "LC_ALL=C.UTF-8",
             "DEBIAN_FRONTEND=noninteractive", *command],
            input=text, stdin=None if text is not None else subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace")
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def out(self, *command: str) -> str:
        return self.run(*command).stdout.strip()

    def shell(self, script: str, check: bool = True) -> subprocess.CompletedProcess:
        return self.run("/bin/sh", "-c", script, check=check)

    def write(self, path: str, text: str, mode: int = 0o600) -> None:
        self.run("/bin/sh", "-c", f"mkdir -p $(dirname {path}); cat > {path}; chmod {mode:o} {path}", text=text)

    def put(self, file: Path) -> str:
        """Copies a file in; its path there."""
        self.run("mkdir", "-p", "/srv/packages")
        with open(file, "rb") as source:
            subprocess.run(["nsenter", "-t", str(self.leader), "-m", "--", "/bin/sh", "-c",
                            f"cat > /srv/packages/{file.name}"], stdin=source, check=True)
        return f"/srv/packages/{file.name}"


@contextlib.contextmanager
def container() -> Iterator[Container]:
    with Container() as made:
        yield made
