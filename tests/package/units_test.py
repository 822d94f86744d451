# SPDX-License-Identifier: MIT
"""`check unit` with the real systemd: a unit that flaps, one that systemd restarts, one that is masked, `daemon-reload` in
between, and a bus that dies.

usage: units_test.py [NAME...]   HEALER_BUILD is the folder of healerd and healerctl. Exit status 77: skipped.
"""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from container import Container, NoBase, reason_to_skip, until  # noqa: E402

BUILD = Path(os.environ.get("HEALER_BUILD") or Path(__file__).resolve().parents[2] / "build")
SETTINGS = """\
set daemon {cycle}
set log /run/healer.log
set pidfile /run/healer.pid
set idfile /run/healer.id
set statefile /run/healer.state
set control socket /run/healer.sock
"""


class Units(unittest.TestCase):
    def setUp(self) -> None:
        if why := reason_to_skip():
            self.skipTest(why)
        try:
            self.box = Container("bookworm")
        except NoBase as error:
            self.skipTest(str(error))
        self.addCleanup(self.box.close)
        for name in ("healerd", "healerctl"):
            shutil.copy(BUILD / name, self.box.root / "usr/bin" / name)
        self.bring_libraries()
        self.box.boot()
        if (tried := self.box.run("healerd", "--version", check=False)).returncode != 0:
            self.skipTest(f"healerd was built for another system than the container's: {tried.stderr.strip()}")

    def bring_libraries(self) -> None:
        """Those that the packages do not need, for they are linked otherwise."""
        linked = subprocess.run(["ldd", str(BUILD / "healerd")], capture_output=True, text=True).stdout
        for name, path in re.findall(r"^\s*(\S+) => (/\S+)", linked, re.M):
            if not any(self.box.root.glob(f"usr/lib/*/{name}")):
                shutil.copy(path, next(self.box.root.glob("usr/lib/*-linux-gnu")) / name)

    def tearDown(self) -> None:
        if self._outcome.result and (self._outcome.result.failures or self._outcome.result.errors):
            print(self.log(), file=sys.stderr)

    def unit(self, name: str, service: str, more: str = "") -> None:
        self.box.write(f"/etc/systemd/system/{name}.service", f"[Unit]\n{more}\n[Service]\n{service}\n", 0o644)

    def watch(self, rules: str, cycle: str = "1") -> None:
        self.box.write("/etc/healer-test.conf", SETTINGS.format(cycle=cycle) + rules)
        self.box.run("systemd-run", "--unit=healer-test", "--property=KillMode=process", "/usr/bin/healerd", "-I", "-c",
                     "/etc/healer-test.conf")
        until("healerd answers", lambda: self.ctl("ping").returncode == 0)

    def ctl(self, *words: str):
        return self.box.run("healerctl", "--socket", "/run/healer.sock", *words, check=False)

    def ask(self, *words: str) -> dict:
        done = self.ctl(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def status(self, name: str) -> dict:
        return self.ask("status", name)["services"][0]

    def texts(self, name: str, kind: str) -> list[str]:
        return [one["text"] for one in self.ask("history", name)["records"] if one["kind"] == kind]

    def show(self, name: str, what: str) -> str:
        return self.box.out("systemctl", "show", name, "--value", "-p", what)

    def log(self) -> str:
        with contextlib.suppress(OSError):
            return (self.box.root / "run/healer.log").read_text()
        return self.box.shell("cat /run/healer.log", check=False).stdout

    def wait_state(self, name: str, wanted: str) -> None:
        until(f"{name} is {wanted}", lambda: self.status(name)["state"] == wanted)

    def test_a_unit_that_fails_is_restarted_and_one_that_flaps_is_told_of(self):
        self.unit("once", "ExecStart=/bin/sh -c 'test -e /run/good && exec sleep 100000; exit 3'")
        self.unit("flap", "ExecStart=/bin/sh -c 'sleep 0.3; exit 1'\nRestart=always\nRestartSec=100ms", "StartLimitIntervalSec=0")
        self.box.run("systemctl", "daemon-reload")
        self.box.run("systemctl", "start", "--no-block", "once", "flap")
        self.watch("check unit once with name \"once.service\"\n  if failed then restart\n"
                   "check unit flap with name \"flap.service\"\n  if restarts > 3 within 1 minute then alert\n"
                   "  if failed then restart\n")
        until("some restarts", lambda: len(self.texts("once", "job-started")) >= 2)
        self.assertIn("unit is failed (exit-code)", self.texts("once", "rule-failed")[0])
        self.box.shell("touch /run/good")
        self.wait_state("once", "running")
        status = self.status("once")
        self.assertEqual(status["unit"], {"name": "once.service", "state": "active", "substate": "running",
                                          "standing": "active (running)"})
        measured = {one["name"] for one in status["measured"]}
        self.assertIn("restarts", measured)  # what else is accounted for depends on the machine
        self.wait_state("flap", "failed")
        self.assertRegex(self.texts("flap", "rule-failed")[0], r"restarts by systemd: \d+ > 3")
        self.assertEqual(self.texts("flap", "job-started"), [])
        self.assertEqual(self.show("flap", "ActiveState") in ("active", "activating"), True)

    def test_a_failure_is_known_long_before_the_next_cycle(self):
        self.unit("web", "ExecStart=/bin/sleep 100000")
        self.box.run("systemctl", "daemon-reload")
        self.box.run("systemctl", "start", "web")
        self.watch("check unit web with name \"web.service\"\n  if failed then restart\n", cycle="300")
        until("the first look", lambda: self.status("web")["unit"]["state"] == "active")
        pid = self.show("web", "MainPID")
        self.box.run("kill", "-KILL", pid)
        until("another process", lambda: self.show("web", "MainPID") not in ("0", pid))
        self.wait_state("web", "running")
        self.assertEqual(self.texts("web", "rule-failed"), ["unit is failed (signal)"])

    def test_what_systemd_restarts_is_left_to_it_until_it_has_given_up(self):
        self.unit("slow", "ExecStart=/bin/sh -c 'test -e /run/good && exec sleep 100000; exit 1'\nRestart=on-failure\n"
                          "RestartSec=2", "StartLimitIntervalSec=60\nStartLimitBurst=3")
        self.box.run("systemctl", "daemon-reload")
        self.box.run("systemctl", "start", "--no-block", "slow")
        self.watch("check unit slow with name \"slow.service\"\n  if not active then start\n")
        until("a start that waits", lambda: self.texts("slow", "job-held"))
        self.assertIn("start waits: systemd restarts it by itself (auto-restart)", self.texts("slow", "job-held"))
        until("systemd gives up", lambda: self.show("slow", "ActiveState") == "failed")
        until("healer takes over", lambda: self.texts("slow", "job-failed"))
        held = [one for one in self.ask("history", "slow")["records"] if one["kind"] in ("job-held", "job-started")]
        self.assertEqual(held[0 if held[0]["when"] < held[-1]["when"] else -1]["kind"], "job-held")
        # systemd's own limit holds, and is told in its words, until somebody lifts it.
        self.assertIn("slow.service", self.texts("slow", "job-failed")[0])
        self.box.shell("touch /run/good; systemctl reset-failed slow")
        self.wait_state("slow", "running")

    def test_a_masked_unit_is_neither_failed_nor_active_and_its_start_fails_in_systemds_words(self):
        self.unit("web", "ExecStart=/bin/sleep 100000")
        self.box.run("systemctl", "daemon-reload")
        self.box.shell("rm /etc/systemd/system/web.service; systemctl mask web; systemctl daemon-reload")
        self.watch("check unit web with name \"web.service\"\n  if failed then alert\n"
                   "check unit none with name \"none.service\"\n  if failed then alert\n")
        until("the first look", lambda: self.status("web")["unit"]["state"])
        self.assertEqual(self.status("web")["unit"]["standing"], "inactive (masked)")
        self.assertEqual(self.status("web")["state"], "running")
        done = self.ctl("start", "web")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("failed to start: Unit web.service is masked.", done.stdout + done.stderr)
        self.wait_state("none", "failed")
        self.assertEqual(self.status("none")["unit"]["standing"], "failed (no such unit)")
        done = self.ctl("start", "none")
        self.assertIn("Unit none.service not found.", done.stdout + done.stderr)

    def test_reloads_of_systemd_and_jobs_of_people_do_no_harm(self):
        for name in ("one", "two"):
            self.unit(name, "ExecStart=/bin/sleep 100000")
        self.box.run("systemctl", "daemon-reload")
        self.box.run("systemctl", "start", "one", "two")
        self.watch("".join(f"check unit {name} with name \"{name}.service\"\n  if failed then restart\n  if not active then alert\n"
                           for name in ("one", "two")))
        self.wait_state("one", "running")
        for number in range(5):
            self.unit("one", f"ExecStart=/bin/sleep 10000{number}")
            self.box.run("systemctl", "daemon-reload")
        self.box.run("systemctl", "daemon-reexec")
        until("looks go on", lambda: self.status("one")["state"] == "running" and self.status("two")["state"] == "running")
        self.assertEqual(self.texts("one", "rule-failed") + self.texts("two", "rule-failed"), [])
        done = self.ctl("restart", "one")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("100004", self.box.out("pgrep", "-a", "sleep"))
        pid = self.show("two", "MainPID")
        self.box.run("kill", "-KILL", pid)  # changes are heard after it was executed anew, too
        until("another process", lambda: self.show("two", "MainPID") not in ("0", pid))
        done = self.ctl("stop", "two")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.show("two", "ActiveState"), "inactive")

    def test_a_bus_that_dies_is_found_again(self):
        self.unit("web", "ExecStart=/bin/sleep 100000")
        self.box.run("systemctl", "daemon-reload")
        self.box.run("systemctl", "start", "web")
        self.watch("check unit web with name \"web.service\"\n  if failed then restart\n  if not active then alert\n")
        self.wait_state("web", "running")
        self.box.shell("systemctl stop dbus.socket dbus.service")
        self.wait_state("web", "unknown")
        time.sleep(2)  # nothing is acted on meanwhile, and it is told once
        self.assertEqual(self.status("web")["state"], "unknown")
        # Right after its end systemd may not have the old one out of the way.
        until("the bus", lambda: self.box.shell("systemctl reset-failed dbus.socket dbus.service; "
                                                "systemctl start dbus.socket dbus.service", check=False).returncode == 0)
        self.wait_state("web", "running")
        self.assertEqual(self.log().count("units cannot be checked until systemd answers"), 1)
        self.assertEqual(self.texts("web", "rule-failed"), [])
        pid = self.show("web", "MainPID")
        self.box.run("kill", "-KILL", pid)
        until("another process", lambda: self.show("web", "MainPID") not in ("0", pid))
        self.wait_state("web", "running")


def main() -> int:
    names = [f"Units.{name}" if "." not in name else name for name in sys.argv[1:]]
    module = sys.modules[__name__]
    suite = unittest.defaultTestLoader.loadTestsFromNames(names, module) if names else unittest.defaultTestLoader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful():
        return 1
    return 77 if result.testsRun and len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
