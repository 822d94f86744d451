# SPDX-License-Identifier: MIT
"""What works on rules files without a daemon: `healerctl fmt`, `lint`."""
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
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "nothing to say against it\n", ""))
        rules = self.write("a.rules", 'check program x with path "/bin/true" with timeout 90 seconds\n'
                                      '  if status != 0 then alert\n  if status != 0 then alert\n')
        done = self.ctl("lint", rules)
        self.assertEqual((done.returncode, done.stdout), (1, "0 errors, 0 warnings, 3 notes\n"), done.stderr)
        self.assertIn(f"{rules}:3:3: note: this rule is at line 2 already\n", done.stderr)
        document = json.loads(self.ctl("--json", "lint", rules).stdout)
        self.assertEqual([one["code"] for one in document["findings"]], ["slow-check", "no-recipient", "duplicate-rule"])
        self.assertEqual((document["errors"], document["warnings"], document["notes"]), (0, 0, 3))
        self.assertEqual({"file", "line", "column", "end_line", "end_column", "severity", "code", "message", "remedy"},
                         set(document["findings"][0]))
        done = self.ctl("lint", "-", input="check progam x\n")
        self.assertEqual(done.returncode, 2)
        self.assertIn("<stdin>:1:7: error: ", done.stderr)


if __name__ == "__main__":
    support.main()
