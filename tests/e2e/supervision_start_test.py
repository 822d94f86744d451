# SPDX-License-Identifier: MIT
"""Start programs that do no good: each is told with its reason, tried again, and never makes two of one."""
import re

import supervised
import support
from support import processes


class SupervisionStart(supervised.Case):
    def why(self, daemon: support.Daemon, service: supervised.Process) -> list[str]:
        """The reasons of the starts that failed."""
        return [text for kind, text in self.told(daemon, service.name) if kind == "job-failed"]

    def test_what_a_start_did_not_do_is_told_with_its_reason(self):
        cases = {  # what the start program does, what its process does: the reason
            "fails": ("echo no licence >&2; exit 3", ":", "(exit status 3) -- '{script} start': no licence"),
            "killed": ("kill -9 $$", ":", "(exit status 9) -- no output"),
            "hangs": ("exec sleep 99999", ":", "(exit status -1) -- Program '{script} start' timed out after 3 s"),
            "foreground": ("exec {live}", "sleep 99998; write_pid", "Program '{script} start' timed out after 3 s"),
            "nothing": ("exit 0", ":", "failed to start within 3 s"),
            "dies": (supervised.LAUNCH, "exit 1", "failed to start within 3 s"),
            "nameless": (": > {pidfile}", ":", "failed to start within 3 s"),
            "babbles": ("echo started > {pidfile}", ":", "failed to start within 3 s"),
            "absent": ("", ":", "cannot execute {script}: No such file or directory"),
            "refused": ("", ":", "cannot execute {script}: Permission denied"),
        }
        services = {name: self.process(name, start=start, live=live, within=3) for name, (start, live, _) in cases.items()}
        daemon = self.configure(self.rules(*services.values()))
        services["absent"].script.unlink()
        services["refused"].script.chmod(0o644)
        daemon.launch()

        # While it waits, jobs and explain say for what.
        for name, word in (("hangs", "its program to end"), ("nothing", "the process of nothing to appear")):
            self.wait_for(lambda: f"start {name}, waits for {word}" in daemon.ctl("jobs").stdout, f"{name} to wait",
                          detail=lambda: daemon.ctl("jobs").stdout)
            under_way = re.compile(f"Under way: restart {name}: step 2 of 2, start {name}, for .*; it waits for {word}")
            self.wait_for(lambda: under_way.search(daemon.ctl("explain", name).stdout), f"{name} to be explained",
                          detail=lambda: daemon.ctl("explain", name).stdout)

        for name, (_, _, reason) in cases.items():
            one = services[name]
            reason = reason.replace("{script}", str(one.script))
            self.wait_for(lambda: len(self.why(daemon, one)) >= 2, f"{name} to fail twice",
                          detail=lambda: str(self.told(daemon, name)))
            for told in self.why(daemon, one):
                self.assertTrue(told.startswith("restart failed: failed to start ") and told.endswith(reason), told)
            self.wait_for(lambda: "starts failed, or it died soon after" in daemon.ctl("explain", name).stdout,
                          f"the backoff of {name}", detail=lambda: daemon.ctl("explain", name).stdout)
            self.assertEqual(daemon.ask("summary", name)["services"][0]["state"], "failed")
            self.assertLessEqual(len(one.living()), 1)
        self.alone()

        # Each comes up when what was wrong has gone.
        for name in cases:
            services[name] = self.process(name, within=3)
        self.wait_up(daemon, *services.values())
        self.alone()

    def test_what_a_start_leaves_without_a_pid_file_is_not_doubled(self):
        twice = "setsid sh -c 'setsid {live} & exit 0' >/dev/null 2>&1 </dev/null & exit 0"
        never = self.process("never", within=1, live=":")
        late = self.process("late", within=1, live="sleep 5; write_pid", start=twice)
        fails = self.process("fails", within=1, live=":", start=supervised.LAUNCH + "\nsleep 0.2; exit 1")
        services = (never, late, fails)
        daemon = self.start(self.rules(*services))
        for one in services:
            self.wait_for(lambda: self.why(daemon, one), f"{one.name} to fail")
        self.wait_for(lambda: late.pid() and self.seen_pid(daemon, "late") == late.pid(), "the late one",
                      detail=lambda: str(self.told(daemon, "late")))
        self.more_cycles(daemon, 3)
        self.assertEqual([len(one.copies()) for one in services], [1, 1, 1])
        self.alone()

    def lose_state(self, daemon: support.Daemon) -> None:
        """It is killed, and its state file is none any more when it comes again."""
        daemon.kill()
        (daemon.folder / "healer.state").write_bytes(b"no database" * 1000)
        for journal in daemon.folder.glob("healer.state-*"):
            journal.unlink()
        daemon.launch()
        self.wait_for(lambda: list(daemon.folder.glob("healer.state.corrupt-*")), "the damage to be found")

    def test_a_program_that_a_lost_state_does_not_know_is_not_doubled(self):
        alone = "exec 8>>{name}.program; flock -n 8 || echo {name} >> doubles; echo $$ >> {name}.programs; sleep 99996"
        begins = self.process("begins", within=600, live=":", start=alone)
        ends = self.process("ends", within=600, stop=alone)
        daemon = self.start(self.rules(begins, ends))

        def stop() -> None:
            self.wait_for(lambda: ends.pid() and self.seen_pid(daemon, "ends") == ends.pid(), "its process to be seen")
            self.begin_ctl(daemon, "stop", "ends")

        def programs(one: supervised.Process) -> list[int]:
            path = one.folder / f"{one.name}.programs"
            return list(map(int, path.read_text().split())) if path.exists() else []

        stop()
        self.wait_for(lambda: programs(begins) and programs(ends), "their programs")
        self.lose_state(daemon)
        stop()
        for one in (begins, ends):
            self.wait_for(lambda: len(programs(one)) == 2, f"the program of {one.name} to run anew",
                          detail=lambda: str(self.told(daemon, one.name)))
            first, second = programs(one)
            self.assertFalse(processes.command_line(first))
            self.assertTrue(processes.command_line(second))
        self.alone()


if __name__ == "__main__":
    support.main()
