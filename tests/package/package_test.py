# SPDX-License-Identifier: MIT
"""The packages in a real systemd: installed, watched, reloaded, upgraded under a running playbook, removed, purged.

usage: package_test.py [--list | --base | NAME...]   (the gate runs each NAME by itself; exit status 77: skipped)
HEALER_PACKAGES is the folder that has them (packages/ by default; `./start package` makes it).
"""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from container import PACKAGES, Container, NoBase, make_base, reason_to_skip, until  # noqa: E402
from packages import TOP, Deb, Rpm  # noqa: E402

TEN_LINES = """\
set daemon 1
check process sleeper with program "/bin/sleep 100000"
check process guard with pidfile /run/guard.pid
  start program = "/bin/sh -c 'setsid sleep 200000 >/dev/null 2>&1 & echo $! >/run/guard.pid'"
  stop program = "/bin/sh -c 'kill $(cat /run/guard.pid)'"
check program probe with path "/bin/sh -c 'test ! -e /srv/broken'"
  if status != 0 for 2 cycles then alert
"""
PLAYBOOK = """\
set daemon 1
check program node with path "/bin/sh -c 'test ! -e /srv/broken'"
  if status != 0 for 2 cycles then exec "/bin/sh /srv/playbook"
"""


class InContainer(unittest.TestCase):
    package: type[Deb] | type[Rpm] = Deb
    release = "bookworm"
    installed_at_first = True

    def setUp(self) -> None:
        if why := reason_to_skip():
            self.skipTest(why)
        try:
            self.box = Container(self.release)
        except NoBase as error:
            self.skipTest(str(error))
        self.addCleanup(self.box.close)
        self.box.boot()
        self.pack = self.package(self.box)
        if self.installed_at_first:
            self.pack.install()

    # ---- what is asked

    def unit(self, name: str) -> str:
        return self.box.out("systemctl", "show", "healer", "--value", "-p", name)

    def pid(self, pattern: str) -> str:
        """The number of the process with this command line; empty: there is none, or there are several."""
        found = self.box.run("pgrep", "-xf", pattern, check=False).stdout.split()
        return found[0] if len(found) == 1 else ""

    def state(self, service: str) -> str:
        said = self.box.run("healerctl", "summary", service, check=False).stdout
        found = re.search(rf"^{service} +(\w+)", said, re.M)
        return found.group(1) if found else ""

    def rules(self, text: str, name: str = "50-test.rules") -> None:
        """Puts them beside those that were shipped, without the load of this busy machine, and reloads."""
        self.box.shell(": >/etc/healer/rules.d/10-machine.rules")
        self.box.write(f"/etc/healer/rules.d/{name}", text)
        self.box.run("systemctl", "reload", "healer")

    def wait_state(self, service: str, wanted: str) -> None:
        until(f"{service} is {wanted}", lambda: self.state(service) == wanted)

    def journal(self) -> str:
        return self.box.out("journalctl", "-u", "healer", "--no-pager", "-o", "cat")

    def wait_journal(self, words: str) -> None:
        """Who has answered may be ahead of the journal, which has yet to write what it was told before."""
        until(f"the journal says {words!r}", lambda: words in self.journal())


class Lifecycle:
    """For the deb and for the rpm."""

    def test_installed_it_runs_says_what_it_supervises_and_answers_those_who_may_ask(self):
        self.assertEqual(self.unit("ActiveState"), "active")
        self.assertEqual(self.box.out("systemctl", "is-enabled", "healer"), "enabled")
        self.assertEqual(set(self.box.shell("stat -c %a:%U /etc/healer/rules.d/*").stdout.split()), {"600:root"})
        self.assertEqual(self.box.out("stat", "-c", "%a", "/run/healer", "/var/lib/healer").split(), ["755", "700"])
        self.assertIn("account", self.box.out("cat", "/etc/pam.d/healer"))  # else no `allow @GROUP` lets anybody in
        self.box.run("healerd", "-t")
        self.rules(TEN_LINES)
        self.wait_state("guard", "running")
        self.box.write("/srv/broken", "")
        self.wait_state("probe", "failed")
        until("systemctl status says it", lambda: re.search(
            r'Status: "4 services, 1 failed', self.box.run("systemctl", "status", "healer", check=False).stdout))

        self.box.run("useradd", "-m", "ann")
        refused = self.box.run("runuser", "-u", "ann", "--", "healerctl", "summary", check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("group", refused.stderr)
        self.box.run("usermod", "-aG", "healer", "ann")
        self.assertIn("probe", self.box.out("runuser", "-u", "ann", "--", "healerctl", "summary"))

    def test_killed_or_hanging_it_is_back_with_what_it_knew_and_the_services_run_on(self):
        self.rules(TEN_LINES)
        self.wait_state("guard", "running")
        self.box.write("/srv/broken", "")
        self.wait_state("probe", "failed")
        sleeper, guard = self.pid("/bin/sleep 100000"), self.pid("sleep 200000")
        self.assertTrue(sleeper and guard)

        before = self.unit("MainPID")
        self.box.run("kill", "-9", before)
        until("another healerd runs", lambda: self.unit("MainPID") not in (before, "0") and self.unit("ActiveState") == "active")
        self.assertEqual(self.unit("NRestarts"), "1")
        self.wait_state("probe", "failed")
        self.assertEqual((self.pid("/bin/sleep 100000"), self.pid("sleep 200000")), (sleeper, guard))

        # A hang: it says nothing to the watchdog any more.
        self.box.write("/etc/systemd/system/healer.service.d/soon.conf", "[Service]\nWatchdogSec=3\nTimeoutAbortSec=1\n", 0o644)
        self.box.run("systemctl", "daemon-reload")
        self.box.run("systemctl", "restart", "healer")
        before = self.unit("MainPID")
        self.box.run("kill", "-STOP", before)
        until("the watchdog has it ended", lambda: self.unit("MainPID") not in (before, "0")
              and self.unit("ActiveState") == "active")
        self.wait_journal("Watchdog timeout")
        self.wait_state("probe", "failed")
        self.assertEqual((self.pid("/bin/sleep 100000"), self.pid("sleep 200000")), (sleeper, guard))
        fired = self.box.out("healerctl", "history", "probe", "--since", "1h")
        self.assertEqual(fired.count("status failed"), 1, fired)  # what had fired did not fire again

    def test_a_reload_with_a_broken_file_says_why_and_changes_nothing(self):
        self.rules(TEN_LINES)
        self.box.write("/etc/healer/rules.d/60-broken.rules", "chek program x with path /bin/true\n")
        done = self.box.run("systemctl", "reload", "healer", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.wait_journal("60-broken.rules:1:1: error: ")
        self.assertIn("the rules on disk are not loaded", self.unit("StatusText"))
        self.assertIn("60-broken.rules:1:1", self.unit("StatusText"))
        self.assertEqual(self.unit("ActiveState"), "active")
        self.assertIn("probe", self.box.out("healerctl", "names"))
        self.box.run("rm", "/etc/healer/rules.d/60-broken.rules")
        self.box.run("systemctl", "reload", "healer")
        until("the status is good again", lambda: self.unit("StatusText").startswith("4 services"))

    def test_removed_it_leaves_the_services_and_what_people_wrote(self):
        self.rules(TEN_LINES)
        self.wait_state("guard", "running")
        guard = self.pid("sleep 200000")
        self.pack.remove()
        self.assertEqual(self.pid("sleep 200000"), guard)
        self.assertEqual(self.box.out("cat", "/etc/healer/rules.d/50-test.rules"), TEN_LINES.strip())
        self.box.run("test", "-s", "/var/lib/healer/state")
        self.box.shell("! test -e /usr/sbin/healerd && ! systemctl is-active healer")


class Upgrade(InContainer):
    installed_at_first = False

    def upgraded_under_a_playbook(self):
        """The playbook runs on through the upgrade, is waited for by the new daemon, and is not run twice."""
        self.pack.install(self.pack.file_before())
        self.assertEqual(self.unit("ActiveState"), "active")
        self.box.write("/srv/playbook", "echo $$ >>/srv/begun\nwhile ! test -e /srv/go; do sleep 0.1; done\nrm /srv/broken\n")
        self.rules(PLAYBOOK)
        before = self.unit("MainPID")
        self.box.write("/srv/broken", "")
        until("the playbook has begun", lambda: self.box.run("test", "-s", "/srv/begun", check=False).returncode == 0)
        self.pack.upgrade()
        until("the new daemon runs", lambda: self.unit("MainPID") not in (before, "0") and self.unit("ActiveState") == "active")
        playbook = self.box.out("cat", "/srv/begun")
        self.box.run("kill", "-0", playbook)  # one line: it has begun once, and runs
        until("the new daemon knows of it", lambda: re.search(
            "exec +node", self.box.run("healerctl", "jobs", check=False).stdout))
        self.box.write("/srv/go", "")
        self.wait_state("node", "running")
        until("its end is recorded", lambda: "exited with status 0" in self.box.out("healerctl", "history", "node"))
        self.assertEqual(self.box.out("cat", "/srv/begun"), playbook)
        self.assertEqual(self.box.out("cat", "/etc/healer/rules.d/10-machine.rules"), "")  # as it was changed


    def both_changed(self, new: str, *options: str) -> None:
        """A file of settings that people and the new version have changed stays as people wrote it; the new one lies beside
        it, and is not read."""
        self.pack.install(self.pack.file_before())
        ours = "set daemon 7\ncheck program ours with path /bin/true\n  if status != 0 then alert\n"
        self.box.write("/etc/healer/rules.d/00-settings.rules", ours)
        self.box.run("systemctl", "reload", "healer")
        self.pack.upgrade(*options)
        self.assertEqual(self.box.out("cat", "/etc/healer/rules.d/00-settings.rules"), ours.strip())
        self.box.run("test", "-s", f"/etc/healer/rules.d/00-settings.rules{new}")
        self.wait_state("ours", "running")
        self.assertEqual(self.box.out("stat", "-c", "%a", f"/etc/healer/rules.d/00-settings.rules{new}"), "600")


class DebUpgrade(Upgrade):
    def test_what_both_have_changed_stays_as_people_wrote_it(self):
        self.both_changed(".dpkg-dist", "-o", "Dpkg::Options::=--force-confold")

    def test_an_upgrade_takes_up_the_playbook_that_runs_and_keeps_what_people_changed(self):
        self.upgraded_under_a_playbook()
        # Nobody had changed this one: the new one is there.
        self.assertNotIn("version before", self.box.out("cat", "/etc/healer/rules.d/00-settings.rules"))


class DebUpgradeOn13(DebUpgrade):
    release = "trixie"


class RpmUpgrade(Upgrade):
    package = Rpm

    def test_what_both_have_changed_stays_as_people_wrote_it(self):
        self.both_changed(".rpmnew")

    def test_an_upgrade_takes_up_the_playbook_that_runs_and_keeps_what_people_changed(self):
        self.upgraded_under_a_playbook()


class RpmTest(Lifecycle, InContainer):
    package = Rpm


class DebTest(Lifecycle, InContainer):
    def test_purged_it_leaves_nothing(self):
        self.rules(TEN_LINES)
        self.wait_state("guard", "running")
        self.pack.remove()
        self.pack.purge()
        left = self.box.shell("find / -xdev -iname '*healer*' -not -path '/proc/*' -not -path '/sys/*' -not -path '/srv/*'"
                              " -not -path '/var/log/journal/*' -not -path '/var/log/apt/*' -not -path '/var/cache/*'").stdout
        self.assertEqual(left, "")
        self.box.shell("! getent group healer")
        self.assertNotIn("healer", self.box.run("dpkg", "-l", "healer", check=False).stdout)

    def test_after_a_reboot_failed_states_stay_and_services_come_up_as_they_should(self):
        self.rules(TEN_LINES + 'check process shy with program "/bin/sleep 300000"\n  onreboot nostart\n')
        self.box.write("/srv/broken", "")
        self.wait_state("probe", "failed")
        self.box.run("healerctl", "start", "shy")
        self.assertTrue(self.pid("/bin/sleep 300000"))
        self.box.reboot()
        self.wait_state("sleeper", "running")
        self.wait_state("guard", "running")
        self.wait_state("probe", "failed")
        self.assertEqual(self.pid("/bin/sleep 300000"), "")
        fired = self.box.out("healerctl", "history", "probe", "--since", "1h")
        self.assertEqual(fired.count("status failed"), 1, fired)

    def test_restarted_stopped_and_disabled_it_leaves_the_services_alone(self):
        self.rules(TEN_LINES)
        self.wait_state("guard", "running")
        guard, sleeper = self.pid("sleep 200000"), self.pid("/bin/sleep 100000")
        for verb in ("restart", "stop", "start"):
            self.box.run("systemctl", verb, "healer")
            self.assertEqual((self.pid("sleep 200000"), self.pid("/bin/sleep 100000")), (guard, sleeper), verb)
        self.box.run("systemctl", "disable", "--now", "healer")
        self.assertEqual(self.pid("sleep 200000"), guard)

    def test_what_the_rules_start_may_do_what_the_machine_lets_it(self):
        """A set-user-ID mailer, a package with such a program, a program that writes to /home, another service."""
        self.box.shell("cp /usr/bin/id /usr/local/bin/mailer && chmod 4755 /usr/local/bin/mailer && useradd -m ann &&"
                       " mkdir -p /srv/p/DEBIAN /srv/p/usr/bin && cp /usr/bin/id /srv/p/usr/bin/p-id &&"
                       " chmod 4755 /srv/p/usr/bin/p-id &&"
                       " printf 'Package: p\\nVersion: 1\\nArchitecture: all\\nMaintainer: p <p@example.org>\\nDescription: p\\n'"
                       " >/srv/p/DEBIAN/control && dpkg-deb -b /srv/p /srv/p.deb")
        self.box.write("/etc/systemd/system/other.service", "[Service]\nExecStart=/bin/sleep 400000\n", 0o644)
        self.box.run("systemctl", "daemon-reload")
        self.rules('set daemon 1\n'
                   'check program mailer with path "/bin/sh -c \'/usr/local/bin/mailer -u\'" as uid ann\n'
                   '  if content != "^0" then alert\n'
                   'check program package with path "/usr/bin/dpkg -i /srv/p.deb"\n  if status != 0 then alert\n'
                   'check program home with path "/bin/sh -c \'date >/home/ann/date && date >/etc/date\'"\n'
                   '  if status != 0 then alert\n'
                   'check program dmesg with path "/bin/sh -c \'test -r /dev/kmsg || test ! -e /dev/kmsg\'"\n'
                   '  if status != 0 then alert\n'
                   'check process other matching "^/bin/sleep 400000"\n'
                   '  start program = "/usr/bin/systemctl start other"\n  stop program = "/usr/bin/systemctl stop other"\n')
        for service in ("mailer", "package", "home", "dmesg", "other"):
            self.wait_state(service, "running")
        self.assertEqual(self.box.out("stat", "-c", "%a", "/usr/bin/p-id"), "4755")
        self.assertEqual(self.box.out("stat", "-c", "%a", "/home/ann/date"), "644")

    def test_the_sandbox_of_the_examples_holds_a_healer_that_only_watches(self):
        self.box.shell("mkdir -p /etc/systemd/system/healer.service.d &&"
                       " cp /usr/share/doc/healer/examples/systemd/watch-only.conf /etc/systemd/system/healer.service.d/")
        self.box.write("/etc/systemd/system/other.service", "[Service]\nExecStart=/bin/sleep 400000\n", 0o644)
        self.box.shell("systemctl daemon-reload && systemctl restart healer")
        self.rules('set daemon 1\ncheck process other matching "^/bin/sleep 400000"\n'
                   '  start program = "/usr/bin/systemctl start other"\n  stop program = "/usr/bin/systemctl stop other"\n'
                   'check program probe with path "/bin/sh -c \'! touch /usr/here\'"\n  if status != 0 then alert\n')
        self.wait_state("other", "running")
        self.wait_state("probe", "running")

    def test_the_unit_passes_systemds_own_critics(self):
        done = self.box.run("systemd-analyze", "verify", "--man=no", "healer.service", check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        # And the README says what they think of it.
        readme = (TOP / "README.md").read_text()
        for told in (r"says ([\d.]+) of 10", r"then it says ([\d.]+)\."):
            wanted = re.search(told, readme).group(1)
            said = self.box.out("systemd-analyze", "security", "--no-pager", "healer.service").splitlines()[-1]
            self.assertIn(f"healer.service: {wanted} ", said)
            self.box.shell("mkdir -p /etc/systemd/system/healer.service.d &&"
                           " cp /usr/share/doc/healer/examples/systemd/watch-only.conf /etc/systemd/system/healer.service.d/ &&"
                           " systemctl daemon-reload")

    def test_all_of_its_parts_are_there(self):
        for path in ("/usr/share/bash-completion/completions/healerctl", "/usr/share/zsh/vendor-completions/_healerctl",
                     "/usr/share/man/man8/healerd.8.gz", "/usr/share/man/man1/healerctl.1.gz", "/etc/logrotate.d/healer",
                     "/etc/default/healer", "/usr/share/doc/healer/examples/vm/rebuild_node.yml",
                     "/usr/lib/tmpfiles.d/healer.conf", "/usr/share/vim/vimfiles/syntax/healer.vim",
                     "/usr/share/vim/vimfiles/ftdetect/healer.vim", "/usr/share/nano/healer.nanorc",
                     "/usr/share/healer/prometheus/healer.rules.yml", "/usr/share/healer/prometheus/healer-dashboard.json"):
            self.box.run("test", "-s", path)

    def test_the_log_is_rotated_and_written_on(self):
        self.rules("set log /var/log/healer.log\n" + TEN_LINES, "01-log.rules")
        until("there is a log", lambda: self.box.run("test", "-s", "/var/log/healer.log", check=False).returncode == 0)
        self.box.run("logrotate", "--force", "/etc/logrotate.d/healer")
        self.box.run("test", "-s", "/var/log/healer.log.1")
        self.box.write("/srv/broken", "")
        until("the new log is written", lambda: "probe" in self.box.out("cat", "/var/log/healer.log"))
        self.assertEqual(self.box.out("stat", "-c", "%a", "/var/log/healer.log"), "600")

    def test_options_of_the_service_are_read(self):
        self.box.shell("sed -i 's/^HEALERD_OPTIONS=.*/HEALERD_OPTIONS=\"--shadow\"/' /etc/default/healer")
        self.box.run("systemctl", "restart", "healer")
        self.rules(TEN_LINES)
        self.assertIn("shadow", self.box.out("healerctl", "status"))

    def test_the_doctor_finds_what_is_wrong_and_nothing_where_all_is_well(self):
        done = self.box.run("healerctl", "doctor", check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("fault ", done.stdout)
        self.box.write("/etc/healer/rules.d/50-bad.rules", 'set mailserver 127.0.0.1 port 9\nset alert ann@example.org\n'
                       'check process gone with pidfile /run/gone.pid\n  start program = "/opt/none/start"\n')
        self.box.run("healerctl", "reload", check=False)
        said = self.box.run("healerctl", "doctor", check=False)
        self.assertEqual(said.returncode, 1, said.stdout)
        self.assertRegex(said.stdout, r"fault +mail: the mail server 127.0.0.1:9 cannot be reached: Connection refused")
        self.assertRegex(said.stdout, r"(warning|fault) +rules: /etc/healer/rules.d/50-bad.rules:4:\d+: .*/opt/none/start")
        self.box.run("systemctl", "stop", "healer")
        said = self.box.run("healerctl", "doctor", check=False)
        self.assertIn("fault    unit: healer.service is inactive: nothing is supervised\n         systemctl start healer\n",
                      said.stdout)
        self.assertIn("fault    daemon: ", said.stdout)
        self.box.run("useradd", "ann")
        self.box.run("systemctl", "start", "healer")
        said = self.box.run("runuser", "-u", "ann", "--", "healerctl", "doctor", check=False)
        self.assertIn("usermod -aG healer ann", said.stdout)


class DebTestOn13(DebTest):
    """What was built on Debian 12, on Debian 13: systemd 257, which knows the unified control groups only."""

    release = "trixie"
    test_the_unit_passes_systemds_own_critics = None  # the README gives the figures of Debian 12's
    test_all_of_its_parts_are_there = None  # the same files

    def test_groups_limits_leftovers_readiness_and_watchdog_work(self):
        self.rules('set daemon 1\n'
                   'check process ready with program "/bin/sh -c \'systemd-notify --ready; exec sleep 600000\'"\n'
                   'check process left with pidfile /run/left.pid\n  with leftovers ended\n'
                   '  start program = "/bin/sh -c \'setsid sleep 700000 >/dev/null 2>&1 &'
                   ' setsid sleep 800000 >/dev/null 2>&1 & echo $! >/run/left.pid\'"\n')
        self.wait_state("ready", "running")
        self.wait_state("left", "running")
        self.assertIn("healer.service", self.box.out("cat", f"/proc/{self.pid('sleep 700000')}/cgroup"))
        before = self.pid("sleep 700000")
        self.box.run("kill", "-9", self.pid("sleep 800000"))
        until("what was left is ended, and one copy is started", lambda: self.pid("sleep 700000") not in ("", before)
              and self.pid("sleep 800000"))
        self.assertEqual(self.unit("WatchdogUSec") != "0", True)


class BesideMonit(InContainer):
    installed_at_first = False

    def test_beside_monit_healer_touches_nothing_until_it_is_told(self):
        self.box.write("/etc/monit/conf.d/shop", 'check process shop with pidfile /run/shop.pid\n'
                       '  start program = "/bin/sh -c \'setsid sleep 500000 >/dev/null 2>&1 & echo $! >/run/shop.pid\'"\n')
        self.box.shell("sed -i 's/^ *set daemon.*/set daemon 1/' /etc/monit/monitrc && systemctl start monit")
        until("monit has started the shop", lambda: self.pid("sleep 500000"))
        shop, monit = self.pid("sleep 500000"), self.box.out("systemctl", "show", "monit", "--value", "-p", "MainPID")
        files = "find /etc/monit /var/lib/monit -type f -not -name state | sort | xargs md5sum"
        before = self.box.shell(files).stdout
        self.pack.install()
        self.assertEqual(self.unit("ActiveState"), "active")
        self.assertNotIn("shop", self.box.out("healerctl", "names"))
        self.assertEqual(self.box.shell(files).stdout, before)
        self.assertEqual(self.box.out("systemctl", "show", "monit", "--value", "-p", "MainPID"), monit)
        self.assertEqual(self.box.run("healerctl", "doctor", check=False).returncode, 0)

        # The first step of a migration: the same services, in the shadow.
        self.box.write("/srv/shared.rules", self.box.out("cat", "/etc/monit/conf.d/shop") + "\n")
        self.box.shell("setsid healerd --shadow -d 1 -c /srv/shared.rules -p /run/shadow.pid -s /var/lib/healer/shadow"
                       " -l /var/log/shadow.log --socket /run/shadow.sock </dev/null >/dev/null 2>&1 &")
        until("the shadow sees the shop", lambda: "running" in self.box.run(
            "healerctl", "--socket", "/run/shadow.sock", "summary", "shop", check=False).stdout)
        self.box.run("kill", "-9", shop)
        until("monit starts the shop again", lambda: self.pid("sleep 500000") not in ("", shop))
        until("the shadow has seen it", lambda: "'shop' process " in self.box.out("cat", "/var/log/shadow.log"))
        self.box.run("healerctl", "--socket", "/run/shadow.sock", "quit")

        # Both told of the same service: the doctor says so.
        self.box.write("/etc/healer/rules.d/50-shop.rules", self.box.out("cat", "/etc/monit/conf.d/shop") + "\n")
        said = self.box.run("healerctl", "doctor", check=False)
        self.assertEqual(said.returncode, 1)
        self.assertRegex(said.stdout, r"fault +monit: monit \(pid \d+, /etc/monit/monitrc\) and healer both supervise shop")


class Role(InContainer):
    """packaging/ansible, by Debian's ansible-core."""

    installed_at_first = False

    def play(self, *options: str, good: bool = True, **variables) -> str:
        """Plays the role; what Ansible says. The last line counts what was changed."""
        folder = self.box.folder / "ansible"
        (folder / "rules.d").mkdir(parents=True, exist_ok=True)
        (folder / "play.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "roles": [{"role": "healer"}]}]))
        (folder / "inventory").write_text(f"box ansible_connection=inside leader={self.box.leader}"
                                          " ansible_python_interpreter=/usr/bin/python3\n")
        given = {"healer_package_file": str(Deb.file()), "healer_rules": [f"{folder}/rules.d/*.rules"], **variables}
        done = subprocess.run(
            ["ansible-playbook", "-i", str(folder / "inventory"), "-e", json.dumps(given), *options, str(folder / "play.yml")],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
            env={**os.environ, "ANSIBLE_ROLES_PATH": str(TOP / "packaging/ansible/roles"), "ANSIBLE_HOME": str(folder / "home"),
                 "ANSIBLE_CONNECTION_PLUGINS": str(Path(__file__).parent / "connection_plugins"), "ANSIBLE_NOCOWS": "1",
                 "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"), "ANSIBLE_PIPELINING": "1"})
        said = done.stdout + done.stderr
        if (done.returncode == 0) != good:
            said += self.box.run("journalctl", "-u", "healer", "--no-pager", check=False).stdout
        self.assertEqual(done.returncode == 0, good, said)
        return done.stdout

    def rules_file(self, text: str) -> None:
        (self.box.folder / "ansible" / "rules.d").mkdir(parents=True, exist_ok=True)
        (self.box.folder / "ansible" / "rules.d" / "50-shop.rules").write_text(text)

    def test_the_role_installs_checks_and_reloads_and_a_second_run_changes_nothing(self):
        if not shutil.which("ansible-playbook"):
            self.skipTest("ansible-core is not installed")
        self.rules_file(TEN_LINES)
        self.play("--check")
        self.box.shell("! test -e /usr/sbin/healerd")
        self.play()
        self.assertEqual(self.unit("ActiveState"), "active")
        self.wait_state("guard", "running")
        self.assertEqual(self.box.out("stat", "-c", "%a", "/etc/healer/rules.d/50-shop.rules"), "600")
        self.assertRegex(self.play(), r"changed=0 .*failed=0")
        self.rules_file(TEN_LINES.replace("probe", "sonde"))
        self.assertRegex(self.play("--check"), r"changed=[1-9]")
        self.assertIn("probe", self.box.out("cat", "/etc/healer/rules.d/50-shop.rules"))
        self.rules_file(TEN_LINES + "chek program x with path /bin/true\n")
        self.assertIn("unexpected 'chek'", self.play(good=False))
        self.assertNotIn("chek", self.box.out("cat", "/etc/healer/rules.d/50-shop.rules"))


class RoleOn13(Role):
    release = "trixie"


def every_name() -> list[str]:
    suites = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    return sorted(test.id().removeprefix("__main__.") for suite in suites for test in suite)


def main() -> int:
    if sys.argv[1:] == ["--list"]:
        print("\n".join(every_name()))
        return 0
    if sys.argv[1:] == ["--base"]:
        with contextlib.suppress(NoBase):
            if not reason_to_skip():
                for release in PACKAGES:
                    print(make_base(release))
        return 0
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:] or every_name(), sys.modules[__name__])
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful():
        return 1
    if result.skipped and len(result.skipped) == result.testsRun:
        print(result.skipped[0][1])
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
