# SPDX-License-Identifier: MIT
"""Deb and rpm: built, judged by lintian and rpmlint, tried under a real systemd."""
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tally import LOGS, TOP, Stopwatch, Tally, tail
from tests import Test, execute

WORK = TOP / "build" / "package"
OUT = TOP / "packages"
HERE = TOP / "tests" / "package"
# As ./start sets it: the packages are made of the objects of the release build.
CCACHE = {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(TOP), "CCACHE_NOHASHDIR": "1",
          "CCACHE_SLOPPINESS": "pch_defines,time_macros,include_file_mtime,include_file_ctime,locale"}
ENVIRONMENT = {**(CCACHE if shutil.which("ccache") else {}), "HEALER_WERROR": "ON", "HEALER_PACKAGES": str(OUT),
               "PYTHONDONTWRITEBYTECODE": "1"}


def call(name: str, command: list[str], limit: float = 1800, more: dict[str, str] | None = None) -> tuple[bool, str]:
    status, output = execute(command, {**ENVIRONMENT, **(more or {})}, limit)
    (LOGS / f"package-{name}.log").write_text(output)
    return status == 0, output


def build(tally: Tally, what: str, out: Path = OUT, work: Path = WORK, more: dict[str, str] | None = None) -> bool:
    good, output = call(what, ["nice", str(TOP / "packaging" / "build.sh"), what, str(out), str(work)], 1800, more)
    return tally.check(f"package: {what} is built", good, tail(output, 60))


def only(pattern: str, folder: Path = OUT) -> Path:
    return next(path for path in sorted(folder.glob(pattern)) if not re.search(r"dbgsym|debug|\.src\.rpm$", path.name))


def judge(tally: Tally, missing: Callable[..., bool]) -> None:
    """What Debian's and Red Hat's own critics say."""
    if not missing(tally, "lintian"):
        good, output = call("lintian", ["lintian", "--fail-on", "error,warning", "--pedantic", "--tag-display-limit", "0",
                                        "--allow-root", *map(str, sorted(OUT.glob("*.changes")))])
        tally.check("package: lintian", good and not re.search("^[EWP]:", output, re.M), output)
    if not missing(tally, "rpmlint"):
        good, output = call("rpmlint", ["rpmlint", "-c", str(TOP / "packaging/rpm/rpmlint.toml"),
                                        str(only("healer-[0-9]*-1.*.rpm"))])
        tally.check("package: rpmlint", good and not re.search(r": E: ", output), output)
    source = next(OUT.glob("healer-[0-9]*.src.rpm"))
    needs = subprocess.run(["rpm", "-qp", "--requires", str(source)], capture_output=True, text=True).stdout
    tally.check("package: the source rpm names what Fedora builds it with", "libcurl-devel" in needs and "systemd-devel" in needs, needs)
    for wanted in ("/usr/sbin/healerd", "/usr/bin/healerctl"):
        program = next(WORK.glob(f"healer-*/debian/healer{wanted}"), None)
        told = subprocess.run(["readelf", "-W", "-h", "-l", "-d", "-s", str(program)], capture_output=True, text=True).stdout
        lacks = [what for what, mark in (("position independence", r"Type:\s+DYN"), ("relro", "GNU_RELRO"),
                                         ("immediate binding", "BIND_NOW|FLAGS_1.*NOW"), ("stack protector", "__stack_chk_fail"),
                                         ("fortify", r"__\w+_chk@")) if not re.search(mark, told)]
        tally.check(f"package: {wanted} is hardened", not lacks, f"it lacks {', '.join(lacks)}")
        tally.check(f"package: {wanted} needs no library of fmt, whose name changes with each release",
                    not re.search(r"NEEDED.*lib(fmt|spdlog)", told))
        tally.check(f"package: {wanted} is stripped", ".symtab" not in told and "Symbol table '.symtab'" not in told)
        unused = subprocess.run(["ldd", "-u", str(program)], capture_output=True, text=True).stdout.split()[3:]
        paths = [path for path in (str(TOP), str(WORK)) if path.encode() in program.read_bytes()]
        tally.check(f"package: {wanted} has no path of the folder in which it was built", not paths, " ".join(paths))
        tally.check(f"package: {wanted} links nothing that it does not use", not unused, " ".join(unused))


def compare(tally: Tally, kinds: list[str]) -> None:
    """Built again in another folder, they have the same bytes."""
    again = TOP / "build" / "package-again"
    shutil.rmtree(again, ignore_errors=True)
    shutil.copytree(OUT, again / "out", ignore=lambda _, names: [name for name in names if not name.endswith(".tar.gz")])
    for kind, pattern in (("source", "healer-*.tar.gz"), ("deb", "healer_*.deb"), ("rpm", "healer-[0-9]*-1.*.rpm")):
        if kind in kinds and build(tally, kind, again / "out", again / "work", {"CCACHE_DISABLE": "1"}):
            first, second = only(pattern).read_bytes(), only(pattern, again / "out").read_bytes()
            tally.check(f"package: {kind} is the same when built again elsewhere", first == second,
                        f"{only(pattern)} and {only(pattern, again / 'out')} differ")
    if not tally.failed:
        shutil.rmtree(again)


def trials(tally: Tally) -> list[Test]:
    """The tests of tests/package."""
    program = (sys.executable, str(HERE / "package_test.py"))
    listed = subprocess.run([*program, "--list"], capture_output=True, text=True, env={**os.environ, **ENVIRONMENT})
    names = listed.stdout.split()
    tally.check("package: there are tests", bool(names), listed.stdout + listed.stderr)
    return [Test("package", name, (*program, name), frozenset({"package"}), 600, tuple(ENVIRONMENT.items()), 77) for name in names]


def install_as_debian_would(tally: Tally, missing: Callable[..., bool]) -> None:
    """piuparts and autopkgtest, in a copy of the system of the containers (only with --long: both fetch packages)."""
    base = (subprocess.run([sys.executable, str(HERE / "package_test.py"), "--base"], capture_output=True,
                           text=True).stdout.split() or [""])[0]  # Debian 12's
    if not base or missing(tally, "piuparts", "autopkgtest"):
        return
    deb = str(only("healer_*.deb"))
    good, output = call("piuparts", ["piuparts", "--existing-chroot", base, "-d", "bookworm", "--no-upgrade-test",
                                     "--no-eatmydata", "--ignore", "/var/lib/logrotate/status", deb])
    tally.check("package: piuparts", good, tail(output, 60))
    copy = WORK / "chroot"
    shutil.rmtree(copy, ignore_errors=True)
    subprocess.run(["cp", "-a", base, str(copy)], check=True)
    tree = str(next(WORK.glob("healer-*/debian")).parent)
    good, output = call("autopkgtest", ["autopkgtest", "--setup-commands", "apt-get update", deb, tree, "--", "chroot",
                                        str(copy)])
    tally.check("package: autopkgtest", good, tail(output, 60))
    shutil.rmtree(copy)


def prepare(tally: Tally, long: bool, missing: Callable[..., bool]) -> list[Test]:
    """Builds and judges the packages; the tests that are to try them."""
    if missing(tally, "dpkg-buildpackage", "dh", "rpmbuild"):
        return []
    # Made once on a machine; mostly it waits for the network.
    base = subprocess.Popen([sys.executable, str(HERE / "package_test.py"), "--base"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    with Stopwatch(tally, "build_seconds"):
        built = all([build(tally, kind) for kind in ("source", "deb", "rpm", "rpm-before", "srpm")])
        if built:
            # With --long everything is built again, by the compiler itself, not its cache.
            compare(tally, ["source", "deb", "rpm"] if long else ["source"])
            judge(tally, missing)
    base.wait()
    if not built:
        return []
    if long:
        install_as_debian_would(tally, missing)
    return trials(tally)
