# SPDX-License-Identifier: MIT
"""Both of the README's commands on a fresh Debian 13: set-up, build without a warning, unit and end-to-end tests, the demo;
and the role for Ansible, played by Debian 13's."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))
import monits  # noqa: E402
from tally import LOGS, TOP, Stopwatch, Tally, Times, tail
from tests import execute

ROOT = TOP / "build" / "debian13"  # kept: another run builds what has changed
LIMIT = 3 * 3600.0
# What runs in the root: its own processes and mounts, the network of this machine. It is no chroot, in which nobody may
# make a name space.
SCRIPT = """
set -e
jobs=$2
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs tmpfs run
mkdir -p run/lock
pivot_root . mnt
umount -l mnt
exec /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
  HEALER_JOBS="$jobs" CI=true /srv/healer/start test release demo
"""
# Debian 13's ansible-playbook for a test on this machine, whose folders and processes it sees.
PLAYBOOK = """#!/bin/sh
exec unshare --mount --propagation private /bin/sh -c '
set -e
root=$1 top=$2
shift 2
mkdir -p "$root$top"
for folder in /proc /sys /dev /tmp "$top"; do mount --rbind "$folder" "$root$folder"; done
exec chroot "$root" /usr/bin/ansible-playbook "$@"' playbook '{root}' '{top}' "$@"
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


def lend_monit() -> None:
    """Monit 5.33 of this machine, with its libraries, in place of Debian 13's: healer is compared with both it and 6.0.0."""
    program = monits.find(monits.OLD)
    if program is None:
        return
    told = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    folder = ROOT / "opt/monit"
    folder.mkdir(exist_ok=True)
    for path in (program, *re.findall(r"(/\S+) \(0x", told)):
        shutil.copy2(path, folder)
    loader = next(folder.glob("ld-linux*"))
    script = ROOT / "usr/local/bin/monit"
    script.write_text(f'#!/bin/sh\nexec /opt/monit/{loader.name} --library-path /opt/monit --argv0 monit /opt/monit/monit "$@"\n')
    script.chmod(0o755)


def play_role(tally: Tally) -> None:
    """The test of the role, in a container of Debian 13, with Debian 13's Ansible; it installs the package of `./start package`."""
    if not list((TOP / "packages").glob("healer_*.deb")):
        tally.skip("Debian 13: the role for Ansible installs the package, and there is none in packages/: run ./start package")
        return
    with tempfile.TemporaryDirectory(prefix="healer-ansible-") as folder:
        program = Path(folder, "ansible-playbook")
        program.write_text(PLAYBOOK.format(root=ROOT, top=TOP))
        program.chmod(0o755)
        status, output = execute([sys.executable, str(TOP / "tests/package/package_test.py"), "RoleOn13"],
                                 {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}, 900)
    if status == 77:
        tally.skip(f"Debian 13: the role for Ansible: {tail(output, 1).strip()}")
    else:
        tally.check("Debian 13: the role for Ansible, played by Debian 13's", status == 0, tail(output))


def run(tally: Tally, long: bool, times: Times) -> None:
    """The README's commands on a fresh Debian 13 in a folder of its own (slow; only when asked for, or with --long)."""
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        tally.skip("Debian 13 is made by root, with mmdebstrap")
        return
    with Stopwatch(tally, "build_seconds"):
        good, output = make_root()
        if not good:
            tally.skip(f"Debian 13 cannot be fetched: {tail(output, 3)}")
            return
        copy_checkout()
        lend_monit()
    with Stopwatch(tally, "test_seconds"):
        status, output = execute(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "/bin/sh", "-c",
                                  SCRIPT, "debian13", str(ROOT), os.environ.get("HEALER_JOBS") or str(os.cpu_count())], {}, LIMIT)
    (LOGS / "debian13.log").write_text(output)
    found = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", output, re.M)
    tally.check("Debian 13: ./start test release demo", status == 0 and bool(found), tail(output))
    if found:
        tally.passed += int(found[-1][0])
        for name in re.findall(r"^skipped: (.*)$", output, re.M):
            tally.skip(f"Debian 13: {name}")
    built = ROOT / "srv/healer/build/log/release-build.log"
    warnings = re.findall(r"^.*warning: .*$", built.read_text(errors="replace"), re.M) if built.exists() else ["it was not built"]
    tally.check("Debian 13: the build has no warning", not warnings, "\n".join(warnings))
    with Stopwatch(tally, "test_seconds"):
        play_role(tally)
