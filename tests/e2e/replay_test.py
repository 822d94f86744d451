# SPDX-License-Identifier: MIT
"""A day is recorded by a real healerd, and replayed by healerctl with the rules of that day, and with others."""
import json
import os
import sqlite3
import stat
import subprocess

import support
import supervised


class Replay(supervised.Case):
    def readings(self, daemon):
        return daemon.folder / "healer.state.readings"

    def recorded(self, daemon, kind: str = "", service: str = "") -> list[dict]:
        """The history of the daemon, with or without it."""
        done = daemon.ctl("history", "--state", str(daemon.folder / "healer.state"), "-n", "10000", "--json")
        self.assertEqual(done.returncode, 0, done.stdout)
        return [one for one in json.loads(done.stdout)["records"]
                if (not kind or one["kind"] == kind) and (not service or one["service"] == service)]

    def replay(self, daemon, *words: str, rules=None) -> subprocess.CompletedProcess:
        return daemon.ctl("replay", "--rules", str(rules or daemon.rules), *(words or ("--since", "1 hour")))

    def document(self, daemon, *words: str, rules=None) -> dict:
        done = self.replay(daemon, *(words or ("--since", "1 hour")), "--json", rules=rules)
        self.assertIn(done.returncode, (0, 1), done.stderr + done.stdout)
        return json.loads(done.stdout)

    def changed(self, daemon, old: str, new: str):
        """The rules of the daemon, changed, in a file beside them."""
        text = daemon.rules.read_text()
        self.assertIn(old, text)
        path = daemon.folder / "changed.conf"
        path.write_text(text.replace(old, new))
        path.chmod(0o600)
        return path

    def assert_exact(self, daemon) -> dict:
        """The same rules do what was done, which is what the history says."""
        told = self.document(daemon)
        self.assertEqual((told["only_then"], told["only_now"]), (0, 0), json.dumps(told, indent=1))
        kinds = {"action-started": "exec", "job-started": "job", "unmonitored": "unmonitor", "healing-begun": "heal"}
        history = sorted((kinds[one["kind"]], one["service"]) for one in self.recorded(daemon)
                         if one["kind"] in kinds and not (one["kind"] == "action-started" and self.is_step(one)))
        actions = sorted((one["kind"], one["service"]) for one in told["actions"] if one["kind"] != "alert")
        self.assertEqual(actions, history)
        self.assertIn("these rules do exactly what was done", self.replay(daemon).stdout)
        return told

    @staticmethod
    def is_step(record: dict) -> bool:
        """Whether the program is that of a start, stop or restart, or of a healing's step."""
        return not record["text"].startswith("exec ")

    def failing(self, name: str = "flaky", wanted=(0, 1, 1, 0, 1, 1, 1, 1, 0)) -> str:
        return (f'check program {name} with path "{self.statuses(name, list(wanted))}"\n'
                f'  if status != 0 for 2 cycles then exec "{self.script("act", "true")}"\n')

    def test_the_same_rules_do_exactly_what_was_done(self):
        daemon = self.start(self.failing() + self.failing("other", (1, 1, 1, 0, 0, 1)) +
                            f'check file paper with path {self.path("paper")}\n'
                            f'  if does not exist then exec "{self.script("act2", "exit 3")}"\n')
        self.wait_for(lambda: self.runs("flaky") > 9, "ten runs")
        self.path("paper").touch()
        self.wait_for(lambda: self.recorded(daemon, "rule-recovered", "paper"), "its recovery")
        self.more_cycles(daemon, 2)
        daemon.stop()
        told = self.assert_exact(daemon)
        self.assertGreater(told["both"], 3)
        self.assertGreater(told["runs"], 20)
        self.assertEqual(stat.S_IMODE(os.stat(self.readings(daemon)).st_mode), 0o600)

    def test_it_works_while_the_daemon_runs(self):
        daemon = self.start(self.failing())
        self.wait_for(lambda: len(self.recorded(daemon, "action-started")) == 2, "two actions")
        self.wait_for(lambda: self.document(daemon)["both"] == 2, "both in the replay")
        self.assert_exact(daemon)

    def test_other_rules_tell_the_difference(self):
        daemon = self.start(self.failing(wanted=(0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0)))
        self.wait_for(lambda: self.runs("flaky") > 11, "twelve runs")
        daemon.stop()
        rules = self.changed(daemon, "for 2 cycles", "for 3 cycles")
        done = self.replay(daemon, rules=rules)
        self.assertEqual(done.returncode, 1, done.stderr)
        rows = [line for line in done.stdout.splitlines() if "  flaky  exec  " in line]
        # Two failures in a row were enough then; of four in a row the third is, a cycle later.
        self.assertEqual([row[0] for row in rows], ["-", "-", "+"], done.stdout)
        self.assertEqual(["[may differ]" in row for row in rows], [False, True, True])
        self.assertIn("0 the same, 2 only then (-), 1 only with these rules (+)", done.stdout)

    def test_another_threshold(self):
        paper = self.path("paper")
        paper.write_text("x" * 100)
        daemon = self.start(f'check file paper with path {paper}\n  if size > 1000 B then exec "{self.script("act", "true")}"\n'
                            f'check program calm with path "{self.statuses("calm", [0])}"\n  if status != 0 then alert\n')
        self.more_cycles(daemon, 2)
        paper.write_text("x" * 500)
        self.more_cycles(daemon, 2)
        daemon.stop()
        self.assert_exact(daemon)
        told = self.document(daemon, rules=self.changed(daemon, "size > 1000 B", "size > 300 B"))
        self.assertEqual([(one["who"], one["service"], one["kind"]) for one in told["actions"]], [("now", "paper", "exec")])
        self.assertEqual(self.document(daemon, rules=self.changed(daemon, "size > 1000 B", "size > 600 B"))["actions"], [])

    def test_restarts_over_the_death_of_the_daemon_and_a_reload(self):
        web = self.process("web", rules="  if 5 restarts within 5 cycles then unmonitor\n")
        daemon = self.start(self.rules(web) + self.failing())
        self.wait_up(daemon, web)
        web.kill()
        self.wait_for(lambda: len(self.recorded(daemon, "job-ended", "web")) == 2, "its restart")
        self.more_cycles(daemon, 1)
        daemon.rules.write_text(daemon.rules.read_text() + "# a word more\n" + self.failing("later", (0, 1, 1, 0)))
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: self.recorded(daemon, "action-started", "later"), "the action of the new service")
        self.more_cycles(daemon, 2)
        # The last second before a death may be missing.
        self.wait_for(lambda: any((one["service"], one["who"]) == ("later", "both")
                                  for one in self.document(daemon)["actions"]), "the action among the readings")
        daemon.kill()
        daemon.launch()
        self.wait_up(daemon, web)
        web.kill()
        self.wait_for(lambda: len(self.recorded(daemon, "job-ended", "web")) == 3, "its restart")
        self.assertEqual(self.ctl(daemon, "stop", "web").returncode, 0)
        self.more_cycles(daemon, 1)
        daemon.stop()
        told = self.assert_exact(daemon)
        self.assertEqual([one["kind"] for one in told["actions"] if one["service"] == "web"].count("job"), 4)
        self.assertTrue(any("healerd crashed" in note for note in told["notes"]), told["notes"])
        self.assertTrue(any("the rules were reloaded" in note for note in told["notes"]), told["notes"])

    def test_healings(self):
        broken = self.path("broken")
        mend = self.script("mend", f"rm -f {broken}")
        check = self.script("node", f"test ! -e {broken}")
        daemon = self.start(
            f'workflow mend {{\n  guard program "{self.script("fine", "true")}"\n  step "mend" program "{mend}"\n'
            '  step "verify" recovered within 20 seconds\n  cooldown 1 second\n}\n'
            f'check program node with path "{check}"\n  if status != 0 then heal with mend\n')
        self.more_cycles(daemon, 2)
        broken.touch()
        self.wait_for(lambda: self.recorded(daemon, "healing-ended"), "a healing")
        self.more_cycles(daemon, 1)
        daemon.stop()
        told = self.assert_exact(daemon)
        self.assertEqual([one["kind"] for one in told["actions"]], ["heal"])

    def nodes(self, names: list[str]) -> str:
        """Nodes of a group, each healed by a workflow that takes away the file that says that it is broken."""
        fine = self.script("fine", "true")
        mend = self.script("mend", f'rm -f {self.path("broken")}-$HEALER_TARGET')
        text = (f'workflow mend {{\n  guard program "{fine}"\n  step "mend" program "{mend}"\n'
                '  step "verify" recovered within 20 seconds\n  cooldown 1 second\n}\n')
        for name in names:
            check = self.script(name, f'test ! -e {self.path("broken")}-{name}')
            text += (f'check program {name} with path "{check}"\n  group nodes\n'
                     '  if status != 0 then heal with mend\n')
        return text

    def break_and_heal(self, daemon, name: str) -> None:
        before = len(self.recorded(daemon, "healing-ended", name))
        self.path(f"broken-{name}").touch()
        self.wait_for(lambda: len(self.recorded(daemon, "healing-ended", name)) > before, f"a healing of {name}")
        self.more_cycles(daemon, 1)

    def test_healings_over_a_reload_that_adds_a_member_of_the_group(self):
        daemon = self.start(self.nodes(["n1", "n2", "n3"]))
        self.more_cycles(daemon, 2)
        self.break_and_heal(daemon, "n1")
        # What is not judged yet of six are three: no healing of n1 would begin.
        daemon.rules.write_text(daemon.rules.read_text() +
                                self.nodes(["n4", "n5", "n6"]).split("}\n", 1)[1])
        self.assertEqual(daemon.reload().returncode, 0)
        self.more_cycles(daemon, 2)
        self.break_and_heal(daemon, "n4")
        self.break_and_heal(daemon, "n1")
        daemon.stop()
        told = self.assert_exact(daemon)
        self.assertEqual([one["service"] for one in told["actions"] if one["kind"] == "heal"], ["n1", "n4", "n1"])
        self.assertFalse(any(one["may_differ"] for one in told["actions"]), told["actions"])
        self.assertEqual((told["without_readings"], told["not_in_rules"]), ([], []))
        self.assertTrue(any("with what was not there before: n4, n5 and n6" in note for note in told["notes"]),
                        told["notes"])

    def test_a_day_on_which_rules_were_edited(self):
        daemon = self.start(self.failing(wanted=(0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0)) + self.failing("calm", (0, 1, 1, 0)))
        self.wait_for(lambda: self.recorded(daemon, "action-started", "flaky"), "the first action")
        text = daemon.rules.read_text()
        daemon.rules.write_text(text.replace("for 2 cycles", "for 3 cycles", 1))
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: len(self.recorded(daemon, "action-started", "flaky")) == 2, "the second action")
        self.more_cycles(daemon, 2)
        daemon.stop()
        told = self.assert_exact(daemon)
        self.assertEqual(told["edited"], ["flaky"])
        self.assertFalse(any(one["may_differ"] for one in told["actions"]), told["actions"])
        self.assertTrue(any("the rules were reloaded, edited: flaky" in note for note in told["notes"]), told["notes"])
        # All the time: the two failures of the beginning are not three.
        told = self.document(daemon, "--since", "1 hour", "--throughout")
        self.assertEqual([(one["who"], one["service"]) for one in told["actions"] if one["who"] != "both"],
                         [("then", "flaky")], told["actions"])
        # What was not edited since is not told of, whatever else is changed.
        told = self.document(daemon, rules=self.changed(daemon, "for 3 cycles", "for 4 cycles"))
        self.assertEqual({one["service"] for one in told["actions"] if one["who"] != "both"}, {"flaky"})

    def test_rows_of_lists_are_those_of_that_time(self):
        nodes = self.path("nodes")
        failing = self.script("ping", f"test ! -e {self.path('failed')}-$1")
        act = self.script("act", "true")

        def say(*names: str) -> None:
            fresh = self.path("nodes.new")
            fresh.write_text("".join(f"{name}\n" for name in names))
            fresh.chmod(0o600)
            os.replace(fresh, nodes)

        say("n1", "n2")
        daemon = self.start(f'for each NODE from file "{nodes}" every 1 second {{\n'
                            f'  check program ping_${{NODE}} with path "{failing} ${{NODE}}"\n'
                            f'    if status != 0 then exec "{act} ${{NODE}}"\n}}\n')
        self.path("failed-n1").touch()
        self.wait_for(lambda: self.recorded(daemon, "action-started", "ping_n1"), "the action of a row")
        self.path("failed-n1").unlink()
        say("n1", "n2", "n3")
        self.path("failed-n3").touch()
        self.wait_for(lambda: self.recorded(daemon, "action-started", "ping_n3"), "the action of a row that came")
        self.more_cycles(daemon, 2)
        daemon.stop()
        nodes.unlink()
        told = self.assert_exact(daemon)
        self.assertEqual(told["not_in_rules"], [])
        self.assertEqual(sorted(one["service"] for one in told["actions"] if one["kind"] == "exec"),
                         ["ping_n1", "ping_n3"])

    def test_a_service_that_nobody_monitors(self):
        daemon = self.start(self.failing() + self.failing("idle"))
        self.assertEqual(self.ctl(daemon, "unmonitor", "idle").returncode, 0)
        daemon.stop()
        self.readings(daemon).unlink()
        daemon.launch()
        self.more_cycles(daemon, 3)
        daemon.stop()
        told = self.document(daemon)
        self.assertEqual((told["only_then"], told["only_now"]), (0, 0), json.dumps(told, indent=1))
        self.assertEqual((told["without_readings"], told["not_monitored"]), ([], ["idle"]))
        self.assertTrue(any("not monitored in that time: idle" in note for note in told["notes"]), told["notes"])

    def test_a_service_that_only_the_changed_rules_have(self):
        daemon = self.start(self.nodes(["n1", "n2", "n3"]) + self.failing("calm", (0, 1, 1, 0)))
        self.more_cycles(daemon, 2)
        self.break_and_heal(daemon, "n1")
        self.wait_for(lambda: self.recorded(daemon, "action-started", "calm"), "its action")
        daemon.stop()
        rules = self.changed(daemon, "check program n1 ",
                             self.nodes(["n4", "n5", "n6", "n7"]).split("}\n", 1)[1] + "check program n1 ")
        told = self.document(daemon, rules=rules)
        self.assertEqual((told["only_then"], told["only_now"]), (0, 0), json.dumps(told, indent=1))
        self.assertEqual(told["without_readings"], ["n4", "n5", "n6", "n7"])
        self.assertEqual({(one["service"], one["kind"]): one["may_differ"] for one in told["actions"]},
                         {("n1", "heal"): True, ("calm", "exec"): False})
        done = self.replay(daemon, "--since", "1 hour", "--all", rules=rules)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("no recorded data; excluded from groups and percentages: n4, n5, n6 and n7", done.stdout)
        self.assertIn("do exactly what was done, as far as there are readings", done.stdout)
        self.assertTrue(any(" n1  heal  " in line and line.endswith("[may differ]")
                            for line in done.stdout.splitlines()), done.stdout)

    def test_what_is_not_recorded_is_said(self):
        daemon = self.start(self.failing())
        self.more_cycles(daemon, 2)
        daemon.stop()
        done = self.replay(daemon, "--since", "3 days ago", "--until", "2 days ago")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing is recorded of that time: the readings in", done.stderr)
        self.assertEqual(self.replay(daemon, "--since", "someday").returncode, 2)
        self.assertEqual(self.replay(daemon, "--since", "yesterday", "--until", "2 days ago").returncode, 2)
        self.readings(daemon).unlink()
        done = self.replay(daemon)
        self.assertEqual(done.returncode, 1)
        self.assertIn("there are no readings at", done.stderr)

    def test_damaged_readings(self):
        daemon = self.start(self.failing())
        self.more_cycles(daemon, 3)
        daemon.stop()
        path = self.readings(daemon)
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        good = path.read_bytes()
        with sqlite3.connect(path) as database:
            database.execute("UPDATE parts SET items = CAST(x'0102030405' AS BLOB) WHERE id = 2")
        done = self.replay(daemon)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the readings are damaged after", done.stdout)
        for cut in (0, 50, 5000, len(good) // 2):
            path.write_bytes(good[:cut] + os.urandom(min(4096, len(good) - cut)) + good[cut + 4096:])
            done = self.replay(daemon)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertNotIn("terminate called", done.stderr)
        path.write_bytes(b"no database at all" * 100)
        self.assertIn("readings file", self.replay(daemon).stderr)
        # The daemon sets it aside and begins anew.
        daemon.launch()
        self.wait_for(lambda: "was set aside" in daemon.log_text(), "a word")
        self.assertTrue(path.with_name(path.name + ".corrupt").exists())
        self.more_cycles(daemon, 2)
        daemon.stop()
        self.assert_later(daemon)

    def assert_later(self, daemon) -> None:
        told = self.document(daemon)
        self.assertEqual((told["only_then"], told["only_now"]), (0, 0), json.dumps(told, indent=1))
        self.assertGreater(told["runs"], 0)

    def test_history_takes_the_same_times(self):
        daemon = self.start(self.failing())
        for since in ("yesterday", "last tuesday", "2 days ago", "90m", "2026-01-01"):
            self.assertEqual(daemon.ctl("history", "--since", since).returncode, 0, since)
        done = daemon.ctl("history", "--since", "someday")
        self.assertEqual(done.returncode, 2)
        self.assertIn("not a time", done.stderr)


if __name__ == "__main__":
    support.main()
