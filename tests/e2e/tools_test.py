# SPDX-License-Identifier: MIT
"""What works on rules files without a daemon: `healerctl fmt`, `lint` and `import`, and
`compare`, which sets Monit beside a healer that watches."""
import json
import os
import shutil
import stat
import subprocess

import support

UGLY = '# all\n\n\n\nset daemon   5\ncheck program x with path "/bin/true"   # why\nif status != 0   then alert\n'
NEAT = '# all\n\nset daemon 5\ncheck program x with path "/bin/true"  # why\n  if status != 0 then alert\n'


class Tools(support.Case):
    def ctl(self, *words, **how) -> subprocess.CompletedProcess:
        return subprocess.run([support.BUILD / "healerctl", *words], capture_output=True, text=True, **how)

    def write(self, name: str, text: str, mode: int = 0o600):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def test_fmt_prints_checks_shows_and_writes(self):
        rules = self.write("d/a.rules", UGLY)
        neat = self.write("d/b.rules", 'check program y with path "/bin/true"\n  if status != 0 then alert\n')
        self.assertEqual(self.ctl("fmt", rules).stdout, NEAT)
        self.assertEqual(self.ctl("fmt", "-", input=UGLY).stdout, NEAT)
        done = self.ctl("fmt", "--check", self.path("d"))
        self.assertEqual((done.returncode, done.stdout), (1, f"{rules}\n"))
        done = self.ctl("fmt", "--diff", rules)
        self.assertEqual(done.returncode, 0)
        self.assertIn("\n-if status != 0   then alert\n+", done.stdout)
        patch = subprocess.run(["patch", "-p0", "-o", "-", rules], input=done.stdout, capture_output=True, text=True)
        if shutil.which("patch"):
            self.assertIn(NEAT, patch.stdout)
        self.assertEqual(rules.read_text(), UGLY)
        done = self.ctl("fmt", "-w", self.path("d"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"{rules}\n", ""))
        self.assertEqual(rules.read_text(), NEAT)
        self.assertEqual(self.ctl("fmt", "--check", rules, neat).returncode, 0)
        self.assertEqual(sorted(os.listdir(self.path("d"))), ["a.rules", "b.rules"])

    def test_fmt_keeps_owner_mode_and_links(self):
        rules = self.write("a.rules", UGLY, 0o640)
        link = self.path("link.rules")
        link.symlink_to(rules)
        if os.geteuid() == 0:
            os.chown(rules, 12, 34)
        before = rules.stat()
        self.assertEqual(self.ctl("fmt", "-w", link).returncode, 0)
        self.assertTrue(link.is_symlink())
        after = rules.stat()
        self.assertEqual((after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)), (before.st_uid, before.st_gid, 0o640))
        self.assertEqual(rules.read_text(), NEAT)

    def test_fmt_leaves_alone_what_it_cannot_judge(self):
        text = 'check  program x with path "/bin/true"\nif status != 0 then allert\n'
        rules = self.write("a.rules", text)
        done = self.ctl("fmt", "-w", rules)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(f"{rules}:2:21: error: ", done.stderr)
        self.assertEqual(rules.read_text(), text)
        # It depends on a service that is nowhere; beside the file that has it all is well.
        text = 'check  program x with path "/bin/true"\ndepends on y\nif status != 0 then alert\n'
        rules = self.write("d/a.rules", text)
        done = self.ctl("fmt", "-w", rules)
        self.assertEqual(done.returncode, 2)
        self.assertIn("what it means is not known", done.stderr)
        self.write("d/b.rules", 'check program y with path "/bin/true"\nif status != 0 then alert\n')
        for how in ({}, {"cwd": self.path("d")}):
            rules.write_text(text)
            done = self.ctl("fmt", "-w", "a.rules" if how else rules, **how)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("\n  depends on y\n", rules.read_text())

    def test_fmt_for_programs(self):
        rules = self.write("a.rules", UGLY)
        document = json.loads(self.ctl("--json", "fmt", "--check", rules).stdout)
        self.assertEqual((document["command"], document["changed"], document["errors"]), ("fmt", 1, 0))
        self.assertEqual(document["files"], [{"file": str(rules), "changes": True, "written": False, "error": ""}])
        self.assertEqual(json.loads(self.ctl("--json", "fmt", rules).stdout)["files"][0]["text"], NEAT)

    def test_lint_tells_of_what_could_be_better(self):
        good = self.write("good.rules", 'check program x with path "/bin/true"\n  if status != 0 then stop\n')
        done = self.ctl("lint", "--offline", good)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "no problems found\n", ""))
        rules = self.write("a.rules", 'check program x with path "/bin/true" with timeout 90 seconds\n'
                                      '  if status != 0 then alert\n  if status != 0 then alert\n')
        done = self.ctl("lint", rules)
        self.assertEqual((done.returncode, done.stdout), (1, "0 errors, 0 warnings, 3 notes\n"), done.stderr)
        self.assertIn(f"{rules}:3:3: note: this repeats the rule at line 2\n", done.stderr)
        document = json.loads(self.ctl("--json", "lint", rules).stdout)
        self.assertEqual([one["code"] for one in document["findings"]], ["slow-check", "no-recipient", "duplicate-rule"])
        self.assertEqual((document["errors"], document["warnings"], document["notes"]), (0, 0, 3))
        self.assertEqual({"file", "line", "column", "end_line", "end_column", "severity", "code", "message", "remedy"},
                         set(document["findings"][0]))
        done = self.ctl("lint", "-", input="check progam x\n")
        self.assertEqual(done.returncode, 2)
        self.assertIn("<stdin>:1:7: error: ", done.stderr)

    def test_import_makes_rules_of_a_tree_of_monit(self):
        main = self.write("monit/monitrc", f"set daemon 30\nset pidfile /run/monit.pid\ninclude {self.path('monit')}/conf.d/*\n")
        self.write("monit/conf.d/x", '# x\ncheck program x with path "/bin/true"\n  if status != 0 then alert\n', 0o644)
        before = {path: (path.read_text(), path.stat().st_mtime_ns) for path in self.path("monit").rglob("*") if path.is_file()}
        out = self.path("rules.d")
        done = self.ctl("import", main)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Nothing was written", done.stdout)
        self.assertFalse(out.exists())
        done = self.ctl("import", self.path("monit"), "-o", out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"{out}/01-x.rules  from {self.path('monit')}/conf.d/x\n", done.stdout)
        self.assertIn(f"  {main}:2: set pidfile /run/monit.pid\n", done.stdout)
        self.assertEqual(sorted(os.listdir(out)), ["00-monitrc.rules", "01-x.rules"])
        self.assertEqual({stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()}, {0o600})
        self.assertEqual(stat.S_IMODE(out.stat().st_mode), 0o700)
        accepted = subprocess.run([support.BUILD / "healerd", "-t", "-c", out], capture_output=True, text=True)
        self.assertEqual(accepted.returncode, 0, accepted.stderr)
        done = self.ctl("import", main, "-o", out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not empty: nothing was written", done.stderr)
        (out / "01-x.rules").write_text("gone\n")
        (out / "mine.rules").write_text("set settle 2 seconds\n")
        document = json.loads(self.ctl("--json", "import", main, "-o", out, "--force").stdout)
        self.assertEqual((document["written"], [one["path"] for one in document["files"]]),
                         (True, ["00-monitrc.rules", "01-x.rules"]))
        self.assertEqual([one["topic"] for one in document["report"]], ["monit", "left-out", "rights", "others"])
        self.assertEqual(document["report"][-1]["places"], [f"{out}/mine.rules"])
        self.assertIn("check program x", (out / "01-x.rules").read_text())
        self.assertEqual({path: (path.read_text(), path.stat().st_mtime_ns) for path in before}, before)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["monit", "rules.d"])
        done = self.ctl("import", self.write("bad", "check progam x\n"), "-o", self.path("none"))
        self.assertEqual((done.returncode, self.path("none").exists()), (1, False))
        self.assertIn("bad:1:7: error: ", done.stderr)

    def test_compare_sets_monit_beside_a_healer_that_watches(self):
        if not shutil.which("monit"):
            self.skipTest("monit is not installed")
        probe = self.script("probe", f"test ! -e {self.path('fail')} || {{ echo no answer; exit 1; }}")
        rules = (f'check program web with path "{probe}"\n  if status != 0 for 2 cycles then exec "/bin/true heal"\n'
                 f'check program again with path "{probe}"\n  start program = "/bin/true"\n  stop program = "/bin/true"\n'
                 '  if status != 0 for 2 cycles then restart\n')
        log = self.path("monit.log")
        monitrc = self.write("monitrc", f"set daemon 1\nset log {log}\nset pidfile {self.path('monit.pid')}\n"
                                        f"set idfile {self.path('id')}\nset statefile {self.path('state')}\n" + rules)
        daemon = self.start(rules, options=("--shadow",))
        monit = subprocess.Popen(["monit", "-I", "-c", monitrc], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait_for(lambda: log.exists() and "started" in log.read_text(), "Monit's start")
            self.path("fail").write_text("")
            self.wait_for(lambda: log.read_text().count("'again' trying to restart") > 2, "restarts by Monit")
            self.wait_for(lambda: "exec held: shadow" in daemon.log_text(), "what healer holds back")
            self.path("fail").unlink()
            self.wait_for(lambda: log.read_text().count("status succeeded") == 2, "the end of the failures")
            self.wait_for(lambda: daemon.log_text().count("status succeeded") >= 2, "the end of the failures, to healer")
        finally:
            monit.kill()
            monit.wait()
        document = json.loads(daemon.ctl("--json", "compare", "--monit", log).stdout)
        found = [(one["service"], one["what"], one["match"]) for one in document["decisions"]]
        self.assertEqual(sorted(one for one in found if one[2] != "again"), sorted(
            (service, what, "both") for service, act in (("web", "exec"), ("again", "restart"))
            for what in ("failed", act, "recovered")), document)
        self.assertGreaterEqual(document["again"], 2)
        self.assertEqual({one[:2] for one in found if one[2] == "again"}, {("again", "restart")})
        self.assertEqual((document["only_monit"], document["only_healer"], document["unread_lines"]), (0, 0, 0))
        done = daemon.ctl("compare", "--monit", log)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("6 by both, 0 only by Monit, 0 only by healer", done.stdout)
        log.write_text(log.read_text() + log.read_text().splitlines()[-1].split(" ")[0] + " info     : 'x' exec: '/bin/x'\n")
        done = daemon.ctl("compare", "--monit", log)
        self.assertEqual(done.returncode, 1)
        self.assertIn("only Monit", done.stdout)
        daemon.stop()
        again = self.ctl("--json", "compare", "--monit", log, "--state", daemon.folder / "healer.state")
        self.assertEqual(json.loads(again.stdout)["both"], 6)


if __name__ == "__main__":
    support.main()
