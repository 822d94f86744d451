# SPDX-License-Identifier: MIT
"""Processes that a test or the demo starts, and their offspring: found, waited for, ended. Linux, standard library only."""
import ctypes
import os
import signal
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """From now on descendants whose parents end become children of this process, so that none is lost."""
    if _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def die_with_parent() -> None:
    """For subprocess's preexec_fn: the child is killed when this process ends, however it ends."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def children(pid: int) -> list[int]:
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    except OSError:
        pass
    return found


def descendants(pid: int | None = None) -> list[int]:
    """All that run below `pid` (this process by default), zombies too."""
    found, waiting = [], children(pid or os.getpid())
    while waiting:
        next_one = waiting.pop()
        found.append(next_one)
        waiting += children(next_one)
    return found


def parent(pid: int) -> int:
    """0 where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def state(pid: int) -> str:
    """The letter of /proc (R, S, Z, ...); empty where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def command_line(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def reap(known: set[int] = frozenset()) -> None:
    """Waits for adopted children that have ended, but not for those in `known`, which somebody else waits for."""
    for pid in children(os.getpid()):
        if pid not in known and state(pid) == "Z":
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def end_all(limit: float = 10.0) -> list[str]:
    """Kills and reaps every descendant; the command lines of those that are left after `limit` seconds."""
    deadline = time.monotonic() + limit
    while True:
        left = descendants()
        if not left or time.monotonic() > deadline:
            return [command_line(pid) or str(pid) for pid in left]
        for pid in left:
            if state(pid) != "Z":
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        reap()
        time.sleep(0.01)
