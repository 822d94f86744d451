# SPDX-License-Identifier: MIT
"""The driver of the end-to-end tests, tested without a daemon: what it cannot see it cannot hold."""
import subprocess
import sys
import unittest

import support
from support import processes


class Driver(support.Case):
    def setUp(self):
        try:
            super().setUp()
        except unittest.SkipTest:
            pass  # no daemon is needed here

    def test_programs_end_with_the_statuses_they_are_given(self):
        check = self.statuses("check", [0, 3, 1])
        self.assertEqual([subprocess.run([check]).returncode for _ in range(5)], [0, 3, 1, 1, 1])
        self.assertEqual(self.runs("check"), 5)

    def test_orphans_are_found_and_ended(self):
        subprocess.run(["/bin/sh", "-c", "setsid sleep 600 & setsid sleep 600 & exit 0"], check=True)
        self.wait_for(lambda: [processes.command_line(pid) for pid in processes.descendants()] == ["sleep 600"] * 2,
                      "two orphans")
        self.assertEqual(processes.end_all(), [])
        self.assertEqual(processes.descendants(), [])

    def test_children_die_with_the_test(self):
        parent = subprocess.Popen(
            [sys.executable, "-c", "import subprocess, sys; sys.path.insert(0, sys.argv[1]); import processes;"
             "child = subprocess.Popen(['sleep', '600'], preexec_fn=processes.die_with_parent);"
             "print(child.pid, flush=True); child.wait()", str(support.TOP / "tests" / "support")],
            stdout=subprocess.PIPE, text=True)
        child = int(parent.stdout.readline())
        parent.stdout.close()
        parent.kill()
        parent.wait()
        self.wait_for(lambda: processes.reap() or not processes.state(child), "the end of the child")

    def test_a_program_left_behind_fails_a_test(self):
        class Careless(Driver):
            def test(self):
                subprocess.run(["/bin/sh", "-c", "sleep 600 & exit 0"], check=True)

            def wait_for(self, condition, what, limit=1.0, **more):
                return super().wait_for(condition, what, 0.2, **more)

        result = Careless("test").run(unittest.TestResult())
        self.assertEqual(len(result.failures), 1, result)
        self.assertIn("the end of all processes", result.failures[0][1])

    def test_a_thread_left_behind_fails_a_test_and_holds_up_nobody(self):
        careless = self.path("careless.py")
        careless.write_text("import sys, threading, time\n"
                            f"sys.path.insert(0, {str(support.TOP / 'tests' / 'e2e')!r})\n"
                            "import support\n"
                            "support.threads_left.__defaults__ = (0.2,)\n"
                            "class Careless(support.unittest.TestCase):\n"
                            "    def test(self):\n"
                            "        threading.Thread(target=threading.Event().wait, name='listener').start()\n"
                            "support.main()\n")
        done = subprocess.run([sys.executable, careless], capture_output=True, text=True, timeout=support.LIMIT)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("a test has left threads running: listener", done.stderr)


if __name__ == "__main__":
    support.main()
