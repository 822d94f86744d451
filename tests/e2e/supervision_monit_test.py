# SPDX-License-Identifier: MIT
"""The same processes, rules and commands: healer and the real Monit run the same start and stop programs in one order.

Where they differ on purpose, the test says how. Beside the services each has a program that runs once a cycle, by which
the test sees that a supervisor has nothing more to do.
"""
import shutil
from pathlib import Path

import supervised
import support

QUIET = 2  # cycles after which nothing more comes: the second begins after the last program


class SupervisionMonit(supervised.Case):
    def setUp(self) -> None:
        super().setUp()
        if not shutil.which("monit"):
            self.skipTest("monit is not installed")
        self.known = dict.fromkeys(self.folders(), 0)

    def folders(self) -> tuple[Path, Path]:
        return self.path("by-healer"), self.path("by-monit")

    def run_both(self, services, more=lambda folder: "") -> None:
        """Starts both with the rules that `services` (a function of the folder) and `more` give."""
        texts, self.services = [], []
        for folder in self.folders():
            folder.mkdir()
            beat = self.place(folder, "beat", "echo x >> beats")
            processes = services(folder)
            self.services.append({one.name: one for one in processes})
            texts.append(self.rules(*processes) + more(folder) +
                         f'check program beat with path "{beat}"\n  if status != 0 then alert\n')
        self.daemon = self.start(texts[0])
        folder = self.path("monit")
        folder.mkdir()
        self.monitrc = folder / "monitrc"
        # healer has no web page to be asked through; Monit has no other way.
        extra = folder / "extra"
        extra.write_text(f"set httpd unixsocket {folder}/socket allow me:me\n")
        self.monitrc.write_text(f"set daemon 1\nset log {folder}/log\nset pidfile {folder}/pid\nset idfile {folder}/id\n"
                                f"set statefile {folder}/state\ninclude {extra}\n" + texts[1])
        for path in (extra, self.monitrc):
            path.chmod(0o600)
        self.monit = self.begin("monit", "-I", "-c", self.monitrc)
        self.addCleanup(lambda: (self.monit.kill(), self.monit.wait(), self.monit.stdout.close(), self.monit.stderr.close()))

    @staticmethod
    def place(folder: Path, name: str, body: str) -> Path:
        supervised.Process.place(folder / name, f"\ncd {folder}\n{body}")
        return folder / name

    def beats(self, folder: Path) -> int:
        return self.lines(f"{folder.name}/beats")

    def news(self, folder: Path) -> list[str]:
        """What was run since `order` was last content."""
        return self.log(folder)[self.known[folder]:]

    def order(self, what: str, lines: list[str], quiet: bool = True) -> None:
        """Since the last call both have run these programs, and, where they are quiet afterwards, no others follow."""
        for folder in self.folders():
            self.wait_for(lambda: len(self.news(folder)) >= len(lines), f"{what}, {folder.name}",
                          detail=lambda: str(self.news(folder)))
        if quiet:
            self.more_beats(QUIET)
        for folder in self.folders():
            self.assertEqual(self.news(folder), lines, f"{what}, {folder.name}")
            self.known[folder] += len(lines)

    def more_beats(self, count: int) -> None:
        beats = {folder: self.beats(folder) for folder in self.folders()}
        for folder in self.folders():
            self.wait_for(lambda: self.beats(folder) >= beats[folder] + count, f"cycles of {folder.name}")

    def command(self, *words: str) -> None:
        done = self.ctl(self.daemon, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.end(self.begin("monit", "-c", self.monitrc, *words))
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    def watched(self, *names: str) -> None:
        """These services are monitored by both, and the other processes by neither."""
        told = {one["name"]: one["monitored"] for one in self.daemon.ask("status")["services"]}
        told.pop("beat")
        self.assertEqual({name for name, on in told.items() if on}, set(names))

        def of_monit() -> set[str]:
            text = self.end(self.begin("monit", "-B", "-c", self.monitrc, "summary")).stdout
            return {line.split()[0] for line in text.splitlines()
                    if line.split() and line.split()[0] in told and "Not monitored" not in line}

        self.wait_for(lambda: of_monit() == set(names), f"{names} to be monitored by Monit", detail=lambda: str(of_monit()))

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

    def test_a_restart_of_all_restarts_each_once(self):
        self.run_both(self.chain)
        self.order("cold start", ["d start", "c start", "b start", "a start"])
        by_healer, by_monit = self.folders()
        wanted = ["a stop", "b stop", "c stop", "d stop", "d start", "c start", "b start", "a start"]
        self.command("restart", "all")
        self.more_beats(QUIET)
        self.assertEqual(self.news(by_healer), wanted)
        # Monit goes on with c, b and a, each with its dependents once more (measured); what is fresh needs no restart.
        self.wait_for(lambda: len(self.news(by_monit)) >= len(wanted), "the restart by Monit")
        self.assertEqual(self.news(by_monit)[:len(wanted)], wanted)
        self.alone()

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

    def test_a_dependency_that_only_alerts_moves_nothing(self):
        self.run_both(*self.program("alert"))
        self.order("cold start", ["a start"])
        self.break_probe()
        self.order("failure", [])
        self.watched("a", "probe")

    def test_a_dependency_that_is_stopped_takes_its_dependents_along(self):
        self.run_both(*self.program("stop"))
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
        self.more_beats(QUIET)
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


if __name__ == "__main__":
    support.main()
