# SPDX-License-Identifier: MIT
"""What was measured of Monit, measured again beside healer: changes and contents of check programs, what lasts over
reloads and restarts, files with errors. healer does the same, or differs as its documents say.
"""
import re
import signal
from pathlib import Path

import both
import support
from support import processes

# A program that prints which run it is and leaves that in NAME.runs.
RUN = """
run=0
[ ! -e {name}.runs ] || read run < {name}.runs
run=$((run + 1))
echo $run > {name}.new && mv {name}.new {name}.runs
"""


class MonitFacts(both.Case):
    def check(self, folder: Path, name: str, body: str, options: str = "") -> str:
        """A check program as a statement without its rules; {name} in its body is its name."""
        return f'check program {name} with path "{self.place(folder, name, body.replace("{name}", name))}"{options}\n'

    def act(self, folder: Path) -> Path:
        """Leaves its argument, the event and the description in `acts`."""
        words = '$1: $MONIT_EVENT: $(printf %s "$MONIT_DESCRIPTION" | tr -s "\\n" " ")'
        return self.place(folder, "act", f'echo "{words}" >> acts')

    def runs(self, folder: Path, name: str) -> int:
        path = folder / f"{name}.runs"
        return int(path.read_text()) if path.exists() else 0

    def acts(self, folder: Path) -> list[str]:
        path = folder / "acts"
        return [line.strip() for line in path.read_text().splitlines()] if path.exists() else []

    # ---- changes and contents ---------------------------------------------------------------------------------

    def test_changes_and_contents_act_as_in_monit(self):
        statuses = "0 0 1 1 2 0 0 1 1"
        rules = {"changed": "if changed status", "content": 'if content = "rc [12]"',
                 "other": 'if content != "rc 0" for 2 cycles'}
        body = (RUN + f'set -- {statuses}\nrc=0\n[ $run -gt $# ] || eval "rc=\\${{$run}}"\n'
                'echo "rc $rc run-$run"\nexit $rc')

        def more(folder: Path) -> str:
            act = self.act(folder)
            return "".join(self.check(folder, name, body) + f'  {rule} then exec "{act} {name}"\n'
                           for name, rule in rules.items())

        self.run_both(lambda folder: [], more)
        content = "other: Content match: content match on program output: rc {} run-{}"
        expected = [f"changed: Status changed: status changed ({before} -> {after}) -- rc {after} run-{run}"
                    for run, before, after in ((3, 0, 1), (5, 1, 2), (6, 2, 0), (8, 0, 1), (10, 1, 0))]
        expected += [content.format(status, run).replace("other", "content", 1)
                     for run, status in ((3, 1), (4, 1), (5, 2), (8, 1), (9, 1))]
        expected += [content.format(status, run) for run, status in ((4, 1), (5, 2), (9, 1))]
        for folder in self.folders():
            self.wait_for(lambda: all(self.runs(folder, name) > 11 for name in rules), "twelve runs")
            self.wait_for(lambda: len(self.acts(folder)) >= len(expected), "the actions",
                          detail=lambda: str(self.acts(folder)))
            self.assertEqual(sorted(self.acts(folder)), sorted(expected), folder.name)

    # ---- what lasts -------------------------------------------------------------------------------------------

    MANY = 8   # failures in a row of which a part falls before what happens, and a part after it
    CYCLE = 2  # seconds: where healer is away for more than three of them it counts anew, too

    def lasting(self, happens, cut: int = 0) -> None:
        """What lasts in both over what `happens` does to them, which may cut so many runs off: those do not count. The
        program of `long` runs meanwhile."""
        def more(folder: Path) -> str:
            act, fails = self.act(folder), "[ -e go ] || exit 0" + RUN + "echo run-$run.\nexit 1"
            return (self.check(folder, "few", fails) + f'  if status != 0 for 2 cycles then exec "{act} few"\n' +
                    self.check(folder, "many", fails) +
                    f'  if status != 0 for {self.MANY} cycles then exec "{act} many"\n' +
                    self.check(folder, "left", RUN) + "  if status != 0 then alert\n  onreboot laststate\n" +
                    self.check(folder, "long", "sleep 88888 &\necho $$ $! >> {name}.begun\n"
                               "trap 'echo term >> {name}.ends; exit' TERM\nwait", " with timeout 200 seconds") +
                    "  if status != 0 then alert\n")

        self.run_both(lambda folder: [], more, self.CYCLE)
        self.more_beats(1)
        self.command("unmonitor", "left")
        self.more_beats(2)  # Monit writes its state once a cycle
        left = {folder: self.runs(folder, "left") for folder in self.folders()}
        self.assertEqual([self.begun(folder) for folder in self.folders()], [1, 1])
        for folder in self.folders():
            (folder / "go").touch()
        for folder in self.folders():
            self.wait_for(lambda: self.acts(folder), "the first action")
        if any(self.runs(folder, "many") >= self.MANY - 2 for folder in self.folders()):
            self.skipTest("too slow for what was to happen before the last failure")
        happens()
        by_healer, by_monit = self.folders()
        self.wait_for(lambda: len(self.fired(by_healer)) >= 2 and len(self.fired(by_monit)) >= 3, "the last action",
                      detail=lambda: f"{self.acts(by_healer)} {self.acts(by_monit)}")
        self.more_beats(2)
        # healer counts on, and what has fired is quiet; Monit begins anew, so both fire (once more).
        self.assertIn(self.fired(by_healer), [[("few", 2), ("many", self.MANY + more)] for more in range(cut + 1)])
        (first, run), (again, _), (last, late) = self.fired(by_monit)
        self.assertEqual((first, run, again, last), ("few", 2, "few", "many"))
        self.assertGreater(late, self.MANY)
        self.assertEqual({folder: self.runs(folder, "left") for folder in self.folders()}, left)  # in both

    def fired(self, folder: Path) -> list[tuple[str, int]]:
        return [(line.split(":")[0], int(re.search(r"run-(\d+)\.", line).group(1))) for line in self.acts(folder)]

    def begun(self, folder: Path) -> int:
        return self.lines(f"{folder.name}/long.begun")

    def first_long(self, folder: Path) -> list[bool]:
        """Whether the first run of `long` and its child still live."""
        line = (folder / "long.begun").read_text().splitlines()[0]
        return [processes.state(int(pid)) not in ("", "Z") for pid in line.split()]

    def test_what_lasts_over_a_reload_and_what_does_not_in_monit(self):
        by_healer, by_monit = self.folders()
        self.lasting(lambda: self.command("reload"))
        # The program that ran goes on; Monit has killed it, but not its child, and has begun another one.
        self.assertEqual((self.begun(by_healer), self.first_long(by_healer)), (1, [True, True]))
        self.assertEqual((self.begun(by_monit), self.first_long(by_monit)), (2, [False, True]))
        self.assertFalse((by_monit / "long.ends").exists())

    def test_what_lasts_over_a_quit_and_what_does_not_in_monit(self):
        by_healer, by_monit = self.folders()

        def happens() -> None:
            self.daemon.stop()
            self.monit.terminate()
            self.wait_for(lambda: self.monit.poll() is not None, "the end of Monit")
            # healer has told the program to end, with its child; Monit has killed it, without.
            self.assertEqual(self.lines(f"{by_healer.name}/long.ends"), 1)
            self.assertEqual(self.first_long(by_healer), [False, False])
            self.assertFalse((by_monit / "long.ends").exists())
            self.assertEqual(self.first_long(by_monit), [False, True])
            self.daemon.launch()
            self.launch_monit()

        self.lasting(happens, cut=1)
        self.assertEqual([self.begun(folder) for folder in self.folders()], [2, 2])

    def test_what_lasts_over_a_kill_and_what_does_not_in_monit(self):
        self.lasting(self.kill_both, cut=1)

    def kill_both(self) -> None:
        self.daemon.kill()
        self.daemon.launch()
        self.monit.kill()
        self.monit.wait()
        self.launch_monit()

    def test_a_minute_of_cron_comes_once_and_in_monit_after_each_reload(self):
        body = "date +%H:%M >> {name}.minutes"
        self.run_both(lambda folder: [], lambda folder: self.check(folder, "timed", body) +
                      '  every "* * * * *"\n  if status != 0 then alert\n')
        minutes = {folder: folder / "timed.minutes" for folder in self.folders()}
        for folder in self.folders():
            self.wait_for(minutes[folder].exists, f"the first run by {folder.name}", limit=2 * support.LIMIT)
        # One of them may fall into the next minute, but not all.
        for happens in (lambda: self.command("reload"), lambda: self.command("reload"), self.kill_both):
            happens()
            self.more_beats(3)
        by_healer, by_monit = (minutes[folder].read_text().split() for folder in self.folders())
        self.assertEqual(len(by_healer), len(set(by_healer)), by_healer)
        self.assertGreater(len(by_monit), len(set(by_monit)), by_monit)

    # ---- errors -----------------------------------------------------------------------------------------------

    def test_a_reload_with_errors_is_refused_and_a_hang_up_ends_monit_alone(self):
        self.run_both(lambda folder: [])
        self.more_beats(1)
        for rules in (self.daemon.rules, self.monitrc):
            with rules.open("a") as file:
                file.write("check progam x\n")
        for program in (self.begin_ctl(self.daemon, "reload"), self.begin("monit", "-c", self.monitrc, "reload")):
            done = self.end(program)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("progam" if program.args[0] != "monit" else "syntax error", done.stdout + done.stderr)
        self.more_beats(2)
        self.daemon.process.send_signal(signal.SIGHUP)
        self.monit.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.monit.poll() is not None, "the end of Monit")
        self.wait_for(lambda: "the rules files have errors" in self.daemon.log_text(), "the refusal in the log")
        by_healer, by_monit = self.folders()
        beats, last = self.beats(by_healer), self.beats(by_monit)
        self.wait_for(lambda: self.beats(by_healer) > beats + 2, "more cycles of healer")
        self.assertLessEqual(self.beats(by_monit), last + 1)  # nobody looks after anything


if __name__ == "__main__":
    support.main()
