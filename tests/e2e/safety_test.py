# SPDX-License-Identifier: MIT
"""What others, full disks and untimely signals may not do to healer."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

import support

QUIET = 'check program quiet with path "/bin/true"\n  if status != 0 then alert\n'


class Safety(support.Case):
    def refused(self, daemon: support.Daemon) -> str:
        """What healerd says, which does not start."""
        done = subprocess.run([str(support.BUILD / "healerd"), "-I", "-c", str(daemon.rules)], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=support.LIMIT)
        daemon.errors.write_text("")
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def test_a_place_that_others_can_write_is_refused(self):
        open_to_all = self.path("open")
        open_to_all.mkdir()
        open_to_all.chmod(0o777)
        (open_to_all / "own").mkdir()
        for number, (statement, what) in enumerate((("set statefile", "the state file"), ("set pidfile", "the pid file"),
                                                    ("set log", "the log file"))):
            daemon = self.configure("", name=f"healerd{number}")
            kept = [line for line in daemon.rules.read_text().splitlines() if not line.startswith(statement)]
            for place in (open_to_all / "x", open_to_all / "own" / "x"):
                daemon.write_rules("\n".join(kept) + f"\n{statement} {place}\n{QUIET}")
                said = self.refused(daemon)
                self.assertIn(f"{what} {place} is not safe: {open_to_all} can be written by others", said)
                self.assertFalse(place.exists())

    def test_a_link_in_the_place_of_the_state_is_refused_and_what_it_leads_to_left_alone(self):
        first = self.start(QUIET)
        state = first.folder / "healer.state"
        other = self.configure(QUIET, name="other")
        (other.folder / "healer.state").symlink_to(state)
        self.assertIn("is a symbolic link", self.refused(other))
        target = self.path("target")
        target.write_text("")
        target.chmod(0o644)
        (other.folder / "healer.state").unlink()
        (other.folder / "healer.state").symlink_to(target)
        self.assertIn("is a symbolic link", self.refused(other))
        self.assertEqual(target.stat().st_mode & 0o777, 0o644)

    def test_a_signal_that_comes_with_the_pid_file_ends_nothing(self):
        daemon = self.configure(QUIET)
        pid_file = daemon.folder / "healer.pid"
        with daemon.errors.open("ab") as errors:
            daemon.process = subprocess.Popen([str(daemon.binary), "-I", "-c", str(daemon.rules)], cwd="/",
                                              stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
                                              preexec_fn=support.processes.die_with_parent)
        self.wait_for(lambda: pid_file.exists() or daemon.ended(), "the pid file")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.process.send_signal(signal.SIGUSR1)
        self.wait_for(lambda: "rules reloaded" in daemon.log_text() or daemon.ended(), "the reload")
        self.assertFalse(daemon.ended(), daemon.errors.read_text())

    def disk(self) -> Path:
        """A small file system of this test's own."""
        disk = self.path("disk")
        disk.mkdir(mode=0o700)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "healer-test", str(disk)],
                          capture_output=True).returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], capture_output=True)
        spare = Path("/run/healer")
        before = set(spare.iterdir()) if spare.exists() else None

        def tidy() -> None:
            for path in set(spare.iterdir()) - (before or set()) if spare.exists() else ():
                shutil.rmtree(path, ignore_errors=True)
            if before is None and spare.exists():
                spare.rmdir()

        self.addCleanup(tidy)
        return disk

    def on_disk(self, disk: Path) -> tuple[support.Daemon, Path]:
        """A daemon whose state and pid file are on `disk`, stopped in good order; and what its action leaves."""
        acted = self.path("acted")
        check = self.statuses("check", [0, 1])
        daemon = self.configure("")
        settings = self.settings(daemon)
        for name in ("healer.state", "healer.pid"):
            settings = settings.replace(str(daemon.folder / name), str(disk / name))
        act = self.script("act", f"echo x >> {acted}")
        rules = f'check program node with path "{check}"\n  if status != 0 then exec "{act}"\n'
        daemon.write_rules(settings + QUIET)
        daemon.launch()
        daemon.stop()
        daemon.write_rules(settings + rules)
        return daemon, acted

    def supervises(self, daemon: support.Daemon, acted: Path) -> None:
        """It does its work, and says what it lacks."""
        self.wait_for(acted.exists, "the action", detail=daemon.told)
        for verb in ("summary", "ping"):
            said = " ".join(daemon.ctl(verb).stdout.split())
            self.assertIn("warning: the state cannot be written, supervision continues without a journal", said)
            self.assertIn("healer.pid", said)
        self.assertIn("healer supervises anyway", daemon.log_text())

    def is_well_again(self, daemon: support.Daemon, disk: Path) -> None:
        self.wait_for(lambda: "warning:" not in daemon.ctl("summary").stdout, "an end of the warnings")
        self.assertEqual((disk / "healer.pid").read_text(), f"{daemon.pid}\n")

    def test_with_a_read_only_disk_it_starts_and_supervises(self):
        disk = self.disk()
        daemon, acted = self.on_disk(disk)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        daemon.launch()
        self.supervises(daemon, acted)
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        self.is_well_again(daemon, disk)

    def test_with_a_full_disk_it_starts_and_supervises(self):
        disk = self.disk()
        daemon, acted = self.on_disk(disk)
        ballast = disk / "ballast"
        with ballast.open("wb", buffering=0) as file:
            try:
                while file.write(b"b" * 4096):
                    pass
            except OSError:
                pass
        daemon.launch()
        self.supervises(daemon, acted)
        ballast.unlink()
        self.is_well_again(daemon, disk)

    def test_a_log_that_a_read_only_disk_refuses_keeps_no_daemon_from_its_work(self):
        disk = self.disk()
        acted = self.path("acted")
        daemon = self.configure("")
        settings = self.settings(daemon).replace(f"{daemon.folder}/healer.log", f"{disk}/healer.log")
        act = self.script("act", f"echo x >> {acted}")
        daemon.write_rules(f'{settings}check program node with path "{self.statuses("check", [1])}"\n'
                           f'  if status != 0 then exec "{act}"\n')
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        daemon.launch()
        self.wait_for(acted.exists, "the action", detail=daemon.told)
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        self.wait_for(lambda: daemon.reload() and (disk / "healer.log").exists(), "the log, once the disk is well")


if __name__ == "__main__":
    support.main()
