# SPDX-License-Identifier: MIT
"""Nothing waits for something slow, and nothing slow is left behind."""
from pathlib import Path

import support
from support import processes


class Slow(support.Case):
    def test_twenty_hanging_programs_delay_nobody_and_leave_nothing_behind(self):
        # Each hangs with children that ignore SIGTERM, beside a program that takes 0 s.
        hang = self.script("hang", "trap '' TERM\nsleep 600 &\nsetpriv --pdeathsig clear sleep 600 &\nwait; sleep 600")
        beat = self.statuses("beat", [0])
        rules = f'check program beat with path "{beat}"\n  if status != 0 then alert\n'
        for number in range(20):
            rules += (f'check program hang{number} with path "{hang}" with timeout 3 seconds\n'
                      "  if status = 9 for 2 cycles then alert\n")
        daemon = self.start(rules, cycle="3")  # which the quick one needs on no machine, however busy that is
        self.wait_for(lambda: self.runs("beat") >= 6, "six runs of the quick one")
        records = daemon.ask("history")["records"]
        self.assertFalse([r for r in records if r["service"] == "beat" and r["kind"] == "run-overrun"])
        timed_out = {r["service"] for r in records if r["kind"] == "run-timed-out"}
        self.assertEqual(timed_out, {f"hang{number}" for number in range(20)})
        # At any moment there is at most one generation of them, and the one before while it is being ended.
        sleeping = [pid for pid in processes.descendants() if "sleep 600" in processes.command_line(pid)]
        self.assertLessEqual(len(sleeping), 20 * 3 * 2)
        daemon.stop()
        self.wait_for(lambda: processes.reap() or not processes.descendants(), "the end of all that hung")

    def test_what_hangs_when_healer_is_killed_is_ended_by_the_next_one(self):
        check = self.script("check", f"echo x >> {self.path('check.runs')}; exec sleep 77777")
        daemon = self.start(f'check program hangs with path "{check}" with timeout 3 seconds\n  if status = 9 then alert\n')
        hung = lambda: [pid for pid in processes.descendants() if "77777" in processes.command_line(pid)]  # noqa: E731
        for _ in range(2):
            before = self.runs("check")
            self.wait_for(lambda: self.runs("check") > before, "a run")
            daemon.kill()
            daemon.launch()
        before = self.runs("check")
        self.wait_for(lambda: self.runs("check") >= before + 2, "two more runs")
        self.wait_for(lambda: len(hung()) <= 1, "the end of all runs but the last")
        self.assertEqual(daemon.log_text().count("a check program left by the previous healerd is ended"), 2)

    def test_with_hardly_a_descriptor_each_check_has_its_turn(self):
        names = [f"node{number}" for number in range(20)]
        rules = "".join(f'check program {name} with path "{self.script(name, f"echo x >> {self.path(name)}.runs; sleep 0.1")}"\n'
                        "  if status != 0 then alert\n" for name in names)
        daemon = self.configure(rules)
        daemon.binary = self.script("few", f'exec prlimit --nofile=40:40 {support.BUILD / "healerd"} "$@"')
        daemon.launch()
        self.wait_for(lambda: min(self.runs(name) for name in names) >= 3, "three runs of each")
        runs = [self.runs(name) for name in names]
        self.assertLessEqual(max(runs) - min(runs), 2, runs)  # one of them goes on while they are counted

    def test_a_background_child_that_keeps_the_pipe_open_holds_no_result(self):
        check = self.script("check", f"sleep 600 &\necho x >> {self.path('ran')}; exit 3")
        daemon = self.start(f'check program forks with path "{check}"\n  if status = 3 for 3 cycles then alert\n')
        self.wait_for(lambda: "status failed (3)" in daemon.log_text(), "the firing")
        self.may_outlive = True  # the program leaves them behind, and it exited by itself

    def test_a_program_that_writes_without_end_costs_nothing(self):
        check = self.script("check", "yes 0123456789 | head -c 200000000; exit 1")
        daemon = self.start(f'check program loud with path "{check}"\n  if status = 1 then alert\n')
        self.wait_for(lambda: "status failed (1)" in daemon.log_text(), "the firing")
        process = Path("/proc") / str(daemon.pid)
        peak = next(int(line.split()[1]) for line in (process / "status").read_text().splitlines() if "VmHWM" in line)
        if not support.SANITIZED:
            self.assertLess(peak, 100_000)  # kB; the program wrote 200 MB


if __name__ == "__main__":
    support.main()
