# SPDX-License-Identifier: MIT
"""The same processes, rules and commands: healer and the real Monit run the same start and stop programs in one order.

Where they differ on purpose, the test says how.
"""
from pathlib import Path

import both
import supervised
import support
from support import processes


class SupervisionMonit(both.Case):
    @staticmethod
    def chain(folder: Path) -> list[supervised.Process]:
        """a needs b, b needs c, c needs d."""
        return [supervised.Process(folder, name, depends=needs).write()
                for name, needs in (("a", "b"), ("b", "c"), ("c", "d"), ("d", ""))]

    def up(self) -> None:
        for services in self.services:
            for one in services.values():
                self.wait_for(one.pid, f"{one.script} to run")

    # ---- dependencies -----------------------------------------------------------------------------------------

    def test_dependencies_go_in_the_order_of_monit(self):
        self.run_both(self.chain)
        self.order("cold start", ["d start", "c start", "b start", "a start"])
        for services in self.services:
            services["d"].kill()
        self.order("death of d", ["a stop", "b stop", "c stop", "d start", "c start", "b start", "a start"])
        self.command("restart", "c")
        self.order("restart c", ["a stop", "b stop", "c stop", "c start", "b start", "a start"])
        self.watched("a", "b", "c", "d")
        self.command("stop", "d")
        self.order("stop d", ["a stop", "b stop", "c stop", "d stop"])
        self.watched()
        self.command("start", "a")
        self.order("start a", ["d start", "c start", "b start", "a start"])
        self.watched("a", "b", "c", "d")
        self.alone()

    def test_unmonitor_monitor_and_all_reach_as_far_as_in_monit(self):
        self.run_both(self.chain)
        self.order("cold start", ["d start", "c start", "b start", "a start"])
        self.command("unmonitor", "c")
        self.order("unmonitor c", [])
        self.watched("d")
        self.command("monitor", "a")
        self.order("monitor a", [])
        self.watched("a", "b", "c", "d")
        self.command("stop", "all")
        self.order("stop all", ["a stop", "b stop", "c stop", "d stop"], quiet=False)  # no program beats, either
        self.watched()
        self.command("start", "all")
        self.order("start all", ["d start", "c start", "b start", "a start"])
        self.alone()

    def test_parts_of_a_chain_are_moved_as_in_monit(self):
        self.run_both(self.chain)
        self.order("cold start", ["d start", "c start", "b start", "a start"])
        for words, lines, watched in (
                (("stop", "d"), ["a stop", "b stop", "c stop", "d stop"], ""),
                (("restart", "b"), ["d start", "c start", "b start"], "bcd"),
                (("stop", "d"), ["b stop", "c stop", "d stop"], ""),
                (("start", "d"), ["d start"], "d"),
                (("start", "b"), ["c start", "b start"], "bcd"),
                (("restart", "d"), ["b stop", "c stop", "d stop", "d start", "c start", "b start"], "bcd"),
                (("stop", "a"), [], "bcd"),
                (("restart", "a"), ["a start"], "abcd"),
                (("unmonitor", "b"), [], "cd"),
                (("restart", "c"), ["c stop", "c start"], "cd"),
                (("monitor", "b"), [], "bcd")):
            self.command(*words)
            self.order(" ".join(words), lines)
            self.watched(*watched)
        self.alone()

    def test_a_process_without_programs_is_only_monitored_or_not(self):
        def services(folder):
            both = [supervised.Process(folder, name, start=None, stop=None).write() for name in ("runs", "down")]
            both[0].by_hand()
            return both

        self.run_both(services)
        self.more_beats(1)  # Monit takes no commands before
        living = [one["runs"].pid for one in self.services]
        for pid in living:
            self.wait_for(pid, "the process")
        before = [pid() for pid in living]
        for words, watched in ((("stop", "runs"), {"down"}), (("stop", "down"), set()), (("start", "runs"), {"runs"}),
                               (("start", "down"), {"runs", "down"})):
            self.command(*words)
            self.order(" ".join(words), [])
            self.watched(*watched)
        self.assertEqual([pid() for pid in living], before)

    def test_a_restart_of_all_restarts_each_once(self):
        self.run_both(self.chain)
        self.order("cold start", ["d start", "c start", "b start", "a start"])
        by_healer, by_monit = self.folders()
        wanted = ["a stop", "b stop", "c stop", "d stop", "d start", "c start", "b start", "a start"]
        self.command("restart", "all")
        self.more_beats(both.QUIET)
        self.assertEqual(self.news(by_healer), wanted)
        # Monit goes on with c, b and a, each with its dependents once more (measured); what is fresh needs no restart.
        self.wait_for(lambda: len(self.news(by_monit)) >= len(wanted), "the restart by Monit")
        self.assertEqual(self.news(by_monit)[:len(wanted)], wanted)
        self.alone()

    def restart_of_all(self, lines: list[str], **programs) -> None:
        """a has a restart program, `programs` besides, and needs d."""

        def services(folder):
            those = [supervised.Process(folder, "a", depends="d", restart=supervised.RESTART, **programs).write(),
                     supervised.Process(folder, "d").write()]
            for one in those:
                one.by_hand()
                self.wait_for(one.pid, f"{one.name} to run")
            return those

        self.run_both(services)
        self.watched("a", "d")
        self.more_beats(1)
        self.command("restart", "all")
        for folder in self.folders():
            self.wait_for(lambda: len(self.news(folder)) >= len(lines), f"the restart, {folder.name}",
                          detail=lambda: str(self.news(folder)))
        self.more_beats(both.QUIET)
        by_healer, by_monit = self.folders()
        self.assertEqual(self.news(by_healer), lines)
        # It may restart a once more; told in the middle of a cycle, it goes on with a, whose restart may then come even
        # before its stop, and comes to d in the next (measured): what it does is the same, the order is not.
        self.assertEqual(sorted(self.news(by_monit)[:len(lines)]), sorted(lines))
        self.up()
        self.alone()

    def test_what_has_a_restart_program_is_stopped_and_started_in_its_turn(self):
        self.restart_of_all(["a stop", "d stop", "d start", "a start"])

    def test_what_has_no_start_program_is_restarted_in_its_turn(self):
        self.restart_of_all(["a stop", "d stop", "d start", "a restart"], start=None)

    def test_what_has_a_restart_program_only_is_restarted_after_what_it_needs(self):
        self.restart_of_all(["d stop", "d start", "a restart"], start=None, stop=None)

    def test_a_dependency_that_does_not_start_keeps_its_dependents_down(self):
        def services(folder):
            return [supervised.Process(folder, "a", depends="b").write(),
                    supervised.Process(folder, "b", start="exit 3", within=1).write()]

        self.run_both(services)
        for folder in self.folders():
            self.wait_for(lambda: len(self.log(folder)) >= 3, "three tries")
            self.assertEqual(set(self.log(folder)), {"b start"})
        # Monit leaves no word of a; healer says whose fault it is.
        self.assertIn("b failed to start", str(self.told(self.daemon, "a")))

    def test_a_dependent_that_does_not_stop_holds_the_restart_up(self):
        def services(folder):
            return [supervised.Process(folder, "a", depends="b", stop="exit 4", within=1).write(),
                    supervised.Process(folder, "b").write()]

        self.run_both(services)
        self.order("cold start", ["b start", "a start"])
        for services in self.services:
            services["b"].kill()
        for folder in self.folders():
            self.wait_for(lambda: len(self.news(folder)) >= 3, "three tries")
            self.assertEqual(set(self.news(folder)), {"a stop"})
        self.assertIn("a failed to stop", str(self.told(self.daemon, "b")))
        self.alone()

    def program(self, action: str):
        """A process that depends on a program which fails where its folder has a file `broken`."""

        def services(folder):
            return [supervised.Process(folder, "a", depends="probe").write()]

        def more(folder):
            check = self.place(folder, "check", "[ ! -e broken ]")
            heal = self.place(folder, "heal", 'echo "probe $1" >> log\nrm -f broken')
            return (f'check program probe with path "{check}"\n  start program = "{heal} start"\n'
                    f'  stop program = "{heal} stop"\n  if status != 0 then {action}\n')

        return services, more

    def break_probe(self) -> None:
        for folder in self.folders():
            (folder / "broken").touch()

    def test_a_program_whose_stop_program_fails_is_started_all_the_same(self):
        def more(folder):
            programs = {name: self.place(folder, name, body) for name, body in
                        (("probe", "[ -e healed ]"), ("heal", "touch healed"), ("fail", "touch failed; exit 1"))}
            return (f'check program c with path "{programs["probe"]}"\n  start program = "{programs["heal"]}"\n'
                    f'  stop program = "{programs["fail"]}"\n  if status != 0 then restart\n')

        self.run_both(lambda folder: [], more)
        for folder in self.folders():
            self.wait_for((folder / "healed").exists, f"the start, {folder.name}")
            self.assertTrue((folder / "failed").exists())
        told = self.told(self.daemon, "c")
        self.assertIn("failed to stop (exit status 1)", str([text for kind, text in told if kind == "job-step"]))

    def test_a_dependency_that_only_alerts_moves_nothing(self):
        self.run_both(*self.program("alert"))
        self.order("cold start", ["a start"])
        self.break_probe()
        self.order("failure", [])
        self.watched("a", "probe")

    def test_a_dependency_that_is_stopped_takes_its_dependents_along(self):
        # Its stop program mends the probe, but nobody watches that any more, so the recovery starts nothing.
        self.run_both(*self.program("stop else if succeeded then start"))
        self.order("cold start", ["a start"])
        self.break_probe()
        self.order("failure", ["a stop", "probe stop"])
        self.watched()
        self.alone()

    def test_a_dependency_that_is_restarted_is_started_once(self):
        self.run_both(*self.program("restart"))
        self.order("cold start", ["a start"])
        self.break_probe()
        by_healer, by_monit = self.folders()
        self.wait_for(lambda: "a start" in self.news(by_healer) and "probe start" in self.news(by_monit), "the restarts")
        self.more_beats(both.QUIET)
        self.assertEqual(self.news(by_healer), ["a stop", "probe stop", "probe start", "a start"])
        # Monit runs the start program of a program twice (measured), and where it stands among the others varies.
        self.assertEqual(self.news(by_monit)[:3], ["a stop", "probe stop", "probe start"])
        self.alone()

    # ---- restarts ---------------------------------------------------------------------------------------------

    def test_restarts_are_limited_as_in_monit(self):
        def services(folder):
            return [supervised.Process(folder, "a", within=2, live="write_pid; sleep 0.7; exit 1",
                                       rules="  if 3 restarts within 5 cycles then unmonitor\n").write()]

        self.run_both(services)
        for folder in self.folders():
            self.wait_for(lambda: self.log(folder), "the first start")
        self.wait_for(lambda: not self.daemon.ask("status", "a")["services"][0]["monitored"], "the end of it")
        self.watched()
        # Of healer's restarts one that is held back counts as well, so it may give up a start earlier.
        healer, monit = (self.log(folder) for folder in self.folders())
        self.assertEqual((set(healer), monit), ({"a start"}, ["a start"] * 3))
        self.assertIn(len(healer), (2, 3))
        self.alone()

    def test_a_limit_of_restarts_acts_once_and_a_start_that_fails_counts(self):
        def services(folder):
            act = self.place(folder, "act", 'echo "act $1" >> acts')
            within = "  if 3 restarts within 5 cycles then"
            return [supervised.Process(folder, "a", start="exit 3", within=1, rules=f'{within} exec "{act} a"\n').write(),
                    supervised.Process(folder, "b", start="exit 3", within=1, rules=f"{within} stop\n").write(),
                    supervised.Process(folder, "c", within=1, live="write_pid; sleep 0.7; exit 1",
                                       rules=f"{within} stop\n").write()]

        self.run_both(services)
        for folder in self.folders():
            self.wait_for(lambda: self.log(folder).count("a start") >= 6, "starts that go on", limit=2 * support.LIMIT)
        self.watched("a")
        for folder in self.folders():
            self.assertEqual((folder / "acts").read_text().split("\n"), ["act a", ""], folder.name)
            self.assertEqual([line for line in self.log(folder) if line in ("a stop", "b stop")], [])  # they did not run
        healer, monit = ([self.log(folder).count(f"{name} start") for name in "bc"] for folder in self.folders())
        self.assertEqual(monit, [3, 3])
        # Of healer's restarts one that is held back counts as well, so it may give up a start earlier.
        self.assertTrue(all(count in (2, 3) for count in healer), healer)
        self.alone()

    def test_a_tolerance_holds_the_restart_back(self):
        def services(folder):
            return [supervised.Process(folder, "a", rules="  if does not exist for 3 cycles then restart\n").write()]

        self.run_both(services)
        self.order("cold start", ["a start"])
        for index, folder in enumerate(self.folders()):
            beats = self.beats(folder)
            self.services[index]["a"].kill()
            self.wait_for(lambda: len(self.log(folder)) == 2, "the restart")
            self.assertGreaterEqual(self.beats(folder), beats + 1)  # not in the first cycle
        self.order("nothing more", ["a start"])
        self.alone()

    # ---- death ------------------------------------------------------------------------------------------------

    def test_a_pid_file_that_names_another_process_is_followed(self):
        # Monit sees it only when the old one has gone (measured); healer within a cycle. Neither starts anything.
        def services(folder):
            return [supervised.Process(folder, "a").write()]

        self.run_both(services)
        self.order("cold start", ["a start"])
        self.up()
        old = [services["a"] for services in self.services]
        gone = [one.pid() for one in old]
        for one in old:
            (one.folder / "a.lock").unlink()  # two at a time are meant here
            one.by_hand()
            self.wait_for(lambda: len(one.copies()) == 2 and one.pid() == one.copies()[1], "the new one")
        self.wait_for(lambda: self.seen_pid(self.daemon, "a") == old[0].pid(), "healer to see it")
        self.order("with both", [])
        for pid in gone:
            self.end(self.begin("kill", "-9", pid))
        self.order("the old one gone", [])
        self.assertTrue(all(one.pid() for one in old))

    def test_a_process_without_its_pid_file_is_the_service_still(self):
        # A stop program, like many a process, takes the pid file away long before the process has gone.
        def services(folder):
            slow = "trap 'sleep 1; exit' TERM; write_pid; " + supervised.SLEEP
            return [supervised.Process(folder, "a", live=slow).write()]

        def pids():
            files = [services["a"].pidfile for services in self.services]
            self.wait_for(lambda: all(file.exists() for file in files), "the pid files")
            return [int(file.read_text()) for file in files]

        def seen(pid):
            self.wait_for(lambda: self.seen_pid(self.daemon, "a") == pid, "healer to see it")

        self.run_both(services)
        self.order("cold start", ["a start"])
        old = pids()
        seen(old[0])
        self.command("restart", "a")
        self.order("a restart", ["a stop", "a start"])
        new = pids()
        self.assertFalse(set(old) & set(new))
        seen(new[0])
        for services in self.services:
            services["a"].pidfile.unlink()
        self.more_beats(3)
        self.order("it is taken away by another hand", [])
        for pid in new:
            self.end(self.begin("kill", "-9", pid))
        self.order("the death", ["a start"])
        self.alone()

    def test_another_process_and_another_parent_are_told_as_in_monit(self):
        def services(folder):
            def rules(name):
                act = self.place(folder, "act", 'echo "$1: $MONIT_EVENT" >> acts')
                return f'  if changed pid then exec "{act} {name}"\n  if changed ppid then exec "{act} {name}"\n'

            # The parent of b waits for it.
            parent = "setsid sh -c '{live} & wait; exit' >/dev/null 2>&1 </dev/null &"
            return [supervised.Process(folder, "a", rules=rules("a")).write(),
                    supervised.Process(folder, "b", rules=rules("b"), start=parent).write()]

        def acts(folder):
            path = folder / "acts"
            return path.read_text().splitlines() if path.exists() else []

        self.run_both(services)
        self.up()
        self.more_beats(2)
        by_healer, by_monit = self.folders()
        old = [services["a"].pid() for services in self.services]
        for services in self.services:
            one = services["a"]
            (one.folder / "a.lock").unlink()  # two at a time are meant here
            one.by_hand()
            self.wait_for(lambda: len(one.copies()) == 2 and one.pid() == one.copies()[1], "the new one")
        self.more_beats(3)
        self.assertEqual((acts(by_healer), acts(by_monit)), (["a: PID changed"], []))  # Monit believes the old one
        for pid in old:
            self.end(self.begin("kill", "-9", pid))
        self.more_beats(3)
        for services in self.services:
            self.end(self.begin("kill", "-9", processes.parent(services["b"].pid())))
        self.more_beats(3)
        for folder in self.folders():
            self.assertEqual(acts(folder), ["a: PID changed", "b: PPID changed"], folder.name)
            self.assertEqual(sorted(self.log(folder)), ["a start", "b start"])

    def test_a_zombie_is_dead_at_once_and_in_monit_when_it_is_reaped(self):
        def services(folder):
            # The parent of the first one does not wait for it.
            parent = folder / "parent"
            supervised.Process.place(parent, f"\ntrap '' CHLD\n{folder}/a.run &\nexec sleep 100000")
            start = f"if [ -e once ]; then {supervised.LAUNCH}\nelse setsid {parent} >/dev/null 2>&1 </dev/null &\nfi\n"
            return [supervised.Process(folder, "a", start=start + "touch once").write()]

        self.run_both(services)
        self.up()
        self.more_beats(2)
        gone = [services["a"].kill() for services in self.services]
        by_healer, by_monit = self.folders()
        self.wait_for(lambda: self.log(by_healer) == ["a start"] * 2, "the start by healer")
        self.more_beats(3)
        self.assertEqual([processes.state(pid) for pid in gone], ["Z", "Z"])
        self.assertEqual([self.log(folder) for folder in self.folders()], [["a start"] * 2, ["a start"]])
        for pid in gone:
            self.end(self.begin("kill", "-9", processes.parent(pid)))
        self.wait_for(lambda: self.log(by_monit) == ["a start"] * 2, "the start by Monit")
        self.up()
        self.more_beats(1)
        self.assertEqual([self.log(folder) for folder in self.folders()], [["a start"] * 2] * 2)
        self.alone()

    def test_whoever_a_pid_file_names_is_believed(self):
        # A start program that writes the number of a stranger has started the service for both.
        def services(folder):
            return [supervised.Process(folder, "a", within=2, start="cat other > {pidfile}", live=":").write()]

        strangers = [self.begin("sleep", "99999") for _ in range(2)]
        for folder in self.folders():
            folder.mkdir()
            (folder / "other").write_text(f"{strangers[0].pid}\n")
        self.run_both(services)
        self.order("the start", ["a start"])
        self.assertEqual(self.seen_pid(self.daemon, "a"), strangers[0].pid)
        for folder in self.folders():
            (folder / "other").write_text(f"{strangers[1].pid}\n")
        strangers[0].kill()
        strangers[0].wait()
        self.order("its end", ["a start"])
        self.assertEqual(self.seen_pid(self.daemon, "a"), strangers[1].pid)
        self.assertIn(("job-step", f"started with pid {strangers[1].pid}"), self.told(self.daemon, "a"))


if __name__ == "__main__":
    support.main()
