# SPDX-License-Identifier: MIT
"""One daemon at a time, its options, its files and its end."""
import contextlib
import os
import re
import stat
import subprocess

import support
from support import processes

QUIET = 'check program quiet with path "/bin/true"\n  if status != 0 then alert\n'


def healerd(*words: str, **how) -> subprocess.CompletedProcess:
    return subprocess.run([str(support.BUILD / "healerd"), *words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=support.LIMIT, **how)


class Instance(support.Case):
    def test_a_second_daemon_says_whose_the_files_are(self):
        daemon = self.start(QUIET)
        for option in ((), ("-p", str(self.path("other.pid"))), ("-p", str(self.path("other.pid")), "-s", str(self.path("s")))):
            done = healerd("-I", "-c", str(daemon.rules), *option)
            self.assertEqual(done.returncode, 1, option)
            self.assertIn(str(daemon.pid), done.stderr)

    def test_a_state_has_one_daemon_though_the_lock_beside_it_is_gone_or_the_file_has_another_name(self):
        first = self.start(QUIET)  # which has created the file
        state = first.folder / "healer.state"
        other = self.path("other-name")
        os.link(state, other)
        (first.folder / "healer.state.lock").unlink()
        for name in (state, other):
            done = healerd("-I", "-c", str(first.rules), "-p", str(self.path("second.pid")), "--socket",
                           str(self.path("second.sock")), "-s", str(name))
            self.assertEqual(done.returncode, 1, name)
            self.assertIn(f"the state file {name} is held by another healerd", done.stderr)
        self.assertEqual(first.ctl("ping").returncode, 0)

    def test_a_state_file_that_is_written_anew_is_locked_again(self):
        first = self.start('check program quiet with path "/bin/true"\n  if status != 0 then alert\n')
        state = first.folder / "healer.state"
        state.unlink()
        self.assertEqual(first.ctl("unmonitor", "quiet").returncode, 0)  # which is written
        self.wait_for(lambda: "the state file was removed: it was written again" in first.log_text(), "the new file")
        (first.folder / "healer.state.lock").unlink()
        done = healerd("-I", "-c", str(first.rules), "-p", str(self.path("second.pid")), "--socket",
                       str(self.path("second.sock")))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"the state file {state} is held by another healerd", done.stderr)

    def test_the_files_are_for_their_owner_alone(self):
        daemon = self.start(QUIET)
        for path in daemon.folder.iterdir():
            if path.name in ("stderr", "healer.pid"):  # everybody may know the number
                continue
            with contextlib.suppress(FileNotFoundError):  # it was there for a moment
                mode = stat.S_IMODE(path.stat().st_mode)
                self.assertFalse(mode & 0o007, f"{path.name} has mode {mode:o}")

    def test_in_the_background_the_caller_learns_whether_it_came_up(self):
        daemon = self.configure(QUIET)
        done = healerd("-c", str(daemon.rules))
        daemon.errors.write_text("")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        pid = int((daemon.folder / "healer.pid").read_text())
        self.assertEqual(daemon.ctl("ping").returncode, 0)
        again = healerd("-c", str(daemon.rules))
        self.assertEqual(again.returncode, 1)
        self.assertIn(str(pid), again.stderr)
        self.assertEqual(daemon.ctl("quit").returncode, 0)
        self.wait_for(lambda: processes.reap() or not os.path.exists(f"/proc/{pid}"), "its end")
        self.assertFalse((daemon.folder / "healer.pid").exists())

    def test_the_machine_is_called_by_the_name_of_its_service(self):
        out = self.path("names")
        tell = self.script("tell", f'echo "$MONIT_HOST $MONIT_SERVICE" >> {out}')
        rules = f'check program quiet with path "/bin/true"\n  if status = 0 then exec "{tell}"\n'
        daemon = self.start("check system db01.prod.example\n" + rules)
        self.wait_for(lambda: out.exists() and out.read_text() == "db01.prod.example quiet\n", "the name")
        out.unlink()
        daemon.write_rules(self.settings(daemon) + "check system $HOST\n" + rules.replace("quiet", "calm"))
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: out.exists() and out.read_text() == f"{os.uname().nodename} calm\n", "the name of before")

    def test_healer_does_not_end_itself(self):
        daemon = self.start("set limits { stopTimeout: 1 seconds }\n"
                            f'check process me with pidfile {self.path("healerd") / "healer.pid"}\n'
                            '  start program = "/bin/true"\n'
                            "  if does not exist then alert\n")
        stopped = daemon.ctl("stop", "me")
        self.assertEqual(stopped.returncode, 1, stopped.stdout)
        self.assertIn(f"process {daemon.pid} is healer itself: it is not signalled", stopped.stdout)
        self.assertNotIn("SIGTERM", daemon.ctl("history", "me").stdout)
        self.assertEqual(daemon.ctl("ping").returncode, 0)

    def test_a_pid_file_that_nobody_can_read_names_no_process(self):
        loop = self.path("loop.pid")
        loop.symlink_to(loop.name)
        daemon = self.start(f"check process x with pidfile {loop}\n  if does not exist then alert\n")
        self.wait_for(lambda: [one["state"] for one in daemon.ask("summary")["services"]] == ["failed"], "the failure")
        self.assertIn("Too many levels of symbolic links", daemon.ctl("explain", "x").stdout)
        self.assertEqual(daemon.ctl("validate", "x").returncode, 1)

    def test_quit_returns_when_it_has_ended(self):
        daemon = self.start(QUIET)
        self.assertEqual(daemon.ctl("quit").returncode, 0)
        self.assertEqual(daemon.process.wait(support.LIMIT), 0)
        self.assertEqual(daemon.ctl("status").returncode, 2)

    def test_hashes_and_version_are_printed_as_monit_does(self):
        path = self.path("file")
        path.write_text("abc\n")
        self.assertEqual(healerd("-H", str(path)).stdout,
                         f"SHA1({path}) = 03cfd743661f07975fa2f1220c5194cbaff48451\n"
                         f"MD5({path})  = 0bee89b07a248e27c83fc3d5951213c1\n")
        self.assertRegex(healerd("-V").stdout, r"^healer [0-9.]+\n$")
        self.assertEqual(healerd("--nonsense").returncode, 1)
        self.assertEqual(healerd("-h").returncode, 0)

    def test_the_id_lasts_until_it_is_reset_and_a_foreign_one_is_not_touched(self):
        daemon = self.configure(QUIET)
        daemon.errors.write_text("")
        foreign = daemon.folder / "healer.id"
        foreign.write_text("0123456789abcdef0123456789abcdef\n")
        first, again = (healerd("--id", "-c", str(daemon.rules)).stdout for _ in range(2))
        self.assertRegex(first, r"[0-9a-f]{32}\n$")
        self.assertEqual(first, again)
        reset = healerd("--resetid", "-c", str(daemon.rules)).stdout
        self.assertNotEqual(first.split()[-1], reset.split()[-1])
        self.assertEqual(foreign.read_text(), "0123456789abcdef0123456789abcdef\n")

    def test_a_syntax_check_has_no_side_effects(self):
        daemon = self.configure(QUIET)
        daemon.errors.write_text("")
        done = healerd("-t", "-c", str(daemon.rules))
        self.assertEqual((done.returncode, done.stdout), (0, "Control file syntax OK\n"), done.stderr)
        self.assertEqual({path.name for path in daemon.folder.iterdir()}, {"healer.conf", "stderr"})

    def test_the_log_has_the_shape_of_monits(self):
        check = self.statuses("check", [1])
        daemon = self.start(f'check program node with path "{check}"\n  if status != 0 then alert\n')
        line = re.compile(r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}\] error +: 'node' status failed \(1\) -- no output$", re.M)
        self.wait_for(lambda: line.search(daemon.log_text()), "the line of the failure", detail=daemon.log_text)


if __name__ == "__main__":
    support.main()
