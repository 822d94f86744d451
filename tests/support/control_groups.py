# SPDX-License-Identifier: MIT
"""A control group for a test, so that no group is left on the machine that its daemons make. Linux, standard library
only."""
import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path


def own() -> Path | None:
    """The directory of the group of this process; None where there are none."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place, _, kind = line.partition(" - ")
        root, point = place.split()[3:5]
        group = Path("/proc/self/cgroup").read_text().rpartition("0::")[2].rstrip("\n")
        if kind.startswith("cgroup2 ") and group.startswith("/") and Path(group).is_relative_to(root):
            return Path(point) / Path(group).relative_to(root)
    return None


def enter(group: Path) -> None:
    (group / "cgroup.procs").write_text("0")


def remove(group: Path, limit: float = 10.0) -> None:
    """With all groups in it, as soon as nothing runs there any more."""
    deadline = time.monotonic() + limit
    while group.exists() and time.monotonic() < deadline:
        for folder, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        time.sleep(0.01)


@contextlib.contextmanager
def another() -> Iterator[Path | None]:
    """This process, and all that it starts, is in a new group meanwhile; None: there can be none."""
    home, group = own(), None
    try:
        if home:
            group = Path(tempfile.mkdtemp(prefix="test-of-healer-", dir=home))
            enter(group)
    except OSError:
        if group:
            group.rmdir()
        group = None
    try:
        yield group
    finally:
        if group:
            enter(home)
            remove(group)
