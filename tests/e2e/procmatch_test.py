# SPDX-License-Identifier: MIT
"""`healerctl procmatch` sees the processes that the real monit sees, and takes the same one."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import support


class Procmatch(support.Case):
    def setUp(self):
        super().setUp()
        self.parents: list[subprocess.Popen] = []

    def tearDown(self):
        for parent in self.parents:
            os.killpg(parent.pid, signal.SIGKILL)
            parent.wait()
            parent.stdout.close()
        super().tearDown()

    def healer(self, expression: str, *options: str) -> subprocess.CompletedProcess:
        return subprocess.run([support.BUILD / "healerctl", *options, "procmatch", expression], capture_output=True,
                              text=True)

    def family(self) -> str:
        """A parent with two children, whose command lines have a word of their own; a second, younger parent. (The word
        must not be "procmatch": Monit passes over command lines that have it, for its own sake.)"""
        word = f"healer-family-{time.time_ns()}"
        script = ("import subprocess, sys, time\n"
                  "for _ in range(int(sys.argv[2])): subprocess.Popen([sys.executable, '-c',"
                  " 'import time; time.sleep(600)', sys.argv[1]])\n"
                  "print(flush=True); time.sleep(600)\n")
        for children in ("2", "0"):
            parent = subprocess.Popen([sys.executable, "-c", script, word, children], stdout=subprocess.PIPE,
                                      start_new_session=True)
            self.parents.append(parent)
            parent.stdout.readline()
            time.sleep(0.05)  # their ages differ by more than a tick of the kernel's clock
        return word

    def test_it_takes_the_process_that_monit_takes(self):
        if not shutil.which("monit"):
            raise unittest.SkipTest("the real monit is not installed")
        word = self.family()
        rules = self.path("monitrc")
        rules.write_text(f"set daemon 5\nset idfile {self.path('id')}\nset statefile {self.path('state')}\n"
                         f"set pidfile {self.path('pid')}\ncheck system here\n")
        rules.chmod(0o600)
        told = subprocess.run(["monit", "-c", rules, "procmatch", word], capture_output=True, text=True).stdout
        told = re.sub(r"\x1b\[[0-9;]*m", "", told)
        rows = re.findall(r"^ ([* ]) {1,9}(\d+) +(\d+) ", told, re.M)  # not the rest of a long command line
        monit = {int(pid): (int(ppid), star == "*") for star, pid, ppid in rows}
        self.assertEqual(len(monit), 4, told)
        done = self.healer(word, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        healer = {one["pid"]: (one["ppid"], one["chosen"]) for one in json.loads(done.stdout)["processes"]}
        self.assertEqual(healer, monit)

    def test_none_and_no_expression_are_told_apart(self):
        none = self.healer("healer-procmatch-of-nobody")
        self.assertEqual((none.returncode, none.stdout), (1, 'no process matches "healer-procmatch-of-nobody"\n'))
        bad = self.healer("([")
        self.assertEqual(bad.returncode, 1)
        self.assertIn('"([" is not a valid regular expression', bad.stderr)


if __name__ == "__main__":
    support.main()
