# SPDX-License-Identifier: MIT
"""healerctl simulate: workflows that are rehearsed, and tested, before they do anything."""
import json
import subprocess

import support

RULES = """set daemon 30
set secrets "SECRETS"
workflow rebuild {
  guard program "/bin/may-go ${NODE}" timeout 10 seconds
  step "ticket" http post "https://tickets.example/new" header "X-Key: ${secret:key}" body '{}' expect 201 save json '.id' as TICKET repeatable
  step "rebuild" program "/bin/rebuild ${NODE} ${TICKET}" timeout 20 minutes
  step "verify" recovered within 5 minutes
  pause while more than 40% of group nodes failed
}
for each NODE from file "/nonexistent/nodes" {
  check program ping_${NODE} with path "/bin/ping ${NODE} ${NODE.ip}"
    group nodes
    if status != 0 for 2 cycles then heal with rebuild
}
"""
SCRIPT = """list NODE from file "lists/nodes"
step rebuild ticket: 201:'{"id": 77}'
step rebuild rebuild takes 3 minutes
step rebuild rebuild heals
at 5 minutes n1 fails
"""


class Simulate(support.Case):
    def write(self, name: str, text: str):
        file = self.path(name)
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o600)
        return file

    def setUp(self):
        super().setUp()
        self.write("secrets/key", "hush-hush")
        self.write("lists/nodes", "".join(f'{{"name": "n{number}", "ip": "192.0.2.{number}"}}\n' for number in range(1, 7)))
        self.rules = self.write("a.rules", RULES.replace("SECRETS", str(self.path("secrets"))))

    def play(self, script: str, *options: str) -> subprocess.CompletedProcess:
        return subprocess.run([support.BUILD / "healerctl", "simulate", self.rules, "--script", self.write("a.script", script), *options],
                              capture_output=True, text=True)

    def test_what_becomes_of_a_healing_is_told(self):
        done = self.play(SCRIPT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for line in ("healing-asked  healing of n1 with rebuild requested by its rule",
                     "exec  guard of rebuild: /bin/may-go n1",
                     "healing-begun  healing of n1 with rebuild begins",
                     "request  step \"ticket\" of rebuild: POST https://tickets.example/new",
                     "exec  step \"rebuild\" of rebuild: /bin/rebuild n1 77",
                     "healing-ended  healing of n1 with rebuild recovered"):
            self.assertIn(line, done.stdout)
        self.assertNotIn("hush", done.stdout)
        actions = self.play(SCRIPT, "--actions").stdout.splitlines()[:-1]
        self.assertEqual([line.split("  ")[3] for line in actions], ["exec", "healing-begun", "request", "exec"], actions)

    def test_what_begins_in_the_hour_that_the_clock_skips_begins_when_it_is_over(self):
        rules = self.write("summer.rules", """set daemon 60
set maintenance "0 2 * * sun" for 2 hours
workflow rebuild {
  guard program "/bin/true"
  step "rebuild" program "/bin/true rebuild ${TARGET}"
  step "verify" recovered within 5 minutes
}
check program box with path "/bin/true box"
  if status != 0 for 2 cycles then heal with rebuild
check program daily with path "/bin/true daily"
  every "30 2 * * *"
  if status = 0 then alert
""")
        def played(day: str, *options: str) -> list[str]:
            script = self.write("summer.script", f"start at 2026-03-{day} 00:30:00\nbox: 0*50 1*30 0*160\nstep rebuild rebuild heals\n"
                                "run for 4 hours\n")
            done = subprocess.run([support.BUILD / "healerctl", "simulate", rules, "--script", script, *options], capture_output=True,
                                  text=True, env={"TZ": "CET-1CEST,M3.5.0,M10.5.0/3", "LC_ALL": "C.UTF-8"})
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.splitlines()

        for day in ("22", "29"):
            lines = played(day)
            self.assertTrue(any("held back: pause: maintenance" in line for line in lines), lines)
            self.assertFalse([line for line in lines if "healing-begun" in line])
        # 02:30 is 01:30 of UTC; on the other day there is none, and 03:00, when the gap is over, is 01:00.
        for day, time in (("22", "01:30:00"), ("29", "01:00:00")):
            lines = played(day)
            self.assertTrue(any(f"{time}.000" in line and "daily run 1 " in line for line in lines), lines)

    def test_a_host_may_be_called_localhost_beside_the_machine(self):
        self.rules = self.write("two.rules", "set daemon 30\ncheck system $HOST\n  if loadavg (5min) > 4 then alert\n"
                                             "check host localhost with address 127.0.0.1\n  if failed port 22 then alert\n")
        done = self.play("/$HOST loadavg(5min): 1 5\nlocalhost connection 1: down\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("localhost run 1  rule-failed  connection failed", done.stdout)
        self.assertIn("/$HOST run 2  rule-failed  loadavg (5min) of 5.0", done.stdout)

    def test_the_same_as_json(self):
        events = json.loads(self.play(SCRIPT, "--json").stdout)["events"]
        self.assertEqual([event["turn"] for event in events if event["target"] == "n1" and event["turn"]],
                         ["asked", "begun", "recovered"])
        self.assertEqual([(event["workflow"], event["step"]) for event in events if event["kind"] in ("exec", "request")],
                         [("rebuild", "guard"), ("rebuild", "ticket"), ("rebuild", "rebuild")])

    def test_what_is_expected_of_workflows_makes_the_exit_status(self):
        storm = SCRIPT + "".join(f"at 1 hour n{number} fails\n" for number in range(3, 6)) + "run for 2 hours\n"
        met = self.play(storm + "expect healing n1 recovered with rebuild by 10 minutes\nexpect workflow rebuild paused 1 time\n"
                                "expect not healing n4 begun\nexpect healing n5 held \"pause while\"\n")
        self.assertEqual((met.returncode, met.stderr), (0, ""))
        self.assertTrue(met.stdout.endswith("4 of 4 expectations are met\n"), met.stdout)
        unmet = self.play(SCRIPT + "expect healing n1 begun by 5 minutes\n")
        self.assertEqual(unmet.returncode, 1)
        self.assertEqual(unmet.stderr, f"{self.path('a.script')}:6:1: error: expected the healing of n1 to be begun by 00:05:00: "
                                       "it happened at 00:05:31\n  expect healing n1 begun by 5 minutes\n  ^\n")

    def test_a_script_that_is_wrong_is_told_where_and_what_was_meant(self):
        script = self.path("a.script")
        for line, said in (("step rebuild rebuidl: fails", ":2:14: error: 'rebuidl' is not a step of workflow 'rebuild'\n"
                            "  step rebuild rebuidl: fails\n               ^\n  note: did you mean 'rebuild'?\n"),
                           ("at 5 minutes approve m1", ":2:22: error: 'm1' is not a target of a healing\n"
                            "  at 5 minutes approve m1\n                       ^\n  note: did you mean 'n1'?\n"),
                           ("list NODES: a", ":2:6: error: the rules have no list 'NODES'\n"
                            "  list NODES: a\n       ^\n  note: did you mean 'NODE'?\n")):
            done = self.play(f'list NODE from file "lists/nodes"\n{line}\n')
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{script}{said}", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_the_rows_of_lists_come_from_the_script(self):
        self.rules.write_text(self.rules.read_text().replace(" ${NODE.ip}", ""))
        done = self.play("list NODE: a b\nat 5 minutes b fails\n", "--json")
        self.assertEqual({event["service"] for event in json.loads(done.stdout)["events"]} - {""}, {"ping_b"})
        self.write("rows", "x\ny\n")  # where the script says nothing, a file is read
        self.rules.write_text(self.rules.read_text().replace("/nonexistent/nodes", str(self.path("rows"))))
        done = self.play("at 5 minutes y fails\n", "--json")
        self.assertEqual({event["service"] for event in json.loads(done.stdout)["events"]} - {""}, {"ping_y"})
        done = self.play("list NODE: a 'b c'\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(":1:6: error: list NODE: ", done.stderr)
        done = self.play('list NODE from file "nowhere"\n')
        self.assertIn(f":1:6: error: list NODE: {self.path('nowhere')}: No such file or directory", done.stderr)

    LISTED = ("list NODE: n1 n2 n3 n4 n5\nstep rebuild rebuild heals\nrun for 2 hours\n"
              "step rebuild ticket: 201:'{\"id\": 77}'\n")

    def list_rules(self, more: str = "") -> None:
        self.rules.write_text(self.rules.read_text().replace(" ${NODE.ip}", "")
                              .replace('"/nonexistent/nodes"', '"/nonexistent/nodes" every 5 minutes').replace("  group", f"{more}  group"))

    def assert_met(self, script: str, count: int) -> str:
        done = self.play(script)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertTrue(done.stdout.endswith(f"{count} of {count} expectations are met\n"), done.stdout)
        return done.stdout

    def test_rows_come_and_leave(self):
        self.list_rules()
        told = self.assert_met(self.LISTED + """at 6 minutes list NODE gains n6
at 9 minutes n6 fails
at 12 minutes n6 fails
at 20 minutes list NODE loses n1 n2
at 45 minutes n2 fails
expect ping_n6 absent at 9 minutes
expect ping_n6 running at 11 minutes
expect healing n6 recovered 1 time
expect list NODE tells "the row 'n1' leaves" by 20 minutes
expect not list NODE tells "the row 'n2' leaves" by 24 minutes
expect list NODE tells "the row 'n2' leaves" by 25 minutes
expect list node tells "leaves" 2 times
expect ping_n1 running at 19 minutes
expect ping_n2 absent
expect not healing n2 asked
""", 10)
        self.assertIn("reply  ping_n6 is not in the rules now", told)
        self.assertIn("reply  ping_n2 is not in the rules now", told)

    def test_a_failed_row_leaves_late_and_one_in_repair_not_at_all(self):
        self.list_rules()
        self.assert_met(self.LISTED.replace("heals", "takes 19 minutes") + """at 1 minute n1 fails
at 3 minutes list NODE loses n1
guard rebuild of n2: refuses
at 60 minutes n2 fails
at 61 minutes list NODE loses n2
expect healing n1 begun by 3 minutes
expect ping_n1 failed at 19 minutes
expect list NODE tells "the row 'n1' is being removed although it has failed" 1 time
expect not list NODE tells "the row 'n1' leaves" by 21 minutes
expect not list NODE tells "the row 'n2' leaves" by 74 minutes
expect list NODE tells "the row 'n2' is being removed although it has failed: it was missing from 3 readings" by 75 minutes
""", 6)

    def test_rows_are_judged_where_their_list_never_changes(self):
        self.list_rules()
        text = self.rules.read_text()
        self.rules.write_text(text[:text.index("for each")] + """for each NODE from http "https://api.example/nodes" every 15 seconds {
  check row row_${NODE}
    group nodes
    if json '.state' != "up" for 1 minute then heal with rebuild
}
""")
        self.assert_met(self.LISTED + """at 10 minutes n2 fails
expect healing n2 begun by 12 minutes
expect healing n2 recovered
expect row_n1 running
""", 3)

    def test_a_row_leaves_while_its_healing_waits_for_that(self):
        self.list_rules()
        self.rules.write_text(self.rules.read_text().replace("recovered within 5 minutes", "recovered or gone within 30 minutes"))
        told = self.assert_met(self.LISTED.replace("heals", "takes 19 minutes") + """at 1 minute n1 fails
at 3 minutes list NODE loses n1
expect healing n1 begun by 3 minutes
expect not list NODE tells "the row 'n1' is being removed" by 21 minutes
expect list NODE tells "the row 'n1' is being removed although it has failed" by 26 minutes
expect healing n1 recovered by 26 minutes
expect ping_n1 absent
""", 5)
        self.assertIn('step "verify": gone', told)

    def test_a_row_that_fails_after_it_was_missing_is_not_healed(self):
        self.list_rules()
        self.assert_met(self.LISTED + """at 20 minutes list NODE loses n1 n2
at 21 minutes n2 fails
at 21 minutes n3 fails
expect list NODE tells "the row 'n1' leaves" by 20 minutes
expect healing n2 held "n2 is missing from the list NODE, and was so before it failed"
expect not healing n2 begun
expect healing n3 begun
""", 4)

    def test_a_list_that_is_empty_fails_or_turns_over(self):
        self.list_rules()
        self.assert_met(self.LISTED + """at 6 minutes list NODE is empty
at 11 minutes list NODE fails
at 16 minutes list NODE: x1 x2 x3
at 21 minutes x1 fails
at 23 minutes accept list NODE
at 24 minutes forget n3
at 24 minutes forget x3
expect list NODE tells "could not be read: it was empty, which is not accepted" by 10 minutes
expect list NODE tells "could not be read: it fails according to the script" by 15 minutes
expect list NODE tells "it is read again" by 20 minutes
expect list NODE tells "more than half of it is new or gone" by 20 minutes
expect ping_n1 running at 21 minutes
expect healing x1 held "list"
expect not healing x1 begun by 22 minutes
expect healing x1 begun by 25 minutes
expect list NODE tells "accepted by the script, 8 rows"
expect ping_n3 absent at 25 minutes
expect ping_n4 running at 24 minutes
expect ping_n4 absent
expect ping_x3 running
""", 13)
        self.assert_met(self.LISTED + """at 16 minutes list NODE: x1 x2 x3
at 22 minutes x1 fails
expect list NODE tells "three equal readings: it is accepted" by 30 minutes
expect not healing x1 begun by 29 minutes
expect healing x1 begun
""", 3)

    def test_rows_are_judged_at_each_reading_of_their_list_after_their_delay(self):
        self.rules = self.write("rows.rules", """set daemon 30
workflow repair {
  guard program "/bin/true"
  step "repair" program "/bin/true ${NODE}"
  step "verify" recovered within 5 minutes
  cooldown 1 minute
}
for each NODE from http "https://10.0.0.1/nodes" rows '.items[]' every 1 minute {
  check row node_${NODE} group nodes delay 10 minutes
    if json '.ready' != true for 2 cycles then heal with repair
}
""")
        told = self.assert_met("""list NODE: n1 n2 n3
node_n1: 0*3 1*4 0 ...
node_n3: 0:'{"ready":true}'*5 0:'{"ready":false}'
step repair repair heals
run for 60 minutes
at 20 minutes list NODE gains n4
at 21 minutes n4 fails
expect healing n1 begun with repair by 5 minutes
expect healing n1 begun 1 time
expect healing n3 begun with repair by 8 minutes
expect not healing n4 begun by 30 minutes
expect healing n4 begun
""", 5)
        self.assertIn("json .ready is false (!= true)", told)

    def test_a_list_is_remembered_over_a_crash(self):
        self.list_rules()
        self.assert_met(self.LISTED + """at 16 minutes list NODE: x1 x2 x3
at 21 minutes crash for 5 minutes
at 22 minutes x1 fails
at 22 minutes accept list NODE
expect list NODE tells "more than half" 1 time
expect healing x1 held "list"
expect healing x1 begun
""", 3)

    def test_what_runs_for_a_row_that_leaves(self):
        self.list_rules()
        text = self.rules.read_text()
        self.rules.write_text(text[:text.rindex("}")] + """  check process own_${NODE} with program "/bin/own ${NODE}"
  check process web_${NODE} with pidfile "/run/${NODE}.pid" start program "/bin/up ${NODE}" stop program "/bin/down ${NODE}"
  check program act_${NODE} with path "/bin/act ${NODE}" if status != 0 then exec "/bin/long ${NODE}"
}
check composite fleet with members of group nodes if more than 10% members failed then alert
""")
        self.assert_met(self.LISTED + """exec "/bin/long" takes 20 minutes
exec "/bin/up" takes 20 seconds
at 4 minutes n1 fails
at 4 minutes act_n1 fails
at 4 minutes web_n1 dies
at 4 minutes restart web_n2
at 4 minutes list NODE loses n1 n2
at 6 minutes forget n1
at 7 minutes web_n1 dies
at 8 minutes reboot
at 30 minutes list NODE gains n1 n2
expect fired act_n1 exec
expect act_n1 absent at 10 minutes
expect web_n1 running
expect own_n1 running
""", 4)

    def test_lists_of_a_script_that_are_wrong(self):
        self.list_rules()
        script = self.path("a.script")
        for line, said in (("at 5 minutes list NODES: a", ":5:19: error: the rules have no list 'NODES'"),
                           ("at 5 minutes list NODE gians a", ":5:24: error: expected 'from'"),
                           ("at 5 minutes list NODE gains", ":5:29: error: the rows are missing"),
                           ("at 5 minutes list NODE is full", ":5:27: error: expected 'empty'"),
                           ("at 5 minutes list NODE: 'b c'", ":5:19: error: list NODE: "),
                           ('at 5 minutes list NODE from file "nowhere"', ":5:19: error: list NODE: "),
                           ("at 5 minutes accept list NOED", ":5:26: error: 'noed' is not a list from outside"),
                           ("at 5 minutes forget n9", ":5:21: error: 'n9' is not a row of a list"),
                           ('expect list NOED tells "x"', ":5:13: error: 'noed' is not a list from outside"),
                           ("expect list NODE leaves", ":5:18: error: expected 'tells'"),
                           ("at 5 minutes n6 fails", ":5:14: error: ")):
            done = self.play(f"{self.LISTED}{line}\n")
            self.assertEqual((done.returncode, done.stdout), (1, ""), line)
            self.assertIn(f"{script}{said}", done.stderr)
            self.assertIn(f"  {line}\n", done.stderr)
            if "no list '" in said or "is no" in said or "expected" in said or "missing" in said:
                self.assertIn("  note: ", done.stderr)


if __name__ == "__main__":
    support.main()
