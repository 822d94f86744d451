# SPDX-License-Identifier: MIT
"""healerd as the first process of a container: it reaps what is left to it, and only that."""
import subprocess

import support
from support import processes


class FirstProcess(support.Case):
    def setUp(self):
        super().setUp()
        apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
            self.skipTest("no process namespace can be made here")
        self.apart = self.script("apart", f'exec {" ".join(apart)} {support.BUILD}/healerd "$@"')

    def launch(self, rules: str) -> support.Daemon:
        daemon = self.configure(rules)
        daemon.binary = self.apart
        daemon.launch()
        [self.first] = processes.children(daemon.pid)
        return daemon

    def ended(self) -> list[int]:
        """What has ended and was left to the first process."""
        return [pid for pid in processes.children(self.first) if processes.state(pid) == "Z"]

    def test_orphans_are_reaped_and_the_ends_of_programs_are_not_lost(self):
        orphans = self.script("orphans", f"for i in 1 2 3; do setsid sh -c 'sleep 0.2 & exit 0' </dev/null "
                                         f">/dev/null 2>&1; done; echo >> {self.path('made')}")
        status = self.script("status", f"echo >> {self.path('runs')}; exit 3")
        daemon = self.launch(f'check program orphans with path "{orphans}" every 1000 cycles\n'
                             "  if status != 0 then alert\n"
                             f'check program status with path "{status}"\n  if status != 3 then alert\n')
        self.wait_for(lambda: self.lines("made") == 1, "orphans to be made")
        self.wait_for(lambda: len(self.ended()) == 3, "orphans to end")
        self.wait_for(lambda: not self.ended(), "orphans to be reaped")
        before = self.lines("runs")
        self.wait_for(lambda: self.lines("runs") > before + 1, "more runs")
        kinds = {one["kind"] for one in daemon.ask("history", "status")["records"]}
        self.assertNotIn("rule-failed", kinds)
        self.assertEqual(daemon.ctl("quit").returncode, 0)
        self.assertEqual(daemon.process.wait(support.LIMIT), 0)

    def test_the_death_of_a_service_that_was_left_to_it_is_seen(self):
        pid_file = self.path("pid")
        start = self.script("start", f"setsid sh -c 'sleep 1000 & echo $! > {pid_file}' </dev/null >/dev/null 2>&1\n"
                                     f"echo >> {self.path('starts')}")
        daemon = self.launch(f'check process left with pidfile {pid_file}\n  start program = "{start}"\n')
        self.wait_for(lambda: self.lines("starts") == 1, "its start")
        self.wait_for(lambda: "process" in daemon.ask("status", "left")["services"][0], "the service to run")
        [sleeper] = [pid for pid in processes.children(self.first) if processes.command_line(pid) == "sleep 1000"]
        subprocess.run(["kill", "-9", str(sleeper)], check=True)
        self.wait_for(lambda: self.lines("starts") == 2, "its next start")
        self.wait_for(lambda: processes.state(sleeper) == "", "the dead one to be reaped")
        self.assertEqual(daemon.ctl("quit").returncode, 0)
        self.assertEqual(daemon.process.wait(support.LIMIT), 0)


if __name__ == "__main__":
    support.main()
