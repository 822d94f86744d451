# SPDX-License-Identifier: MIT
"""Rules files as they are read: what a start and a reload take from them, and what the check of a file says."""
import contextlib
import json
import os
import re
import sqlite3
import subprocess

import support
from support import processes

CHECK = 'check program {} with path "/bin/true"\n  if status != 0 then alert\n'


def healerd(*words, **how) -> subprocess.CompletedProcess:
    how.setdefault("stdin", subprocess.DEVNULL if "input" not in how else None)
    if how["stdin"] is None:
        del how["stdin"]
    return subprocess.run([str(support.BUILD / "healerd"), *map(str, words)], capture_output=True, text=True,
                          timeout=support.LIMIT, **how)


class Loading(support.Case):
    def write(self, name: str, text: str, mode: int = 0o600):
        path = self.path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    # ---- the last good rules -------------------------------------------------------------------------------------

    def test_the_last_good_rules_bring_their_settings(self):
        check = self.statuses("check", [1])
        daemon = self.start(f"set mailserver 127.0.0.1 port {self.own_port()}\nset alert admin@localhost not on {{ instance }}\n"
                            f"set eventqueue basedir {self.path('queue')}\n"
                            f'check program node with path "{check}"\n  if status != 0 then alert\n')
        self.wait_for(lambda: daemon.ask("status")["daemon"]["mail"]["waiting"] == 1, "a mail that waits")
        daemon.kill()
        state = daemon.folder / "healer.state"
        daemon.write_rules(f"set statefile {state}\nchek program node\n")
        logged = len(daemon.log_text())
        daemon.launch()  # it answers on its socket
        self.wait_for(lambda: "the rules files have errors" in daemon.log_text()[logged:], "a word of the errors")
        self.wait_for(lambda: daemon.ask("status")["daemon"]["mail"]["waiting"] == 1, "the mail that waited")
        self.assertTrue((daemon.folder / "healer.pid").exists())
        self.assertFalse(state.with_name(state.name + ".mail").exists())
        self.assertTrue(self.path("queue.healer").is_dir())

    def test_the_last_good_rules_keep_the_daemon_in_the_foreground(self):
        daemon = self.start("set init\n" + CHECK.format("x"))
        with contextlib.closing(sqlite3.connect(f"file:{daemon.folder}/healer.state?mode=ro", uri=True)) as state:
            self.wait_for(lambda: state.execute("SELECT count(*) FROM sources").fetchone()[0], "the rules in the state file")
        daemon.kill()
        daemon.write_rules(f"set statefile {daemon.folder}/healer.state\nchek program x\n")
        with daemon.errors.open("ab") as errors:
            daemon.process = subprocess.Popen([str(daemon.binary), "-c", str(daemon.rules)], stdin=subprocess.DEVNULL,
                                              stdout=errors, stderr=errors, preexec_fn=processes.die_with_parent)
        self.wait_for(lambda: daemon.ended() or daemon.ctl("ping").returncode == 0, "an answer")
        self.assertFalse(daemon.ended())
        self.assertIn(f", pid {daemon.pid},", daemon.ctl("ping").stdout)

    # ---- includes ------------------------------------------------------------------------------------------------

    def test_an_include_that_cannot_be_read_is_an_error(self):
        self.path("inc").mkdir()
        self.path("inc/gone.rules").symlink_to("/nonexistent/file")
        rules = self.write("main.rules", f"include {self.path('inc')}/*.rules\n" + CHECK.format("x"))
        done = healerd("-t", "-c", rules)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"main.rules:1:9: error: '{self.path('inc')}/gone.rules' cannot be read: No such file", done.stderr)

    def included(self, name: str) -> support.Daemon:
        """A daemon with a process of its own in an included file, and one in its main file."""
        sleep = self.script("sleep", "exec /bin/sleep 1000")
        self.write("inc/own.rules", f'check process {name} with program "{sleep}"\n' + CHECK.format("calm"))
        daemon = self.start(f"include {self.path('inc')}/*.rules\n" + CHECK.format("main"), cycle="3600")
        self.wait_for(lambda: self.child(daemon, name), "the process")
        return daemon

    def child(self, daemon: support.Daemon, name: str) -> int:
        found = [one for one in daemon.ask("status")["services"] if one["name"] == name]
        return (found[0].get("process") or {}).get("pid", 0) if found else 0

    def test_files_that_are_gone_end_no_process_unasked(self):
        daemon = self.included("web")
        pid = self.child(daemon, "web")
        self.path("inc").rename(self.path("away"))
        self.assertIn("it would be refused", daemon.ctl("diff").stdout)
        held = daemon.reload()
        self.assertEqual(held.returncode, 1, held.stdout)
        said = re.sub(r"\s+", " ", held.stderr)
        self.assertIn(f'no file matches "{self.path("inc")}/*.rules" any longer: this would remove "web" and "calm"; '
                      '"web" runs as healer\'s own process and would be ended', said)
        self.assertIn("healerctl reload --confirm", said)
        self.assertEqual(self.child(daemon, "web"), pid)
        self.wait_for(lambda: "nothing was reloaded" in daemon.log_text(), "the word of it in the log")
        self.path("away").rename(self.path("inc"))
        self.assertEqual(daemon.reload().returncode, 0)  # nothing is missing: it is another reload
        self.path("inc").rename(self.path("away"))
        self.assertEqual(daemon.reload().returncode, 1)
        self.assertEqual(daemon.reload().returncode, 0)  # the same once more
        self.assertEqual(daemon.ctl("names").stdout, "main\n")
        self.wait_for(lambda: processes.state(pid) in ("", "Z"), "its end")

    def test_a_reload_that_is_confirmed_ends_what_is_gone(self):
        daemon = self.included("web")
        pid = self.child(daemon, "web")
        self.path("inc").rename(self.path("away"))
        done = daemon.ctl("reload", "--confirm")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("any longer", done.stdout)
        self.wait_for(lambda: processes.state(pid) in ("", "Z"), "its end")

    def test_a_reload_that_fails_shows_the_line_and_the_place_in_it(self):
        daemon = self.start(CHECK.format("x"))
        daemon.write_rules(self.settings(daemon) + CHECK.format("x") + "  if staus != 0 then alert\n")
        shown = "  if staus != 0 then alert\n       ^~~~~\n  note: did you mean 'status'?\n"
        for command in ("reload", "diff"):
            done = daemon.ctl(command)
            self.assertEqual(done.returncode, 1)
            self.assertIn(shown, done.stderr)
            self.assertIn(f"{daemon.rules}:", done.stderr.split("\n")[0])
            self.assertEqual(done.stderr.count("unexpected 'staus'"), 1)
        # A warning is shown with its line, too.
        daemon.write_rules(self.settings(daemon) + CHECK.format("x") + "  if status != 0 for 300 cycles then alert\n")
        self.assertEqual(healerd("-t", "-c", daemon.rules).stderr.split("\n")[:-2], daemon.reload().stderr.split("\n")[:-3])

    # ---- the log -------------------------------------------------------------------------------------------------

    def test_a_log_that_cannot_be_written_is_an_error_at_the_start(self):
        daemon = self.configure(CHECK.format("x"))
        daemon.errors.write_text("")
        daemon.write_rules(self.settings(daemon).replace("healer.log", "nowhere/healer.log") + CHECK.format("x"))
        for options in ((), ("-I",)):
            done = healerd(*options, "-c", daemon.rules)
            self.assertEqual(done.returncode, 1, options)
            self.assertIn(f"healerd: the log {daemon.folder}/nowhere/healer.log cannot be written: No such file", done.stderr)

    def test_a_log_that_cannot_be_written_stays_where_it_was_at_a_reload(self):
        daemon = self.start(CHECK.format("x"))
        daemon.write_rules(self.settings(daemon).replace("healer.log", "nowhere/healer.log") + CHECK.format("y"))
        done = daemon.reload()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nowhere/healer.log cannot be written: No such file or directory; the log stays where it was",
                      re.sub(r"\s+", " ", done.stdout))
        self.assertEqual(daemon.ctl("names").stdout, "y\n")
        self.wait_for(lambda: "rules reloaded: 1 service" in daemon.log_text(), "the word of the reload in the old log")

    # ---- what is said of files -----------------------------------------------------------------------------------

    def test_offline_no_permissions_are_judged(self):
        rules = self.write("open.rules", CHECK.format("x"), 0o666)
        self.assertEqual(healerd("-t", "-c", rules).returncode, 1)
        done = healerd("-t", "--offline", "-c", rules)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_standard_input_is_checked(self):
        done = healerd("-t", "-c", "-", input="set daemon 5\n" + CHECK.format("x"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "Control file syntax OK\n", ""))
        done = healerd("-t", "-c", "-", input="set deamon 5\n")
        self.assertEqual((done.returncode, done.stderr.split(": unexpected")[0]), (1, "<stdin>:1:5: error"))
        done = healerd("-I", "-c", "-", input="")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a daemon must be able to read its rules again", done.stderr)

    def test_a_file_is_checked_among_the_others(self):
        self.write("d/a.rules", CHECK.format("a"))
        self.write("d/b.rules", CHECK.format("b") + "  depends on a\n")
        self.path("d").chmod(0o755)
        new = self.write("tmp/source", CHECK.format("b") + "  depends on a\n  group web\n")
        self.path("tmp").chmod(0o755)
        self.assertEqual(healerd("-t", "-c", new).returncode, 1)  # alone it has no `a`
        done = healerd("-t", "--with", self.path("d"), new)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "Control file syntax OK\n", ""))
        done = healerd("-t", "--with", self.path("d"), "-", input="check program c with path /bin/true depends on d\n"
                       "  if status != 0 then alert\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("<stdin>:1:48: error: ", done.stderr)
        # It takes away what another needs.
        gone = self.write("tmp/a.rules", CHECK.format("other"))
        done = healerd("-t", "--with", self.path("d"), gone)
        self.assertEqual(done.returncode, 1)
        self.assertIn("d/b.rules:3:14: error: ", done.stderr)
        for words in (("-t", "--with", self.path("d")), ("-I", "--with", self.path("d")),
                      ("-t", "-c", new, "--with", self.path("d"), new)):
            self.assertEqual(healerd(*words).returncode, 1, words)

    def test_a_check_is_printed_for_programs(self):
        rules = self.write("x.rules", 'check program x with path "/bin/true"\n  if status != 0 then allert\n  every 2\n')
        done = healerd("-t", "--json", "-c", rules)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        document = json.loads(done.stdout)
        self.assertEqual({name: document[name] for name in ("version", "accepted", "errors", "warnings")},
                         {"version": 1, "accepted": False, "errors": 2, "warnings": 0})
        first = document["diagnostics"][0]
        self.assertTrue(first.pop("message").startswith("unexpected 'allert'"))
        self.assertEqual(first, {"file": str(rules), "line": 2, "column": 23, "end_line": 2, "end_column": 29,
                                 "severity": "error", "code": "unknown-word",
                                 "remedy": "did you mean 'alert'?"})
        good = json.loads(healerd("-t", "--json", "-c", "-", input=CHECK.format("x")).stdout)
        self.assertEqual((good["accepted"], good["diagnostics"]), (True, []))

    def test_what_differs_by_the_cycles_is_noted_where_it_is_asked_for_or_new(self):
        text = 'check program x with path "/bin/true"\n  every 10 cycles\n  if status != 0 for 3 cycles then alert\n'
        note = "'3 cycles' with 'every 10 cycles' is 3 runs of this service"
        rules = self.write("x.rules", text)
        self.assertNotIn(note, healerd("-t", "-c", rules).stderr)
        self.assertIn(note, healerd("-t", "-v", "-c", rules).stderr)
        daemon = self.start(text)
        self.wait_for(lambda: note in daemon.log_text(), "the note at the first start")
        daemon.stop()
        daemon.launch()
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: "nothing has changed" in daemon.log_text(), "the word of the reload")
        self.assertEqual(daemon.log_text().count(note), 1)
        daemon.write_rules(self.settings(daemon) + text.replace("3 cycles", "4 cycles"))
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: note.replace("3 cycles", "4 cycles").replace("3 runs", "4 runs") in daemon.log_text(),
                      "the note at the reload")

    # ---- healerctl -----------------------------------------------------------------------------------------------

    def test_a_script_may_come_through_a_pipe(self):
        rules = self.write("x.rules", 'set daemon 20\n' + CHECK.format("x"))
        command = [str(support.BUILD / "healerctl"), "simulate", str(rules), "--script"]
        done = subprocess.run([*command, "-"], input="x: 0 1\n", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rule-failed", done.stdout)
        ours, theirs = os.pipe()
        with os.fdopen(theirs, "w") as pipe:
            pipe.write("x: 0 nonsense\n")
        done = subprocess.run([*command, f"/dev/fd/{ours}"], pass_fds=[ours], capture_output=True, text=True)
        os.close(ours)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"/dev/fd/{ours}:1:", done.stderr)


if __name__ == "__main__":
    support.main()
