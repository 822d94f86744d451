# SPDX-License-Identifier: MIT
"""The README's test command on a fresh Debian 13: set-up, build without a warning, unit and end-to-end tests."""
import os
import re
import shutil
import subprocess
from pathlib import Path

from tally import LOGS, TOP, Stopwatch, Tally, Times, tail
from tests import execute

ROOT = TOP / "build" / "debian13"  # kept: another run builds what has changed
LIMIT = 3 * 3600.0
# What runs in the root: its own processes and mounts, the network of this machine.
SCRIPT = """
set -e
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/run"
mkdir -p "$1/run/lock"
exec chroot "$1" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
  HEALER_JOBS="$2" CI=true /srv/healer/start test release
"""


def make_root() -> tuple[bool, str]:
    """A Debian 13 with little more than apt, if there is none yet."""
    if (ROOT / "etc/debian_version").exists():
        return True, ""
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.parent.mkdir(exist_ok=True)
    new = ROOT.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    status, output = execute(["mmdebstrap", "--variant=minbase", "--include=ca-certificates", "trixie", str(new)], {}, 900)
    if status == 0:
        new.rename(ROOT)
    return status == 0, output


def copy_checkout() -> None:
    """The files that git knows, and those that are new; what is built there stays."""
    target = ROOT / "srv/healer"
    listed = subprocess.run(["git", "-c", f"safe.directory={TOP}", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
                            cwd=TOP, capture_output=True, check=True).stdout.decode().split("\0")
    names = {name for name in listed if name and (TOP / name).is_file()}
    for old in [path for path in target.rglob("*") if path.is_file()]:
        name = str(old.relative_to(target))
        if not name.startswith(("build/", "build-", "packages/")) and name not in names:
            old.unlink()
    for name in names:
        source, copy = TOP / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            shutil.copy2(source, copy)
    shared = TOP.parent / "shared"
    if shared.is_dir() and not (ROOT / "srv/shared").exists():
        shutil.copytree(shared, ROOT / "srv/shared", symlinks=True)


def run(tally: Tally, long: bool, times: Times) -> None:
    """The README's test command on a fresh Debian 13 in a folder of its own (slow; only when asked for, or with --long)."""
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        tally.skip("Debian 13 is made by root, with mmdebstrap")
        return
    with Stopwatch(tally, "build_seconds"):
        good, output = make_root()
        if not good:
            tally.skip(f"Debian 13 cannot be fetched: {tail(output, 3)}")
            return
        copy_checkout()
    with Stopwatch(tally, "test_seconds"):
        status, output = execute(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "/bin/sh", "-c",
                                  SCRIPT, "debian13", str(ROOT), os.environ.get("HEALER_JOBS") or str(os.cpu_count())], {}, LIMIT)
    (LOGS / "debian13.log").write_text(output)
    found = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", output, re.M)
    tally.check("Debian 13: ./start test release", status == 0 and bool(found), tail(output))
    if found:
        tally.passed += int(found[-1][0])
        for name in re.findall(r"^skipped: (.*)$", output, re.M):
            tally.skip(f"Debian 13: {name}")
    built = ROOT / "srv/healer/build/log/release-build.log"
    warnings = re.findall(r"^.*warning: .*$", built.read_text(errors="replace"), re.M) if built.exists() else ["it was not built"]
    tally.check("Debian 13: the build has no warning", not warnings, "\n".join(warnings))
