# SPDX-License-Identifier: MIT
"""How far starts, stops and restarts reach with groups, modes and `onreboot`: healer and the real Monit, side by side.

Where they differ on purpose, the test says how.
"""
import both
import supervised
import support


class SupervisionReach(both.Case):
    def group(self, verb: str, name: str) -> None:
        """The same command for a group by both."""
        done = self.ctl(self.daemon, verb, "-g", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.end(self.begin("monit", "-c", self.monitrc, "-g", name, verb, "all"))
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    def write_more(self, services) -> None:
        """More services for both, who are told to reload."""
        new = [services(folder) for folder in self.folders()]
        for path, text in ((self.daemon.rules, self.rules(*new[0])), (self.monitrc, self.rules(*new[1]))):
            path.write_text(path.read_text() + text)
        self.command("reload")

    def test_what_is_not_to_be_started_waits_for_a_person_when_it_is_new(self):
        def policies(folder, last, none):
            return [supervised.Process(folder, last, rules="  onreboot laststate\n").write(),
                    supervised.Process(folder, none, rules="  onreboot nostart\n").write()]

        self.run_both(lambda folder: policies(folder, "last", "none"))
        self.order("the first start", ["last start"])
        self.watched("last")
        self.command("start", "none")
        self.order("start none", ["none start"])
        self.watched("last", "none")
        self.write_more(lambda folder: policies(folder, "last2", "none2"))
        self.order("a reload with new ones", ["last2 start"])
        self.watched("last", "none", "last2")
        self.alone()

    def test_what_needs_one_that_is_not_watched_waits_for_a_person(self):
        def services(folder):
            return [supervised.Process(folder, "top", depends="base").write(),
                    supervised.Process(folder, "base", rules="  onreboot nostart\n").write()]

        self.run_both(services)
        self.order("the first start", [])
        # Monit leaves no word of it.
        self.assertIn("restart waits: it depends on base, which is not monitored", str(self.told(self.daemon, "top")))
        self.command("start", "top")
        self.order("start top", ["base start", "top start"])
        self.watched("top", "base")
        self.alone()

    def test_groups_reach_as_far_as_in_monit(self):
        def services(folder):
            return [supervised.Process(folder, "a", depends="b", rules="  group g\n").write(),
                    supervised.Process(folder, "b", depends="c", rules="  group h\n").write(),
                    supervised.Process(folder, "c", rules="  group g\n").write()]

        self.run_both(services)
        self.order("cold start", ["c start", "b start", "a start"])
        for verb, group, lines, watched in (
                ("restart", "h", ["a stop", "b stop", "b start", "a start"], "abc"),
                ("stop", "h", ["a stop", "b stop"], "c"),
                ("start", "h", ["b start"], "bc"),
                ("start", "g", ["a start"], "abc"),
                ("stop", "g", ["a stop", "b stop", "c stop"], ""),
                ("start", "g", ["c start", "b start", "a start"], "abc"),
                ("unmonitor", "h", [], "c"),
                ("monitor", "g", [], "abc")):
            self.group(verb, group)
            self.order(f"{verb} -g {group}", lines)
            self.watched(*watched)
        self.alone()

    def test_of_several_that_one_needs_some_are_down_or_not_watched(self):
        def services(folder):
            return [supervised.Process(folder, "a", depends="b, c").write(), supervised.Process(folder, "b").write(),
                    supervised.Process(folder, "c").write()]

        self.run_both(services)
        self.order("cold start", ["b start", "c start", "a start"], free=2)
        self.command("stop", "b")
        self.order("stop b", ["a stop", "b stop"])
        self.watched("c")
        for each in self.services:
            each["c"].kill()
        self.order("death of c beside b that is not watched", ["c start"])
        self.command("start", "a")
        self.order("start a", ["b start", "a start"])
        self.watched("a", "b", "c")
        for each in self.services:
            each["a"].kill()
            each["c"].kill()
        self.order("death of a and c", ["c start", "a start"])
        self.alone()

    def test_a_restart_is_no_change_of_the_process(self):
        def services(folder):
            changed = self.place(folder, "changed", 'echo "node changed" >> log')
            return [supervised.Process(folder, "node", rules=f'  if changed pid then exec "{changed}"\n').write()]

        self.run_both(services)
        self.order("the first start", ["node start"])
        for each in self.services:
            each["node"].kill()
        self.order("death", ["node start"])
        self.command("restart", "node")
        self.order("restart", ["node stop", "node start"])
        self.alone()

    def test_what_is_passive_goes_with_what_it_needs_by_command_and_in_monit_by_rule_too(self):
        """Monit starts and stops it with what it depends on, whoever wants that; of healer's rules it is left alone."""
        def services(folder):
            return [supervised.Process(folder, "a", depends="b", rules="  mode passive\n").write(),
                    supervised.Process(folder, "b").write()]

        self.run_both(services)
        by_healer, by_monit = self.folders()
        self.more_beats(both.QUIET)
        self.wait_for(lambda: len(self.news(by_monit)) >= 2, "the start of both by Monit")
        self.assertEqual((self.news(by_healer), self.news(by_monit)), (["b start"], ["b start", "a start"]))
        self.known.update({by_healer: 1, by_monit: 2})
        self.command("start", "a")
        self.wait_for(lambda: all(each["a"].pid() for each in self.services), "a to run")
        self.more_beats(both.QUIET)
        self.known.update({folder: len(self.log(folder)) for folder in self.folders()})
        self.command("restart", "b")
        self.order("restart b", ["a stop", "b stop", "b start", "a start"])
        for each in self.services:
            each["a"].kill()
        self.order("death of a", [])
        self.alone()


if __name__ == "__main__":
    support.main()
